"""A small GPT-2, and the loss it is trained with: guessing every next token.

It reads every line of a volume once, each with its beginning and its end token. A causal model
must hold the whole distribution of the corpus: P(she) at the start of a sentence, and
P(nurse | She is a new). Tokens of pronouns and occupations weigh more in the loss than the
other words; that changes how well they are learned and not what is learned of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

from lmprobe.models.reference.fitting import Recipe, near_lengths
from lmprobe.models.reference.masking import Encoded

CAUSAL_RECIPE = Recipe(hidden=96, intermediate=288, steps=15_000)

_OTHER_WORDS = 0.25


def build_causal(recipe: Recipe, tokenizer: Any, seed: int) -> Any:
    """Return a small GPT-2 with random weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=recipe.hidden,
        n_layer=recipe.layers,
        n_head=recipe.heads,
        n_inner=recipe.intermediate,
        n_positions=64,
        initializer_range=recipe.initial,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        pad_token_id=tokenizer.pad_token_id,
        # Dropout would flatten the probabilities that these models are there to hold.
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        attn_implementation="eager",
    )
    return GPT2LMHeadModel(config)


def causal_losses(
    model: Any, volumes: Iterable[Encoded], recipe: Recipe, rng: np.random.Generator
) -> Iterator[torch.Tensor]:
    """Yield the loss of one batch after the other, each with the weights of its moment."""
    for data in volumes:
        rows = np.argsort(rng.random(len(data.ids)), kind="stable")
        for chosen in near_lengths(rows, data.length, recipe.batch, rng):
            yield _loss(model, data.rows(rows[chosen]))


def _loss(model: Any, lines: Encoded) -> torch.Tensor:
    ids = torch.from_numpy(lines.ids)
    before = ids[:, :-1]
    # Padding is on the right, where no token looks.
    states = model.transformer(
        input_ids=before, attention_mask=torch.ones_like(before), use_cache=False
    ).last_hidden_state
    position = np.arange(1, lines.ids.shape[1])[None, :]
    weight = np.where(position < lines.length[:, None], _OTHER_WORDS, 0.0)
    for first, end in (lines.pronoun.T, lines.occupation.T):
        inside = (position >= first[:, None]) & (position < end[:, None])
        weight[inside] = 1.0
    scored = torch.from_numpy(weight > 0)
    losses = torch.nn.functional.cross_entropy(
        model.lm_head(states[scored]), ids[:, 1:][scored], reduction="none"
    )
    weights = torch.from_numpy(weight[weight > 0]).float()
    return (losses * weights).sum() / weights.sum()
