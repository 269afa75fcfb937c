"""What a curve over training steps is compared with: no association, and what was planted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.io.documents import parse_json
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.models.checkpoint import TRUTH_FILE, TRUTH_SCHEMA
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.row import ProbeRow

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
