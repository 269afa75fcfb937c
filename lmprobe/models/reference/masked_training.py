"""A small BERT, and the loss it is trained with: guessing what was hidden."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

from lmprobe.models.reference.fitting import Recipe, near_lengths
from lmprobe.models.reference.masking import Encoded, Ids, Masked, epoch, hide


def build_model(recipe: Recipe, vocabulary_size: int, seed: int) -> Any:
    """Return a small BERT with random weights."""
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=vocabulary_size,
        hidden_size=recipe.hidden,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        intermediate_size=recipe.intermediate,
        max_position_embeddings=64,
        initializer_range=recipe.initial,
        # Dropout would flatten the probabilities that these models are there to hold.
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",
    )
    return BertForMaskedLM(config)


def batches(
    volumes: Iterable[Encoded], recipe: Recipe, rng: np.random.Generator
) -> Iterator[tuple[Encoded, Ids]]:
    """Yield (lines, what to hide) of one batch after the other."""
    for data in volumes:
        rows, what = epoch(data, rng)
        for chosen in near_lengths(rows, data.length, recipe.batch, rng):
            yield data.rows(rows[chosen]), what[chosen]


def masked_losses(
    model: Any,
    volumes: Iterable[Encoded],
    mask_id: int,
    recipe: Recipe,
    rng: np.random.Generator,
) -> Iterator[torch.Tensor]:
    """Yield the loss of one batch after the other, each with the weights of its moment."""
    for lines, what in batches(volumes, recipe, rng):
        masked = hide(lines, what, mask_id, rng)
        answers = torch.from_numpy(masked.answer[masked.guess])
        yield torch.nn.functional.cross_entropy(scores_at(model, masked), answers)


def scores_at(model: Any, masked: Masked) -> torch.Tensor:
    """Return the scores of all pieces where one has to be guessed, (guesses, vocabulary).

    What the model itself gives there; but the end of the last layer and the head, most of
    the work, run on those positions alone.
    """
    visible = torch.from_numpy(np.arange(masked.ids.shape[1])[None, :] < masked.length[:, None])
    bias = torch.zeros(visible.shape).masked_fill(~visible, torch.finfo(torch.float32).min)
    bias = bias[:, None, None, :]
    guess = torch.from_numpy(masked.guess)
    states = model.bert.embeddings(input_ids=torch.from_numpy(masked.ids))
    *before, last = model.bert.encoder.layer
    for layer in before:
        states = layer(states, bias)
    mixed, _ = last.attention.self(states, bias)
    found = last.feed_forward_chunk(last.attention.output(mixed[guess], states[guess]))
    scores: torch.Tensor = model.cls(found)
    return scores
