"""Means of families and tasks, against a loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.inference.units import unit_task_means

CELLS = np.random.default_rng(0).normal(size=(5, 2, 3))


def test_each_template_is_a_unit_without_families() -> None:
    expected = [[CELLS[k, :, t].mean() for t in range(3)] for k in range(5)]
    assert unit_task_means(CELLS, None) == pytest.approx(np.array(expected))


def test_a_family_is_the_mean_of_its_templates() -> None:
    families = ["b", "a", "b", "a", "c"]
    members = {"a": [1, 3], "b": [0, 2], "c": [4]}
    expected = [
        [np.mean([CELLS[k, a, t] for k in members[name] for a in range(2)]) for t in range(3)]
        for name in "abc"
    ]
    assert unit_task_means(CELLS, families) == pytest.approx(np.array(expected))


def test_only_a_unit_without_any_defined_cell_is_left_out() -> None:
    cells = CELLS.copy()
    cells[0, 1, 2] = math.nan
    cells[1, :, 0] = math.nan
    cells[3] = math.nan
    found = unit_task_means(cells, None)
    assert found.shape == (4, 3)
    # The mean over what is defined.
    assert found[0, 2] == pytest.approx(cells[0, 0, 2])
    assert np.argwhere(np.isnan(found)).tolist() == [[1, 0]]
