"""What the mass of a candidate asks for."""

from __future__ import annotations

import pytest

from lmprobe.models import EncodedCloze
from lmprobe.models.language_model import WORD_START
from lmprobe.models.scorers import mass_queries

IDS = (0, 11, 21, 22, 23, 12, 13)


def sentence(first: tuple[int, int], boundary: tuple[bool, bool] = (True, True)) -> EncodedCloze:
    """Return a sentence of which two spans differ; its mask is token 9."""
    return EncodedCloze(IDS, first, (first, (5, 6)), first, mask=9, boundary=boundary)


def queries_of(queries: object) -> list[tuple[int, int]]:
    return [(query.position, query.token) for query in queries]  # type: ignore[attr-defined]


def test_the_mass_of_a_masked_model_hides_all_that_differs_and_shows_what_was_asked() -> None:
    result = mass_queries(sentence((2, 4)), "masked")
    assert result.subtracted == ()
    assert [(item.ids, item.position, item.token) for item in result.added] == [
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
    result = mass_queries(sentence(first, boundary), "causal")
    assert (queries_of(result.added), queries_of(result.subtracted)) == (added, subtracted)
    assert {item.ids for item in (*result.added, *result.subtracted)} == {IDS}
