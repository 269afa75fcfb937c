"""How many templates a claim about a probe needs, from a pilot probe.

The value of a probe is a mean over templates crossed with tasks. Its variance has three
parts, which a two-way analysis of variance tells apart:

    templates / K  +  tasks / T  +  rest / (K T)

More templates shrink the first and the last; no number of templates shrinks the second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.inference.smallest import smallest
from lmprobe.inference.units import unit_task_means
from lmprobe.intervals.crossed import MeanSquares
from lmprobe.intervals.method import checked_confidence


@dataclass(frozen=True, slots=True)
class Components:
    """The parts of a probe's variance, and how many units the pilot had of each."""

    templates: float
    tasks: float
    rest: float
    n_templates: int
    """Templates, or paraphrase families where the set has them."""
    n_tasks: int

    def halfwidth(self, n_templates: float, n_tasks: float, confidence: float) -> float:
        """Return the half-width that such a probe may expect, by the normal law."""
        from scipy import special

        variance = self.templates / n_templates + self.tasks / n_tasks
        variance += self.rest / (n_templates * n_tasks)
        return float(special.ndtri((1 + confidence) / 2)) * math.sqrt(variance)


@dataclass(frozen=True, slots=True)
class TemplatePlan:
    """What a claim of `effect` needs; None where no number of that kind suffices alone."""

    effect: float
    confidence: float
    components: Components
    templates: int | None
    """With the pilot's tasks."""
    tasks: int | None
    """With the pilot's templates."""
    fixed_tasks: int
    """Templates, when the pilot's tasks are all that one wants to speak of."""
    halfwidth: float
    """What the pilot itself may expect."""


def variance_components(cells: Floats, families: Sequence[str] | None = None) -> Components:
    """Estimate the parts of the variance from a pilot's cells (K, A, T), NaN undefined."""
    table = unit_task_means(cells, families)
    table = table[:, ~np.isnan(table).any(axis=0)]
    k, t = table.shape
    if k < 2 or t < 2:
        raise InputError(
            "a pilot needs at least two templates (or families) and two tasks that are defined "
            f"in all of them: found {k} and {t}"
        )
    found = MeanSquares.of(table)
    # A part that comes out negative is one that the pilot cannot tell from none.
    return Components(
        templates=max(0.0, (found.rows - found.rest) / t),
        tasks=max(0.0, (found.columns - found.rest) / k),
        rest=found.rest,
        n_templates=k,
        n_tasks=t,
    )


def templates_needed(
    cells: Floats,
    effect: float,
    *,
    families: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> TemplatePlan:
    """Return how many templates (or families) a claim of `effect` needs, from a pilot."""
    checked_confidence(confidence)
    if not effect > 0:
        raise InputError(f"`effect` must be positive: found {effect}")
    parts = variance_components(cells, families)
    fixed = Components(parts.templates, 0.0, parts.rest, parts.n_templates, parts.n_tasks)
    by_templates = _smallest(lambda n: parts.halfwidth(n, parts.n_tasks, confidence) < effect)
    by_tasks = _smallest(lambda n: parts.halfwidth(parts.n_templates, n, confidence) < effect)
    alone = _smallest(lambda n: fixed.halfwidth(n, fixed.n_tasks, confidence) < effect)
    assert alone is not None
    expected = parts.halfwidth(parts.n_templates, parts.n_tasks, confidence)
    return TemplatePlan(effect, confidence, parts, by_templates, by_tasks, alone, expected)


def _smallest(enough: Callable[[float], bool]) -> int | None:
    """Return the smallest n from 2 that is enough, or None where none is."""
    if not enough(math.inf):
        return None
    found = smallest(enough)
    if found is None:
        raise InputError("no number is large enough to claim that; plan for a larger effect")
    return found
