"""Hiding the group from a model's predictions, and what it costs (Wang et al. 2019, section 5).

The predictor is an encoder, whose output is the representation, and a head that reads the
task's labels off it. A critic tries to read the group off the same representation; its
gradient reaches the encoder reversed, so the encoder learns to hide the group while the
head keeps what it needs. The baseline is noise on the representation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from lmprobe.errors import InputError
from lmprobe.io.work import Progress, silent
from lmprobe.leakage.attackers import Attacker
from lmprobe.leakage.inputs import Codes, GroupLabels, TrueLabels, read_groups, read_labels
from lmprobe.leakage.measure import leakage_amplification
from lmprobe.leakage.result import LIMITS, LeakageRow
from lmprobe.leakage.rounds import PARTS, read_split
from lmprobe.leakage.settings import LeakageSettings
from lmprobe.metrics.labels import Labels
from lmprobe.models.forward import torch_threads
from lmprobe.models.kinds.masked import MaskedModel, masked_inputs
from lmprobe.models.language_model import Cloze
from lmprobe.results import (
    ColumnKind,
    ColumnOf,
    Page,
    Section,
    Series,
    SeriesPlot,
    Statement,
    Table,
    closing_sections,
    json_field,
    table_of,
)
from lmprobe.results.result import Result

Method = Literal["original", "adversarial", "noise"]
_TITLE = "What hiding the group costs"


@dataclass(frozen=True, slots=True)
class Removal:
    """How to train: `strength` is the paper's lambda, 0 trains the task alone.

    First the task is learned, then the critic, so that its gradient means something, and
    then both against each other.
    """

    strength: float = 1.0
    width: int = 64
    task_epochs: int = 20
    critic_epochs: int = 5
    joint_epochs: int = 100
    critic_steps: int = 5
    """Steps of the critic for each step of the predictor: it has to keep up."""
    batch_size: int = 128
    learning_rate: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a negative strength: it would teach the model to tell the group."""
        if not self.strength >= 0:
            raise InputError(f"`strength` must be 0 or more, found {self.strength}")


@dataclass(frozen=True, slots=True, eq=False)
class TrainedPredictor:
    """A trained predictor; noise can be added to its representation afterwards."""

    encoder: nn.Sequential
    head: nn.Linear
    centre: Tensor
    spread: Tensor
    """Mean and standard deviation of each feature over the train rows."""
    unit_spread: Tensor
    """Standard deviation of each unit of the representation over the train rows."""

    @torch.no_grad()
    def logits(
        self, features: Any, *, noise: float = 0.0, rng: np.random.Generator | None = None
    ) -> NDArray[np.float32]:
        """Return the logits (n, L) of the labels.

        `noise` is the paper's baseline: Gaussian noise on the representation before the
        head, in standard deviations of each unit.
        """
        units = self.encoder((torch.from_numpy(_matrix(features)) - self.centre) / self.spread)
        if noise:
            rng = np.random.default_rng(0) if rng is None else rng
            drawn = rng.standard_normal(tuple(units.shape), dtype=np.float32)
            units = units + noise * self.unit_spread * torch.from_numpy(drawn)
        return np.asarray(self.head(units).numpy())


def train(
    features: Any, labels: TrueLabels, groups: GroupLabels, rows: Codes, settings: Removal
) -> TrainedPredictor:
    """Train a predictor of the labels on those rows while hiding the group."""
    matrix = torch.from_numpy(_matrix(features)[rows])
    spread = matrix.std(dim=0)
    centre, spread = matrix.mean(dim=0), torch.where(spread > 0, spread, 1.0)
    inputs = (matrix - centre) / spread
    target = torch.from_numpy(labels.values[rows].astype(np.float32))
    task_loss: Callable[[Tensor, Tensor], Tensor] = functional.binary_cross_entropy_with_logits
    if labels.single:
        target, task_loss = target.argmax(dim=1), functional.cross_entropy
    group, number = torch.from_numpy(groups.codes[rows]), len(groups.names)
    # Weighing a group by its rarity stands for drawing the groups in equal numbers.
    counts = torch.bincount(group, minlength=number).float()
    rarity, width = counts.sum() / (number * counts), settings.width
    phases = ["task"] * settings.task_epochs
    if settings.strength:
        phases += ["critic"] * settings.critic_epochs + ["joint"] * settings.joint_epochs
    else:
        # Without a critic the task gets the joint epochs too.
        phases += ["task"] * settings.joint_epochs
    with torch_threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        encoder = nn.Sequential(*_layers(inputs.shape[1], width))
        head = nn.Linear(width, len(labels.names))
        critic = nn.Sequential(*_layers(width, width), nn.Linear(width, number))
        learned = [*encoder.parameters(), *head.parameters()]
        task_step = torch.optim.Adam(learned, lr=settings.learning_rate)
        critic_step = torch.optim.Adam(critic.parameters(), lr=settings.learning_rate)
        for phase in phases:
            for batch in torch.split(torch.randperm(len(inputs)), settings.batch_size):
                units = encoder(inputs[batch])
                for _ in range(settings.critic_steps if phase != "task" else 0):
                    guessed = critic(units.detach())
                    _descend(critic_step, functional.cross_entropy(guessed, group[batch], rarity))
                if phase == "critic":
                    continue
                loss = task_loss(head(units), target[batch])
                if phase == "joint":
                    # Reversed on its way to the encoder; the critic itself does not step here.
                    reverse = units.view_as(units)
                    reverse.register_hook(lambda gradient: -settings.strength * gradient)
                    loss = loss + functional.cross_entropy(critic(reverse), group[batch], rarity)
                _descend(task_step, loss)
    with torch.no_grad():
        unit_spread = encoder(inputs).std(dim=0)
    return TrainedPredictor(encoder.eval(), head.eval(), centre, spread, unit_spread)


