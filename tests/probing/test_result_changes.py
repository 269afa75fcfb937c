"""A probe against an earlier one, as a frame, and documents whose parts do not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS
from lmprobe.errors import InputError
from lmprobe.probing.result import Margin, ProbeResult
from lmprobe.results import Estimate, Interval, IntervalStatus, NoteKind, Verdict
from tests.conftest import Made

FORWARD, BACKWARD = DIRECTIONS


@pytest.fixture
def small(made: Made) -> Callable[..., ProbeResult]:
    """Return the maker of small results: six templates, three tasks."""

    def make(**options: Any) -> ProbeResult:
        chosen = {"tasks": ("cook", "nurse", "vet"), "bases": ("labor", "wikipedia")} | options
        result = made(templates=list("abcdef"), **chosen)
        # A method that resamples nothing: these tests are about other things.
        settings = {**result.provenance["settings"], "interval": "t"}
        return replace(result, provenance={**result.provenance, "settings": settings})

    return make


Small = Callable[..., ProbeResult]


def moved(result: ProbeResult, by: float) -> ProbeResult:
    """Return the result with every cell moved by so much."""
    rows = tuple(
        replace(row, predicted=row.predicted + by * np.where(row.lean > 0, 1, -1))
        for row in result.rows
    )
    return replace(result, rows=rows)


def test_the_same_answers_leave_nothing_uncertain(small: Small) -> None:
    """Undefined pairs are the same as well, and so is what rounding makes of a number."""
    result = small()
    assert np.isnan(result.row("wikipedia", "T->A").cells).any()
    for earlier in (result, moved(result, 1e-10), moved(result, -9e-10)):
        claims = result.changes(earlier)
        assert [(one.base, one.direction) for one in claims] == [
            (row.base, row.direction) for row in result.rows
        ]
        for claim in claims:
            one = claim.estimate
            assert (one.value, one.interval.low, one.interval.high) == (0.0, 0.0, 0.0)
            assert one.interval.status is IntervalStatus.OK
            assert one.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("by", [2e-9, 1e-4, 0.05])
def test_other_answers_have_a_difference(small: Small, by: float) -> None:
    result = small()
    for claim in moved(result, by).changes(result):
        assert claim.estimate.value == pytest.approx(by, rel=1e-3)


def test_the_same_numbers_of_other_words_are_other_answers(small: Small) -> None:
    """As many tasks, but one of them another: the difference is that of those both have."""
    result, other = small(bases=("labor",)), small(bases=("labor",), tasks=("cook", "pilot", "vet"))
    np.testing.assert_array_equal(result.rows[0].cells, other.rows[0].cells)
    for claim in result.changes(other):
        (note,) = [one for one in claim.estimate.notes if one.kind is NoteKind.LEFT_OUT]
        assert note.text.endswith(": nurse, pilot")
    more = small(bases=("labor",), tasks=("cook", "nurse", "vet", "pilot"))
    assert all(claim.estimate.notes for claim in result.changes(more))


def test_an_uninformed_model_has_no_change(small: Small) -> None:
    result, earlier = small(seed=1), small()
    rows = tuple(replace(row, informed=row.direction is BACKWARD) for row in result.rows)
    claims = replace(result, rows=rows).changes(earlier)
    uninformed = [claim.estimate.verdict is Verdict.UNINFORMED for claim in claims]
    assert uninformed == [True, False, True, False]
    # Whether the earlier one was informed is another question.
    rows = tuple(replace(row, informed=False) for row in earlier.rows)
    claims = result.changes(replace(earlier, rows=rows))
    assert Verdict.UNINFORMED not in [claim.estimate.verdict for claim in claims]


def test_models_of_one_name_are_told_apart_by_time(small: Small) -> None:
    result = small()
    other = replace(result, templates=tuple("abcdeg"))
    name = "example/made-up-model"
    with pytest.raises(InputError, match=rf"{name} \(earlier\) has 6 .* {name} \(later\) 6"):
        result.changes(other)
    with pytest.raises(InputError, match=f"m has 6 templates and {name} 6"):
        result.changes(replace(small(model="m"), templates=tuple("abcdeg")))


def test_another_job_is_refused(small: Small) -> None:
    from lmprobe import compare

    with pytest.raises(InputError, match="different jobs cannot be compared: probe and comp"):
        small().changes(compare([small(model="a"), small(model="b", seed=1)], interval="t"))


def test_a_row_is_found_by_base_and_direction(small: Small) -> None:
    result = small()
    for row in result.rows:
        assert result.row(row.base, row.direction) is row


def test_a_mass_above_one_is_read_back(small: Small) -> None:
    """Words of several pieces are asked for with as many masks, and their masses add up."""
    result = small()
    mass = np.linspace(0.5, 3.0, 6)
    whole = replace(result, rows=tuple(replace(row, candidate_mass=mass) for row in result.rows))
    again = ProbeResult.from_json(whole.to_json())
    np.testing.assert_array_equal(again.rows[0].candidate_mass, mass)


def test_the_frame_has_the_parts_where_they_were_measured(small: Small) -> None:
    result = small()
    one = Estimate(0.25, Interval(0, 1, 0.95, "t"), Verdict.UNDECIDED)
    rows = (replace(result.rows[0], association=one, preference=replace(one, value=0.5)),)
    frame = replace(result, rows=(*rows, *result.rows[1:])).to_frame()
    assert frame["association"][0] == 0.25
    assert frame["preference"][0] == 0.5
    assert frame["association"][1:].isna().all()
    assert frame["preference"][1:].isna().all()


def test_the_frame_of_pairs_has_every_cell_in_its_place(small: Small) -> None:
    result = small()
    pairs = result.pairs()
    assert list(pairs.index) == list(range(4 * 6 * 2 * 3))
    for line in pairs.sample(40, random_state=1).itertuples():
        row = result.row(line.base, line.direction)
        place = result.templates.index(line.template), row.attributes.index(line.attribute)
        cell = (*place, row.tasks.index(line.task))
        assert line.predicted == row.predicted[cell]
        np.testing.assert_equal(line.base_rate, row.base_rate[cell[1:]])
        assert line.lean == row.lean[cell[1:]]
        np.testing.assert_equal(line.amplification, row.cells[cell])


@pytest.mark.parametrize(
    ("harm", "error", "said"),
    [
        (lambda one: one["rows"].clear(), ValueError, "it has no rows"),
        (lambda one: one["families"].append("g"), ValueError, "6 templates, 7 families"),
        (lambda one: one["provenance"].update(model=3), TypeError, "provenance.model is 3"),
        (lambda one: one["provenance"].update(scorer=None), TypeError, "provenance.scorer is"),
        (lambda one: one["provenance"].update(templates="x"), TypeError, "provenance.templates"),
        (lambda one: one["provenance"].update(bases=[]), TypeError, "provenance.bases is"),
        (lambda one: one["provenance"].update(versions=1), TypeError, "provenance.versions is"),
        (lambda one: one["provenance"].update(templates={}), ValueError, "lacks name, sha256"),
        (
            lambda one: one["provenance"]["templates"].pop("sha256"),
            ValueError,
            "templates lacks sha256",
        ),
        (lambda one: one["rows"].append(one["rows"][0]), ValueError, "several rows of one base"),
        (lambda one: one["margins"][0]["candidate_mass"].pop(), ValueError, "candidate_mass is"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    small: Small, harm: Callable[[Any], Any], error: type[Exception], said: str
) -> None:
    result = small()
    result = replace(result, margins=(Margin("gender", result.rows[0]),))
    document = json.loads(result.to_json())
    again = ProbeResult.from_body(document)
    assert again.margins[0].attribute == "gender"
    harm(document)
    with pytest.raises(error, match=said):
        ProbeResult.from_body(document)
