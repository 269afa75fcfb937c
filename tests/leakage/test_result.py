"""What every leakage measurement gives: rows with verdicts, a table, a page, JSON and back."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from lmprobe.leakage.result import (
    ASSUMPTIONS,
    LIMITS,
    LeakageMeasure,
    LeakageResult,
    LeakageRow,
    leakage_row as make_row,
    mean_row,
)
from lmprobe.results import Interval, Note, NoteKind, Verdict

HIGH, LOW = Interval(0.6, 0.8, 0.9, "t"), Interval(-0.2, -0.1, 0.9, "t")


def row(
    measure: LeakageMeasure = LeakageMeasure.DATASET,
    value: float = 0.7,
    interval: Interval = HIGH,
    rounds: tuple[float, ...] = (0.6, 0.8),
    **more: Any,
) -> LeakageRow:
    return make_row(measure, value, interval, rounds, chance=0.5, **more)


MODEL = row(LeakageMeasure.MODEL, 0.65, rounds=(0.6, 0.65, 0.7), f1=0.9)
BASE = row(LeakageMeasure.BASE, 0.6, Interval.undefined(0.9, "none"), ())
DIFFERENCE = row(LeakageMeasure.AMPLIFICATION, -0.15, LOW, (-0.2, -0.1), f1=0.8)


def result(*rows: LeakageRow, **facts: Any) -> LeakageResult:
    return LeakageResult(rows, ("m", "w", "x"), ASSUMPTIONS, facts)


@pytest.mark.parametrize(
    ("measure", "ends", "verdict"),
    [
        (LeakageMeasure.DATASET, (0.51, 0.6), Verdict.LEAKS),
        (LeakageMeasure.DATASET, (0.4, 0.6), Verdict.UNDECIDED),
        (LeakageMeasure.MODEL, (0.1, 0.4), Verdict.UNDECIDED),
        (LeakageMeasure.AMPLIFICATION, (0.1, 0.4), Verdict.LEAKS_MORE),
        (LeakageMeasure.AMPLIFICATION, (-0.4, -0.1), Verdict.LEAKS_LESS),
        (LeakageMeasure.AMPLIFICATION, (-0.4, 0.1), Verdict.UNDECIDED),
    ],
)
def test_the_verdict_follows_the_interval(
    measure: LeakageMeasure, ends: tuple[float, float], verdict: Verdict
) -> None:
    interval = Interval(*ends, 0.95, "t")
    made = row(measure, sum(ends) / 2, interval)
    assert made.verdict is verdict
    mean = mean_row([made, made], 0.5)
    assert (mean.verdict, mean.over_runs) == (verdict, mean.estimate)


numbers = st.floats(-1, 1)
intervals = st.one_of(
    st.tuples(numbers, numbers).map(lambda ends: Interval(min(ends), max(ends), 0.9, "t")),
    st.just(Interval.undefined(0.9, "none")),
    st.just(Interval.too_few_units(0.9, "t")),
    st.just(Interval(0.1, math.inf, 0.9, "half")),
)
rows = st.builds(
    row,
    st.sampled_from(LeakageMeasure),
    numbers,
    intervals,
    st.lists(numbers, max_size=4).map(tuple),
    f1=st.none() | numbers,
)
rows |= rows.map(lambda made: mean_row([made, made], 0.5))


@given(st.lists(rows, min_size=1, max_size=4))
def test_every_result_comes_back_from_json_and_can_be_shown(rows: list[LeakageRow]) -> None:
    note = Note(NoteKind.DATA, "as it was", "somewhere")
    made = LeakageResult(tuple(rows), ("a", "b"), (note,), {"subject": "x"})
    again = LeakageResult.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert again.notes == made.notes
    for ours, theirs in zip(again.rows, rows, strict=True):
        assert ours.interval.status is theirs.interval.status
        assert (ours.over_runs is None) == (theirs.over_runs is None)
    assert made.to_markdown()
    assert made.to_html()
    assert made.tables()[0].to_frame().shape[0] == len(rows)


def test_the_answer_is_the_last_row() -> None:
    actual = result(MODEL, row(), DIFFERENCE)
    assert (actual.value, actual.interval, actual.verdict) == (-0.15, LOW, Verdict.LEAKS_LESS)
    assert (actual.rounds, actual.f1, actual.chance) == ((-0.2, -0.1), 0.8, pytest.approx(1 / 3))
    assert (actual.model, actual.row("leakage amplification")) == (MODEL, DIFFERENCE)
    (claim,) = actual.claims()
    assert (claim.estimate, claim.subject) == (DIFFERENCE.estimate, "leakage amplification")
    with pytest.raises(KeyError):
        _ = actual.base
    # The rounds of a language model are those of its leakage.
    assert result(MODEL, BASE, DIFFERENCE).rounds == MODEL.rounds


def test_a_table_has_the_columns_that_some_row_fills() -> None:
    assert len(result(row()).tables()[0].columns) == 4
    (table,) = result(MODEL, BASE, DIFFERENCE).tables()
    assert table.rows == (
        ("model leakage", 0.65, HIGH, Verdict.LEAKS, 0.9),
        ("base leakage", 0.6, None, None, None),
        ("leakage amplification", -0.15, LOW, Verdict.LEAKS_LESS, 0.8),
    )


def test_the_page_says_the_answer_and_how_to_run_it_again() -> None:
    page = result(MODEL, DIFFERENCE, subject="a.csv", seed=3, command="lmprobe leak a.csv").page()
    assert (page.title, page.subtitle) == ("Leakage of a.csv", "groups: m, w, x")
    assert [statement.text for statement in page.headline] == [
        "leakage amplification \N{MINUS SIGN}0.1500: "
        "the model reveals less of the group than labels of the same accuracy do."
    ]
    assert result(MODEL, BASE, DIFFERENCE).page().headline[1].text == (
        "The group is guessed right in 65% of cases from the predictions and in 60% from the base "
        "rates; at random, in 33.3%."
    )
    sections = {section.title: section for section in page.sections}
    assert sections["Provenance"].facts == {"subject": "a.csv", "seed": "3"}
    assert sections["Run it again"].commands == ("lmprobe leak a.csv",)
    assert (page.limits, page.notes) == (LIMITS, ASSUMPTIONS)
