"""The search reports a place in every stretch of text that holds a needle."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from lmprobe.corpus.finder import Finder, WordFinder

NEEDLES = st.lists(st.text("abC", min_size=1, max_size=4), min_size=1, max_size=40, unique=True)


@given(NEEDLES, st.text("abcABC .", max_size=80), st.booleans())
def test_no_sentence_with_a_needle_is_missed(
    needles: list[str], text: str, ignore_case: bool
) -> None:
    finder = Finder((one.encode() for one in needles), ignore_case=ignore_case)
    places = finder.places(text.encode())
    assert places == sorted(places)
    start = 0
    for sentence in text.split("."):
        read = sentence.lower() if ignore_case else sentence
        wanted = [one.lower() if ignore_case else one for one in needles]
        inside = [place for place in places if start <= place < start + len(sentence)]
        assert bool(inside) == any(one in read for one in wanted)
        start += len(sentence) + 1


WORDS = st.lists(st.text("abé_", min_size=1, max_size=3), min_size=1, max_size=6, unique=True)


@given(WORDS, st.text("abABéÉ_-'’ .\n", max_size=60))
def test_every_whole_word_has_a_place(words: list[str], text: str) -> None:
    places = WordFinder(one.encode() for one in words).places(text.encode())
    assert places == sorted(places)
    for token in re.finditer(r"\w+", text):
        form = token.group().encode().lower().decode()
        start, end = (len(text[:at].encode()) for at in token.span())
        inside = any(start <= place < end for place in places)
        if form in words:
            assert inside
        elif text.isascii():
            assert not inside
