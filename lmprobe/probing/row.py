"""One base in one direction: the tables that a probe compared, and the numbers they give.

A row keeps the tables (model's probabilities, base rates, lean) and derives its numbers
from them, so a saved result can be read back, checked and drawn without the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np

from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction, LeanWeighting
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.results import Estimate, Interval, Note, NoteKind, Obstacle, Verdict, json_field
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.unevenness import Unevenness
from lmprobe.stats.verdicts import Robustness, row_verdict

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
        "base_errors", "base_rate", "lean", "predicted",
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
    lean_weighting: str
    families: tuple[str, ...] = json_field(inherited=True)
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
            np.log(np.maximum(self.predicted, np.finfo(np.float64).tiny)),
            base,
            self.families,
            self.tasks,
            self.task_units or self.tasks,
            cast(LeanWeighting, self.lean_weighting),
            lean,
            self.counted,
            self.base_errors,
            seed,
        )

    def __repr__(self) -> str:
        """Return the row in one line."""
        if self.unevenness is not None:
            size = f"absolute {self.absolute:.4f}"
            return f"<ProbeRow {self.base}, {self.direction}: {size}, {self.verdict}>"
        return (
            f"<ProbeRow {self.base}, {self.direction}: {self.value:+.4f}, "
            f"[{self.interval.low:+.4f}, {self.interval.high:+.4f}], {self.verdict}>"
        )

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
        if not np.isfinite(self.predicted).all() or (
            np.isnan(self.by_pair).all() and self.unevenness is None
        ):
            raise ValueError(f"{where}: its numbers are undefined")
