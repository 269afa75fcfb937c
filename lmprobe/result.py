"""What a probe found: one row per base and direction, with all it was made of.

A row keeps the tables (model's probabilities, base rates, lean) and derives its numbers
from them, so a saved result can be read back, checked and drawn without the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe.association import DIRECTIONS, Direction
from lmprobe.errors import DataFileError
from lmprobe.intervals.interval import Interval
from lmprobe.intervals.probe import Robustness, robustness, verdict
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.result_file import SCHEMA, read_document
from lmprobe.tally import Floats

if TYPE_CHECKING:
    import pandas as pd

LIMITS = (
    "It compares the model's guesses at a masked word with base rates that you chose: another "
    "base gives another answer, and none of them is neutral.",
    "The sentences are a sample of one kind of sentence; the interval speaks of sentences and "
    "words like these, not of people.",
    "It is intrinsic bias. It does not show harm in a product built on the model, and a value "
    "near zero does not show that such a product is fair.",
    "Compare values within one direction only: task->attribute and attribute->task have "
    "different scales.",
)
"""What this measures and what it does not; every report carries it."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbeRow:
    """One base in one direction: (K, A, T) guesses against (A, T) base rates and lean."""

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
    notes: tuple[str, ...] = ()

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
    def verdict(self) -> str:
        """What the interval allows one to say."""
        return verdict(self.interval)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "base": self.base,
            "attributes": list(self.attributes),
            "direction": self.direction,
            "value": self.value,
            "template_sd": self.template_sd,
            "interval": self.interval.to_dict(),
            "verdict": self.verdict,
            "undefined_pairs": self.undefined_pairs,
            "per_template": self.per_template.tolist(),
            "absolute": self.absolute,
            "robustness": self.robustness.to_dict(),
            "lean_source": self.lean_source,
            "lean_weighting": self.lean_weighting,
            "dropped_attributes": list(self.dropped_attributes),
            "dropped_tasks": list(self.dropped_tasks),
            "notes": list(self.notes),
            "candidate_mass": self.candidate_mass.tolist(),
            "tasks": list(self.tasks),
            "base_rate": _nullable(self.base_rate),
            "lean": _nullable(self.lean),
            "predicted": self.predicted.tolist(),
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any], families: tuple[str, ...]) -> ProbeRow:
        """Read the JSON form."""
        ends = row["interval"]
        return cls(
            base=row["base"],
            direction=row["direction"],
            attributes=tuple(row["attributes"]),
            tasks=tuple(row["tasks"]),
            predicted=np.array(row["predicted"], dtype=np.float64),
            base_rate=np.array(row["base_rate"], dtype=np.float64),
            lean=np.array(row["lean"], dtype=np.float64),
            interval=Interval(
                float("-inf") if ends["low"] is None else float(ends["low"]),
                float("inf") if ends["high"] is None else float(ends["high"]),
                float(ends["confidence"]),
                ends["method"],
            ),
            candidate_mass=np.array(row["candidate_mass"], dtype=np.float64),
            lean_source=row["lean_source"],
            lean_weighting=row["lean_weighting"],
            families=families,
            dropped_attributes=tuple(row["dropped_attributes"]),
            dropped_tasks=tuple(row["dropped_tasks"]),
            notes=tuple(row["notes"]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ProbeResult:
    """Every base in both directions, with the provenance of all that went in."""

    rows: tuple[ProbeRow, ...]
    templates: tuple[str, ...]
    families: tuple[str, ...]
    provenance: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    split_words: Mapping[str, int] = field(default_factory=dict)
    """The words that the tokenizer splits, and into how many pieces."""

    def row(self, base: str, direction: Direction) -> ProbeRow:
        """Return the row of that base and direction."""
        for row in self.rows:
            if row.base == base and row.direction == direction:
                return row
        have = ", ".join(f"{row.base} {row.direction}" for row in self.rows)
        raise DataFileError(
            f'no row for base "{base}" and direction "{direction}"; there are: {have}'
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one line per base and direction."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "base": row.base,
                    "direction": row.direction,
                    "attributes": ",".join(row.attributes),
                    "value": row.value,
                    "low": row.interval.low,
                    "high": row.interval.high,
                    "confidence": row.interval.confidence,
                    "method": row.interval.method,
                    "verdict": row.verdict,
                    "template_sd": row.template_sd,
                    "absolute": row.absolute,
                    "undefined_pairs": row.undefined_pairs,
                }
                for row in self.rows
            ]
        )

    def pairs(self) -> pd.DataFrame:
        """Return one line per base, direction, template, attribute and task."""
        import pandas as pd

        return pd.concat([_pairs(row, self.templates) for row in self.rows], ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, schema `lmprobe.result/1`."""
        return {
            "schema": SCHEMA,
            "rows": [row.to_dict() for row in self.rows],
            "templates": list(self.templates),
            "families": list(self.families),
            "split_words": dict(self.split_words),
            "notes": list(self.notes),
            "limits": list(LIMITS),
            "provenance": dict(self.provenance),
        }

    def to_json(self) -> str:
        """Return the JSON text; the same probe with the same seed gives the same bytes."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text_or_path: str | Path) -> ProbeResult:
        """Read a result back from its JSON text, from its file, or from the folder of a run."""
        document, where = read_document(text_or_path)
        try:
            families = tuple(document["families"])
            result = cls(
                rows=tuple(ProbeRow.from_dict(row, families) for row in document["rows"]),
                templates=tuple(document["templates"]),
                families=families,
                provenance=document["provenance"],
                notes=tuple(document["notes"]),
                split_words=dict(document["split_words"]),
            )
            _check(result)
        except KeyError as problem:
            raise DataFileError(f"{where}: damaged result, {problem} is missing") from problem
        except (TypeError, ValueError) as problem:
            raise DataFileError(f"{where}: damaged result, {problem}") from problem
        return result


def _check(result: ProbeResult) -> None:
    """Refuse a result whose parts do not fit together, so that no reader of it has to look."""
    if not result.rows:
        raise ValueError("it has no rows")
    if len(result.families) != len(result.templates):
        raise ValueError(f"{len(result.templates)} templates, {len(result.families)} families")
    needed = {"model": str, "scorer": str, "templates": dict, "bases": dict, "versions": dict}
    for name, kind in needed.items():
        if not isinstance(result.provenance[name], kind):
            raise TypeError(f"provenance.{name} is {result.provenance[name]!r}")
    if lacking := {"name", "sha256"} - set(result.provenance["templates"]):
        raise ValueError(f"provenance.templates lacks {', '.join(sorted(lacking))}")
    for row in result.rows:
        where = f"{row.base}, {row.direction}"
        if row.direction not in DIRECTIONS:
            raise ValueError(f"{where}: no such direction")
        templates, pair = len(result.templates), (len(row.attributes), len(row.tasks))
        shapes = {
            "predicted": (templates, *pair),
            "base_rate": pair,
            "lean": pair,
            "candidate_mass": (templates,),
        }
        for name, shape in shapes.items():
            if getattr(row, name).shape != shape:
                raise ValueError(f"{where}: {name} is {getattr(row, name).shape}, not {shape}")
        if not np.isfinite(row.predicted).all() or np.isnan(row.by_pair).all():
            raise ValueError(f"{where}: its numbers are undefined")


def _nullable(table: Floats) -> list[list[float | None]]:
    return [[None if np.isnan(cell) else float(cell) for cell in row] for row in table]


def _pairs(row: ProbeRow, templates: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    shape = row.predicted.shape
    template, attribute, task = np.indices(shape).reshape(3, -1)
    return pd.DataFrame(
        {
            "base": row.base,
            "direction": row.direction,
            "template": np.array(templates, dtype=object)[template],
            "attribute": np.array(row.attributes, dtype=object)[attribute],
            "task": np.array(row.tasks, dtype=object)[task],
            "predicted": row.predicted.ravel(),
            "base_rate": np.broadcast_to(row.base_rate, shape).ravel(),
            "lean": np.broadcast_to(row.lean, shape).ravel(),
            "amplification": row.cells.ravel(),
        }
    )
