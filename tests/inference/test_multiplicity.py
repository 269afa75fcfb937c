"""Adjusted p-values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.inference.multiplicity import adjusted

P = np.array([0.04, 0.01, 0.4, 0.02])


def test_holm_multiplies_by_how_many_are_left() -> None:
    # 4 · 0.01, 3 · 0.02, 2 · 0.04, 1 · 0.4: each larger than the one before.
    assert adjusted(P, "holm") == pytest.approx([0.08, 0.04, 0.4, 0.06])
    # 3 · 0.02, then 2 · 0.025 which is smaller, and 0.3.
    assert adjusted(np.array([0.3, 0.025, 0.02]), "holm") == pytest.approx([0.3, 0.06, 0.06])


def test_no_p_value_is_above_one() -> None:
    assert adjusted(np.array([0.6, 0.9]), "holm").tolist() == [1.0, 1.0]


def test_benjamini_hochberg_divides_by_the_rank() -> None:
    # 4 · 0.01 / 1, 4 · 0.02 / 2, 4 · 0.04 / 3, 4 · 0.4 / 4.
    expected = [0.16 / 3, 0.04, 0.4, 0.04]
    assert adjusted(P, "benjamini-hochberg") == pytest.approx(expected)


@pytest.mark.parametrize("control", ["holm", "benjamini-hochberg"])
def test_what_is_undefined_is_no_test(control: str) -> None:
    found = adjusted(np.array([0.03, math.nan, 0.03]), control)
    assert math.isnan(found[1])
    assert found[[0, 2]].tolist() == ([0.06, 0.06] if control == "holm" else [0.03, 0.03])
    assert np.isnan(adjusted(np.array([math.nan]), control)).all()
    assert len(adjusted(np.array([]), control)) == 0


def test_an_unknown_control_is_named() -> None:
    with pytest.raises(InputError, match='no control called "fdr"'):
        adjusted(P, "fdr")
