"""What the mass of a candidate asks for, what scorers state of themselves, and their identity."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path

import numpy as np
import pytest

from lmprobe.models import Cloze, EncodedCloze
from lmprobe.models.cloze import WORD_START
from lmprobe.scorers import Scorer, SplitWordWarning, score, scorers
from lmprobe.scorers.mass import mass_queries
from lmprobe.scorers.scorer import _identity, sums
from lmprobe.scorers.word_l2r import WordLeftToRight
from tests.scripted_model import ScriptedModel

IDS = (0, 11, 21, 22, 23, 12, 13)


def sentence(
    first: tuple[int, int], boundary: tuple[bool, bool] = (True, True), starts: int = 1
) -> EncodedCloze:
    """Return a sentence of which two spans differ; its mask is token 9."""
    return EncodedCloze(IDS, first, (first, (5, 6)), first, mask=9, first=starts, boundary=boundary)


def asked(queries: object) -> list[tuple[int, int]]:
    return [(one.position, one.token) for one in queries]  # type: ignore[attr-defined]


def test_the_mass_of_a_masked_model_hides_all_that_differs_and_shows_what_was_asked() -> None:
    found = mass_queries(sentence((2, 4)), "masked")
    assert found.subtracted == ()
    assert [(one.ids, one.position, one.token) for one in found.added] == [
        ((0, 11, 9, 9, 23, 9, 13), 2, 21),
        ((0, 11, 21, 9, 23, 9, 13), 3, 22),
        ((0, 11, 21, 22, 23, 9, 13), 5, 12),
    ]


@pytest.mark.parametrize(
    ("first", "boundary", "added", "subtracted"),
    [
        ((2, 4), (True, True), [(2, 21), (3, 22), (4, WORD_START)], [(2, WORD_START)]),
        ((2, 4), (False, True), [(2, 21), (3, 22), (4, WORD_START)], []),
        ((2, 4), (True, False), [(2, 21), (3, 22)], [(2, WORD_START)]),
        ((2, 4), (False, False), [(2, 21), (3, 22)], []),
        # The start of the sentence is a boundary by itself.
        ((1, 2), (True, True), [(1, 11), (2, WORD_START)], []),
        ((1, 2), (False, False), [(1, 11)], []),
        # The first token cannot be asked for where the model reads no token before it.
        ((0, 2), (True, True), [(1, 11), (2, WORD_START)], []),
    ],
)
def test_the_mass_of_a_causal_model_is_that_of_the_first_span_as_a_whole_word(
    first: tuple[int, int],
    boundary: tuple[bool, bool],
    added: list[tuple[int, int]],
    subtracted: list[tuple[int, int]],
) -> None:
    found = mass_queries(sentence(first, boundary), "causal")
    assert (asked(found.added), asked(found.subtracted)) == (added, subtracted)
    assert {one.ids for one in (*found.added, *found.subtracted)} == {IDS}


WHOLE = EncodedCloze(
    (0, 5, 21, 22, 12), (2, 4), ((1, 4),), (1, 4), words=((1, 2), (2, 4), (4, 5)), mask=9
)


@pytest.mark.parametrize(
    ("name", "kind", "whole_word", "hides_articles", "whole_sentence", "asks_for"),
    [
        ("difference-l2r", "masked", True, True, False, [5, 21, 22]),
        ("first-piece", "masked", False, False, False, [21]),
        ("joint", "masked", True, False, False, [21, 22]),
        ("phrase-l2r", "masked", True, True, False, [5, 21, 22]),
        ("pll", "masked", True, True, True, [5, 21, 22, 12]),
        ("sentence", "causal", True, True, True, [5, 21, 22, 12]),
        ("word-l2r", "masked", True, False, False, [21, 22]),
    ],
)
def test_what_a_scorer_states_of_itself_is_what_it_does(
    name: str,
    kind: str,
    whole_word: bool,
    hides_articles: bool,
    whole_sentence: bool,
    asks_for: list[int],
) -> None:
    """The sentence has an article, a word of two pieces, and another word."""
    one = scorers.get(name)()
    assert (one.kind, one.whole_word, one.hides_articles, one.whole_sentence) == (
        kind, whole_word, hides_articles, whole_sentence,
    )  # fmt: skip
    found = [query.token for query in one.queries(WHOLE)]
    assert found == asks_for
    assert (22 in found) is whole_word
    assert (5 in found) is hides_articles
    assert (12 in found) is whole_sentence


def test_these_are_all_the_scorers_that_come_with_it() -> None:
    names = [name for name in scorers.names() if scorers.get(name).__module__[:8] == "lmprobe."]
    assert len(names) == 7


class Derived(WordLeftToRight, Scorer):
    """A scorer that says which protocol it has."""


def test_the_identity_is_the_hash_of_the_name_and_of_the_files_it_comes_from() -> None:
    """Nothing of the interpreter: the cache of another process must know it again."""
    own = Path(inspect.getfile(WordLeftToRight)).read_bytes()
    assert _identity(WordLeftToRight) == hashlib.sha256(b"WordLeftToRight" + own).hexdigest()
    protocol = Path(inspect.getfile(Scorer)).read_bytes()
    whole = b"Derived" + Path(__file__).read_bytes() + own + protocol
    assert _identity(Derived) == hashlib.sha256(whole).hexdigest()


def test_a_sum_asks_for_nothing_twice() -> None:
    model = ScriptedModel([])
    cloze = Cloze("She met a hairdresser.", 10, 21)
    (encoded,) = model.encode([cloze])
    queries = scorers.get("word-l2r")().queries(encoded)
    assert len(queries) == 2
    found = sums(model, [queries, queries[:1], ()])
    assert model.asked == 2
    answers = [model.answer(query) for query in queries]
    np.testing.assert_allclose(found, [sum(answers), answers[0], 0.0])


def test_a_model_that_answers_too_little_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of a plug-in would else be those of other questions."""
    model = ScriptedModel([])
    clozes = [Cloze("She met a cook.", 10, 14), Cloze("She met a nurse.", 10, 15)]
    answers, encode = model.log_probabilities, model.encode
    monkeypatch.setattr(model, "log_probabilities", lambda *asked, **_: answers(*asked)[:-1])
    with pytest.raises(ValueError, match="zip"):
        score(model, clozes)
    monkeypatch.undo()
    monkeypatch.setattr(model, "encode", lambda asked: encode(asked)[:-1])
    with pytest.raises(ValueError, match="zip"):
        score(model, clozes, scorer="first-piece")


def test_only_a_word_of_several_pieces_is_warned_of() -> None:
    model = ScriptedModel([])
    split, whole = Cloze("She met a hairdresser.", 10, 21), Cloze("She met a cook.", 10, 14)
    with pytest.warns(SplitWordWarning, match="of: hairdresser;"):
        found = score(model, [split, whole], scorer="first-piece")
    assert found.pieces.tolist() == [2, 1]
    assert score(model, [whole], scorer="first-piece").pieces.tolist() == [1]
    assert score(model, [split, whole], scorer="joint").pieces.tolist() == [2, 1]
