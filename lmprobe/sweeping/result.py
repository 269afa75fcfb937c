"""What a sweep found: a row per model, set, base and direction, and what ranks the data allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import defined_mean
from lmprobe.probing.result import ProbeRow
from lmprobe.results import Estimate, Note, Page, Table
from lmprobe.results.estimate import Claim, nullable
from lmprobe.results.result import Result
from lmprobe.results.verdict import Interval
from lmprobe.sweeping.jobs import Subject

if TYPE_CHECKING:
    import pandas as pd


class Question(NamedTuple):
    """A template set, a base and a direction: models are compared within one question."""

    templates: str
    base: str
    direction: Direction

    @property
    def slug(self) -> str:
        """The question in the names of tables and figures."""
        return f"{self.templates}-{self.base}-{self.direction.slug}"

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read the question out of whatever else the document holds."""
        return cls(document["templates"], document["base"], Direction(document["direction"]))


@dataclass(frozen=True, slots=True)
class SweepRow:
    """The numbers of one probe against one base in one direction, without its tables."""

    model: str
    templates: str
    base: str
    direction: Direction
    attributes: tuple[str, ...]
    estimate: Estimate
    association: Estimate | None
    preference: Estimate | None
    candidate_mass: float
    perplexity: float | None
    undefined_pairs: int
    by_task: Mapping[str, float | None]
    """The amplification of each task, the mean over its groups and templates."""
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
        """Return what a sweep keeps of a probe's row."""
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
            candidate_mass=float(row.candidate_mass.mean()),
            perplexity=perplexity,
            undefined_pairs=row.undefined_pairs,
            by_task=dict(zip(row.tasks, map(nullable, by_task), strict=True)),
            step=subject.step,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: a probe's row with the model before it."""
        return {
            "model": self.model,
            "step": self.step,
            "templates": self.templates,
            "base": self.base,
            "attributes": list(self.attributes),
            "direction": self.direction.value,
            **self.estimate.to_dict(),
            "association": self.association and self.association.to_dict(),
            "preference": self.preference and self.preference.to_dict(),
            "strength": self.strength and self.strength.to_dict(),
            "candidate_mass": self.candidate_mass,
            "perplexity": nullable(self.perplexity),
            "undefined_pairs": self.undefined_pairs,
            "by_task": dict(self.by_task),
            "ranks": self.ranks and list(self.ranks),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> SweepRow:
        """Read the JSON form."""
        values: dict[str, Any] = {
            # Documents of earlier versions have no strength.
            field.name: document.get(field.name)
            if field.name == "strength"
            else document[field.name]
            for field in fields(cls)
            if field.name != "estimate"
        }
        for name in ("association", "preference", "strength"):
            values[name] = values[name] and Estimate.from_dict(values[name])
        for name in ("attributes", "ranks"):
            values[name] = values[name] and tuple(values[name])
        values["direction"] = Direction(values["direction"])
        return cls(estimate=Estimate.from_dict(document), **values)


@dataclass(frozen=True, slots=True)
class Order:
    """The models of one question by value, and the groups of them that cannot be told apart."""

    question: Question
    models: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    """Two models are separated if and only if no group has both."""

    def separates(self, first: str, second: str) -> bool:
        """Tell whether the intervals separate two models."""
        return not any({first, second} <= set(group) for group in self.groups)

    def letters(self, model: str) -> str:
        """Return the groups of a model as letters: models that share one are not separated."""
        return "".join(self.letter(group) for group in self.groups if model in group)

    def letter(self, group: tuple[str, ...]) -> str:
        """Return the letter of a group, the first being a."""
        return _letter(self.groups.index(group))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        groups = [list(group) for group in self.groups]
        return {**self.question._asdict(), "models": list(self.models), "groups": groups}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Order:
        """Read the JSON form."""
        groups = tuple(map(tuple, document["groups"]))
        return cls(Question.from_dict(document), tuple(document["models"]), groups)


@dataclass(frozen=True, slots=True)
class Curve:
    """A training run in one question: its checkpoints by step."""

    question: Question
    run: str
    """The model, or the folder of its checkpoints."""
    models: tuple[str, ...]
    band: tuple[Interval, ...]
    """Intervals that cover the values of all steps at once."""
    levels: Mapping[str, float]
    """What the curve is compared with, such as the value without association."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **self.question._asdict(),
            "run": self.run,
            "models": list(self.models),
            "band": [one.to_dict() for one in self.band],
            "levels": dict(self.levels),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Curve:
        """Read the JSON form."""
        return cls(
            Question.from_dict(document),
            document["run"],
            tuple(document["models"]),
            tuple(map(Interval.from_dict, document["band"])),
            document["levels"],
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that could not be probed on a set, and why."""

    model: str
    templates: str
    error: str


@dataclass(frozen=True, slots=True)
class RunMean:
    """The mean over training runs for one template set, base and direction."""

    question: Question
    runs: int
    estimate: Estimate
    """The interval covers what that of a probe covers, and other training runs."""

    @property
    def over_runs(self) -> Estimate:
        """The estimate, by the name that the other jobs have for it."""
        return self.estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **self.question._asdict(),
            "runs": self.runs,
            **self.estimate.to_dict(),
            "over_runs": self.over_runs.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> RunMean:
        """Read the JSON form."""
        return cls(Question.from_dict(document), document["runs"], Estimate.from_dict(document))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SweepResult(Result):
    """The result of `sweep`: a row per model, template set, base and direction."""

    kind: ClassVar[str] = "sweep"
    file_stem: ClassVar[str] = "sweep"

    rows: tuple[SweepRow, ...]
    orders: tuple[Order, ...]
    curves: tuple[Curve, ...]
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
        from lmprobe.sweeping.tables import question_tables

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
        import pandas as pd

        return pd.DataFrame([_line(row) for row in self.rows])

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "orders": [order.to_dict() for order in self.orders],
            "curves": [curve.to_dict() for curve in self.curves],
            "failures": [asdict(one) for one in self.failures],
            "notes": [note.to_dict() for note in self.notes],
            "run_means": [one.to_dict() for one in self.run_means],
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> Self:
        """Read the JSON form."""
        return cls(
            rows=tuple(map(SweepRow.from_dict, document["rows"])),
            orders=tuple(map(Order.from_dict, document["orders"])),
            curves=tuple(map(Curve.from_dict, document["curves"])),
            failures=tuple(Failure(**failure) for failure in document["failures"]),
            provenance=document["provenance"],
            notes=tuple(map(Note.from_dict, document["notes"])),
            run_means=tuple(map(RunMean.from_dict, document.get("run_means", ()))),
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
        unique = (end for end in endings if sum(_ends(one, end) for one in models) == 1)
        names[model] = next(unique, model)
    return names


def _ends(model: str, ending: str) -> bool:
    return model == ending or model.endswith(f"/{ending}")


def _line(row: SweepRow) -> dict[str, Any]:
    ranks = row.ranks or (None, None)
    association = row.association
    return {
        "model": row.model,
        "step": row.step,
        "templates": row.templates,
        "base": row.base,
        "direction": row.direction.value,
        "value": row.estimate.value,
        "low": nullable(row.estimate.interval.low),
        "high": nullable(row.estimate.interval.high),
        "verdict": row.estimate.verdict.value,
        "corrected": row.estimate.corrected,
        "strength": row.strength and nullable(row.strength.value),
        "association": None if association is None else association.value,
        "candidate_mass": row.candidate_mass,
        "perplexity": row.perplexity,
        "undefined_pairs": row.undefined_pairs,
        "rank_low": ranks[0],
        "rank_high": ranks[1],
    }


def _letter(number: int) -> str:
    """Return a, b, ..., z, aa, ab, ... for 0, 1, ...

    >>> [_letter(number) for number in (0, 25, 26, 51, 52, 701, 702)]
    ['a', 'z', 'aa', 'az', 'ba', 'zz', 'aaa']
    """
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text
