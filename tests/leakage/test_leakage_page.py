"""What a reader of a leakage result sees: the last row, its table, its page, its figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.leakage.result import ASSUMPTIONS, LIMITS, LeakageResult
from lmprobe.leakage.row import LeakageRow, Measure, leakage_row
from lmprobe.results import Interval, Verdict

HIGH, LOW = Interval(0.6, 0.8, 0.9, "t"), Interval(-0.2, -0.1, 0.9, "t")
BY_ROW = np.array([0.5, np.nan])


def row(
    measure: Measure = Measure.DATASET,
    value: float = 0.7,
    interval: Interval = HIGH,
    rounds: tuple[float, ...] = (0.6, 0.8),
    **more: Any,
) -> LeakageRow:
    return leakage_row(measure, value, interval, rounds, chance=0.5, **more)


MODEL = row(Measure.MODEL, 0.65, rounds=(0.6, 0.65, 0.7), f1=0.9)
DIFFERENCE = row(
    Measure.AMPLIFICATION, -0.15, LOW, (-0.2, -0.1), f1=0.8, by_row=BY_ROW, over_runs=LOW
)


def result(*rows: LeakageRow, **facts: Any) -> LeakageResult:
    return LeakageResult(rows, ("m", "w", "x"), ASSUMPTIONS, facts)


def test_the_answer_is_the_last_row() -> None:
    for found in (result(DIFFERENCE), result(MODEL, row(), DIFFERENCE)):
        assert (found.value, found.interval, found.verdict) == (-0.15, LOW, Verdict.LEAKS_LESS)
        assert (found.rounds, found.f1, found.by_row) == ((-0.2, -0.1), 0.8, BY_ROW)
        (claim,) = found.claims()
        assert (claim.estimate, claim.subject) == (DIFFERENCE.estimate, "leakage amplification")
        assert found.chance == pytest.approx(1 / 3)


def test_the_rounds_of_a_language_model_are_those_of_its_leakage() -> None:
    base = row(Measure.BASE, rounds=(), interval=Interval.undefined(0.9, "none"))
    assert result(MODEL, base, DIFFERENCE).rounds == MODEL.rounds
    assert result(MODEL, row(), DIFFERENCE).rounds == DIFFERENCE.rounds


def test_a_table_has_the_columns_that_some_row_fills() -> None:
    def headings(*rows: LeakageRow) -> list[str]:
        return [column.heading for column in result(*rows).tables()[0].columns]

    least = ["measure", "value", "90% interval", "verdict"]
    assert headings(row()) == least
    assert headings(row(), MODEL) == [*least, "F1"]
    several = ["measure", "value", "90% interval over rows", "verdict"]
    assert headings(MODEL, DIFFERENCE) == [*several, "over runs", "verdict over runs", "F1"]
    title = result(row()).tables()[0].title
    assert title == "How often the group is guessed; at random: 33.3%"


def test_cells_are_empty_where_there_is_no_interval_no_run_and_no_f1() -> None:
    base = row(Measure.BASE, 0.6, Interval.undefined(0.9, "none"), ())
    (table,) = result(MODEL, base, DIFFERENCE).tables()
    assert table.rows == (
        ("model leakage", 0.65, HIGH, Verdict.LEAKS, None, None, 0.9),
        ("base leakage", 0.6, None, None, None, None, None),
        ("leakage amplification", -0.15, LOW, Verdict.LEAKS_LESS, LOW, Verdict.LEAKS_LESS, 0.8),
    )


def test_the_page_says_the_answer_and_hides_the_provenance() -> None:
    page = result(MODEL, DIFFERENCE, subject="a.csv", seed=3, command="lmprobe leak a.csv").page()
    assert page.title == "Leakage of a.csv"
    assert page.subtitle == "groups: m, w, x"
    assert [one.text for one in page.headline] == [
        "leakage amplification \N{MINUS SIGN}0.1500: "
        "the model reveals less of the group than what it is compared with."
    ]
    assert page.headline[0].verdict is Verdict.LEAKS_LESS
    sections = {section.title: section for section in page.sections}
    assert list(sections) == ["Leakage", "Notes", "Provenance", "Run it again"]
    assert sections["Provenance"].facts == {"subject": "a.csv", "seed": "3"}
    assert [name for name, one in sections.items() if one.collapsed] == ["Provenance"]
    assert sections["Run it again"].commands == ("lmprobe leak a.csv",)
    assert page.limits == LIMITS
    plain = result(row()).page()
    assert [section.title for section in plain.sections] == ["Leakage", "Notes", "Provenance"]
    assert plain.headline[0].text.startswith("dataset leakage 0.7000: the group can be guessed")


def test_a_positive_amplification_has_a_sign() -> None:
    more = row(Measure.AMPLIFICATION, 0.7)
    assert result(more).page().headline[0].text.startswith("leakage amplification +0.7000: the")


def test_the_figure_counts_rounds_from_one_and_leaves_single_values_out() -> None:
    single = row(rounds=(0.7,))
    (figure,) = result(MODEL, single, row()).figures()
    assert [(one.name, one.x, one.y) for one in figure.series] == [
        ("model leakage", (1.0, 2.0, 3.0), (0.6, 0.65, 0.7)),
        ("dataset leakage", (1.0, 2.0), (0.6, 0.8)),
    ]
    assert figure.x_label == "round"
    assert figure.alternative == (
        "Value by round: model leakage from 0.600 to 0.700; dataset leakage from 0.600 to 0.800."
    )
    assert result(single).figures() == ()
    # The unit is that of the answer.
    assert result(MODEL, DIFFERENCE).figures()[0].x_label == "run"
    assert result(DIFFERENCE, MODEL).figures()[0].x_label == "round"
    assert result(DIFFERENCE).figures()[0].x_label == "run"


def test_the_terminal_says_what_leakage_is_and_what_its_interval_covers() -> None:
    (note,) = result(row()).page().notes
    assert note.text.startswith("Leakage is how often an attacker guesses")
    assert note.text.endswith("data collected elsewhere.")


def test_rows_come_back_with_and_without_runs() -> None:
    for one in (MODEL, DIFFERENCE):
        again = LeakageRow.from_dict(one.to_dict())
        assert again.to_dict() == one.to_dict()
        assert (again.over_runs is None) == (one.over_runs is None)
    assert MODEL.to_dict()["over_runs"] is None
    assert DIFFERENCE.to_dict()["over_runs"]["interval"]["low"] == -0.2
