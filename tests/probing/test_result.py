"""The result of a probe as data: JSON there and back, version 1, an earlier probe, damage."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lmprobe import ProbeResult, compare, probe
from lmprobe.errors import InputError
from lmprobe.metrics.direction import Direction
from lmprobe.probing.result import Margin
from lmprobe.probing.settings import run_again
from lmprobe.results import (
    Estimate,
    Interval,
    IntervalStatus,
    Note,
    NoteKind,
    Obstacle,
    Verdict,
)
from lmprobe.results.codec import from_json, to_json
from tests.conftest import Made

FOLDER = Path(__file__).parents[1] / "golden"
GOLDEN, SECOND, UNEVEN = (
    FOLDER / name for name in ("probe-v1.json", "probe-v2.json", "probe-v2-uneven.json")
)
BACKWARD = Direction.ATTRIBUTE_TO_TASK
Small = Callable[..., ProbeResult]

ends = st.floats(-1, 1)
intervals = st.one_of(
    st.tuples(ends, ends).map(lambda pair: Interval(min(pair), max(pair), 0.95, "bootstrap")),
    st.just(Interval.undefined(0.9, "t")),
    st.just(Interval.too_few_units(0.95, "bootstrap")),
    ends.map(lambda low: Interval(low, math.inf, 0.95, "bernstein")),
    ends.map(lambda high: Interval(-math.inf, high, 0.95, "bernstein")),
    st.just(Interval(-math.inf, math.inf, 0.5, "bernstein")),
)
notes = st.lists(
    st.builds(Note, st.sampled_from(NoteKind), st.text(), st.sampled_from(["", "our town, 2020"])),
    max_size=3,
).map(tuple)
optional = st.none() | ends
obstacles = st.none() | st.sampled_from(Obstacle)
estimates = st.builds(
    Estimate,
    ends,
    intervals,
    # Without an obstacle no verdict is `uninformed`.
    st.sampled_from(Verdict).filter(lambda verdict: verdict is not Verdict.UNINFORMED),
    optional,
    optional,
    notes,
    obstacles,
)


@pytest.fixture(scope="module")
def small(made: Made) -> Small:
    """Return the maker of small results: six templates, three tasks, a quick interval."""

    def make(**options: Any) -> ProbeResult:
        selected = {"tasks": ("cook", "nurse", "vet"), "bases": ("labor", "wikipedia")} | options
        result = made(templates=list("abcdef"), **selected)
        settings = {**result.provenance["settings"], "interval": "t"}
        return replace(result, provenance={**result.provenance, "settings": settings})

    return make


def test_a_document_of_version_1_is_read() -> None:
    old = json.loads(GOLDEN.read_text(encoding="utf-8"))
    result = ProbeResult.from_json(GOLDEN)
    assert [row.value for row in result.rows] == [row["value"] for row in old["rows"]]
    for row, was in zip(result.rows, old["rows"], strict=True):
        assert (row.interval.low, row.interval.high) == (
            was["interval"]["low"], was["interval"]["high"],
        )  # fmt: skip
        assert [note.text for note in row.notes] == was["notes"]
        assert (row.association, row.preference, row.corrected) == (None, None, None)
    assert result.to_dict()["schema"] == "lmprobe.result/3"
    assert result.to_dict()["kind"] == "probe"
    assert "--task nurse,lawyer,driver" in run_again(result)


@pytest.mark.parametrize("path", [SECOND, UNEVEN])
def test_a_document_of_version_2_is_read_and_reported(path: Path) -> None:
    old = json.loads(path.read_text(encoding="utf-8"))
    result = ProbeResult.from_json(path)
    for row, was in zip(result.rows, old["rows"], strict=True):
        assert row.verdict.value == was["verdict"]
        actual = to_json(row)
        assert actual["value"] == pytest.approx(was["value"])
        for name in ("corrected", "unevenness", "interval", "per_template"):
            assert actual[name] == was[name]
        for name in ("association", "preference"):
            assert actual[name] == (was[name] and {**was[name], "obstacle": None})
        assert (row.strength, row.base_table, row.standard_errors) == (None, None, {})
    assert ProbeResult.from_json(result.to_json()).to_json() == result.to_json()
    for text in (result.to_html(), result.to_markdown(), result.to_latex(), str(result)):
        assert result.rows[0].base in text
    assert "--task nurse,lawyer,driver" in run_again(result)


@pytest.mark.parametrize("path", [GOLDEN, SECOND])
def test_an_earlier_document_is_compared_with_itself_and_with_today(path: Path) -> None:
    result = ProbeResult.from_json(path)
    same = compare([path, path])
    assert [row.values[0] for row in same.rows] == pytest.approx([row.value for row in result.rows])
    assert {row.value for row in same.rows} == {0.0}
    assert {row.verdict for row in same.rows} == {Verdict.UNDECIDED}
    assert result.check(against=path).passed
    names = "model", "scorer"
    model, scorer = (result.provenance[name] for name in names)
    today = probe(
        model,
        result.provenance["templates"]["name"],
        base=["labor"],
        attributes=result.rows[0].attributes,
        tasks=result.rows[0].tasks,
        scorer=scorer,
    )
    for row in compare([result, today]).rows:
        assert row.value == pytest.approx(0, abs=1e-5)
        assert row.verdict is Verdict.UNDECIDED


def test_earlier_rows_without_a_verdict_have_none_today() -> None:
    """Without a lean, or with a base that is too small, neither a check nor a comparison."""
    document = json.loads(SECOND.read_text(encoding="utf-8"))
    small = document["rows"][5]
    assert small["interval"]["low"] > 0
    small.update(base_reliability=0.4, verdict="undecided")
    document["rows"] = [small]
    for result, obstacle in (
        (ProbeResult.from_json(json.dumps(document)), Obstacle.SMALL_BASE),
        (ProbeResult.from_json(UNEVEN), Obstacle.NO_LEAN),
    ):
        assert {row.obstacle for row in result.rows} == {obstacle}
        assert {row.verdict for row in result.rows} <= {Verdict.UNDECIDED, Verdict.UNEVEN}
        assert result.check(max=0.05).exit_code == result.check(against=result).exit_code == 4
        assert {row.obstacle for row in compare([result, result]).rows} == {obstacle}


def test_the_numbers_of_version_1_are_still_measured() -> None:
    """The same probe today has the values that the first version wrote."""
    old = json.loads(GOLDEN.read_text(encoding="utf-8"))
    result = probe(
        "reference:amplified",
        base=["labor", "uniform", "wikipedia"],
        attributes=["he", "she", "they"],
        tasks=["nurse", "lawyer", "driver"],
        scorer="word-l2r",
    )
    for row, was in zip(result.rows, old["rows"], strict=True):
        assert row.value == pytest.approx(was["value"], abs=1e-6)


@given(data=st.data())
def test_every_kind_of_interval_survives_json(small: Small, data: st.DataObject) -> None:
    result = small(bases=("labor",))
    rows = tuple(
        replace(
            row,
            interval=data.draw(intervals),
            corrected=data.draw(optional),
            base_bias=data.draw(optional),
            base_reliability=data.draw(optional),
            association=data.draw(st.none() | estimates),
            preference=data.draw(st.none() | estimates),
            notes=data.draw(notes),
            mass_ratio=data.draw(optional),
            obstacle=data.draw(obstacles),
            strength=data.draw(st.none() | estimates),
        )
        for row in result.rows
    )
    whole = replace(result, rows=rows, notes=data.draw(notes))
    again = ProbeResult.from_json(whole.to_json())
    assert again.to_json() == whole.to_json()
    names = (
        "interval", "verdict", "notes", "obstacle", "corrected", "base_bias", "base_reliability",
        "mass_ratio", "association", "preference", "strength",
    )  # fmt: skip
    for row, was in zip(again.rows, rows, strict=True):
        # repr tells NaN from infinity and is equal where the values are.
        for name in names:
            assert repr(getattr(row, name)) == repr(getattr(was, name)), name


def test_the_row_of_a_direction_may_be_abbreviated(result: ProbeResult) -> None:
    for row in result.rows:
        assert result.row(row.base, row.direction) is row
    assert result.row("labor", "a->t") is result.row("labor", Direction.ATTRIBUTE_TO_TASK)
    with pytest.raises(InputError, match="no direction"):
        result.row("labor", "sideways")
    with pytest.raises(InputError, match='no row for base "labour"'):
        result.row("labour", "T->A")


def test_the_frame_has_the_parts_and_they_add_up_to_the_value() -> None:
    """Against a counted base the corrected numbers differ from those of the formula."""
    result = probe("reference:amplified", base="wikipedia")
    frame = result.to_frame()
    assert frame["corrected"].notna().all()
    np.testing.assert_allclose(frame["association"] + frame["preference"], frame["value"])


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
    for earlier in (result, moved(result, 1e-10)):
        claims = result.changes(earlier)
        assert [(claim.base, claim.direction) for claim in claims] == [
            (row.base, row.direction) for row in result.rows
        ]
        for claim in claims:
            estimate = claim.estimate
            assert (estimate.value, estimate.interval.low, estimate.interval.high) == (0, 0, 0)
            assert estimate.interval.status is IntervalStatus.OK
            assert estimate.verdict is Verdict.UNDECIDED
    for by in (2e-9, 0.05):
        # Of two groups one gains what the other loses: the probabilities still add up to one.
        for claim in moved(result, by).changes(result)[::2]:
            assert claim.estimate.value == pytest.approx(by, rel=1e-3)


def test_the_same_numbers_of_other_words_are_other_answers(small: Small) -> None:
    """As many tasks, but one of them another: the difference is that of those both have."""
    result, other = small(bases=("labor",)), small(bases=("labor",), tasks=("cook", "pilot", "vet"))
    np.testing.assert_array_equal(result.rows[0].cells, other.rows[0].cells)
    for claim in result.changes(other):
        (note,) = [note for note in claim.estimate.notes if note.kind is NoteKind.LEFT_OUT]
        assert note.text.endswith(": nurse, pilot")


@pytest.mark.parametrize("obstacle", Obstacle)
def test_a_row_without_a_verdict_has_no_change(small: Small, obstacle: Obstacle) -> None:
    """Whether it is of the later result or of the earlier one."""
    result, earlier = small(seed=1), small()

    def forbidden(probed: ProbeResult) -> ProbeResult:
        rows = (
            replace(row, obstacle=None if row.direction is BACKWARD else obstacle)
            for row in probed.rows
        )
        return replace(probed, rows=tuple(rows))

    for claims in (forbidden(result).changes(earlier), result.changes(forbidden(earlier))):
        assert [claim.estimate.obstacle for claim in claims] == [obstacle, None] * 2
        assert not any(claim.estimate.interval.bounded for claim in claims[::2])


def test_results_that_cannot_be_compared_are_refused(small: Small) -> None:
    """Models of one name are told apart by time."""
    result = small()
    name = "example/made-up-model"
    with pytest.raises(InputError, match=rf"{name} \(earlier\) and {name} \(later\) differ in"):
        result.changes(replace(result, templates=tuple("abcdeg")))
    with pytest.raises(InputError, match=f"m and {name} differ in their templates"):
        result.changes(replace(small(model="m"), templates=tuple("abcdeg")))
    with pytest.raises(InputError, match="different jobs cannot be compared: probe and comp"):
        result.changes(compare([small(model="a"), small(model="b", seed=1)], interval="t"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{]", "not a JSON document"),
        ('{"schema": "lmprobe.result/0"}', "this lmprobe reads 'lmprobe.result/3'"),
        ('{"schema": "lmprobe.result/1", "rows": [{}]}', "damaged result"),
        ("missing.json", "no such result file"),
    ],
)
def test_a_file_that_is_no_result_says_so(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ProbeResult.from_json(text)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda document: document["rows"].clear(), "it has no rows"),
        (lambda document: document["families"].append("g"), "6 templates, 7 families"),
        (lambda document: document["provenance"].update(model=3), "provenance.model is 3"),
        (lambda document: document["provenance"].update(bases=[]), "provenance.bases is"),
        (
            lambda document: document["provenance"]["templates"].pop("sha256"),
            "templates lacks sha256",
        ),
        (lambda document: document["rows"].append(document["rows"][0]), "several rows of one base"),
        (lambda document: document["margins"][0]["candidate_mass"].pop(), "candidate_mass is"),
        (lambda document: document["rows"][0].pop("predicted"), "'predicted' is missing"),
        (
            lambda document: document["rows"][0]["predicted"][0][0].__setitem__(0, 1.5),
            "not between 0 and 1",
        ),
    ],
)
def test_parts_that_do_not_fit_are_one_error(
    small: Small, harm: Callable[[Any], Any], said: str
) -> None:
    result = small()
    result = replace(result, margins=(Margin("gender", result.rows[0]),))
    document = json.loads(result.to_json())
    assert from_json(ProbeResult, document).margins[0].attribute == "gender"
    harm(document)
    with pytest.raises(ValueError, match=f"damaged result, .*{said}"):
        ProbeResult.from_json(json.dumps(document))
