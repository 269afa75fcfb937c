"""Compares two models on the same templates, tasks and base: paired, always.

Every cell of one model has its twin in the other, so what is resampled and tested is the
difference of the twins. An unpaired test would count the spread over templates twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmprobe.association import Direction
from lmprobe.errors import InputError
from lmprobe.inference.permutation import adjusted, sign_flip_p_value
from lmprobe.inference.units import unit_sums, unit_task_means
from lmprobe.intervals.interval import Interval
from lmprobe.intervals.method import checked_confidence
from lmprobe.intervals.probe import CellTable, probe_interval
from lmprobe.metrics.directional import defined_mean
from lmprobe.tally import Floats


@dataclass(frozen=True, slots=True)
class Moved:
    """How far one task moved from the first model to the second."""

    task: str
    difference: float
    p_value: float
    """Of the sign-flip test over templates (or families); NaN where the task is undefined."""
    p_holm: float
    p_benjamini_hochberg: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second model minus the first, in one direction against one base."""

    first: str
    second: str
    base: str
    direction: Direction
    values: tuple[float, float]
    difference: float
    """Of the values: positive where the second amplifies more."""
    interval: Interval
    p_templates: float
    """Sign-flip test over templates (or families): would other templates say the same?"""
    p_tasks: float
    """Sign-flip test over tasks: would other tasks say the same?"""
    tasks: tuple[Moved, ...]
    notes: tuple[str, ...] = ()

    @property
    def p_value(self) -> float:
        """The larger of the two: a claim must hold for other templates and other tasks."""
        return max(self.p_templates, self.p_tasks)

    @property
    def verdict(self) -> str:
        """What the interval allows to be said."""
        if self.interval.low > 0:
            return f"{self.second} amplifies more"
        if self.interval.high < 0:
            return f"{self.second} amplifies less"
        return "not enough evidence either way"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "first": self.first,
            "second": self.second,
            "base": self.base,
            "direction": self.direction,
            "values": list(self.values),
            "difference": self.difference,
            "interval": self.interval.to_dict(),
            "verdict": self.verdict,
            "p_value": self.p_value,
            "p_templates": self.p_templates,
            "p_tasks": self.p_tasks,
            "tasks": [
                {
                    "task": one.task,
                    "difference": one.difference,
                    "p_value": one.p_value,
                    "p_holm": one.p_holm,
                    "p_benjamini_hochberg": one.p_benjamini_hochberg,
                }
                for one in self.tasks
            ],
            "notes": list(self.notes),
        }


def compare_cells(
    first: Floats,
    second: Floats,
    *,
    names: tuple[str, str],
    base: str,
    direction: Direction,
    tasks: Sequence[str],
    families: Sequence[str] | None = None,
    method: str = "bootstrap",
    resample: str = "both",
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> Comparison:
    """Compare the amplification cells (K, A, T) of two models on the same words and templates."""
    checked_confidence(confidence)
    if first.shape != second.shape:
        raise InputError(
            f"paired cells must have one shape: found {first.shape} and {second.shape}"
        )
    cells = second - first
    found, notes = probe_interval(
        cells, method=method, confidence=confidence, rng=rng, families=families, resample=resample
    )
    # A pair that one model lacks is in neither value, or the values would not differ by
    # the difference.
    paired = [np.where(np.isnan(cells), np.nan, one) for one in (first, second)]
    values = [float(CellTable.of(one, families).by_template.mean()) for one in paired]
    by_unit = unit_task_means(cells, families)
    task_means = np.asarray(defined_mean(cells, axis=(0, 1)))
    more = () if len(by_unit) >= _ENOUGH else (_too_few(len(by_unit)),)
    return Comparison(
        first=names[0],
        second=names[1],
        base=base,
        direction=direction,
        values=(values[0], values[1]),
        difference=values[1] - values[0],
        interval=found,
        p_templates=float(sign_flip_p_value(unit_sums(cells, families), rng)),
        p_tasks=float(sign_flip_p_value(task_means[~np.isnan(task_means)], rng)),
        tasks=_moved(by_unit, task_means, tasks, rng),
        notes=(*notes, *more),
    )


# Six sign flips are the first that can reach 0.05: 2 / 2**6.
_ENOUGH = 6


def _too_few(units: int) -> str:
    return (
        f"with {units} templates or families the permutation test over them cannot go below "
        f"{2 / 2**units:.2g}"
    )


def _moved(
    by_unit: Floats, means: Floats, tasks: Sequence[str], rng: np.random.Generator
) -> tuple[Moved, ...]:
    """Return every task with its test, controlled over all tasks."""
    p = np.full(len(tasks), np.nan)
    whole = ~np.isnan(by_unit).any(axis=0)
    if whole.any():
        p[whole] = sign_flip_p_value(by_unit[:, whole], rng)
    holm, bh = adjusted(p, "holm"), adjusted(p, "benjamini-hochberg")
    columns = zip(tasks, means, p, holm, bh, strict=True)
    rows = [Moved(str(task), *(float(one) for one in numbers)) for task, *numbers in columns]
    size = np.where(np.isnan(means), -1.0, np.abs(means))
    return tuple(rows[number] for number in np.argsort(-size, kind="stable"))
