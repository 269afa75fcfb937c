"""The three rules against slow versions of themselves, written out from their description."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, strategies as st

from lmprobe.sources import load_base_rates
from lmprobe.sources.counting.languages import Sentences
from lmprobe.sources.counting.lexicon import ATTRIBUTES, PAPER_ATTRIBUTES, Lexicon, lexicon
from tests.reference_data import REFERENCE, needs_reference
from tests.sources.oracles import (
    Pairs,
    counted,
    slow_paper,
    slow_pattern,
    slow_sentences,
    slow_word,
)

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
def test_paper_and_word_rule_are_the_slow_ones(text: str) -> None:
    assert counted("paper", PAPER, text) == slow_paper(PAPER, text)
    assert counted("word", LEXICON, text) == slow_word(LEXICON, text)
    check_sentences(text)


WITHIN_OTHERS = st.lists(st.text("abé", min_size=1, max_size=4), min_size=1, unique=True)
MANY = st.lists(st.text("abcé", min_size=3, max_size=3), min_size=25, unique=True)


@given(WITHIN_OTHERS | MANY, st.data())
def test_any_words_count_as_the_slow_rules_say(tasks: list[str], data: st.DataObject) -> None:
    words = lexicon({"he": ["he"], "she": ["she"]}, tasks)
    piece = st.sampled_from([" he ", " She ", "_", "-", " ", ". ", ".\n", *tasks, tasks[0].upper()])
    text = "".join(data.draw(st.lists(piece, max_size=30)))
    text += "".join(f"\n he {task} ." for task in tasks)
    assert counted("word", words, text) == slow_word(words, text)
    assert counted("paper", words, text) == slow_paper(words, text)


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
    check_sentences(text)


def check_sentences(text: str) -> None:
    """Compare the sentence round every letter with the one that a slow walk finds."""
    block, start = text.encode(), 0
    for line in text.split("\n"):
        for sentence in slow_sentences(line):
            end = start + len(sentence.encode())
            for place in range(start, end):
                if block[place] < 128 and chr(block[place]).isalpha():
                    assert next(Sentences().around(block, [place])) == (start, end)
            start = end
        start += 1


@pytest.mark.parametrize(
    ("rule", "sentence", "expected"),
    [
        ("word", "her cook’s cook-off", {(1, 0): 1}),
        ("word", "He liked cookery", {}),
        ("word", "he , she and the cook", {}),
        ("word", "he , a cook and an editor", {}),
        ("word", "She is the Undersecretary", {(1, 4): 1}),
        ("word", "Her truck-driver, her Truck  Driver", {(1, 5): 1}),
        ("word", "his BÄCKER", {(0, 6): 1}),
        ("paper", "he saw the auditorium", {(0, 2): 1}),  # a substring is enough
        ("paper", "he , a cook , editor and auditor", {(0, 2): 1}),  # three keep the third
        ("paper", "He is a cook", {}),  # case matters
        ("paper", "he, a cook", {}),  # tokens stand between spaces
        ("paper", "= he cook =", {}),
        ("paper", "x = 1 . he cook . he editor\nhe cook", {(0, 0): 1}),
        ("paper", "son of a cook.the son of an editor", {(0, 0): 1, (0, 1): 1}),
    ],
)
def test_word_and_paper_rule(
    rule: str, sentence: str, expected: dict[tuple[int, int], int]
) -> None:
    assert counted(rule, PAPER if rule == "paper" else LEXICON, sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("He is a cook.", {(0, 0): 1}),
        ("She is the very good, well-known editor!", {(1, 1): 1}),
        ("she 's now a cook", {(1, 0): 1}),
        ("He later became one of the cooks.", {(0, 0): 1}),
        ("Her son worked as a cook in Rome.", {(0, 0): 1}),
        ("She has been working as assistant editor.", {(1, 1): 1}),
        ("The woman was a cook , the man an editor.", {(1, 0): 1}),
        ("He was seen by a cook.", {}),
        ("She is not a cook.", {}),
        ("He is a cook's son.", {}),
        ("He was a cook and she was an editor.", {}),
        ("He is a big old French mean cook.", {}),  # more than three describing words
    ],
)
def test_pattern_rule(sentence: str, expected: dict[tuple[int, int], int]) -> None:
    assert counted("pattern", LEXICON, sentence) == expected


PLAIN = st.sampled_from(
    ["he", "she", "is", "was", "became", "works", "as", "a", "the", "now", "also", "new", "old",
     "good", "cook", "editor", "by", "not", "of", "driver", "truck", "in", "her", "serving"]
)  # fmt: skip


@given(st.lists(PLAIN, max_size=14))
def test_pattern_rule_is_the_slow_one(tokens: list[str]) -> None:
    assert counted("pattern", LEXICON, " ".join(tokens)) == slow_pattern(LEXICON, tokens)


@needs_reference("wikitext-2-train.txt")
@pytest.mark.parametrize(
    ("rule", "attributes", "slow"),
    [
        ("paper", PAPER_ATTRIBUTES, slow_paper),
        pytest.param("word", ATTRIBUTES, slow_word, marks=pytest.mark.slow),
    ],
)
def test_wikitext_counts_are_those_of_the_slow_rule(
    rule: str, attributes: Mapping[str, tuple[str, ...]], slow: Callable[[Lexicon, str], Pairs]
) -> None:
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
