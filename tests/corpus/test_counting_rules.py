"""The three rules against slow versions of themselves, written out from their description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmprobe.corpus.languages import LANGUAGES
from lmprobe.corpus.lexicon import ATTRIBUTES, PAPER_ATTRIBUTES, Lexicon, lexicon
from lmprobe.corpus.rules.rule import rules
from lmprobe.corpus.sentences import Sentences
from lmprobe.sources import load_base_rates
from tests.reference_data import REFERENCE, needs_reference

TASKS = {
    "cook": ("cook", "cooks"),
    "editor": ("editor",),
    "auditor": ("auditor",),
    "secretary": ("secretary",),
    "undersecretary": ("undersecretary",),
    "driver": ("truck driver", "driver"),
    "bäcker": ("bäcker",),
}
LEXICON = lexicon(ATTRIBUTES, TASKS)
PAPER = lexicon(PAPER_ATTRIBUTES, TASKS)
Pairs = Counter[tuple[int, int]]
ABBREVIATIONS = LANGUAGES["en"].abbreviations


def sentence_round(block: bytes, place: int) -> tuple[int, int]:
    """Return the sentence of the block that has the letter at `place`."""
    return next(Sentences().around(block, [place]))


def counted(rule: str, words: Lexicon, text: str) -> Pairs:
    return Counter(rules.get(rule)(words).pairs(text.encode()))


def slow_paper(words: Lexicon, text: str) -> Pairs:
    counts: Pairs = Counter()
    for line in text.split("\n"):
        if "=" in line:
            continue
        for sentence in line.split("."):
            selected = None
            for number, (_, forms) in enumerate(words.tasks):
                if any(form in sentence for form in forms):
                    selected = number if selected is None else None
            tokens = sentence.split(" ")
            groups = [
                number
                for number, (_, forms) in enumerate(words.attributes)
                if any(form in tokens for form in forms)
            ]
            if selected is not None and len(groups) == 1:
                counts[groups[0], selected] += 1
    return counts


def slow_sentences(line: str) -> Iterator[str]:
    start = i = 0
    while i < len(line):
        if line[i] not in ".!?":
            i += 1
            continue
        j = i
        while j < len(line) and line[j] in ".!?":
            j += 1
        k = j
        while k < len(line) and line[k] in "\"')]}’”»":
            k += 1
        m = k
        while m < len(line) and line[m] in " \t\v\f":
            m += 1
        spaced = m > k and not (m < len(line) and "a" <= line[m] <= "z")
        if spaced and (j - i > 1 or line[i] != "." or not abbreviated(line[max(0, i - 40) : i])):
            yield line[start:m]
            start = m
        i = j
    yield line[start:]


def abbreviated(before: str) -> bool:
    before = before[:-1] if before.endswith(" ") else before
    word = ""
    while before and before[-1] not in " \t\v\f([{\"'":
        word, before = before[-1] + word, before[:-1]
    if len(word.encode()) > 12:
        return False
    parts = word.split(".")
    dotted = len(parts) > 1 and all(
        len(one) == 1 and one.isascii() and one.isalpha() for one in parts
    )
    return (len(word) == 1 and word.isupper()) or word.encode() in ABBREVIATIONS or dotted


@cache
def ascii_lower(text: str) -> str:
    return "".join(one.lower() if one.isascii() else one for one in text)


def slow_tokens(sentence: str) -> list[str]:
    tokens, word = [], ""
    for one in ascii_lower(sentence):
        if one.isalnum() or one == "_":
            word += one
            continue
        tokens += [word] * bool(word) + [one] * (not one.isspace())
        word = ""
    return tokens + [word] * bool(word)


def slow_word(words: Lexicon, text: str) -> Pairs:
    counts: Pairs = Counter()
    for line in text.split("\n"):
        for sentence in slow_sentences(line):
            spoken = f" {' '.join(slow_tokens(sentence))} "
            groups = slow_labels(words.attributes, spoken)
            if len(groups) == 1:
                tasks = slow_labels(words.tasks, spoken)
                if len(tasks) == 1:
                    counts[groups[0], tasks[0]] += 1
    return counts


def slow_labels(labels: tuple[tuple[str, tuple[str, ...]], ...], spoken: str) -> list[int]:
    return [
        number
        for number, (_, forms) in enumerate(labels)
        if any(
            f" {ascii_lower(one)} " in spoken
            for form in forms
            for one in (form, form.upper(), form.capitalize())
        )
    ]


PIECES = st.sampled_from(
    ["he", "She", "her", "son", "cook", "Cooks", "COOK", "auditorium", "editor", "cookery",
     "undersecretary", "secretary", "truck driver", "driver", "bäcker", "BÄCKER", "Dr", "Mr", "U.S",
     "J", "É", "etc", "é", "戦場", "is", "a", "the", "was", "=", ".", "!", "?", "...", "”", "\"",
     "'s", ")", "\n", "\t", ",", "-", " ", "  ", "x" * 14 + ".B", "Then", "new", "not", "now"]
)  # fmt: skip
GAP = st.sampled_from([" ", " ", " ", ""])
NOISE = st.lists(st.tuples(PIECES, GAP), max_size=4).map(
    lambda pieces: "".join(piece + gap for piece, gap in pieces)
)
# Who and what stand close together more often than chance, so that sentences count.
SENTENCE = st.tuples(
    NOISE,
    st.sampled_from(["he ", "She ", "HIS ", "her ", "daughter, "]),
    NOISE,
    st.sampled_from(["cook", "COOKS", "Editor", "editor", "auditor", "Truck Driver", "BÄCKER"]),
    st.sampled_from([". ", "! ", " . ", ".\n", "?” ", ", ", " "]),
).map("".join)
TEXTS = st.lists(SENTENCE | NOISE, max_size=5).map("".join)


@given(TEXTS)
def test_paper_rule_is_the_slow_one(text: str) -> None:
    assert counted("paper", PAPER, text) == slow_paper(PAPER, text)


@given(TEXTS)
def test_word_rule_is_the_slow_one(text: str) -> None:
    assert counted("word", LEXICON, text) == slow_word(LEXICON, text)


@given(TEXTS.filter(bool))
def test_the_sentence_round_a_letter_is_that_of_the_whole_line(text: str) -> None:
    block = text.encode()
    offset = 0
    for line in text.split("\n"):
        for sentence in slow_sentences(line):
            encoded = sentence.encode()
            for place in range(len(encoded)):
                if chr(encoded[place]).isalpha() and encoded[place] < 128:
                    found = sentence_round(block, offset + place)
                    assert found == (offset, offset + len(encoded))
            offset += len(encoded)
        offset += 1


@settings(max_examples=30)
@given(st.integers(200, 1200), st.sampled_from(["... ", "e.g. ", 'a" ', "!” ", "x. Y "]))
def test_a_sentence_longer_than_the_search_window_is_found_whole(size: int, filler: str) -> None:
    text = "One cook. " + filler * (size // len(filler)) + "Dr. editor"
    for sentence in slow_sentences(text):
        at = text.index(sentence) + len(sentence.rstrip()) - 1
        if text[at].isalpha() and text.isascii():
            start, end = sentence_round(text.encode(), at)
            assert text[start:end] == sentence


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Who met J. Smith. He left.", ["Dr. Who met J. Smith. ", "He left."]),
        ("The U.S. Navy came. It won.", ["The U.S. Navy came. ", "It won."]),
        ("“Stop!” he said. “Why?” She ran.", ["“Stop!” he said. ", "“Why?” ", "She ran."]),
        ("It cost 3.50 then . Next day", ["It cost 3.50 then . ", "Next day"]),
        ("lit . Valkyria of the field", ["lit . Valkyria of the field"]),
        ("Not A.B.C.D.E.F.G.H . But e.g. Yes", ["Not A.B.C.D.E.F.G.H . ", "But e.g. Yes"]),
        ("He sat. No. 5 won. It said no. Yes", ["He sat. ", "No. 5 won. ", "It said no. ", "Yes"]),
        ("Wait... what? No... Yes.", ["Wait... what? ", "No... ", "Yes."]),
    ],
)
def test_sentences_end_where_a_reader_sees_them_end(text: str, sentences: list[str]) -> None:
    assert list(slow_sentences(text)) == sentences
    encoded, offset = text.encode(), 0
    for sentence in sentences:
        end = offset + len(sentence.encode())
        letter = next(i for i in range(offset, end) if 65 <= encoded[i] <= 122)
        assert sentence_round(encoded, letter) == (offset, end)
        offset = end


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("HE MET A COOK", {(0, 0): 1}),  # case does not matter
        ("her cook’s cook-off", {(1, 0): 1}),
        ("He liked cookery", {}),
        ("he , she and the cook", {}),
        ("he , a cook and an editor", {}),
        ("A cook. He left", {}),
        ("She is the Undersecretary", {(1, 4): 1}),
        ("Her truck-driver, her Truck  Driver", {(1, 5): 1}),
        ("his BÄCKER", {(0, 6): 1}),
    ],
)
def test_word_rule(sentence: str, expected: dict[tuple[int, int], int]) -> None:
    assert counted("word", LEXICON, sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("he saw the auditorium", {(0, 2): 1}),  # a substring is enough
        ("he , a cook and editor", {}),  # two cancel
        ("he , a cook , editor and auditor", {(0, 2): 1}),  # three keep the third
        ("He is a cook", {}),  # case matters
        ("he, a cook", {}),  # tokens stand between spaces
        ("he and she cook", {}),
        ("= he cook =", {}),
        ("son of a cook.the son of an editor", {(0, 0): 1, (0, 1): 1}),
    ],
)
def test_quirks_of_the_paper_rule(sentence: str, expected: dict[tuple[int, int], int]) -> None:
    assert counted("paper", PAPER, sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("He is a cook.", {(0, 0): 1}),
        ("She is the very good, well-known editor!", {(1, 1): 1}),
        ("she 's now a cook", {(1, 0): 1}),
        ("She’s a truck driver.", {(1, 5): 1}),
        ("He later became one of the cooks.", {(0, 0): 1}),
        ("Her son worked as a cook in Rome.", {(0, 0): 1}),
        ("She has been working as assistant editor.", {(1, 1): 1}),
        ("The woman was a cook , the man an editor.", {(1, 0): 1}),
        ("He was seen by a cook.", {}),
        ("She is not a cook.", {}),
        ("He is a cook's son.", {}),
        ("He is the son of a cook.", {}),
        ("He was a cook and she was an editor.", {}),
        ("She went to see the cook.", {}),
        ("He is a big old French mean cook.", {}),  # more than three describing words
        ("He is cookery.", {}),
    ],
)
def test_pattern_rule(sentence: str, expected: dict[tuple[int, int], int]) -> None:
    assert counted("pattern", LEXICON, sentence) == expected


BE = {"is", "was", "are", "were", "became"}
STOP = {"of", "by", "not", "a", "an", "the", "he", "she", "and", "is", "was", "in", "as", "her"}
PLAIN = st.sampled_from(
    ["he", "she", "is", "was", "became", "works", "as", "a", "the", "now", "also", "new", "old",
     "good", "cook", "editor", "by", "not", "of", "driver", "truck", "in", "her", "serving"]
)  # fmt: skip


def slow_pattern(tokens: list[str]) -> Pairs:
    """Say who is said to be what, token by token, for texts without punctuation."""
    found = set()
    words = {form: i for i, (_, forms) in enumerate(LEXICON.tasks) for form in forms}
    groups = {form: i for i, (_, forms) in enumerate(LEXICON.attributes) for form in forms}
    adverbs = {"now", "also"}
    for i, token in enumerate(tokens):
        if token not in groups:
            continue
        starts = [i + 1]
        while starts[-1] < len(tokens) and tokens[starts[-1]] in adverbs:
            starts.append(starts[-1] + 1)
        befores = [at + 1 for at in starts if tokens[at : at + 1] and tokens[at] in BE]
        for at in starts:
            for skip in (0, 1) if tokens[at : at + 1] and tokens[at] in {"is", "was"} else (0,):
                said = tokens[at + skip : at + skip + 2]
                if len(said) == 2 and said[0] in {"works", "serving"} and said[1] == "as":
                    befores.append(at + skip + 2)
        for at in befores:
            found |= {(groups[token], words[one]) for one in reached(tokens, at, adverbs, words)}
    return Counter(found) if len(found) == 1 else Counter()


def reached(tokens: list[str], at: int, adverbs: set[str], words: dict[str, int]) -> list[str]:
    """Return the first task that the describing words from `at` on lead to."""
    options = [at]
    while options[-1] < len(tokens) and tokens[options[-1]] in adverbs:
        options.append(options[-1] + 1)
    options += [one + 1 for one in options if one < len(tokens) and tokens[one] in {"a", "the"}]
    for one in list(options):
        while one < len(tokens) and tokens[one] in adverbs:
            one += 1
            options.append(one)
    nearest = []
    for one in options:
        for more in range(4):
            between = tokens[one : one + more]
            if len(between) < more or any(word in STOP for word in between):
                break
            for size in (2, 1):
                name = " ".join(tokens[one + more : one + more + size])
                if name in words:
                    nearest.append((one + more, name))
    return [name for where, name in nearest if where == min(nearest)[0]][:1]


@given(st.lists(PLAIN, max_size=14))
def test_pattern_rule_is_the_slow_one(tokens: list[str]) -> None:
    assert counted("pattern", LEXICON, " ".join(tokens)) == slow_pattern(tokens)


@needs_reference("wikitext-2-train.txt")
@pytest.mark.parametrize(
    ("rule", "attributes", "slow"),
    [
        ("paper", PAPER_ATTRIBUTES, slow_paper),
        pytest.param("word", ATTRIBUTES, slow_word, marks=pytest.mark.slow),
    ],
)
def test_wikitext_counts_are_those_of_the_slow_rule(rule, attributes, slow) -> None:  # type: ignore[no-untyped-def]
    tasks = load_base_rates("labor").tasks  # type: ignore[attr-defined]
    words = lexicon(attributes, tasks)
    # The slow word rule reads only lines that may hold a task; the others count nothing.
    lines = (REFERENCE / "wikitext-2-train.txt").read_text(encoding="utf-8").split("\n")
    text = "\n".join(line for line in lines if any(task in line.lower() for task in tasks))
    expected = slow(words, text)
    assert counted(rule, words, "\n".join(lines)) == expected
    if rule == "word":
        shipped = load_base_rates("wikipedia").association(["he", "she"], tasks).counts
        assert shipped is not None
        assert {pair: int(shipped[pair]) for pair in expected} == expected
        assert shipped.sum() == expected.total()


@needs_reference("wikitext-2-train.txt")
@pytest.mark.parametrize(("rule", "sentences"), [("paper", 353), ("word", 388), ("pattern", 15)])
def test_wikitext_counts_are_those_of_the_documentation(rule: str, sentences: int) -> None:
    attributes = PAPER_ATTRIBUTES if rule == "paper" else ATTRIBUTES
    words = lexicon(attributes, load_base_rates("labor").tasks)  # type: ignore[attr-defined]
    text = (REFERENCE / "wikitext-2-train.txt").read_text(encoding="utf-8")
    assert counted(rule, words, text).total() == sentences
