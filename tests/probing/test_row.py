"""One row of a probe: what it derives from its tables, what it refuses, its verdict."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS
from lmprobe.inference.unevenness import Unevenness
from lmprobe.probing.row import ProbeRow, row_verdict
from lmprobe.results import Estimate, Interval, Verdict

FORWARD, BACKWARD = DIRECTIONS
NAN = math.nan
ABOVE = Interval(0.1, 0.3, 0.95, "t")
UNEVEN = Unevenness(0.2, Interval(0.1, 0.3, 0.95, "bootstrap-deviation"), 0.01)
# Two templates, two groups, three tasks; the last task is undefined.
PREDICTED = np.array([[[0.2, 0.7, 0.5], [0.8, 0.3, 0.5]], [[0.4, 0.9, 0.5], [0.6, 0.1, 0.5]]])


def made(**changes: Any) -> ProbeRow:
    row = ProbeRow(
        base="labor",
        direction=FORWARD,
        attributes=("he", "she"),
        tasks=("nurse", "cook", "vet"),
        predicted=PREDICTED,
        base_rate=np.array([[0.4, 0.6, NAN], [0.6, 0.4, NAN]]),
        lean=np.array([[-1.0, 1.0, 0.0], [1.0, -1.0, 0.0]]),
        interval=ABOVE,
        candidate_mass=np.array([0.5, 0.7]),
        lean_source="labor",
        lean_weighting="joint",
        families=("k", "l"),
    )
    return replace(row, **changes)


def test_the_numbers_of_a_row_by_hand() -> None:
    row = made()
    # Template k: +0.2, +0.1 for he, the same for she; template l: 0, +0.3.
    assert row.per_template == pytest.approx([0.15, 0.15])
    assert row.value == pytest.approx(0.15)
    assert row.template_sd == pytest.approx(0.0)
    by_pair = np.array([[0.1, 0.2, NAN], [0.1, 0.2, NAN]])
    np.testing.assert_allclose(row.by_pair, by_pair)
    assert row.undefined_pairs == 2
    assert row.absolute == pytest.approx(0.15)
    other = made(predicted=PREDICTED * [[[1.0]], [[0.5]]])
    # Template l: he 0.2 for nurse and 0.45 for cook, she 0.3 and 0.05.
    cells = [0.2, -0.15, -0.3, 0.35]
    assert other.per_template == pytest.approx([0.15, sum(cells) / 4])
    assert other.template_sd == pytest.approx((0.15 - sum(cells) / 4) / 2)


def test_of_an_unknown_lean_the_size_is_that_of_the_unevenness() -> None:
    row = made(unevenness=UNEVEN, lean=np.full((2, 3), NAN))
    assert row.absolute == 0.2
    assert repr(row) == "<ProbeRow labor, task->attribute: absolute 0.2000, uneven>"
    assert repr(made()) == (
        "<ProbeRow labor, task->attribute: +0.1500, [+0.1000, +0.3000], amplifies>"
    )
    document = row.to_dict()
    assert document["unevenness"] == UNEVEN.to_dict()
    assert document["robustness"] is None
    assert made().to_dict()["robustness"] is not None


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Verdict.AMPLIFIES),
        ({"lean_source": "winobias"}, Verdict.FOLLOWS),
        ({"informed": False}, Verdict.UNINFORMED),
        ({"base_reliability": 0.5}, Verdict.AMPLIFIES),
        ({"base_reliability": 0.49}, Verdict.UNDECIDED),
        ({"base_reliability": 0.49, "informed": False}, Verdict.UNINFORMED),
        ({"unevenness": UNEVEN}, Verdict.UNEVEN),
        ({"unevenness": replace(UNEVEN, p_value=0.2)}, Verdict.UNDECIDED),
        ({"unevenness": UNEVEN, "informed": False}, Verdict.UNINFORMED),
    ],
)
def test_the_verdict_of_a_row(changes: dict[str, Any], verdict: Verdict) -> None:
    assert made(**changes).verdict is verdict


def test_a_row_is_informed_and_reliable_unless_somebody_says_otherwise() -> None:
    assert row_verdict(ABOVE, False) is Verdict.AMPLIFIES
    assert row_verdict(ABOVE, True) is Verdict.FOLLOWS
    assert row_verdict(ABOVE, True, reliable=False) is Verdict.UNDECIDED
    assert row_verdict(ABOVE, False, informed=False) is Verdict.UNINFORMED
    assert inspect.signature(row_verdict).parameters["informed"].default is True
    assert {one.name: one.default for one in fields(ProbeRow)}["informed"] is True


@pytest.mark.parametrize("informed", [True, False])
@pytest.mark.parametrize("estimate", [None, Estimate(0.1, ABOVE, Verdict.AMPLIFIES)])
def test_a_row_goes_to_json_and_back(informed: bool, estimate: Estimate | None) -> None:
    row = made(
        informed=informed, association=estimate, preference=estimate, corrected=0.1,
        base_bias=0.05, base_reliability=0.7, mass_ratio=3.5, dropped_tasks=("pilot",),
    )  # fmt: skip
    document = row.to_dict()
    assert document["association"] == (None if estimate is None else estimate.to_dict())
    assert document["preference"] == document["association"]
    assert document["base_rate"][0][2] is None
    again = ProbeRow.from_dict(document, ("k", "l"))
    assert again.to_dict() == document
    assert again.informed is informed
    assert (again.mass_ratio, again.base_reliability) == (3.5, 0.7)
    assert again.association == estimate
    bare = ProbeRow.from_dict(made().to_dict(), ("k", "l"))
    assert (bare.corrected, bare.mass_ratio, bare.association) == (None, None, None)


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


def test_tables_that_do_not_fit_are_refused() -> None:
    made().check_shapes(2)
    with pytest.raises(ValueError, match=r"predicted is \(2, 2, 3\), not \(3, 2, 3\)"):
        made().check_shapes(3)
    for name in ("base_rate", "lean"):
        with pytest.raises(ValueError, match=f"{name} is "):
            made(**{name: np.zeros((2, 2))}).check_shapes(2)


@pytest.mark.parametrize("value", [NAN, math.inf])
def test_undefined_predictions_are_refused(value: float) -> None:
    for changes in ({}, {"unevenness": UNEVEN}):
        with pytest.raises(ValueError, match="its numbers are undefined"):
            replace(with_cell("predicted", value), **changes).check_shapes(2)


def test_a_row_without_a_defined_pair_needs_an_unevenness() -> None:
    nothing = made(lean=np.full((2, 3), NAN))
    with pytest.raises(ValueError, match="its numbers are undefined"):
        nothing.check_shapes(2)
    replace(nothing, unevenness=UNEVEN).check_shapes(2)
    made(unevenness=UNEVEN).check_shapes(2)
