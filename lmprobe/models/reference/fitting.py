"""The optimiser that both kinds of reference models are trained with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lmprobe.io.progress import Progress, silent

Rows = NDArray[np.int64]

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


def rate(step: int, recipe: Recipe) -> float:
    """Return the learning rate of a step, as a share of the highest: up, then down to zero."""
    warm = recipe.warmup * recipe.steps
    return min((step + 1) / warm, (recipe.steps - step) / (recipe.steps - warm))


def near_lengths(rows: Rows, length: Rows, batch: int, rng: np.random.Generator) -> Iterator[Rows]:
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
