"""The result of a probe: one row per base and direction, with its provenance.

A row keeps its tables (model's probabilities, base rates, lean) and derives its numbers from
them, so a saved result can be read back, checked and drawn without the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction, LeanWeighting
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.probing.comparison import ComparisonRow, compare_results
from lmprobe.probing.exhibits import probe_tables
from lmprobe.probing.page import LIMITS, probe_page
from lmprobe.probing.settings import CompareSettings, settings_of
from lmprobe.results import (
    Estimate,
    Interval,
    IntervalStatus,
    Note,
    NoteKind,
    Obstacle,
    Page,
    Table,
    Verdict,
    decide,
    json_field,
)
from lmprobe.results.check import CheckResult, Max, check
from lmprobe.results.content import frame_of
from lmprobe.results.estimate import Claim
from lmprobe.results.metric_values import MetricValue
from lmprobe.results.result import Result
from lmprobe.results.settings import from_mapping
from lmprobe.stats.items import Items
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import Robustness, Unevenness, row_verdict

if TYPE_CHECKING:
    import pandas as pd

# Half precision adds up to one no better than this.
_ROUNDING = 1e-2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProbeRow:
    """(K, A, T) guesses against (A, T) base rates and lean, with what may be said of them."""

    json_keys: ClassVar[tuple[str, ...]] = (
        "base", "attributes", "direction", "value", "template_sd", "interval", "verdict",
        "obstacle", "corrected", "base_bias", "base_reliability", "strength", "association",
        "preference", "undefined_pairs", "per_template", "absolute", "unevenness", "robustness",
        "standard_errors", "lean_source", "lean_weighting", "dropped_attributes", "dropped_tasks",
        "notes", "candidate_mass", "mass_ratio", "tasks", "task_units", "base_table", "counted",
        "base_errors", "base_rate", "lean", "predicted", "items",
    )  # fmt: skip

    base: str
    direction: Direction
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    predicted: Floats
    base_rate: Floats
    lean: Floats
    interval: Interval
    candidate_mass: Floats
    """(K,) the probability that all candidates together held before renormalising."""
    lean_source: str
    lean_weighting: LeanWeighting
    families: tuple[str, ...] = json_field(inherited=True)
    turns: tuple[str, ...] = json_field(default=(), inherited=True)
    dropped_attributes: tuple[str, ...] = ()
    dropped_tasks: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    corrected: float | None = None
    """The value without the bias that the base's own counting error causes, where known."""
    base_bias: float | None = None
    association: Estimate | None = None
    """The part of the value that remains when the model's margins are made those of the base."""
    preference: Estimate | None = None
    """The part that comes from preferring a word or a group everywhere: value - association."""
    unevenness: Unevenness | None = None
    """Where no lean is known: the size of the deviations, with interval and p-value."""
    base_reliability: float | None = None
    """The share of an amplification that a base of this size shows; None for an exact one."""
    mass_ratio: float | None = None
    """How many times the probability of random words the candidates had."""
    obstacle: Obstacle | None = None
    """What forbids a verdict, if anything does."""
    strength: Estimate | None = None
    """How many times as strong the model's links are as the base's; None if it has none."""
    standard_errors: Mapping[str, float] = field(default_factory=dict)
    """What templates, tasks and both together add to the error of the value."""
    robustness: Robustness | None = None
    """How much value and verdict depend on single templates and tasks."""
    task_units: tuple[str, ...] = ()
    """The unit of each task: tasks that share a row of the base's source share a unit."""
    base_table: Floats | None = None
    """(A, T) counts, weights or shares of the base; None in results of earlier versions."""
    counted: bool = False
    """Whether the base is a table of counted sentences."""
    base_errors: Floats | None = None
    """(A, T) standard errors of a survey."""
    items: Items | None = json_field(default=None, optional=True)
    """The items behind recorded answers, where they are a sample or a count is zero."""

    @property
    def cells(self) -> Floats:
        """The amplification of each pair in each template, (K, A, T); NaN where undefined."""
        return amplification(self.predicted, self.base_rate, self.lean)

    @property
    def per_template(self) -> Floats:
        """The mean over the defined pairs, (K,)."""
        return np.asarray(defined_mean(self.cells, axis=(1, 2)))

    @property
    def value(self) -> float:
        """The mean over templates: positive exaggerates the base, negative weakens it."""
        return float(self.per_template.mean())

    @property
    def absolute(self) -> float:
        """The mean size of a pair's amplification, sign aside."""
        if self.unevenness is not None:
            return self.unevenness.value
        return float(defined_mean(np.abs(self.by_pair)))

    @property
    def by_pair(self) -> Floats:
        """The mean over templates, (A, T)."""
        return np.asarray(self.cells.mean(axis=0))

    @property
    def template_sd(self) -> float:
        """The standard deviation over templates (ddof 0): what the paper prints after ±."""
        return float(self.per_template.std())

    @property
    def undefined_pairs(self) -> int:
        """How many (attribute, task) pairs are undefined and so left out of the mean."""
        return int(np.isnan(self.by_pair).sum())

    @property
    def mean_mass(self) -> float:
        """The mean over templates of the probability that the candidates held."""
        return float(self.candidate_mass.mean())

    @property
    def tiny_mass(self) -> bool:
        """Whether the candidates for a blank of one word had next to no probability."""
        return any(note.kind is NoteKind.MASS for note in self.notes)

    @property
    def foreign_lean(self) -> bool:
        """Whether the lean comes from another source than the base."""
        return self.lean_source != self.base

    @property
    def verdict(self) -> Verdict:
        """What the interval allows one to say, or the test where no lean is known."""
        if self.unevenness is not None and self.obstacle is not Obstacle.UNINFORMED:
            return self.unevenness.verdict
        return row_verdict(self.interval, foreign=self.foreign_lean, obstacle=self.obstacle)

    @property
    def estimate(self) -> Estimate:
        """The value with its uncertainty, as every job has it."""
        return Estimate(
            self.value,
            self.interval,
            self.verdict,
            self.corrected,
            self.base_bias,
            self.notes,
            self.obstacle,
        )

    def tables(self, seed: int = 0) -> RowTables:
        """Return the tables that the numbers are computed from, for any choice of tasks.

        Results of earlier versions have no table of the base: their lean stays as it is.
        """
        base, lean = self.base_table, self.lean if self.foreign_lean else None
        if base is None:
            lean = np.where(np.isnan(self.base_rate), np.nan, self.lean)
            # A condition that the base never has counts with its lean, whatever its rates.
            whole = self.base_rate.sum(axis=self.direction.axis, keepdims=True)
            base = np.where(whole > 0, self.base_rate, 1.0)
        return RowTables(
            self.direction,
            self.predicted,
            np.log(np.maximum(self.predicted, np.finfo(np.float64).tiny))
            if self.items is None
            else self.items.logarithms(self.predicted),
            base,
            self.families,
            self.tasks,
            self.task_units or self.tasks,
            self.lean_weighting,
            lean,
            self.counted,
            self.base_errors,
            seed,
            turns=self.turns,
            items=self.items,
        )

    def __repr__(self) -> str:
        """Return the row in one line."""
        size = f"{self.value:+.4f}, [{self.interval.low:+.4f}, {self.interval.high:+.4f}]"
        if self.unevenness is not None:
            size = f"absolute {self.absolute:.4f}"
        return f"<ProbeRow {self.base}, {self.direction}: {size}, {self.verdict}>"

    def check_shapes(self, templates: int) -> None:
        """Refuse tables that do not fit together, so that no reader of the row has to look."""
        where = f"{self.base}, {self.direction}"
        pair = (len(self.attributes), len(self.tasks))
        # Words of several pieces are asked for with as many masks: their mass may pass one.
        for name, shape, low, high in (
            ("predicted", (templates, *pair), 0, 1),
            ("base_rate", pair, 0, 1),
            ("lean", pair, -1, 1),
            ("candidate_mass", (templates,), 0, math.inf),
            ("base_table", pair, 0, math.inf),
            ("base_errors", pair, 0, math.inf),
        ):
            table = getattr(self, name)
            if table is None:
                continue
            if table.shape != shape:
                raise ValueError(f"{where}: {name} is {table.shape}, not {shape}")
            if (table < low - _ROUNDING).any() or (table > high + _ROUNDING).any():
                raise ValueError(f"{where}: a number of {name} is not between {low} and {high}")
        if self.items is not None and self.items.shares.shape[:2] != (templates, pair[0]):
            raise ValueError(f"{where}: items is {self.items.shares.shape}")
        if not np.isfinite(self.predicted).all() or (
            np.isnan(self.by_pair).all() and self.unevenness is None
        ):
            raise ValueError(f"{where}: its numbers are undefined")


