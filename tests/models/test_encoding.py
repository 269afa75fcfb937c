"""The tokens of a word in a sentence, for every kind of tokenizer, and what is asked of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError, ModelError
from lmprobe.models.language_model import Cloze, encode_causal, encode_masked
from tests.checkpoints import trained_tokenizer

KINDS = ["BertTokenizer", "RobertaTokenizer", "XLMRobertaTokenizer", "DebertaV2Tokenizer"]


def cloze_of(text: str, word: str, **others: Any) -> Cloze:
    start = text.index(word)
    return Cloze(text, start, start + len(word), **others)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("word", ["nurse", "yearly"])
def test_the_space_before_a_word_belongs_to_it(kind: str, word: str) -> None:
    """Also where the space is a token of its own."""
    tokenizer = trained_tokenizer(kind)
    text = f"She became a new {word}, people said."
    (encoded,) = encode_masked(tokenizer, [cloze_of(text, word)])
    pieces = "".join(tokenizer.convert_ids_to_tokens(encoded.pieces)).replace("##", "")
    assert pieces.strip("▁Ġ") == word
    assert pieces[0] in "▁Ġ" or kind == "BertTokenizer"
    before = tokenizer.convert_ids_to_tokens(encoded.ids[encoded.word[0] - 1])
    assert before.strip("▁Ġ"), "a space of its own was left visible before the masks"


@pytest.mark.parametrize("kind", KINDS)
def test_one_mask_takes_the_place_of_any_word(kind: str) -> None:
    """Whatever the word, the sentence around its mask is the same."""
    tokenizer = trained_tokenizer(kind)
    words = ("nurse", "baker", "yearly", "lawyer")
    encoded = encode_masked(tokenizer, [cloze_of(f"A new {word} worked.", word) for word in words])
    assert len({item.one_mask().ids for item in encoded}) == 1


def test_a_hidden_word_is_one_mask_whatever_its_pieces() -> None:
    tokenizer = trained_tokenizer("BertTokenizer")
    texts = [f"She became a new {word}." for word in ("nurse", "lawyer")]
    clozes = [Cloze(text, 0, 3, hidden=((17, len(text) - 1),)) for text in texts]
    nurse, lawyer = encode_masked(tokenizer, clozes)
    assert nurse.ids.count(nurse.mask) == 1
    assert nurse.masked([nurse.word], left_to_right=True) == lawyer.masked(
        [lawyer.word], left_to_right=True
    )


def test_words_glued_to_their_neighbours_are_named_together() -> None:
    tokenizer = trained_tokenizer("BertTokenizer")
    clozes = [
        Cloze("She became a new nurse.", 17, 20),
        Cloze("She became a new baker.", 19, 22),
        Cloze("She became a new baker.", 17, 22),
    ]
    with pytest.raises(
        ModelError, match=r"share a token .*: ker \(in .*ker.*\), nur \(in .*nur.*\)"
    ):
        encode_masked(tokenizer, clozes)


def test_unknown_words_are_named_together() -> None:
    tokenizer = trained_tokenizer("BertTokenizer")
    clozes = [
        cloze_of("She became a new Ж.", "Ж"),
        cloze_of("She became a new Ω.", "She", given=((17, 18),)),
        cloze_of("She became ! new nurse.", "nurse"),
    ]
    with pytest.raises(ModelError, match=r"unknown to its tokenizer: Ω, Ж\. Leave"):
        encode_masked(tokenizer, clozes)


@pytest.mark.parametrize(("start", "end"), [(3, 3), (3, 4), (50, 60), (-3, 60)])
def test_a_span_without_a_word_is_an_error(start: int, end: int) -> None:
    with pytest.raises(InputError, match="no word at characters"):
        Cloze("She became a nurse.", start, end)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokens_of_the_article_stand_right_before_the_word(kind: str) -> None:
    tokenizer = trained_tokenizer(kind)
    text = "She became a nurse."
    (encoded,) = encode_masked(tokenizer, [cloze_of(text, "nurse", article=(11, 12))])
    pieces = tokenizer.convert_ids_to_tokens(encoded.ids[slice(*encoded.phrase)])
    assert "".join(pieces).strip("▁Ġ") in ("anurse", "aĠnurse", "a▁nurse")
    assert encoded.phrase[1] == encoded.word[1]
    assert encoded.differing == (encoded.phrase,), "what differs is, by default, both"


@pytest.mark.parametrize("kind", KINDS)
def test_spans_that_differ_are_in_order_and_joined_where_they_touch(kind: str) -> None:
    tokenizer = trained_tokenizer(kind)
    text = "They were a known nurse."
    spans = ((12, 17), (0, 4), (5, 9))
    (encoded,) = encode_masked(tokenizer, [cloze_of(text, "They", differing=spans)])
    first, second = encoded.differing
    read_back = [
        "".join(tokenizer.convert_ids_to_tokens(encoded.ids[slice(*span)]))
        for span in (first, second)
    ]
    letters = [re.sub("[▁Ġ#]", "", text).lower() for text in read_back]
    assert letters == ["theywere", "known"]


def test_words_are_those_of_the_tokenizer() -> None:
    tokenizer = trained_tokenizer("BertTokenizer")
    (encoded,) = encode_masked(tokenizer, [cloze_of("She was a lawyer.", "lawyer")])
    assert [encoded.ids[slice(*word)] for word in encoded.words][3] == encoded.pieces
    assert len(encoded.words) == 5
    assert len(encoded.pieces) > 1


@pytest.mark.parametrize("article", [(0, 3), (4, 10), (13, 18), (12, 13), (-3, 12)])
def test_an_article_elsewhere_is_refused(article: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=r"no (word|article)"):
        cloze_of("She became a nurse.", "nurse", article=article)


def normalising_tokenizer() -> Any:
    """Return a tokenizer of whole words that drops the word "gone" before it reads."""
    import tokenizers
    import transformers
    from tokenizers import models, normalizers, pre_tokenizers, processors

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "she", "is", "a", "nurse", "new"]
    vocabulary = {word: number for number, word in enumerate(names)}
    backend = tokenizers.Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    backend.normalizer = normalizers.Replace("gone", "")
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    # The sentence itself is of type 1 here, as in a pair.
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, mask_token="[MASK]", pad_token="[PAD]", unk_token="[UNK]",
        cls_token="[CLS]", sep_token="[SEP]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


@pytest.mark.parametrize(
    "cloze",
    [
        cloze_of("she is a gone nurse", "gone"),
        Cloze("she is a gone nurse", 14, 19, differing=((9, 13), (14, 19))),
        Cloze("she is a gone nurse", 14, 19, hidden=((9, 13),)),
    ],
    ids=["word", "differing", "hidden"],
)
def test_a_word_that_the_tokenizer_drops_is_named_whatever_it_is_for(cloze: Cloze) -> None:
    """It has no token: neither kind of model can be asked about it."""
    tokenizer = normalising_tokenizer()
    with pytest.raises(ModelError, match=r"gone \(in no token\)"):
        encode_masked(tokenizer, [cloze])
    if not cloze.hidden:
        with pytest.raises(ModelError, match=r"gone \(in no token\)"):
            encode_causal(tokenizer, [cloze], np.ones(len(tokenizer), dtype=bool))


def test_token_types_follow_the_tokens() -> None:
    tokenizer = normalising_tokenizer()
    (plain,) = encode_masked(tokenizer, [cloze_of("she is a new nurse", "nurse")])
    assert plain.segments == (0, 1, 1, 1, 1, 1, 1)
    # Two words give way to one mask: the types of what is left stay with their tokens.
    text = "she is a new nurse"
    (hidden,) = encode_masked(tokenizer, [Cloze(text, 13, 18, hidden=((7, 12),))])
    assert hidden.ids == (2, 5, 6, 4, 8, 3)
    assert hidden.segments == (0, 1, 1, 1, 1, 1)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    assert encode_masked(tokenizer, [cloze_of(text, "nurse")])[0].segments == ()
