"""Which way a world leans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS
from lmprobe.errors import InputError
from lmprobe.metrics.lean import lean, lean_of


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=5),
    st.lists(st.integers(1, 50), min_size=1, max_size=9),
)
def test_independent_tables_lean_nowhere(rows: list[int], columns: list[int]) -> None:
    labels = [str(n) for n in range(len(rows))], [str(n) for n in range(len(columns))]
    world = Association.from_counts(np.outer(rows, columns), *labels)
    for direction in DIRECTIONS:
        assert not lean(world, direction).any()


def test_more_than_chance_leans_up() -> None:
    world = Association.from_counts([[30, 10], [10, 30]], ["woman", "man"], ["paint", "not"])
    for weighting in ("joint", "paper"):
        found = lean(world, "task->attribute", weighting)
        assert found.tolist() == [[1, -1], [-1, 1]]


def test_the_weightings_differ_where_tasks_differ_in_size() -> None:
    # P(she) is 47/130 over people, and 0.43 as the plain average of 0.1, 0.4 and 0.8.
    world = Association.from_counts([[3, 36, 8], [27, 54, 2]], ["she", "he"], ["a", "b", "c"])
    assert lean(world, "task->attribute", "joint")[0].tolist() == [-1, 1, 1]
    assert lean(world, "task->attribute", "paper")[0].tolist() == [-1, -1, 1]


def test_leading_axes_are_kept() -> None:
    joint = np.array([[[0.5, 0.0], [0.0, 0.5]]] * 3)
    assert lean_of(joint, joint.sum(axis=2), joint.sum(axis=1)).shape == (3, 2, 2)


def test_an_unknown_weighting() -> None:
    world = Association.from_counts([[1]], ["a"], ["t"])
    with pytest.raises(InputError, match='did you mean "paper"'):
        lean(world, "task->attribute", "papers")  # type: ignore[arg-type]