@dataclass(frozen=True, slots=True)
class GroupedWord:
    """One word of a group, and which part of the group's probability it carried."""

    axis: str
    """`attribute` or `task`."""
    group: str
    word: str
    share: float
    """When the group is guessed: the mean over templates and what is given."""


@dataclass(frozen=True, slots=True)
class DecidingItem:
    """An item of an item table, and how far it alone moves the value."""

    base: str
    task: str
    item: str
    text: str
    """The sentence in the first template that has it, with its candidates in brackets."""
    group: str
    """The group that the task leans to."""
    base_rate: float
    share: float
    """Of the group in the answers, the mean over templates."""
    effect: float
    """What the item adds to the value; over all items that is the value."""


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """One of several crossed attributes by itself, such as race without gender."""

    attribute: str
    row: ProbeRow = json_field(flat=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProbeResult(Result):
    """The result of `probe`: one row per base and direction, with its provenance."""

    kind: ClassVar[str] = "probe"
    limits: ClassVar[tuple[str, ...]] = LIMITS
    json_keys: ClassVar[tuple[str, ...]] = (
        "rows", "templates", "families", "turns", "split_words", "perplexity", "words", "margins",
        "metrics", "deciding_items", "notes", "limits", "provenance",
    )  # fmt: skip

    rows: tuple[ProbeRow, ...]
    templates: tuple[str, ...]
    families: tuple[str, ...]
    provenance: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    split_words: Mapping[str, int] = field(default_factory=dict)
    """The words that the tokenizer splits, and into how many pieces."""
    perplexity: float | None = None
    """The model's perplexity per word on a sample of the sentences, or pseudo-perplexity."""
    words: tuple[GroupedWord, ...] = ()
    """The words behind the labels, where these are groups or keys."""
    margins: tuple[Margin, ...] = ()
    """For crossed attributes: the rows of each attribute alone."""
    turns: tuple[str, ...] = json_field(default=(), optional=True)
    """What the user of a chat said before each template, where there was a chat."""
    metrics: tuple[MetricValue, ...] = json_field(default=(), optional=True)
    """What other metrics give for the same tables, where they were asked for."""
    deciding_items: tuple[DecidingItem, ...] = json_field(default=(), optional=True)
    """Of an item table: the items that move the value most, up and down."""

    def row(self, base: str, direction: Direction | str) -> ProbeRow:
        """Return the row of that base and direction (`T->A` and `A->T` are accepted)."""
        wanted = Direction.parse(direction)
        for row in self.rows:
            if row.base == base and row.direction is wanted:
                return row
        have = ", ".join(f"{row.base} {row.direction}" for row in self.rows)
        raise InputError(f'no row for base "{base}" and direction "{direction}"; there are: {have}')

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimate of every base and direction."""
        return tuple(Claim(row.estimate, row.base, row.direction) for row in self.rows)

    def changes(self, since: Result) -> tuple[Claim, ...]:
        """Return the paired differences from an earlier probe."""
        if not isinstance(since, ProbeResult):
            # Not `super()`: a dataclass with slots is another class than the one written here.
            return Result.changes(self, since)
        names = [str(result.provenance["model"]) for result in (since, self)]
        if names[0] == names[1]:
            names = [f"{names[0]} (earlier)", f"{names[1]} (later)"]
        choices = settings_of(self.provenance).to_dict()
        settings: CompareSettings = from_mapping(CompareSettings, choices)
        rows = compare_results(since, self, (names[0], names[1]), settings)
        return tuple(Claim(_change(row, self, since), row.base, row.direction) for row, _ in rows)

    def check(
        self,
        *,
        max: Max | None = None,
        base: str | Sequence[str] | None = None,
        direction: Direction | str | None = None,
        against: Result | str | Path | None = None,
    ) -> CheckResult:
        """Compare the result with a limit or an earlier result; see `lmprobe.check`."""
        return check(self, max=max, base=base, direction=direction, against=against)

    def tables(self) -> tuple[Table, ...]:
        """Return one table per direction."""
        return probe_tables(self)

    def page(self) -> Page:
        """Return the whole report."""
        return probe_page(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one line per base and direction; value = association + preference."""
        frame = frame_of(
            self.rows,
            base="base",
            direction="direction.value",
            attributes="attributes",
            value="value",
            low="interval.low",
            high="interval.high",
            confidence="interval.confidence",
            method="interval.method",
            verdict="verdict.value",
            corrected="corrected",
            strength="strength.value",
            association="association.value",
            preference="preference.value",
            template_sd="template_sd",
            absolute="absolute",
            undefined_pairs="undefined_pairs",
            candidate_mass="mean_mass",
            mass_ratio="mass_ratio",
        )
        frame["attributes"] = frame["attributes"].str.join(",")
        return frame.assign(perplexity=self.perplexity)

    def pairs(self) -> pd.DataFrame:
        """Return one line per base, direction, template, attribute and task."""
        import pandas as pd

        return pd.concat([_pairs(row, self.templates) for row in self.rows], ignore_index=True)

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the rows and the pairs, which are written as CSV."""
        return {"rows": self.to_frame(), "pairs": self.pairs()}

    def validate(self) -> None:
        """Refuse parts that do not fit together, so that no reader of the result has to look."""
        if not self.rows:
            raise ValueError("it has no rows")
        if len(self.families) != len(self.templates):
            raise ValueError(f"{len(self.templates)} templates, {len(self.families)} families")
        if len(self.turns) not in (0, len(self.templates)):
            raise ValueError(f"{len(self.templates)} templates, {len(self.turns)} turns")
        needed = {"model": str, "scorer": str, "templates": dict, "bases": dict, "versions": dict}
        for name, kind in needed.items():
            if not isinstance(self.provenance[name], kind):
                raise TypeError(f"provenance.{name} is {self.provenance[name]!r}")
        if lacking := {"name", "sha256"} - set(self.provenance["templates"]):
            raise ValueError(f"provenance.templates lacks {', '.join(sorted(lacking))}")
        keys = [(row.base, row.direction, row.attributes) for row in self.rows]
        if len(set(keys)) < len(keys):
            raise ValueError("several rows of one base and direction")
        for row in (*self.rows, *(margin.row for margin in self.margins)):
            row.check_shapes(len(self.templates))


def _change(row: ComparisonRow, later: ProbeResult, earlier: ProbeResult) -> Estimate:
    """Return the difference of one base and direction, as a check needs it."""
    own, other = (result.row(row.base, row.direction) for result in (later, earlier))
    same_words = (own.attributes, own.tasks) == (other.attributes, other.tasks)
    if same_words and np.allclose(own.cells, other.cells, rtol=0, atol=1e-9, equal_nan=True):
        # The same answers to the same questions: nothing is uncertain about their difference.
        interval = replace(row.interval, low=0.0, high=0.0, status=IntervalStatus.OK)
        verdict = decide(interval, obstacle=own.obstacle)
        return Estimate(0.0, interval, verdict, obstacle=own.obstacle)
    return row.estimate


def _pairs(row: ProbeRow, templates: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    shape = row.predicted.shape
    template, attribute, task = np.indices(shape).reshape(3, row.predicted.size)
    return pd.DataFrame(
        {
            "base": row.base,
            "direction": row.direction.value,
            "template": np.array(templates, dtype=object)[template],
            "attribute": np.array(row.attributes, dtype=object)[attribute],
            "task": np.array(row.tasks, dtype=object)[task],
            "predicted": row.predicted.ravel(),
            "base_rate": np.broadcast_to(row.base_rate, shape).ravel(),
            "lean": np.broadcast_to(row.lean, shape).ravel(),
            "amplification": row.cells.ravel(),
        }
    )
