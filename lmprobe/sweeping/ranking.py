"""Which models can be told apart: simultaneous paired intervals of every two of them.

All models of a sweep are measured on the same templates and tasks, so every difference is paired,
with the same draws (see `lmprobe.stats`). The intervals hold at once for all pairs of models and
all rows of the sweep (Bonferroni), so that the chance that any two equal models are separated
anywhere is at most 1 - confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmprobe.io.files import parse_json
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.models.checkpoint import TRUTH_FILE, TRUTH_SCHEMA
from lmprobe.probing.result import ProbeResult, ProbeRow
from lmprobe.results import Interval
from lmprobe.stats.comparison import SMALLEST
from lmprobe.stats.resampling import Replicates
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import Choices

NO_ASSOCIATION = "no association"
PLANTED = "planted"


def levels_of(result: ProbeResult, row: ProbeRow, models: Sequence[str]) -> dict[str, float]:
    """Return the levels of one base and direction, by name; the base itself is at zero."""
    levels = {}
    without = no_association(result, row)
    if without is not None:
        levels[NO_ASSOCIATION] = without
    planted = {_planted(model, row) for model in models}
    if len(planted) == 1 and (value := planted.pop()) is not None:
        levels[PLANTED] = value
    return levels


def no_association(result: ProbeResult, row: ProbeRow) -> float | None:
    """Return the value of a model that knows how common each word is and no link between them.

    Its table is the product of the base's margins. They follow from the two conditionals:
    P(a|t) / P(t|a) = P(a) / P(t).
    """
    by_direction = {one.direction: one.base_rate for one in result.rows if one.base == row.base}
    given_task = by_direction.get(Direction.TASK_TO_ATTRIBUTE)
    given_attribute = by_direction.get(Direction.ATTRIBUTE_TO_TASK)
    if given_task is None or given_attribute is None or given_task.shape != given_attribute.shape:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        if row.direction is Direction.TASK_TO_ATTRIBUTE:
            margin = _margin(given_task / given_attribute)
        else:
            margin = _margin((given_attribute / given_task).T)
    if margin is None:
        return None
    if row.direction is Direction.TASK_TO_ATTRIBUTE:
        margin = margin[:, None]
    cells = amplification(np.broadcast_to(margin, row.base_rate.shape), row.base_rate, row.lean)
    return float(defined_mean(cells))


def _margin(ratio: Floats) -> Floats | None:
    """Return P of the rows, from a table of P(row) / P(column); None where it is not defined."""
    whole = ~np.isnan(ratio).any(axis=0)
    if not whole.any():
        return None
    column = ratio[:, whole][:, 0]
    return np.asarray(column / column.sum())


def _planted(model: str, row: ProbeRow) -> float | None:
    """Return the amplification that a reference model's corpus has, if the model is one.

    The file lies in the model's folder, which may be anybody's: one of another form says nothing.
    """
    path = Path(model) / TRUTH_FILE
    try:
        known = parse_json(path.read_text(encoding="utf-8")) if path.is_file() else {}
        planted = known["planted_amplification"]
        if known["schema"] != TRUTH_SCHEMA or planted["base"] != row.base:
            return None
        if tuple(planted["attributes"]) != row.attributes:
            return None
        return float(planted["values"][row.direction.value])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """The models that answered one question: one template set, base and direction."""

    models: tuple[str, ...]
    tables: tuple[RowTables, ...]
    """One per model, on the same templates, attributes and tasks."""

    @property
    def numbers(self) -> list[Replicates]:
        """The value of each model with its resamples, the same draws for all."""
        return [table.replicates(value_alone=True)["value"] for table in self.tables]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The order that the data allow."""

    models: tuple[str, ...]
    """By value, lowest first."""
    separated: NDArray[np.bool_]
    """(M, M): whether two models, in the order of `models`, can be told apart."""

    @property
    def ranks(self) -> tuple[tuple[int, int], ...]:
        """The best and the worst rank that each model may have, 1 the lowest value."""
        count = len(self.models)
        return tuple(
            (1 + int(self.separated[i, :i].sum()), count - int(self.separated[i, i + 1 :].sum()))
            for i in range(count)
        )

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of models of which no two can be told apart, lowest first.

        Any two models that are not separated share a group. Neighbours need not: a model that
        varies much may be like two others that differ from each other.
        """
        together = ~self.separated
        covered = np.zeros_like(together)
        groups: list[list[int]] = []
        for first in range(len(self.models)):
            # From the far end, so that the first group of a model is as long as it can be.
            for last in reversed(range(first, len(self.models))):
                if together[first, last] and not covered[first, last]:
                    group = _completed([first, last], together)
                    covered[np.ix_(group, group)] = True
                    groups.append(group)
        return tuple(tuple(self.models[number] for number in group) for group in groups)


def _completed(members: list[int], together: NDArray[np.bool_]) -> list[int]:
    """Return the members with every model, lowest first, that is together with all so far."""
    group = set(members)
    for number in range(len(together)):
        if together[number, list(group)].all():
            group.add(number)
    return sorted(group)


def rank(contests: Sequence[Contest], choices: Choices) -> tuple[Ranking, ...]:
    """Return one ranking per contest; their claims hold at once over all contests."""
    pairs = sum(len(contest.models) * (len(contest.models) - 1) // 2 for contest in contests)
    each = 1 - (1 - choices.confidence) / max(pairs, 1)
    return tuple(_ranking(contest, each) for contest in contests)


def bands(contests: Sequence[Contest], choices: Choices) -> tuple[tuple[Interval, ...], ...]:
    """Return simultaneous intervals of every value of each contest: a band over checkpoints."""
    found = []
    for contest in contests:
        numbers = contest.numbers
        each, bound = choices.each(numbers), contest.tables[0].bound
        found.append(tuple(choices.interval(number, each, bound) for number in numbers))
    return tuple(found)


def _ranking(contest: Contest, confidence: float) -> Ranking:
    numbers = contest.numbers
    order = np.argsort([number.value for number in numbers], kind="stable")
    separated = np.zeros((len(order), len(order)), dtype=bool)
    for i, first in enumerate(order):
        for j, second in enumerate(order[:i]):
            difference = numbers[first].combined(1.0, numbers[second], -1.0)
            ends = difference.spread().interval(confidence)
            apart = ends.bounded and 0.0 not in ends and difference.value >= SMALLEST
            separated[i, j] = separated[j, i] = apart
    return Ranking(tuple(contest.models[number] for number in order), separated)
