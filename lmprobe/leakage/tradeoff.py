"""What hiding the group costs: leakage amplification against F1, beside the noise baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lmprobe.errors import InputError
from lmprobe.figure import Figure, Series
from lmprobe.labels import Labels
from lmprobe.leakage.adversarial import Removal, Trained, train
from lmprobe.leakage.attackers.attacker import Attacker
from lmprobe.leakage.evidence import Codes, read_groups, read_labels
from lmprobe.leakage.measure import LeakageAmplification, leakage_amplification
from lmprobe.leakage.rounds import PARTS, read_split
from lmprobe.progress import Progress, silent

Method = Literal["original", "adversarial", "noise"]


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One model: how it was made, how good it is and how much more than the labels it leaks."""

    method: Method
    level: float
    """The strength of the critic, or the noise in standard deviations of each unit."""
    amplification: LeakageAmplification

    @property
    def f1(self) -> float:
        """The F1 of its decisions on the test rows."""
        return self.amplification.f1


@dataclass(frozen=True, slots=True, eq=False)
class Tradeoff:
    """The original model, models with a critic and the original model with noise."""

    points: tuple[Point, ...]

    def of(self, method: Method) -> tuple[Point, ...]:
        """Return the points of one method, by rising level."""
        chosen = (point for point in self.points if point.method == method)
        return tuple(sorted(chosen, key=lambda point: point.level))

    def noise_at(self, f1: float) -> float:
        """Return the amplification of the noise baseline at an F1, between its levels."""
        line = sorted((*self.of("original"), *self.of("noise")), key=lambda point: point.f1)
        return float(
            np.interp(f1, [one.f1 for one in line], [one.amplification.value for one in line])
        )

    def figure(self) -> Figure:
        """Return the curves (Figure 5 of the paper): up and to the left is better."""
        original = self.of("original")
        lines = {"noise": (*original, *self.of("noise")), "critic": self.of("adversarial")}
        best = min(lines["critic"], key=lambda point: point.amplification.value, default=None)
        start = original[0]
        said = f"Without removal: amplification {start.amplification.value:.3f}, F1 {start.f1:.3f}."
        if best is not None:
            said += (
                f" With a critic it falls to {best.amplification.value:.3f} at F1 {best.f1:.3f}; "
                f"noise at that F1 leaves {self.noise_at(best.f1):.3f}."
            )
        return Figure(
            name="leakage-tradeoff",
            title="What hiding the group costs",
            x_label="leakage amplification",
            y_label="F1",
            series=(
                _series("original", original, "points"),
                _series("noise on the representation", lines["noise"], "dashed"),
                _series("adversarial removal", lines["critic"], "points"),
            ),
            alternative=said,
        )


def _series(
    name: str, points: Sequence[Point], style: Literal["line", "points", "dashed"]
) -> Series:
    return Series(
        name,
        tuple(point.amplification.value for point in points),
        tuple(point.f1 for point in points),
        labels=tuple(f"{name}, level {point.level:g}" for point in points),
        style=style,
    )


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
    groups = read_groups(attribute, len(truth.values))
    matrix = np.asarray(features)
    if len(matrix) != len(truth.values):
        raise InputError(f"`features` has {len(matrix)} rows, `labels` has {len(truth.values)}")
    rng = np.random.default_rng(seed)
    part = _drawn(len(matrix), rng) if split is None else read_split(split, len(matrix))
    names = np.array(PARTS)[part]
    train_rows = np.flatnonzero(part == 0)
    base = replace(Removal() if removal is None else removal, seed=seed)
    total, done = 1 + len(strengths) + len(noises), 0

    def measure(method: Method, level: float, model: Trained) -> Point:
        nonlocal done
        added = level if method == "noise" else 0.0
        try:
            found = leakage_amplification(
                labels, model.logits(matrix, noise=added, rng=rng), attribute,
                split=names, attacker=attacker, rounds=rounds, confidence=confidence, seed=seed,
                threshold=0.0,
            )  # fmt: skip
        except InputError as problem:
            raise InputError(f"{method} model at level {level:g}: {problem}") from problem
        done += 1
        progress(done, total)
        return Point(method, level, found)

    original = train(matrix, truth, groups, train_rows, replace(base, strength=0.0))
    points = [measure("original", 0.0, original)]
    points += [measure("noise", level, original) for level in noises]
    for strength in strengths:
        model = train(matrix, truth, groups, train_rows, replace(base, strength=strength))
        points.append(measure("adversarial", strength, model))
    return Tradeoff(tuple(points))


def _drawn(rows: int, rng: np.random.Generator) -> Codes:
    return np.asarray(rng.choice(3, size=rows, p=(0.6, 0.2, 0.2)), dtype=np.int64)
