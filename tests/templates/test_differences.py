"""Where finished sentences differ: what holds for any sentences, and examples by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from unicodedata import category

import pytest
from hypothesis import given, strategies as st

from lmprobe.templates.differences import differences

SPACED = {
    "English": (
        "He", "She", "he", "she", "his", "her", "hers", "old", "car", "the", "don't", "didn’t",
        "it's", "it", "s", ",", ".", "\"", "'", "mother-in-law", "O'Neil's", "3.5", "naïve",
    ),
    "Hindi": (
        "वह", "लड़का", "लड़की", "अच्छा", "अच्छी", "है", "हैं", "की", "का", "काम", "करता", "करती", "।",
        "मैं", "में", "किताब",
    ),
    "Arabic": ("هو", "هي", "مُعَلِّم", "مُعَلِّمة", "في", "المدرسة", "،", "."),
    "decomposed": ("e\u0301te\u0301", "ete", "e\u0301te", "n\u0303", "n", "année", "anne\u0301e"),
}  # fmt: skip
UNSPACED = {
    "Chinese": "他她是的护士医生说。，老师们",
    "Japanese": "彼女は医者です。看護師のラーメン",
}


@st.composite
def spaced(draw: st.DrawFn) -> list[str]:
    words = st.sampled_from(SPACED[draw(st.sampled_from(sorted(SPACED)))])
    gaps = st.sampled_from([" ", "  ", "\n", "\u00a0"])
    number = draw(st.integers(2, 4))
    texts = draw(st.lists(st.lists(words, min_size=1, max_size=9), min_size=number, max_size=4))
    return [word_by_word(text, draw(gaps)) for text in texts]


def word_by_word(words: Sequence[str], gap: str = " ") -> str:
    """Return the words with gaps between, but none before a full stop or a comma."""
    text = words[0]
    for word in words[1:]:
        text += word if word in (".", ",", "।", "،") else gap + word
    return text


@st.composite
def unspaced(draw: st.DrawFn) -> list[str]:
    letters = UNSPACED[draw(st.sampled_from(sorted(UNSPACED)))]
    return draw(st.lists(st.text(letters, min_size=1, max_size=9), min_size=2, max_size=4))


@st.composite
def edited(draw: st.DrawFn) -> list[str]:
    """A sentence of which words were left out, put in or replaced, independently."""
    words = st.sampled_from(SPACED["English"])
    whole = draw(st.lists(words, min_size=2, max_size=12))
    texts = [whole]
    for _ in range(draw(st.integers(1, 3))):
        own = list(whole)
        for _ in range(draw(st.integers(0, 3))):
            place, new = draw(st.integers(0, len(own))), draw(st.lists(words, max_size=2))
            own[place : place + draw(st.integers(0, 2))] = new
        texts.append(own or whole)
    return [word_by_word(text) for text in texts]


ANY = st.lists(st.text(min_size=1, max_size=12).filter(str.strip), min_size=2, max_size=4)
SENTENCES = st.one_of(spaced(), unspaced(), edited(), ANY)


def outside(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return what stands before, between and behind the differences, without white space."""
    bounds = [0, *(place for span in spans for place in span), len(text)]
    return [
        "".join(text[start:end].split())
        for start, end in zip(bounds[::2], bounds[1::2], strict=True)
    ]


@given(SENTENCES)
def test_the_rest_is_the_same_for_all(sentences: list[str]) -> None:
    spans = differences(sentences)
    (shared,) = {tuple(outside(text, own)) for text, own in zip(sentences, spans, strict=True)}
    assert all(shared[1:-1]), "two differences have a word in common between them"
    same = len({"".join(text.split()) for text in sentences}) == 1
    if not any(spans):
        assert same


@given(SENTENCES)
def test_all_have_as_many_and_each_writes_something(sentences: list[str]) -> None:
    spans = differences(sentences)
    assert len({len(own) for own in spans}) == 1
    for text, own in zip(sentences, spans, strict=True):
        flat = [place for span in own for place in span]
        assert flat == sorted(set(flat))
        assert all(0 <= place <= len(text) for place in flat)
        for start, end in own:
            word = text[start:end]
            assert word
            assert word == word.strip()
    for words in zip(*(
        [text[slice(*span)] for span in own] for text, own in zip(sentences, spans, strict=True)
    ), strict=True):  # fmt: skip
        assert len(set(words)) > 1, "what is the same everywhere is no difference"


@given(SENTENCES)
def test_their_order_makes_no_difference(sentences: list[str]) -> None:
    expected = dict(zip(sentences, differences(sentences), strict=True))
    for other in permutations(sentences):
        assert differences(other) == [expected[text] for text in other]
    assert differences([*sentences, sentences[0]])[:-1] == differences(sentences)


