"""One row of a probe: what it derives from its tables, what it refuses, its verdict."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.probing.result import ProbeRow
from lmprobe.results import Interval, Obstacle, Verdict
from lmprobe.stats.verdicts import Unevenness
from tests.probing.made_rows import made_row

NAN = math.nan
UNEVEN = Unevenness(0.2, Interval(0.1, 0.3, 0.95, "bootstrap-deviation"), 0.01)
# Two templates, two groups, three tasks; the last task is undefined.
PREDICTED = np.array([[[0.2, 0.7, 0.5], [0.8, 0.3, 0.5]], [[0.4, 0.9, 0.5], [0.6, 0.1, 0.5]]])


def made(**changes: Any) -> ProbeRow:
    row = made_row(
        np.zeros((2, 3)),
        [[0.4, 0.6, NAN], [0.6, 0.4, NAN]],
        lean=np.array([[-1.0, 1.0, 0.0], [1.0, -1.0, 0.0]]),
    )
    return replace(row, **({"predicted": PREDICTED} | changes))


def test_the_numbers_of_a_row_by_hand() -> None:
    row = made()
    # Template k: +0.2, +0.1 for he, the same for she; template l: 0, +0.3.
    assert row.per_template == pytest.approx([0.15, 0.15])
    assert row.value == pytest.approx(0.15)
    assert row.template_sd == pytest.approx(0.0)
    np.testing.assert_allclose(row.by_pair, [[0.1, 0.2, NAN], [0.1, 0.2, NAN]])
    assert row.undefined_pairs == 2
    assert row.absolute == pytest.approx(0.15)
    other = made(predicted=PREDICTED * [[[1.0]], [[0.5]]])
    # Template l: he 0.2 for nurse and 0.45 for cook, she 0.3 and 0.05.
    mean = (0.2 - 0.15 - 0.3 + 0.35) / 4
    assert other.per_template == pytest.approx([0.15, mean])
    assert other.template_sd == pytest.approx((0.15 - mean) / 2)
    assert repr(row) == (
        "<ProbeRow labor, task->attribute: +0.1500, [+0.1000, +0.3000], amplifies>"
    )


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Verdict.AMPLIFIES),
        ({"interval": Interval(-0.2, -0.1, 0.95, "bootstrap")}, Verdict.REDUCES),
        ({"interval": Interval(-0.2, 0.1, 0.95, "bootstrap")}, Verdict.UNDECIDED),
        ({"interval": Interval.undefined(0.95, "bootstrap")}, Verdict.UNDECIDED),
        ({"lean_source": "winobias"}, Verdict.FOLLOWS),
        (
            {"lean_source": "winobias", "interval": Interval(-0.2, -0.1, 0.95, "bootstrap")},
            Verdict.OPPOSES,
        ),
        ({"obstacle": Obstacle.UNINFORMED}, Verdict.UNINFORMED),
        ({"obstacle": Obstacle.SMALL_BASE}, Verdict.UNDECIDED),
        ({"unevenness": UNEVEN, "obstacle": Obstacle.NO_LEAN}, Verdict.UNEVEN),
        (
            {"unevenness": replace(UNEVEN, p_value=0.2), "obstacle": Obstacle.NO_LEAN},
            Verdict.UNDECIDED,
        ),
        ({"unevenness": UNEVEN, "obstacle": Obstacle.UNINFORMED}, Verdict.UNINFORMED),
    ],
)
def test_the_verdict_of_a_row(changes: dict[str, Any], verdict: Verdict) -> None:
    assert made(**changes).verdict is verdict


def with_cell(name: str, value: float) -> ProbeRow:
    table = getattr(made(), name).copy()
    table[(0,) * table.ndim] = value
    return made(**{name: table})


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("predicted", -0.01, 1.01),
        ("base_rate", -0.01, 1.01),
        ("lean", -1.01, 1.01),
        ("candidate_mass", -0.01, 40.0),
    ],
)
def test_numbers_out_of_range_are_refused_but_for_rounding(
    name: str, least: float, most: float
) -> None:
    """Words of several pieces are asked for with as many masks: their mass may pass one."""
    for fine in (least, most):
        with_cell(name, fine).check_shapes(2)
    wrong = [least - 0.001, -9.0] + ([] if name == "candidate_mass" else [most + 0.001, 9.0])
    for value in wrong:
        with pytest.raises(ValueError, match=f"a number of {name} is not between"):
            with_cell(name, value).check_shapes(2)


def test_tables_that_do_not_fit_or_have_no_number_are_refused() -> None:
    made().check_shapes(2)
    with pytest.raises(ValueError, match=r"predicted is \(2, 2, 3\), not \(3, 2, 3\)"):
        made().check_shapes(3)
    for name in ("base_rate", "lean"):
        with pytest.raises(ValueError, match=f"{name} is "):
            made(**{name: np.zeros((2, 2))}).check_shapes(2)
    nothing = made(lean=np.full((2, 3), NAN))
    for row in (with_cell("predicted", NAN), replace(with_cell("predicted", NAN),
                unevenness=UNEVEN), nothing):  # fmt: skip
        with pytest.raises(ValueError, match="its numbers are undefined"):
            row.check_shapes(2)
    replace(nothing, unevenness=UNEVEN).check_shapes(2)
