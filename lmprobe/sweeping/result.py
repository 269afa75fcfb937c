"""The result of a sweep: a row per model, set, base and direction, and the ranks of the models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import defined_mean
from lmprobe.probing.result import ProbeRow
from lmprobe.results import Estimate, Interval, Note, Page, Table, json_field
from lmprobe.results.codec import to_json
from lmprobe.results.content import frame_of
from lmprobe.results.estimate import Claim, EstimateRow
from lmprobe.results.result import Result
from lmprobe.sweeping.jobs import Subject

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Question:
    """A template set, a base and a direction: models are compared within one question."""

    templates: str
    base: str
    direction: Direction

    def __iter__(self) -> Iterator[str]:
        """Iterate over the template set, the base and the direction."""
        return iter((self.templates, self.base, self.direction))

    @property
    def slug(self) -> str:
        """The question in the names of tables and figures."""
        return f"{self.templates}-{self.base}-{self.direction.slug}"


@dataclass(frozen=True, slots=True)
class SweepRow(EstimateRow):
    """The numbers of one probe against one base in one direction, without its tables."""

    json_keys: ClassVar[tuple[str, ...]] = (
        "model", "step", "templates", "base", "attributes", "direction", "estimate", "association",
        "preference", "strength", "candidate_mass", "perplexity", "undefined_pairs", "by_task",
        "ranks",
    )  # fmt: skip

    model: str
    templates: str
    base: str
    direction: Direction
    attributes: tuple[str, ...]
    association: Estimate | None
    preference: Estimate | None
    candidate_mass: float
    perplexity: float | None
    undefined_pairs: int
    by_task: Mapping[str, float | None]
    """The amplification of each task, the mean over its groups and templates."""
    estimate: Estimate = json_field(flat=True)
    step: int | None = None
    """The training step of a checkpoint."""
    strength: Estimate | None = None
    """How many times as strong the model's links are as the base's."""
    ranks: tuple[int, int] | None = None
    """The lowest and the highest rank that the intervals allow, 1 the lowest value."""

    @property
    def question(self) -> Question:
        """The template set, base and direction."""
        return Question(self.templates, self.base, self.direction)

    @classmethod
    def of(
        cls, subject: Subject, templates: str, row: ProbeRow, perplexity: float | None
    ) -> SweepRow:
        """Return the row of a sweep for a row of a probe."""
        by_task = np.asarray(defined_mean(row.cells, axis=(0, 1)))
        return cls(
            model=subject.label,
            templates=templates,
            base=row.base,
            direction=row.direction,
            attributes=row.attributes,
            estimate=row.estimate,
            association=row.association,
            preference=row.preference,
            strength=row.strength,
            candidate_mass=row.mean_mass,
            perplexity=perplexity,
            undefined_pairs=row.undefined_pairs,
            by_task=dict(zip(row.tasks, map(to_json, by_task), strict=True)),
            step=subject.step,
        )


@dataclass(frozen=True, slots=True)
class Order:
    """The models of one question by value, and the groups of them that cannot be told apart."""

    question: Question = json_field(flat=True)
    models: tuple[str, ...] = json_field()
    groups: tuple[tuple[str, ...], ...] = json_field()
    """Two models are separated if and only if no group has both."""

    def separates(self, first: str, second: str) -> bool:
        """Tell whether the intervals separate two models."""
        return not any({first, second} <= set(group) for group in self.groups)

    def letters(self, model: str) -> str:
        """Return the groups of a model as letters: models that share one are not separated."""
        return "".join(self.letter(group) for group in self.groups if model in group)

    def letter(self, group: tuple[str, ...]) -> str:
        """Return the letter of a group: a, b, ..., z, aa, ab, ..."""
        text, number = "", self.groups.index(group) + 1
        while number:
            number, rest = divmod(number - 1, 26)
            text = chr(ord("a") + rest) + text
        return text


@dataclass(frozen=True, slots=True)
class TrainingCurve:
    """A training run in one question: its checkpoints by step."""

    question: Question = json_field(flat=True)
    run: str = json_field()
    """The model, or the folder of its checkpoints."""
    models: tuple[str, ...] = json_field()
    band: tuple[Interval, ...] = json_field()
    """Intervals that cover the values of all steps at once."""
    levels: Mapping[str, float] = json_field()
    """What the curve is compared with, such as the value without association."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that could not be probed on a set, and why."""

    model: str
    templates: str
    error: str


