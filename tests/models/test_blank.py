"""The pieces of a word in a sentence, for every kind of tokenizer."""

from __future__ import annotations

from typing import Any

import pytest
from checkpoints import trained_tokenizer

from lmprobe.errors import InputError, ModelError
from lmprobe.models.blank import Blank, Encoded, Question, encode

KINDS = ["BertTokenizer", "RobertaTokenizer", "XLMRobertaTokenizer", "DebertaV2Tokenizer"]


def blank_of(text: str, word: str, **others: Any) -> Blank:
    start = text.index(word)
    return Blank(text, start, start + len(word), **others)


def read(tokenizer: Any, encoded: Encoded) -> list[str]:
    return [str(token) for token in tokenizer.convert_ids_to_tokens(encoded.pieces)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("BertTokenizer", ["nurse"]),
        ("RobertaTokenizer", ["Ġnurse"]),
        ("XLMRobertaTokenizer", ["▁nurse"]),
        ("DebertaV2Tokenizer", ["▁nurse"]),
    ],
)
def test_the_space_before_a_word_belongs_to_it(kind: str, expected: list[str]) -> None:
    tokenizer = trained_tokenizer(kind)
    (encoded,) = encode(tokenizer, [blank_of("She became a new nurse, people said.", "nurse")])
    assert read(tokenizer, encoded) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_lone_space_token_is_part_of_the_word_it_begins(kind: str) -> None:
    tokenizer = trained_tokenizer(kind)
    text = "She became a new yearly, people said."
    (encoded,) = encode(tokenizer, [blank_of(text, "yearly")])
    pieces = read(tokenizer, encoded)
    assert "".join(pieces).replace("##", "").strip("▁Ġ") == "yearly"
    before = tokenizer.convert_ids_to_tokens(encoded.ids[encoded.word[0] - 1])
    assert before.strip("▁Ġ"), "a space of its own was left visible before the masks"


@pytest.mark.parametrize("kind", KINDS)
def test_one_mask_takes_the_place_of_any_word(kind: str) -> None:
    """Whatever the word, the sentence round its mask is the same."""
    tokenizer = trained_tokenizer(kind)
    words = ("nurse", "baker", "yearly", "lawyer")
    encoded = encode(tokenizer, [blank_of(f"A new {word} worked.", word) for word in words])
    assert len({one.ask(0, masks=1).ids for one in encoded}) == 1


def test_ask_shows_masks_and_hides() -> None:
    encoded = Encoded(
        ids=(100, 1, 2, 3, 4, 5, 101),
        segments=(0, 1, 1, 1, 2, 2, 0),
        word=(4, 6),
        hidden=((1, 3),),
        mask=9,
    )
    assert encoded.pieces == (4, 5)
    assert encoded.ask(0) == Question((100, 9, 3, 9, 9, 101), (0, 1, 1, 2, 2, 0), 3, 4)
    assert encoded.ask(1) == Question((100, 9, 3, 9, 9, 101), (0, 1, 1, 2, 2, 0), 4, 5)
    assert encoded.ask(1, shown=1) == Question((100, 9, 3, 4, 9, 101), (0, 1, 1, 2, 2, 0), 4, 5)
    assert encoded.ask(0, masks=1) == Question((100, 9, 3, 9, 101), (0, 1, 1, 2, 0), 3, 4)


def test_a_hidden_word_is_one_mask_whatever_its_pieces() -> None:
    tokenizer = trained_tokenizer("BertTokenizer")
    texts = [f"She became a new {word}." for word in ("nurse", "lawyer")]
    blanks = [Blank(text, 0, 3, hidden=((17, len(text) - 1),)) for text in texts]
    nurse, lawyer = encode(tokenizer, blanks)
    assert len(lawyer.ids) > len(nurse.ids)
    assert nurse.ask(0) == lawyer.ask(0)


def test_words_glued_to_their_neighbours_are_named_together() -> None:
    tokenizer = trained_tokenizer("BertTokenizer")
    blanks = [
        Blank("She became a new nurse.", 17, 20),
        Blank("She became a new baker.", 19, 22),
        Blank("She became a new baker.", 17, 22),
    ]
    with pytest.raises(ModelError, match=r"share a token .* ker, nur"):
        encode(tokenizer, blanks)


def test_unknown_words_are_named_together() -> None:
    tokenizer = trained_tokenizer("BertTokenizer")
    blanks = [
        blank_of("She became a new Ж.", "Ж"),
        blank_of("She became a new Ω.", "She", given=((17, 18),)),
        blank_of("She became ! new nurse.", "nurse"),
    ]
    with pytest.raises(ModelError, match=r"unknown to its tokenizer: Ω, Ж\. Leave"):
        encode(tokenizer, blanks)


@pytest.mark.parametrize(("start", "end"), [(3, 3), (3, 4), (50, 60), (-3, 60)])
def test_a_span_without_a_word_is_an_error(start: int, end: int) -> None:
    with pytest.raises(InputError, match="no word at characters"):
        Blank("She became a nurse.", start, end)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokens_of_the_article_stand_right_before_the_word(kind: str) -> None:
    tokenizer = trained_tokenizer(kind)
    text = "She became a nurse."
    (encoded,) = encode(tokenizer, [blank_of(text, "nurse", article=(11, 12))])
    phrase = encoded.with_article()
    assert "".join(read(tokenizer, phrase)).strip("▁Ġ") in ("anurse", "aĠnurse", "a▁nurse")
    assert phrase.word[1] == encoded.word[1]
    assert phrase.with_article() == phrase


@pytest.mark.parametrize("article", [(0, 3), (4, 10), (13, 18), (12, 13), (-3, 12)])
def test_an_article_elsewhere_is_refused(article: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=r"no (word|article)"):
        blank_of("She became a nurse.", "nurse", article=article)
