"""Tallies of fractions are made in double precision; limits of weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.core.tally import checked_weight, tally
from lmprobe.errors import InputError

# A tenth is no number of single precision: 1e-9 would be lost.
TENTHS = np.array([[0.1, 0.9], [0.3, 0.7], [0.6, 0.2]])
WHOLE = np.array([[1, 0], [1, 1], [0, 1]])


@pytest.mark.parametrize("weight", [None, [0.1, 0.2, 0.4]])
@pytest.mark.parametrize(
    ("attributes", "tasks"), [(TENTHS, WHOLE), (WHOLE, TENTHS), (TENTHS, TENTHS), (WHOLE, WHOLE)]
)
def test_fractions_are_added_in_double_precision(
    attributes: np.ndarray, tasks: np.ndarray, weight: list[float] | None
) -> None:
    w = [1.0] * 3 if weight is None else weight
    found = tally(attributes, tasks, None if weight is None else np.array(weight))
    for a, t in np.ndindex(2, 2):
        both = math.fsum(w[i] * attributes[i, a] * tasks[i, t] for i in range(3))
        assert found.joint[a, t] == pytest.approx(both, rel=1e-14)
        assert found.attribute[a] == pytest.approx(np.dot(w, attributes[:, a]), rel=1e-14)
        assert found.task[t] == pytest.approx(np.dot(w, tasks[:, t]), rel=1e-14)
    assert found.total == pytest.approx(sum(w), rel=1e-14)


def test_both_have_the_same_rows() -> None:
    with pytest.raises(InputError, match="the attributes have 3 rows and the tasks have 2"):
        tally(WHOLE, WHOLE[:2])


@pytest.mark.parametrize("weight", [[0, 1], [0.25, 0.5], [3, 4.5]])
def test_weights_may_be_zero_or_small(weight: list[float]) -> None:
    found = checked_weight(weight, 2)
    assert found is not None
    assert found.tolist() == weight


@pytest.mark.parametrize("weight", [[1, np.inf], [np.nan, 1], [-1e-9, 1], [0, 0]])
def test_any_other_weight_is_refused_by_its_name(weight: list[float]) -> None:
    with pytest.raises(InputError, match="`train_weight` must be finite, not negative"):
        checked_weight(weight, 2, "train_weight")