@dataclass(frozen=True, slots=True)
class RunMean:
    """The mean over training runs for one template set, base and direction."""

    json_keys: ClassVar[tuple[str, ...]] = ("question", "runs", "estimate", "over_runs")

    question: Question = json_field(flat=True)
    runs: int = json_field()
    estimate: Estimate = json_field(flat=True)
    """The interval covers what that of a probe covers, and other training runs."""

    @property
    def over_runs(self) -> Estimate:
        """The estimate, by the name that the other jobs have for it."""
        return self.estimate


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SweepResult(Result):
    """The result of `sweep`: a row per model, template set, base and direction."""

    kind: ClassVar[str] = "sweep"
    file_stem: ClassVar[str] = "sweep"
    json_keys: ClassVar[tuple[str, ...]] = (
        "rows", "orders", "curves", "failures", "notes", "run_means", "provenance",
    )  # fmt: skip

    rows: tuple[SweepRow, ...]
    orders: tuple[Order, ...]
    curves: tuple[TrainingCurve, ...]
    """For checkpoints: their values over the steps of each training run."""
    failures: tuple[Failure, ...]
    provenance: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    run_means: tuple[RunMean, ...] = ()
    """Where the models are training runs of one: their mean for each question."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were probed, in the order given."""
        return tuple(dict.fromkeys(row.model for row in self.rows))

    @property
    def questions(self) -> tuple[Question, ...]:
        """Every template set, base and direction, in order."""
        return tuple(dict.fromkeys(row.question for row in self.rows))

    @property
    def exit_code(self) -> int:
        """The exit code of `lmprobe sweep`: 5 if a model could not be probed."""
        return 5 if self.failures else 0

    def of(self, question: Question) -> tuple[SweepRow, ...]:
        """Return the rows of one question, models in the order given."""
        return tuple(row for row in self.rows if row.question == question)

    @property
    def over_steps(self) -> bool:
        """Whether all models are checkpoints of one training run."""
        runs = {curve.run for curve in self.curves}
        return len(runs) == 1 and {*self.models} == {*self.curves[0].models}

    def order(self, question: Question) -> Order | None:
        """Return the order of the models of one question, None where nothing can be ranked."""
        return next((order for order in self.orders if order.question == question), None)

    def by_value(self, question: Question) -> list[SweepRow]:
        """Return the rows of one question, lowest value first."""
        rows = sorted(self.of(question), key=lambda row: row.estimate.value)
        order = self.order(question)
        if order is None:
            return rows
        place = {model: number for number, model in enumerate(order.models)}
        return sorted(rows, key=lambda row: place.get(row.model, len(place)))

    @property
    def short_names(self) -> dict[str, str]:
        """Each model's name in figures: of a path, as many of its last parts as tell it apart."""
        return _short_names(self.models)

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimate of every row."""
        return tuple(
            Claim(row.estimate, row.base, row.direction, f"{row.model}, {row.templates}")
            for row in self.rows
        )

    def tables(self) -> tuple[Table, ...]:
        """Return one table per question."""
        from lmprobe.sweeping.page import question_tables

        return question_tables(self)

    def page(self) -> Page:
        """Return the whole report."""
        from lmprobe.sweeping.page import sweep_page

        return sweep_page(self)

    def frames(self) -> dict[str, Any]:
        """Return the tidy table, which is written as sweep.csv."""
        return {"sweep": self.to_frame()}

    def to_frame(self) -> pd.DataFrame:
        """Return one line per model, template set, base and direction."""
        frame = frame_of(
            self.rows,
            model="model",
            step="step",
            templates="templates",
            base="base",
            direction="direction.value",
            value="estimate.value",
            low="estimate.interval.low",
            high="estimate.interval.high",
            verdict="estimate.verdict.value",
            corrected="estimate.corrected",
            strength="strength.value",
            association="association.value",
            candidate_mass="candidate_mass",
            perplexity="perplexity",
            undefined_pairs="undefined_pairs",
        )
        # An interval without ends has empty cells.
        frame[["low", "high"]] = frame[["low", "high"]].replace([np.inf, -np.inf], np.nan)
        ranks: list[Any] = [row.ranks or (None, None) for row in self.rows]
        return frame.assign(
            rank_low=[low for low, _ in ranks], rank_high=[high for _, high in ranks]
        )


def _short_names(models: Sequence[str]) -> dict[str, str]:
    """Return names without the folders that all models share; hub ids stay as they are.

    >>> _short_names(["runs/a/last", "runs/b/last", "runs/b/first", "acme/bert"])["runs/b/last"]
    'b/last'
    >>> _short_names(["runs/a/last", "acme/bert"])
    {'runs/a/last': 'last', 'acme/bert': 'acme/bert'}
    """
    names = {}
    for model in models:
        parts = model.split("/")
        # One slash is the id of a hub, not a path.
        lengths = range(1, len(parts)) if len(parts) > 2 else ()
        endings = ("/".join(parts[-length:]) for length in lengths)
        unique = (end for end in endings if sum(_ends(other, end) for other in models) == 1)
        names[model] = next(unique, model)
    return names


def _ends(model: str, ending: str) -> bool:
    return model == ending or model.endswith(f"/{ending}")
