"""What a reader sees of disparities: rows of the table, lines of the figure, sentences, notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lmprobe.inference.disparity_result import LIMITS, Disparity, DisparityResult
from lmprobe.results import Estimate, Interval, Note, NoteKind, Tone, Verdict, decide


def disparity(
    group: str, measure: str, value: float, ends: tuple[float, float], **more: Any
) -> Disparity:
    interval = Interval(*ends, 0.9, "score")
    verdict = decide(interval, above=Verdict.HIGHER, below=Verdict.LOWER)
    note = Note(NoteKind.ASSUMPTION, f"of {group}, {measure}")
    estimate = Estimate(value, interval, verdict, notes=(note,))
    return Disparity(group, measure, estimate, (0.5 + value, 0.5), (30, 70), 0.3, **more)


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


class TestLargestComponent:
    @pytest.mark.parametrize(
        ("first", "second", "value", "ends"),
        [
            ((-0.3, (-0.5, -0.2)), (0.1, (-0.1, 0.4)), 0.3, (0.2, 0.5)),
            ((0.1, (-0.1, 0.4)), (-0.3, (-0.5, -0.2)), 0.3, (0.2, 0.5)),
            # Zero within both: the larger difference may be nothing as well.
            ((0.1, (-0.1, 0.3)), (0.2, (-0.6, 0.4)), 0.2, (0.0, 0.6)),
            ((0.3, (0.2, 0.4)), (0.2, (0.15, 0.7)), 0.3, (0.2, 0.7)),
            # One lies in the interval, zero does not.
            ((1.0, (0.9, 1.1)), (0.0, (-0.1, 0.1)), 1.0, (0.9, 1.1)),
            ((0.0, (0.0, 0.1)), (0.0, (-0.1, 0.0)), 0.0, (0.0, 0.1)),
        ],
    )
    def test_its_range_is_that_of_the_larger_size(
        self,
        first: tuple[float, tuple[float, float]],
        second: tuple[float, tuple[float, float]],
        value: float,
        ends: tuple[float, float],
    ) -> None:
        parts = (disparity("a", "tpr_difference", *first), disparity("a", "fpr", *second))
        found = replace(ODDS, components=parts).largest_component
        assert found is not None
        assert found[0] == value
        assert (found[1].low, found[1].high) == ends
        assert (found[1].confidence, found[1].method) == (0.9, "score")

    def test_a_disparity_without_components_has_none(self) -> None:
        assert PLAIN.largest_component is None
        assert PLAIN.to_dict()["largest_component"] is None
        document = ODDS.to_dict()["largest_component"]
        assert document == {"value": 0.3, "interval": Interval(0.2, 0.5, 0.9, "score").to_dict()}


def test_the_document_is_read_back() -> None:
    assert Disparity.from_dict(ODDS.to_dict()) == ODDS
    result = DisparityResult((ODDS,), (Note(NoteKind.MULTIPLICITY, "all"),), {"subject": "loans"})
    again = DisparityResult.from_body(result.body())
    assert (again.rows, again.notes) == (result.rows, result.notes)
    assert again.provenance == result.provenance
    assert result.body()["limits"] == list(LIMITS)
    with pytest.raises(ValueError, match="no rows"):
        DisparityResult.from_body({**result.body(), "rows": []})


class TestClaims:
    def test_every_group_is_a_claim(self) -> None:
        claims = DisparityResult((PLAIN, LOWER)).claims()
        assert [claim.subject for claim in claims] == ["a", "b"]
        assert [claim.estimate for claim in claims] == [PLAIN.estimate, LOWER.estimate]

    @pytest.mark.parametrize(
        ("row", "value", "ends", "verdict"),
        [
            (PLAIN, -0.2, (-0.3, -0.1), Verdict.LOWER),
            (LOWER, 0.2, (0.1, 0.3), Verdict.HIGHER),
            (UNCLEAR, -0.05, (-0.2, 0.1), Verdict.UNDECIDED),
        ],
    )
    def test_the_other_of_two_groups_is_its_mirror(
        self, row: Disparity, value: float, ends: tuple[float, float], verdict: Verdict
    ) -> None:
        claims = DisparityResult((row,), provenance={"mirrored_group": "z"}).claims()
        assert [claim.subject for claim in claims] == [row.protected, "z"]
        mirrored = claims[1].estimate
        assert (mirrored.value, mirrored.verdict) == (value, verdict)
        assert (mirrored.interval.low, mirrored.interval.high) == ends
        assert (mirrored.interval.confidence, mirrored.interval.method) == (0.9, "score")


class TestTable:
    def test_without_components_there_is_no_column_of_measures(self) -> None:
        (table,) = DisparityResult((PLAIN, LOWER)).tables()
        assert [column.heading for column in table.columns] == [
            "protected", "rows", "others", "value", "interval", "verdict",
        ]  # fmt: skip
        assert table.rows == (
            ("a", 30, 70, 0.2, PLAIN.interval, Verdict.HIGHER),
            ("b", 30, 70, -0.2, LOWER.interval, Verdict.LOWER),
        )
        assert table.title.startswith("demographic_parity: how much more often denied")
        assert table.caption == "intervals: score, at 90%"

    def test_components_follow_their_row_then_the_larger_of_them(self) -> None:
        (table,) = DisparityResult((ODDS,)).tables()
        assert [column.heading for column in table.columns][:3] == ["protected", "measure", "rows"]
        assert [row[:4] for row in table.rows] == [
            ("a", "equalized_odds", 30, 70),
            ("a", "tpr_difference", 30, 70),
            ("a", "fpr_difference", 30, 70),
            ("a", "larger difference", None, None),
        ]
        assert table.rows[3][4:] == (0.3, Interval(0.2, 0.5, 0.9, "score"), None)

    def test_a_cost_of_ones_own_has_a_name_and_no_description(self) -> None:
        (table,) = DisparityResult((disparity("a", "delay", 0.2, (0.1, 0.3)),)).tables()
        assert table.title == "delay"


class TestPage:
    def page(self, *rows: Disparity, **provenance: Any) -> Any:
        notes = (Note(NoteKind.MULTIPLICITY, "of all"),)
        return DisparityResult(rows, notes, provenance).page()

    def test_the_headline_has_every_group_and_what_components_claim(self) -> None:
        texts = [(one.text.split(" ")[1], one.verdict) for one in self.page(ODDS).headline]
        # The row itself, though nothing is claimed of it; of its components the clear one.
        assert texts == [
            ("equalized_odds", Verdict.UNDECIDED),
            ("tpr_difference", Verdict.LOWER),
        ]
        said = [
            one.text.split(", ")[1].split(" (")[0] for one in self.page(PLAIN, UNCLEAR).headline
        ]
        assert said == ["higher than for the others", "not enough evidence of a difference"]

    def test_notes_are_those_of_all_then_those_of_each(self) -> None:
        (notes,) = [one.notes for one in self.page(ODDS, PLAIN).sections if one.title == "Notes"]
        assert [note.text for note in notes] == [
            "of all", "of a, equalized_odds", "of a, tpr_difference", "of a, fpr_difference",
            "of a, demographic_parity",
        ]  # fmt: skip

    def test_the_provenance_is_folded_away_without_the_command(self) -> None:
        page = self.page(PLAIN, subject="loans.csv", seed=3, command="lmprobe disparity x")
        sections = {one.title: one for one in page.sections}
        assert list(sections) == ["Groups", "Notes", "Provenance", "Run it again"]
        assert sections["Provenance"].facts == {"subject": "loans.csv", "seed": "3"}
        assert [one.title for one in page.sections if one.collapsed] == ["Provenance"]
        assert sections["Run it again"].commands == ("lmprobe disparity x",)
        assert page.title == "Disparity of loans.csv"
        assert page.limits == LIMITS

    def test_without_a_command_there_is_nothing_to_run_again(self) -> None:
        page = self.page(PLAIN)
        assert [one.title for one in page.sections] == ["Groups", "Notes", "Provenance"]
        assert page.title == "Disparity of predictions"

    def test_the_figure_has_a_line_for_each_row_and_component(self) -> None:
        (figure,) = self.page(ODDS).figures
        assert [line.label for line in figure.lines] == [
            "a", "a, tpr_difference", "a, fpr_difference",
        ]  # fmt: skip
        assert [line.value for line in figure.lines] == [0.05, -0.3, 0.1]
        assert [line.tone for line in figure.lines] == [Tone.EVEN, Tone.MINUS, Tone.EVEN]
        assert (figure.sides.left, figure.sides.right) == ("lower", "higher")
