"""What hiding the group costs: leakage amplification against F1, beside the noise baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from lmprobe.errors import InputError
from lmprobe.io.work import Progress, silent
from lmprobe.leakage.adversarial import Removal, TrainedPredictor, train
from lmprobe.leakage.attackers import Attacker
from lmprobe.leakage.inputs import read_groups, read_labels
from lmprobe.leakage.measure import leakage_amplification
from lmprobe.leakage.result import LIMITS, LeakageRow
from lmprobe.leakage.rounds import PARTS, read_split
from lmprobe.metrics.labels import Labels
from lmprobe.results import Column, ColumnKind, Page, Section, Series, SeriesPlot, Statement, Table
from lmprobe.results.result import Result

Method = Literal["original", "adversarial", "noise"]


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One model: how it was made, how good it is and how much more than the labels it leaks."""

    method: Method
    level: float
    """The strength of the critic, or the noise in standard deviations of each unit."""
    amplification: LeakageRow

    @property
    def f1(self) -> float:
        """The F1 of its decisions on the test rows."""
        assert self.amplification.f1 is not None
        return self.amplification.f1


@dataclass(frozen=True, slots=True, eq=False)
class Tradeoff(Result):
    """The original model, models with a critic and the original model with noise."""

    kind: ClassVar[str] = "leakage-tradeoff"

    points: tuple[Point, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def of(self, method: Method) -> tuple[Point, ...]:
        """Return the points of one method, by rising level."""
        points = [point for point in self.points if point.method == method]
        return tuple(sorted(points, key=lambda point: point.level))

    def noise_at(self, f1: float) -> float:
        """Return the amplification of the noise baseline at an F1, between its levels."""
        line = sorted((*self.of("original"), *self.of("noise")), key=lambda point: point.f1)
        values = [point.amplification.value for point in line]
        return float(np.interp(f1, [point.f1 for point in line], values))

    def tables(self) -> tuple[Table, ...]:
        """Return one table with a row per model."""
        columns = (
            Column("model", key="method"),
            Column("level", ColumnKind.NUMBER),
            Column("F1", ColumnKind.NUMBER, key="f1"),
            Column("leakage amplification", ColumnKind.SIGNED, key="value"),
            Column("interval", ColumnKind.INTERVAL),
            Column("verdict", ColumnKind.VERDICT),
        )
        rows = tuple(
            (point.method, point.level, point.f1, row.value, row.interval, row.verdict)
            for point in self.points
            for row in [point.amplification]
        )
        return (Table("tradeoff", columns, rows, title="What hiding the group costs"),)

    def page(self) -> Page:
        """Return the report, with Figure 5 of the paper."""
        original, critic = self.of("original"), self.of("adversarial")
        first = original[0]
        text = f"Without removal: amplification {first.amplification.value:.3f}, F1 {first.f1:.3f}."
        if critic:
            best = min(critic, key=lambda point: point.amplification.value)
            text += (
                f" With a critic it falls to {best.amplification.value:.3f} at F1 {best.f1:.3f}; "
                f"noise at that F1 leaves {self.noise_at(best.f1):.3f}."
            )

        def series(
            name: str, points: Sequence[Point], style: Literal["points", "dashed"]
        ) -> Series:
            x = tuple(point.amplification.value for point in points)
            labels = tuple(f"{name}, level {point.level:g}" for point in points)
            return Series(name, x, tuple(point.f1 for point in points), labels, style=style)

        noise = (*original, *self.of("noise"))
        figure = SeriesPlot(
            name="tradeoff",
            title="What hiding the group costs",
            x_label="leakage amplification",
            y_label="F1",
            series=(
                series("original", original, "points"),
                series("noise on the representation", noise, "dashed"),
                series("adversarial removal", critic, "points"),
            ),
            alternative=text,
        )
        facts = {name: str(value) for name, value in self.provenance.items()}
        return Page(
            title=figure.title,
            subtitle="leakage amplification against F1, up and to the left is better",
            headline=(Statement(text),),
            sections=(
                Section("Trade-off", tables=self.tables(), figures=(figure,)),
                Section("Provenance", facts=facts, collapsed=True),
            ),
            limits=LIMITS,
        )

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        rows = [
            {**point.amplification.to_dict(), "method": point.method, "level": point.level}
            for point in self.points
        ]
        return {"rows": rows, "provenance": dict(self.provenance)}

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> Tradeoff:
        """Read the JSON form."""
        points = [
            Point(row["method"], float(row["level"]), LeakageRow.from_dict(row))
            for row in document["rows"]
        ]
        return cls(tuple(points), document["provenance"])


def removal_tradeoff(
    features: Any,
    labels: Labels,
    attribute: Labels,
    *,
    strengths: Sequence[float] = (0.05, 0.2, 1.0),
    noises: Sequence[float] = (0.5, 1.0, 2.0, 4.0),
    removal: Removal | None = None,
    split: Any = None,
    attacker: str | Attacker = "mlp",
    rounds: int = 5,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress = silent,
) -> Tradeoff:
    """Train models that hide the group more and more, and measure each beside noise.

    `features` are (n, d) numbers: a table's columns, or embeddings of a language model
    (`lmprobe.leakage.embeddings.mask_embeddings`). Models learn from the train rows of
    `split` (drawn 60/20/20 where it is not given); F1 and leakage are those of test rows.
    More strength is not always less leakage: an encoder that outruns its critic hides the
    group from that critic alone.
    """
    truth = read_labels(labels)
    rows = len(truth.values)
    groups = read_groups(attribute, rows)
    matrix = np.asarray(features)
    if len(matrix) != rows:
        raise InputError(f"`features` has {len(matrix)} rows, `labels` has {rows}")
    rng = np.random.default_rng(seed)
    part = rng.choice(3, size=rows, p=(0.6, 0.2, 0.2)) if split is None else read_split(split, rows)
    base = replace(Removal() if removal is None else removal, seed=seed)
    points: list[Point] = []

    def fit(strength: float) -> TrainedPredictor:
        settings = replace(base, strength=strength)
        return train(matrix, truth, groups, np.flatnonzero(part == 0), settings)

    def measure(method: Method, level: float, model: TrainedPredictor) -> None:
        logits = model.logits(matrix, noise=level if method == "noise" else 0.0, rng=rng)
        try:
            result = leakage_amplification(
                labels, logits, attribute,
                split=np.array(PARTS)[part], attacker=attacker, rounds=rounds,
                confidence=confidence, seed=seed, threshold=0.0,
            )  # fmt: skip
        except InputError as problem:
            raise InputError(f"{method} model at level {level:g}: {problem}") from problem
        points.append(Point(method, level, result.rows[-1]))
        progress(len(points), 1 + len(strengths) + len(noises))

    original = fit(0.0)
    measure("original", 0.0, original)
    for noise in noises:
        measure("noise", noise, original)
    for strength in strengths:
        measure("adversarial", strength, fit(strength))
    facts = {"rows": rows, "groups": list(groups.names), "rounds": rounds, "seed": seed}
    return Tradeoff(tuple(points), facts)
