"""A small BERT and a small GPT-2, their losses, and the optimiser that both are trained with.

The BERT guesses what was hidden. The GPT-2 guesses every next token: it reads every line of a
volume once, each with its beginning and its end token. A causal model must hold the whole
distribution of the corpus: P(she) at the start of a sentence, and P(nurse | She is a new). Tokens
of pronouns and occupations weigh more in its loss than the other words; that changes how well they
are learned and not what is learned of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lmprobe.io.work import Progress, silent
from tools.reference.masking import Encoded, Ids, Masked, epoch, hide

Keep = Callable[[int, Any], None]
"""Called with a step and the model as training would leave it there."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Size of the model and of its training; the defaults made the shipped checkpoints."""

    hidden: int = 64
    layers: int = 2
    heads: int = 4
    intermediate: int = 192
    # BERT's own 0.02 is for layers ten times as wide; with it these hardly start to learn.
    initial: float = 0.08
    steps: int = 15_000
    batch: int = 128
    learning_rate: float = 3e-3
    warmup: float = 0.04
    averaged: float = 0.3
    weight_decay: float = 0.01
    # One thread always sums in the same order.
    threads: int = 1


CAUSAL_RECIPE = Recipe(hidden=96, intermediate=288, steps=15_000)
_OTHER_WORDS = 0.25
"""The weight of tokens other than pronouns and occupations in the loss of a causal model."""


def build(recipe: Recipe, tokenizer: Any, *, causal: bool, seed: int) -> Any:
    """Return a small BERT or GPT-2 with random weights."""
    from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    # Dropout would flatten the probabilities that these models are there to hold.
    if causal:
        return GPT2LMHeadModel(
            GPT2Config(
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
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                attn_implementation="eager",
            )
        )
    return BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=recipe.hidden,
            num_hidden_layers=recipe.layers,
            num_attention_heads=recipe.heads,
            intermediate_size=recipe.intermediate,
            max_position_embeddings=64,
            initializer_range=recipe.initial,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="eager",
        )
    )


def losses(
    model: Any,
    tokenizer: Any,
    volumes: Iterable[Encoded],
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    causal: bool,
) -> Iterator[torch.Tensor]:
    """Yield the loss of one batch after the other, each with the weights of its moment."""
    for data in volumes:
        if causal:
            rows = np.argsort(rng.random(len(data.ids)), kind="stable")
        else:
            rows, what = epoch(data, rng)
        for batch in near_lengths(rows, data.length, recipe.batch, rng):
            lines = data.rows(rows[batch])
            if causal:
                yield _causal_loss(model, lines)
            else:
                masked = hide(lines, what[batch], tokenizer.mask_token_id, rng)
                answers = torch.from_numpy(masked.answer[masked.guess])
                yield torch.nn.functional.cross_entropy(scores_at(model, masked), answers)


def rate(step: int, recipe: Recipe) -> float:
    """Return the learning rate of a step, as a share of the highest: up, then down to zero."""
    warm = recipe.warmup * recipe.steps
    return min((step + 1) / warm, (recipe.steps - step) / (recipe.steps - warm))


def near_lengths(rows: Ids, length: Ids, batch: int, rng: np.random.Generator) -> Iterator[Ids]:
    """Yield numbers of `rows`, a batch at a time, lines of like length together."""
    pool = 16 * batch
    for start in range(0, len(rows), pool):
        near = start + np.argsort(length[rows[start : start + pool]], kind="stable")
        cuts = range(0, len(near), batch)
        for cut in np.argsort(rng.random(len(cuts))):
            yield near[cuts[cut] : cuts[cut] + batch]


def checkpoint_steps(recipe: Recipe, number: int) -> tuple[int, ...]:
    """Return the steps of so many checkpoints, each the same factor after the one before.

    A model learns most in the beginning; steps at equal distances would show only the end.
    """
    steps = np.rint(np.geomspace(1, recipe.steps, number)).astype(int)
    return tuple(dict.fromkeys(steps.tolist()))


def fit(
    model: Any,
    losses: Iterator[Any],
    recipe: Recipe,
    *,
    progress: Progress = silent,
    checkpoints: Collection[int] = (),
    keep: Keep | None = None,
) -> list[float]:
    """Train in place and return the loss of every step.

    `losses` computes the next loss when it is asked for. The weights are the average of those
    of the last steps, because single steps vary around it. `keep` is given the model after each
    of the steps `checkpoints`; nothing of the training depends on it.
    """
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": recipe.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(step, recipe))
    history = []
    average = torch.optim.swa_utils.AveragedModel(model)
    latest = model
    model.train()
    for step, loss in zip(range(recipe.steps), losses, strict=False):
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        history.append(loss.item())
        if step >= (1 - recipe.averaged) * recipe.steps:
            average.update_parameters(model)
            latest = average.module
        if keep is not None and step + 1 in checkpoints:
            keep(step + 1, latest)
        progress(step + 1, recipe.steps)
    model.load_state_dict(average.module.state_dict())
    model.eval()
    return history


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
    result = last.feed_forward_chunk(last.attention.output(mixed[guess], states[guess]))
    scores: torch.Tensor = model.cls(result)
    return scores


def _causal_loss(model: Any, lines: Encoded) -> torch.Tensor:
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
