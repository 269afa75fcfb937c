"""When a row says that its parts disagree, and what it says of the size of its base."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.intervals.base_uncertainty import BaseCorrection, Reliability
from lmprobe.intervals.cross_fit import CrossFittedLean
from lmprobe.probing import explanations as module
from lmprobe.probing.explanations import base_notes, preference_notes, preferred
from lmprobe.results import Estimate, Interval, NoteKind, Verdict
from lmprobe.sources import align_base_rates
from lmprobe.sources.table import table_of

FORWARD, BACKWARD = DIRECTIONS
GROUPS, TASKS = ("he", "she"), ("nurse", "cook", "clerk")
COUNTS = np.array([[10.0, 40.0, 20.0], [60.0, 10.0, 40.0]])
RATES = align_base_rates(table_of("made up", COUNTS, GROUPS, TASKS), GROUPS, TASKS)
ANY = Interval(-1, 1, 0.95, "t")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_preferred_candidate_by_a_loop(direction: Direction) -> None:
    rng = np.random.default_rng(5)
    predicted = rng.uniform(size=(4, 2, 3))
    predicted /= predicted.sum(axis=1 if direction is FORWARD else 2, keepdims=True)
    share = COUNTS / COUNTS.sum()
    guessed = 2 if direction is FORWARD else 3
    more = [0.0] * guessed
    for a in range(2):
        for t in range(3):
            candidate = a if direction is FORWARD else t
            condition = share[:, t].sum() if direction is FORWARD else share[a].sum()
            mean = np.mean([table[a, t] for table in predicted])
            more[candidate] += mean * condition - share[a, t]
    names = GROUPS if direction is FORWARD else TASKS
    word, moved = preferred(RATES, direction, predicted)
    assert word == names[more.index(max(more))]
    assert moved == pytest.approx(sum(one for one in more if one > 0))


def parts(
    value: float, association: float, *, same: bool = True, corrected: bool = False
) -> dict[str, Estimate]:
    """Return made-up parts, the number that counts in the place that counts."""

    def part(number: float, verdict: Verdict) -> Estimate:
        if corrected:
            return Estimate(9.0, ANY, verdict, number, 9.0 - number)
        return Estimate(number, ANY, verdict)

    first = Verdict.AMPLIFIES
    return {
        "value": part(value, first),
        "association": part(association, first if same else Verdict.UNDECIDED),
        "preference": part(value - association, Verdict.UNDECIDED),
    }


@pytest.mark.parametrize(
    ("value", "association", "same", "moved", "share"),
    [
        # More than half of the value and more than a tenth of the probability.
        (0.5, 0.125, True, 0.11, "mostly"),
        (-0.5, -0.125, True, 0.25, "mostly"),
        (0.5, 0.125, True, 0.1, None),
        (0.5, 0.125, True, 0.05, None),
        # Exactly half of it, and a little more.
        (0.5, 0.25, True, 0.9, None),
        (0.5, 0.2499, True, 0.9, "mostly"),
        (0.5, 0.3, True, 0.9, None),
        # A third would be enough only if the limit were a third.
        (0.5, 0.28, True, 0.9, None),
        # Other verdicts are always explained.
        (0.5, 0.25, False, 0.9, "partly"),
        (0.5, 0.4, False, 0.0, "partly"),
        (0.5, 0.125, False, 0.0, "mostly"),
    ],
)
def test_a_note_where_the_parts_differ_in_size_or_verdict(
    value: float,
    association: float,
    same: bool,
    moved: float,
    share: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "preferred", lambda *asked: ("he", moved))
    for corrected, name in ((False, "the value"), (True, "the corrected value")):
        found = preference_notes(
            parts(value, association, same=same, corrected=corrected), RATES, FORWARD, np.ones(1)
        )
        if share is None:
            assert found == ()
            continue
        (note,) = found
        assert note.kind is NoteKind.PREFERENCE
        assert note.text.startswith(f"{name} (")
        assert f", {share} because the model prefers “he”" in note.text
        assert "9.0" not in note.text


def correction(found: float, sentences: int | None) -> BaseCorrection:
    nothing = CrossFittedLean(np.zeros((2, 3)), np.zeros((2, 3)))
    return BaseCorrection(nothing, Reliability(found, found), sentences, nothing)


CORRECTED = Estimate(0.3, ANY, Verdict.UNDECIDED, 0.2, 0.1)


def told(value: float, association: float, sentences: int | None = 180) -> str:
    both = correction(value, sentences), correction(association, 7)
    (note,) = base_notes(CORRECTED, both, COUNTS, BACKWARD)
    assert note.kind is NoteKind.BASE
    return note.text


def test_a_base_of_many_sentences_says_how_much_it_shows() -> None:
    text = told(0.95, 0.93)
    assert text == (
        "the base was counted in 180 sentences; the value is corrected for the bias that their "
        "noise causes, +0.1000. A base of this size shows 95% of an amplification"
    )
    assert told(0.9, 0.9).endswith("shows 90% of an amplification")


def test_a_survey_says_that_it_is_corrected() -> None:
    assert told(1.0, 1.0, None) == (
        "the value is corrected for the bias that the standard errors of the base cause, +0.1000"
    )


@pytest.mark.parametrize(
    ("value", "association", "only", "too_little"),
    [
        (0.6, 0.4, True, True),
        (0.6, 0.5, False, False),
        (0.5, 0.6, False, False),
        (0.4, 0.6, False, True),
        (0.4, 0.3, False, True),
    ],
)
def test_below_one_half_there_is_no_verdict(
    value: float, association: float, only: bool, too_little: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def needed(counts: np.ndarray, direction: Direction, *, reliable: float) -> int:
        asked.append((direction, reliable))
        return 12000

    monkeypatch.setattr(module, "sentences_needed", needed)
    text = told(value, association)
    assert (f"but only {association:.0%} of the association" in text) is only
    assert ("too little for a verdict" in text) is too_little
    assert text.endswith("; about 12,000 would show 90%")
    assert asked == [(BACKWARD, 0.9)]


def test_a_table_without_a_link_needs_no_more_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "sentences_needed", lambda *asked, **_: None)
    assert told(0.89, 0.95).endswith(
        "; no number of sentences would show more, because the table has no clear link"
    )
