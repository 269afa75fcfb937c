"""One base in one direction: the tables that a probe compared, and the numbers they give.

A row keeps the tables (model's probabilities, base rates, lean) and derives its numbers
from them, so a saved result can be read back, checked and drawn without the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.results import Estimate, Interval, Note, NoteKind, Verdict, decide
from lmprobe.results.estimate import nullable
from lmprobe.stats.base_uncertainty import is_enough
from lmprobe.stats.probe import Robustness, robustness
from lmprobe.stats.unevenness import Unevenness

# Half precision adds up to one no better than this.
_ROUNDING = 1e-2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProbeRow:
    """(K, A, T) guesses against (A, T) base rates and lean, with what may be said of them."""

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
    families: tuple[str, ...]
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
    informed: bool = True
    """Whether the candidates had more probability than random words."""

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
    def robustness(self) -> Robustness:
        """How much the value depends on the choice of templates."""
        return robustness(self.cells, self.families)

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
        if self.unevenness is not None and self.informed:
            return self.unevenness.verdict
        return row_verdict(
            self.interval,
            self.foreign_lean,
            informed=self.informed,
            reliable=is_enough(self.base_reliability),
        )

    @property
    def estimate(self) -> Estimate:
        """The value with its uncertainty, as every job has it."""
        return Estimate(
            self.value, self.interval, self.verdict, self.corrected, self.base_bias, self.notes
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

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "base": self.base,
            "attributes": list(self.attributes),
            "direction": self.direction,
            "value": nullable(self.value),
            "template_sd": nullable(self.template_sd),
            "interval": self.interval.to_dict(),
            "verdict": self.verdict,
            "corrected": nullable(self.corrected),
            "base_bias": nullable(self.base_bias),
            "base_reliability": nullable(self.base_reliability),
            "association": self.association and self.association.to_dict(),
            "preference": self.preference and self.preference.to_dict(),
            "undefined_pairs": self.undefined_pairs,
            "per_template": [nullable(value) for value in self.per_template],
            "absolute": self.absolute,
            "unevenness": self.unevenness and self.unevenness.to_dict(),
            "robustness": None if self.unevenness else self.robustness.to_dict(),
            "lean_source": self.lean_source,
            "lean_weighting": self.lean_weighting,
            "dropped_attributes": list(self.dropped_attributes),
            "dropped_tasks": list(self.dropped_tasks),
            "notes": [note.to_dict() for note in self.notes],
            "candidate_mass": self.candidate_mass.tolist(),
            "mass_ratio": nullable(self.mass_ratio),
            "tasks": list(self.tasks),
            "base_rate": _nullable_table(self.base_rate),
            "lean": _nullable_table(self.lean),
            "predicted": self.predicted.tolist(),
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any], families: tuple[str, ...]) -> ProbeRow:
        """Read the JSON form; version 1 had neither the parts nor the corrections."""
        return cls(
            base=row["base"],
            direction=Direction(row["direction"]),
            attributes=tuple(row["attributes"]),
            tasks=tuple(row["tasks"]),
            predicted=np.array(row["predicted"], dtype=np.float64),
            base_rate=np.array(row["base_rate"], dtype=np.float64),
            lean=np.array(row["lean"], dtype=np.float64),
            interval=Interval.from_dict(row["interval"]),
            candidate_mass=np.array(row["candidate_mass"], dtype=np.float64),
            lean_source=row["lean_source"],
            lean_weighting=row["lean_weighting"],
            families=families,
            dropped_attributes=tuple(row["dropped_attributes"]),
            dropped_tasks=tuple(row["dropped_tasks"]),
            notes=tuple(Note.from_dict(note) for note in row["notes"]),
            corrected=_optional(row.get("corrected"), float),
            base_bias=_optional(row.get("base_bias"), float),
            base_reliability=_optional(row.get("base_reliability"), float),
            association=_optional(row.get("association"), Estimate.from_dict),
            preference=_optional(row.get("preference"), Estimate.from_dict),
            unevenness=_optional(row.get("unevenness"), Unevenness.from_dict),
            mass_ratio=_optional(row.get("mass_ratio"), float),
            informed=row["verdict"] != Verdict.UNINFORMED,
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
        ):
            table = getattr(self, name)
            if table.shape != shape:
                raise ValueError(f"{where}: {name} is {table.shape}, not {shape}")
            if (table < low - _ROUNDING).any() or (table > high + _ROUNDING).any():
                raise ValueError(f"{where}: a number of {name} is not between {low} and {high}")
        if not np.isfinite(self.predicted).all() or (
            np.isnan(self.by_pair).all() and self.unevenness is None
        ):
            raise ValueError(f"{where}: its numbers are undefined")


def row_verdict(
    interval: Interval, foreign_lean: bool, *, informed: bool = True, reliable: bool = True
) -> Verdict:
    """Return what the interval allows one to say of a row, or of a part of it.

    With a lean from elsewhere the model can follow or oppose that lean; whether it amplifies
    the base is not what was measured. A base too small to show its lean decides nothing.
    """
    if not informed:
        return Verdict.UNINFORMED
    if not reliable:
        return Verdict.UNDECIDED
    if foreign_lean:
        return decide(interval, above=Verdict.FOLLOWS, below=Verdict.OPPOSES)
    return decide(interval)


def _nullable_table(table: Floats) -> list[list[float | None]]:
    return [[nullable(cell) for cell in row] for row in table]


def _optional(value: Any, read: Any) -> Any:
    return None if value is None else read(value)