def _layers(features: int, width: int) -> tuple[nn.Module, ...]:
    first = nn.Linear(features, width)
    return first, nn.LeakyReLU(), nn.Linear(width, width), nn.LeakyReLU()


def _descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    torch.autograd.backward([loss])
    optimizer.step()


def _matrix(features: Any) -> NDArray[np.float32]:
    matrix = np.asarray(features)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or not np.isfinite(matrix).all():
        raise InputError("`features` must be finite numbers with the axes (row, feature)")
    return np.ascontiguousarray(matrix, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One model: how it was made, how good it is and how much more than the labels it leaks."""

    json_keys: ClassVar[tuple[str, ...]] = ("amplification", "method", "level")

    method: Method
    level: float
    """The strength of the critic, or the noise in standard deviations of each unit."""
    amplification: LeakageRow = json_field(flat=True)

    @property
    def f1(self) -> float:
        """The F1 of its decisions on the test rows."""
        assert self.amplification.f1 is not None
        return self.amplification.f1


@dataclass(frozen=True, slots=True, eq=False)
class Tradeoff(Result):
    """The original model, models with a critic and the original model with noise."""

    kind: ClassVar[str] = "leakage-tradeoff"

    points: tuple[Point, ...] = json_field(key="rows")
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
            ColumnOf("model", "method", key="method"),
            ColumnOf("level", "level", ColumnKind.NUMBER),
            ColumnOf("F1", "f1", ColumnKind.NUMBER, key="f1"),
            ColumnOf("leakage amplification", "amplification.value", ColumnKind.SIGNED, "value"),
            ColumnOf("interval", "amplification.interval", ColumnKind.INTERVAL),
            ColumnOf("verdict", "amplification.verdict", ColumnKind.VERDICT),
        )
        return (table_of("tradeoff", self.points, columns, title=_TITLE),)

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
            title=_TITLE,
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
            title=_TITLE,
            subtitle="leakage amplification against F1, up and to the left is better",
            headline=(Statement(text),),
            sections=(
                Section("Trade-off", tables=self.tables(), figures=(figure,)),
                *closing_sections(facts=facts),
            ),
            limits=LIMITS,
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
    attacker: str | Attacker = LeakageSettings.attacker,
    rounds: int = LeakageSettings.rounds,
    confidence: float = LeakageSettings.confidence,
    seed: int = LeakageSettings.seed,
    progress: Progress = silent,
) -> Tradeoff:
    """Train models that hide the group more and more, and measure each beside noise.

    `features` are (n, d) numbers: a table's columns, or embeddings of a language model
    (`mask_embeddings`). Models learn from the train rows of `split` (drawn 60/20/20 where it is
    not given); F1 and leakage are those of test rows. More strength is not always less leakage:
    an encoder that outruns its critic hides the group from that critic alone.
    """
    truth = read_labels(labels)
    rows = len(truth.values)
    groups = read_groups(attribute, rows)
    matrix = np.asarray(features)
    if len(matrix) != rows:
        raise InputError(f"`features` has {len(matrix)} rows, `labels` has {rows}")
    rng = np.random.default_rng(seed)
    part = rng.choice(3, size=rows, p=(0.6, 0.2, 0.2)) if split is None else read_split(split, rows)
    points: list[Point] = []

    def fit(strength: float) -> TrainedPredictor:
        settings = replace(removal or Removal(), seed=seed, strength=strength)
        return train(matrix, truth, groups, np.flatnonzero(part == 0), settings)

    def measure(method: Method, level: float, model: TrainedPredictor) -> None:
        logits = model.logits(matrix, noise=level if method == "noise" else 0.0, rng=rng)
        try:
            result = leakage_amplification(
                labels, logits, attribute, threshold=0.0, split=np.array(PARTS)[part],
                attacker=attacker, rounds=rounds, confidence=confidence, seed=seed,
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


def mask_embeddings(
    model: MaskedModel, clozes: Sequence[Cloze], *, batch_size: int = 64
) -> NDArray[np.float32]:
    """Return the model's last hidden state at the blank of each sentence, (n, width).

    The blank is one mask however long its word is, so the word itself is not seen. These
    are features for `removal_tradeoff`: what the model's head would fill the mask from.
    """
    queries = [encoded.one_mask() for encoded in model.encode(clozes)]
    if not queries:
        raise InputError("there is no sentence to embed")
    parts = []
    for start in range(0, len(queries), batch_size):
        batch = queries[start : start + batch_size]
        inputs = masked_inputs(batch, model.tokenizer, model.device)
        with torch.inference_mode(), model.weights.running() as network:
            states = network(**inputs, output_hidden_states=True).hidden_states[-1]
        places = torch.tensor([query.position for query in batch], device=states.device)
        parts.append(states[torch.arange(len(batch)), places].float().cpu().numpy())
    return np.concatenate(parts)
