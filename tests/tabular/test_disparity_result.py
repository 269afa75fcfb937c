"""What a reader sees of disparities: rows of the table, lines of the figure, sentences, notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lmprobe.errors import LmprobeError
from lmprobe.results import Estimate, Interval, Note, NoteKind, Tone, Verdict, decide
from lmprobe.results.codec import to_json
from lmprobe.tabular.disparity import group_disparities
from lmprobe.tabular.disparity_result import LIMITS, Disparity, DisparityResult


def disparity(
    group: str, measure: str, value: float, ends: tuple[float, float], **more: Any
) -> Disparity:
    interval = Interval(*ends, 0.9, "score")
    verdict = decide(interval, above=Verdict.HIGHER, below=Verdict.LOWER)
    note = Note(NoteKind.ASSUMPTION, f"of {group}, {measure}")
    estimate = Estimate(value, interval, verdict, notes=(note,))
    return Disparity(group, measure, (0.5 + value, 0.5), (30, 70), 0.3, estimate, **more)


PLAIN = disparity("a", "demographic_parity", 0.2, (0.1, 0.3))
LOWER = disparity("b", "demographic_parity", -0.2, (-0.3, -0.1))
UNCLEAR = disparity("c", "demographic_parity", 0.05, (-0.1, 0.2))
ODDS = disparity(
    "a", "equalized_odds", 0.05, (-0.1, 0.2),
    components=(
        disparity("a", "tpr_difference", -0.3, (-0.5, -0.2)),
        disparity("a", "fpr_difference", 0.1, (-0.1, 0.4)),
    ),
)  # fmt: skip
RESULT = DisparityResult(
    (ODDS,), (Note(NoteKind.MULTIPLICITY, "of all"),), {"subject": "loans.csv", "seed": 3}
)


@pytest.mark.parametrize(
    ("first", "second", "value", "ends"),
    [
        ((-0.3, (-0.5, -0.2)), (0.1, (-0.1, 0.4)), 0.3, (0.2, 0.5)),
        ((0.1, (-0.1, 0.4)), (-0.3, (-0.5, -0.2)), 0.3, (0.2, 0.5)),
        # Zero within both: the larger difference may be nothing as well.
        ((0.1, (-0.1, 0.3)), (0.2, (-0.6, 0.4)), 0.2, (0.0, 0.6)),
        ((0.3, (0.2, 0.4)), (0.2, (0.15, 0.7)), 0.3, (0.2, 0.7)),
        ((0.0, (0.0, 0.1)), (0.0, (-0.1, 0.0)), 0.0, (0.0, 0.1)),
    ],
)
def test_the_larger_component_has_the_range_of_the_larger_size(
    first: Any, second: Any, value: float, ends: tuple[float, float]
) -> None:
    parts = (disparity("a", "tpr_difference", *first), disparity("a", "fpr", *second))
    largest = replace(ODDS, components=parts).largest_component
    assert largest == (value, Interval(*ends, 0.9, "score"))
    assert PLAIN.largest_component is None


def test_the_document_is_read_back() -> None:
    again = DisparityResult.from_json(RESULT.to_json())
    assert (again.rows, again.notes) == (RESULT.rows, RESULT.notes)
    assert again.to_json() == RESULT.to_json()
    document = RESULT.to_dict()
    assert document["limits"] == list(LIMITS)
    interval = to_json(Interval(0.2, 0.5, 0.9, "score"))
    assert document["rows"][0]["largest_component"] == {"value": 0.3, "interval": interval}
    assert document["rows"][0]["components"][0]["largest_component"] is None
    with pytest.raises(LmprobeError, match="damaged result, it has no rows"):
        DisparityResult.from_json(replace(RESULT, rows=()).to_json())


@pytest.mark.parametrize("method", ["auto", "bernstein", "bootstrap"])
def test_measured_rows_are_read_back_too(method: str) -> None:
    truth, guess, groups = [0, 1] * 20, [0, 0, 1, 1] * 10, list("aabba") * 8
    result = group_disparities(
        truth, guess, sensitive_features=groups, measure="equalized_odds", method=method
    )
    assert DisparityResult.from_json(result.to_json()).rows == result.rows


@pytest.mark.parametrize(
    ("row", "value", "ends", "verdict"),
    [
        (PLAIN, -0.2, (-0.3, -0.1), Verdict.LOWER),
        (LOWER, 0.2, (0.1, 0.3), Verdict.HIGHER),
        (UNCLEAR, -0.05, (-0.2, 0.1), Verdict.UNDECIDED),
    ],
)
def test_every_group_is_a_claim_and_the_other_of_two_its_mirror(
    row: Disparity, value: float, ends: tuple[float, float], verdict: Verdict
) -> None:
    own, mirrored = DisparityResult((row,), provenance={"mirrored_group": "z"}).claims()
    assert (own.subject, mirrored.subject) == (row.protected, "z")
    assert own.estimate == row.estimate
    assert (mirrored.estimate.value, mirrored.estimate.verdict) == (value, verdict)
    assert mirrored.estimate.interval == Interval(*ends, 0.9, "score")
    assert len(DisparityResult((PLAIN, LOWER)).claims()) == 2


def test_a_table_without_components_has_no_column_of_measures() -> None:
    (table,) = DisparityResult((PLAIN, LOWER)).tables()
    headings = ["protected", "rows", "others", "value", "interval", "verdict"]
    assert [column.heading for column in table.columns] == headings
    assert table.rows == (
        ("a", 30, 70, 0.2, PLAIN.interval, Verdict.HIGHER),
        ("b", 30, 70, -0.2, LOWER.interval, Verdict.LOWER),
    )
    assert table.title.startswith("demographic_parity: difference in share denied, ")
    assert table.caption == "intervals: score, at 90%"
    own = disparity("a", "delay", 0.2, (0.1, 0.3))
    assert DisparityResult((own,)).tables()[0].title == "delay"


def test_components_follow_their_row_then_the_larger_of_them() -> None:
    (table,) = RESULT.tables()
    assert [row[:4] for row in table.rows] == [
        ("a", "equalized_odds", 30, 70),
        ("a", "tpr_difference", 30, 70),
        ("a", "fpr_difference", 30, 70),
        ("a", "larger difference", None, None),
    ]
    assert table.rows[3][4:] == (0.3, Interval(0.2, 0.5, 0.9, "score"), None)
    assert len(RESULT.to_frame()) == 4


def test_the_headline_has_every_group_and_what_components_claim() -> None:
    # The row itself, though nothing is claimed of it; of its components the clear one.
    assert [statement.verdict for statement in RESULT.page().headline] == [
        Verdict.UNDECIDED,
        Verdict.LOWER,
    ]
    texts = [row.text for row in DisparityResult((PLAIN, LOWER, UNCLEAR)).page().headline]
    assert texts[0].startswith(
        "a: the share denied is 70%, that of the others 50%: higher (+0.2000, "
    )
    assert "lower (−0.2000, " in texts[1]
    assert "not enough evidence of a difference (+0.0500, " in texts[2]
    assert len(repr(RESULT)) < 200


def test_the_page() -> None:
    page = replace(RESULT, provenance={**RESULT.provenance, "command": "lmprobe x"}).page()
    sections = {section.title: section for section in page.sections}
    details = ["Assumptions and method", "Provenance"]
    assert list(sections) == ["Groups", "Run it again", *details]
    assert [note.text for note in sections[details[0]].notes] == [
        "of all", "of a, equalized_odds", "of a, tpr_difference", "of a, fpr_difference",
    ]  # fmt: skip
    assert sections["Provenance"].facts == {"subject": "loans.csv", "seed": "3"}
    assert [section.title for section in page.sections if section.collapsed] == details
    assert sections["Run it again"].commands == ("lmprobe x",)
    assert (page.title, page.limits) == ("Disparity of loans.csv", LIMITS)
    plain = DisparityResult((PLAIN,)).page()
    assert [section.title for section in plain.sections] == ["Groups", details[0]]
    assert plain.title == "Disparity of predictions"


def test_the_figure_has_a_line_for_each_row_and_component() -> None:
    (figure,) = RESULT.page().figures
    labels = ["a", "a, tpr_difference", "a, fpr_difference"]
    assert [line.label for line in figure.lines] == labels
    assert [line.value for line in figure.lines] == [0.05, -0.3, 0.1]
    assert [line.tone for line in figure.lines] == [Tone.EVEN, Tone.MINUS, Tone.EVEN]
    assert (figure.sides.left, figure.sides.right) == ("lower", "higher")
    assert "<svg" in RESULT.to_html()
