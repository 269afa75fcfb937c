"""Removes what a model knows of the group: a critic on its representation, trained against it.

The predictor is an encoder, whose output is the representation, and a head that reads the
task's labels off it. The critic tries to read the group off the same representation; its
gradient reaches the encoder reversed, so the encoder learns to hide the group while the
head keeps what it needs (Wang et al. 2019, section 5.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import Codes, GroupLabels, TrueLabels
from lmprobe.models.forward import torch_threads


@dataclass(frozen=True, slots=True)
class Removal:
    """How to train: `strength` is the paper's lambda, 0 trains the task alone.

    First the task is learned, then the critic, so that its gradient means something, and
    then both against each other.
    """

    strength: float = 1.0
    width: int = 64
    task_epochs: int = 20
    critic_epochs: int = 5
    joint_epochs: int = 100
    critic_steps: int = 5
    """Steps of the critic for each step of the predictor: it has to keep up."""
    batch_size: int = 128
    learning_rate: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a negative strength: it would teach the model to tell the group."""
        if not self.strength >= 0:
            raise InputError(f"`strength` must be 0 or more, found {self.strength}")

    @property
    def phases(self) -> list[str]:
        """What each epoch trains; without a critic the task gets the joint epochs too."""
        if not self.strength:
            return ["task"] * (self.task_epochs + self.joint_epochs)
        critic = ["critic"] * self.critic_epochs + ["joint"] * self.joint_epochs
        return ["task"] * self.task_epochs + critic


@dataclass(frozen=True, slots=True, eq=False)
class TrainedPredictor:
    """A trained predictor; noise can be added to its representation afterwards."""

    encoder: nn.Sequential
    head: nn.Linear
    centre: Tensor
    spread: Tensor
    """Mean and standard deviation of each feature over the train rows."""
    unit_spread: Tensor
    """Standard deviation of each unit of the representation over the train rows."""

    @torch.no_grad()
    def logits(
        self, features: Any, *, noise: float = 0.0, rng: np.random.Generator | None = None
    ) -> NDArray[np.float32]:
        """Return the logits (n, L) of the labels.

        `noise` is the paper's baseline: Gaussian noise on the representation before the
        head, in standard deviations of each unit.
        """
        units = self.encoder((torch.from_numpy(_matrix(features)) - self.centre) / self.spread)
        if noise:
            rng = np.random.default_rng(0) if rng is None else rng
            drawn = rng.standard_normal(tuple(units.shape), dtype=np.float32)
            units = units + noise * self.unit_spread * torch.from_numpy(drawn)
        return np.asarray(self.head(units).numpy())


def train(
    features: Any, labels: TrueLabels, groups: GroupLabels, rows: Codes, settings: Removal
) -> TrainedPredictor:
    """Train a predictor of the labels on those rows while hiding the group."""
    matrix = torch.from_numpy(_matrix(features)[rows])
    spread = matrix.std(dim=0)
    centre, spread = matrix.mean(dim=0), torch.where(spread > 0, spread, 1.0)
    inputs = (matrix - centre) / spread
    target = torch.from_numpy(labels.values[rows].astype(np.float32))
    task_loss: Callable[[Tensor, Tensor], Tensor] = functional.binary_cross_entropy_with_logits
    if labels.single:
        target, task_loss = target.argmax(dim=1), functional.cross_entropy
    group, number = torch.from_numpy(groups.codes[rows]), len(groups.names)
    # Weighing a group by its rarity stands for drawing the groups in equal numbers.
    counts = torch.bincount(group, minlength=number).float()
    rarity, width = counts.sum() / (number * counts), settings.width
    with torch_threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        encoder = nn.Sequential(*_layers(inputs.shape[1], width))
        head = nn.Linear(width, len(labels.names))
        critic = nn.Sequential(*_layers(width, width), nn.Linear(width, number))
        learned = [*encoder.parameters(), *head.parameters()]
        task_step = torch.optim.Adam(learned, lr=settings.learning_rate)
        critic_step = torch.optim.Adam(critic.parameters(), lr=settings.learning_rate)
        for phase in settings.phases:
            for batch in torch.split(torch.randperm(len(inputs)), settings.batch_size):
                units = encoder(inputs[batch])
                for _ in range(settings.critic_steps if phase != "task" else 0):
                    guessed = critic(units.detach())
                    _descend(critic_step, functional.cross_entropy(guessed, group[batch], rarity))
                if phase == "critic":
                    continue
                loss = task_loss(head(units), target[batch])
                if phase == "joint":
                    # Reversed on its way to the encoder; the critic itself does not step here.
                    reverse = units.view_as(units)
                    reverse.register_hook(lambda gradient: -settings.strength * gradient)
                    loss = loss + functional.cross_entropy(critic(reverse), group[batch], rarity)
                _descend(task_step, loss)
    with torch.no_grad():
        unit_spread = encoder(inputs).std(dim=0)
    return TrainedPredictor(encoder.eval(), head.eval(), centre, spread, unit_spread)


def _layers(features: int, width: int) -> tuple[nn.Module, ...]:
    first = nn.Linear(features, width)
    return first, nn.LeakyReLU(), nn.Linear(width, width), nn.LeakyReLU()


def _descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    torch.autograd.backward([loss])
    optimizer.step()


def _matrix(features: Any) -> NDArray[np.float32]:
    """Return features as numbers (n, d), or say what is wrong with them."""
    matrix = np.asarray(features)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or not np.isfinite(matrix).all():
        raise InputError("`features` must be finite numbers with the axes (row, feature)")
    return np.ascontiguousarray(matrix, dtype=np.float32)