@given(SENTENCES, st.integers(1, 4))
def test_equal_sentences_have_none(sentences: list[str], number: int) -> None:
    assert differences([sentences[0]] * number) == [()] * number


@given(spaced() | edited())
def test_no_word_is_split_from_its_marks_or_behind_its_apostrophe(sentences: list[str]) -> None:
    def of_word(sign: str) -> bool:
        return category(sign)[0] in "LMN"

    for text, own in zip(sentences, differences(sentences), strict=True):
        for place in {place for span in own for place in span} - {0, len(text)}:
            before, after = text[place - 1], text[place]
            assert not (of_word(before) and of_word(after)), (text, place)
            if before in "'’" and place > 1:
                assert not (of_word(text[place - 2]) and of_word(after)), (text, place)
            if after in "'’" and place + 1 < len(text):
                assert not (of_word(before) and of_word(text[place + 1])), (text, place)


@st.composite
def marked(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Return sentences of words that each occur once, and the words in which they differ.

    Between two differences there is a word that all share; at the ends there may be none.
    """
    number, parts = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    shared = [
        [f"shared{place}x{n}" for n in range(draw(st.integers(0 < place < parts, 3)))]
        for place in range(parts + 1)
    ]
    words = [
        [f"own{row}x{place}x{n}" for n in range(draw(st.integers(1, 3)))]
        for row in range(number)
        for place in range(parts)
    ]
    own = [words[row * parts : (row + 1) * parts] for row in range(number)]
    texts = [
        " ".join([*shared[0], *(w for a, b in zip(each, shared[1:], strict=True) for w in a + b)])
        for each in own
    ]
    return texts, [[" ".join(part) for part in each] for each in own]


def found(sentences: Sequence[str]) -> list[list[str]]:
    return [
        [text[slice(*span)] for span in own]
        for text, own in zip(sentences, differences(sentences), strict=True)
    ]


@given(marked())
def test_what_was_put_in_is_found(case: tuple[list[str], list[list[str]]]) -> None:
    sentences, expected = case
    assert found(sentences) == expected


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 6), st.integers(1, 3))
def test_a_word_that_one_lacks_is_taken_with_the_word_after_it_or_else_before(
    length: int, size: int, place: int, lacking: int
) -> None:
    place = min(place, length)
    words, put_in = [f"w{n}" for n in range(length)], [f"new{n}" for n in range(size)]
    shorter, longer = words, [*words[:place], *put_in, *words[place:]]
    if place < length:
        expected = [*([words[place]] for _ in range(lacking)), [*put_in, words[place]]]
    else:
        expected = [*([words[-1]] for _ in range(lacking)), [words[-1], *put_in]]
    texts = [" ".join(each) for each in (*[shorter] * lacking, longer)]
    assert found(texts) == [[" ".join(each)] for each in expected]


EXAMPLES = {
    "two spans, of one and two words": (
        "[He] said that [his] car broke.",
        "[She] said that [her old] car broke.",
    ),
    "three candidates": (
        "[His] friends say [he is] kind.",
        "[Her] friends say [she is] kind.",
        "[Their] friends say [they are] kind.",
    ),
    "two of three are alike there": ("[A man] sang", "[A woman] sang", "[The man] sang"),
    "an article at the start": ("[A man] in town", "[Man] in town"),
    "a word at the start": ("[Yes, he] sang.", "[She] sang."),
    "a word at the end": ("It rained [again]", "It rained [twice, today]"),
    "a word more at the end": ("It [rained]", "It [rained today]"),
    "a word more before the full stop": ("It rained[.]", "It rained [today.]"),
    "an apostrophe": ("She [doesn't] care.", "She [does] care."),
    "a typographic apostrophe": ("[He’s] here, isn’t it?", "[It’s] here, isn’t it?"),
    "the name before a hyphen": ("My [mother]-in-law", "My [father]-in-law"),
    "letters of a word": ("an [actor] left", "an [actress] left"),
    "a capital letter": ("[he] and He", "[He] and He"),
    "nothing in common": ("[Boys sing.]", "[她是护士]"),
    "Chinese": ("[他]是护士。", "[她]是护士。"),
    "two letters more in Chinese": ("老师[说]好", "老师[们都说]好"),
    "a vowel sign in Hindi": ("वह [अच्छा लड़का] है", "वह [अच्छी लड़की] है"),
    "a decomposed accent": ("une [anne\u0301e] passe", "une [annee] passe"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    sentences, expected = [], []
    for each in EXAMPLES[name]:
        expected.append(re.findall(r"\[(.*?)\]", each))
        sentences.append(re.sub(r"[\[\]]", "", each))
    assert found(sentences) == expected


def test_white_space_is_no_difference() -> None:
    assert differences(["He  sang .", "He sang."]) == [(), ()]
    assert found(["He  sang", "She\tsang"]) == [["He"], ["She"]]
