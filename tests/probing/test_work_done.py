"""How many tokens the network reads for a probe, counted: the guard of speed without a clock."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

import lmprobe
from lmprobe.models import load_model
from lmprobe.models.forward import quiet_transformers
from lmprobe.templates import Sentence, load_templates
from tests.checkpoints import own_cache

__all__ = ["own_cache"]

FITBERT = load_templates("fitbert")
SENTENCES = [
    template.sentence(who, what)
    for template in FITBERT.templates
    for who in ("he", "she")
    for what in FITBERT.tasks
]


def tokens_read(model: Any, **options: Any) -> int:
    """Probe the model with the paper's sentences; return the places of all batches, padding too."""
    places: list[int] = []
    hook = model.network.register_forward_pre_hook(
        lambda _, __, inputs: places.append(inputs["input_ids"].numel()), with_kwargs=True
    )
    lmprobe.probe(model, FITBERT, "labor", attributes=["he", "she"], **options)
    hook.remove()
    return sum(places)


def masked_sequences(tokenizer: Any, sentence: Sentence, whole: bool) -> set[tuple[int, ...]]:
    """Mask the pronoun, then the occupation: from each of its pieces on, or all with one mask."""
    tokens = tokenizer(sentence.text, return_offsets_mapping=True)
    sequences = set()
    for start, end in (sentence.attribute_span, sentence.task_span):
        inside = [
            number
            for number, (left, right) in enumerate(tokens["offset_mapping"])
            if left < right and start <= left and right <= end
        ]
        ids, last = tokens["input_ids"], inside[-1] + 1
        for first in inside if whole else inside[:1]:
            masks = last - first if whole else 1
            sequences.add((*ids[:first], *[tokenizer.mask_token_id] * masks, *ids[last:]))
    return sequences


@pytest.mark.filterwarnings("ignore::lmprobe.models.scorers.SplitWordWarning")
@pytest.mark.parametrize("scorer", ["difference-l2r", "first-piece"])
def test_padding_and_control_questions_cost_little(scorer: str) -> None:
    model = load_model("reference:amplified")
    needed = set().union(
        *(
            masked_sequences(model.tokenizer, sentence, scorer != "first-piece")
            for sentence in SENTENCES
        )
    )
    read = tokens_read(model, scorer=scorer, cache=False)
    assert sum(map(len, needed)) <= read <= 1.08 * sum(map(len, needed))


def test_the_direction_that_is_left_out_costs_nothing() -> None:
    model = load_model("reference:amplified")
    both, *each = (
        tokens_read(model, cache=False, direction=direction) for direction in (None, "T->A", "A->T")
    )
    # The sentences for the perplexity are read in each.
    assert both <= sum(each) <= 1.04 * both
    assert max(each) < 0.6 * both


def test_no_beginning_of_a_sentence_is_read_twice() -> None:
    """But for the few tokens with which the sentences of the next tree begin."""
    tokenizer = load_model("reference:causal-amplified").tokenizer
    torch.manual_seed(0)
    with quiet_transformers():
        network = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=16,
                intermediate_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
            )
        )
    beginnings = {
        tuple(ids[:end])
        for ids in (tokenizer(sentence.text)["input_ids"] for sentence in SENTENCES)
        # The last token, before [SEP], is predicted and not read.
        for end in range(1, len(ids) - 1)
    }
    read = tokens_read(load_model(network, tokenizer=tokenizer), cache=False)
    assert len(beginnings) <= read <= 1.08 * len(beginnings)


def test_another_base_and_a_repetition_read_nothing() -> None:
    model = load_model("reference:amplified")
    assert tokens_read(model) > 0
    assert tokens_read(model) == 0
    network = model.network
    hook = network.register_forward_pre_hook(lambda *_: pytest.fail("the network was run"))
    lmprobe.probe(model, FITBERT, ["uniform", "winobias"], attributes=["he", "she"])
    hook.remove()
