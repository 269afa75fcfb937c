"""Token types reach the network with every query; words that a tokenizer drops are named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from lmprobe.errors import ModelError
from lmprobe.models.batch import BatchSize
from lmprobe.models.causal_encoding import encode_causal
from lmprobe.models.cloze import Cloze, EncodedCloze, TokenQuery
from lmprobe.models.encoding import encode_masked, tokenize
from lmprobe.models.masked_runner import PaddingCheck, log_probabilities
from tests.models.test_cloze import cloze_of, normalising_tokenizer

# Types as a tokenizer of pairs gives them: none of what is asked for is of type 0.
ENCODED = EncodedCloze(
    ids=(2, 10, 11, 12, 13, 3),
    word=(2, 4),
    differing=((2, 4),),
    phrase=(1, 4),
    mask=4,
    segments=(0, 1, 1, 2, 2, 1),
)


def test_masked_tokens_keep_their_types() -> None:
    for left_to_right in (False, True):
        queries = ENCODED.masked([(2, 4)], left_to_right=left_to_right)
        assert [query.segments for query in queries] == [ENCODED.segments] * 2
        second = (2, 10, 11, 4, 13, 3) if left_to_right else (2, 10, 4, 4, 13, 3)
        assert [query.ids for query in queries] == [(2, 10, 4, 4, 13, 3), second]


def test_one_mask_for_two_pieces_has_the_type_of_the_first() -> None:
    query = ENCODED.one_mask()
    assert (query.ids, query.position, query.token) == ((2, 10, 4, 13, 3), 2, 11)
    assert query.segments == (0, 1, 1, 2, 1)


class Typed:
    """A network whose answer is a function of the token and its type alone."""

    device, dtype = torch.device("cpu"), torch.float32

    def __init__(self) -> None:
        self.weights = torch.randn(9, 20, generator=torch.Generator().manual_seed(0))
        self.seen: list[Any] = []

    def get_output_embeddings(self) -> None:
        return None

    def __call__(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
        self.seen.append(token_type_ids)
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        return SimpleNamespace(logits=self.weights[types * 3 + input_ids % 3])


def expected(network: Typed, query: TokenQuery) -> float:
    kind = query.segments[query.position] if query.segments else 0
    row = network.weights[kind * 3 + query.ids[query.position] % 3]
    return float(row.double().log_softmax(-1)[query.token])


def answers(network: Typed, queries: list[TokenQuery], size: int | str = "auto") -> Any:
    return log_probabilities(
        network, queries, batch_size=BatchSize(size, "cpu"), pad=0, check=PaddingCheck()
    )


@pytest.mark.parametrize("size", ["auto", 1])
def test_the_same_tokens_with_other_types_are_another_sentence(size: int | str) -> None:
    network = Typed()
    queries = [
        TokenQuery((2, 4, 3), 1, 7, (0, 1, 1)),
        TokenQuery((2, 4, 3), 1, 7, (0, 2, 2)),
        TokenQuery((2, 4, 3), 1, 7, (0, 0, 0)),
        TokenQuery((2, 5, 4, 5, 3), 2, 8, (0, 1, 2, 1, 1)),
    ]
    found = answers(network, queries, size)
    np.testing.assert_allclose(found, [expected(network, one) for one in queries], atol=1e-6)
    assert len(set(np.round(found[:3], 4))) == 3
    assert all(types is not None for types in network.seen)


def test_a_tokenizer_without_types_gives_the_network_none() -> None:
    network = Typed()
    queries = [TokenQuery((2, 4, 3), 1, 7), TokenQuery((2, 4, 5, 3), 1, 7)]
    np.testing.assert_allclose(
        answers(network, queries), [expected(network, one) for one in queries], atol=1e-6
    )
    assert all(types is None for types in network.seen)


def test_types_are_those_of_the_tokenizer() -> None:
    tokenizer = normalising_tokenizer()
    found = tokenize(tokenizer, ["she is a nurse", "she is"])
    assert found["she is a nurse"].segments == (0, 1, 1, 1, 1, 1)
    assert found["she is"].segments == (0, 1, 1, 1)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    assert tokenize(tokenizer, ["she is"])["she is"].segments == ()


def all_words(tokenizer: Any) -> Any:
    return np.ones(len(tokenizer), dtype=bool)


@pytest.mark.parametrize(
    "cloze",
    [
        cloze_of("she is a gone nurse", "gone"),
        Cloze("she is a gone nurse", 14, 19, given=((9, 13),)),
        Cloze("she is gone nurse", 12, 17, article=(7, 11)),
        Cloze("she is a gone nurse", 14, 19, differing=((9, 13), (14, 19))),
    ],
    ids=["word", "given", "article", "differing"],
)
def test_a_dropped_word_is_named_whatever_it_is_for(cloze: Cloze) -> None:
    """It has no token: neither kind of model can be asked about it."""
    tokenizer = normalising_tokenizer()
    with pytest.raises(ModelError, match=r"gone \(in no token\)"):
        encode_masked(tokenizer, [cloze])
    with pytest.raises(ModelError, match=r"gone \(in no token\)"):
        encode_causal(tokenizer, [cloze], all_words(tokenizer))


def test_the_words_beside_a_dropped_one_keep_their_tokens() -> None:
    tokenizer = normalising_tokenizer()
    (masked,) = encode_masked(tokenizer, [cloze_of("she is a gone nurse", "nurse")])
    assert (masked.ids, masked.word, masked.pieces) == ((2, 5, 6, 7, 8, 3), (4, 5), (8,))
    (causal,) = encode_causal(
        tokenizer, [cloze_of("she is a gone nurse", "nurse")], all_words(tokenizer)
    )
    assert causal.pieces == (8,)
    assert causal.segments == ()
