"""Removes what a model knows of the group: a critic on its representation, trained against it.

The predictor is an encoder, whose output is the representation, and a head that reads the
task's labels off it. The critic tries to read the group off the same representation; its
gradient reaches the encoder reversed, so the encoder learns to hide the group while the
head keeps what it needs (Wang et al. 2019, section 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from lmprobe.errors import InputError
from lmprobe.io.progress import Progress, silent
from lmprobe.leakage.inputs import Codes, GroupLabels, TrueLabels
from lmprobe.models.device import torch_threads


class _Reverse(torch.autograd.Function):
    """The identity whose gradient comes back with the other sign."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, *gradient: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * gradient[0], None


def reverse_gradient(values: Tensor, strength: float) -> Tensor:
    """Return `values`; on the way back their gradient is multiplied by -`strength`."""
    reversed_: Tensor = _Reverse.apply(values, strength)  # type: ignore[no-untyped-call]
    return reversed_


class Predictor(nn.Module):
    """An encoder and a head: features (n, d) -> representation (n, width) -> logits (n, L)."""

    def __init__(self, features: int, labels: int, width: int) -> None:
        """Draw the weights from torch's generator."""
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(features, width), nn.LeakyReLU(), nn.Linear(width, width), nn.LeakyReLU()
        )
        self.head = nn.Linear(width, labels)

    def forward(self, features: Tensor) -> Tensor:
        """Return the logits of the labels."""
        logits: Tensor = self.head(self.encoder(features))
        return logits


class Critic(nn.Module):
    """Guesses the group from a representation; its own gradient comes back reversed."""

    def __init__(self, width: int, groups: int, hidden: int) -> None:
        """Draw the weights from torch's generator."""
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, hidden), nn.LeakyReLU(),
            nn.Linear(hidden, hidden), nn.LeakyReLU(),
            nn.Linear(hidden, groups),
        )  # fmt: skip

    def forward(self, representation: Tensor, strength: float) -> Tensor:
        """Return the logits of the groups."""
        logits: Tensor = self.layers(reverse_gradient(representation, strength))
        return logits


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


class TrainedPredictor:
    """A trained predictor; noise can be added to its representation afterwards."""

    def __init__(self, predictor: Predictor, centre: Tensor, spread: Tensor, scale: Tensor) -> None:
        """Keep the network, how its features are standardised and how its units spread."""
        self.predictor = predictor
        self._centre, self._spread, self._scale = centre, spread, scale

    @torch.no_grad()
    def logits(
        self, features: Any, *, noise: float = 0.0, rng: np.random.Generator | None = None
    ) -> NDArray[np.float32]:
        """Return the logits (n, L) of the labels.

        `noise` is the paper's baseline: Gaussian noise on the representation before the
        head, in standard deviations of each unit.
        """
        given = (torch.from_numpy(_matrix(features)) - self._centre) / self._spread
        representation = self.predictor.encoder(given)
        if noise:
            rng = np.random.default_rng(0) if rng is None else rng
            drawn = rng.standard_normal(tuple(representation.shape), dtype=np.float32)
            representation = representation + noise * self._scale * torch.from_numpy(drawn)
        return np.asarray(self.predictor.head(representation).numpy())


def train(
    features: Any,
    labels: TrueLabels,
    groups: GroupLabels,
    rows: Codes,
    settings: Removal,
    *,
    progress: Progress = silent,
) -> TrainedPredictor:
    """Train a predictor of the labels on those rows while hiding the group."""
    matrix = torch.from_numpy(_matrix(features)[rows])
    spread = matrix.std(dim=0)
    centre, spread = matrix.mean(dim=0), torch.where(spread > 0, spread, 1.0)
    target = torch.from_numpy(labels.values[rows].astype(np.float32))
    group = torch.from_numpy(groups.codes[rows])
    with torch_threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        predictor = Predictor(matrix.shape[1], target.shape[1], settings.width)
        critic = Critic(settings.width, len(groups.names), settings.width)
        training = _Training(predictor, critic, settings, labels.single, group, len(groups.names))
        training.fit((matrix - centre) / spread, target, progress)
    predictor.eval()
    with torch.no_grad():
        scale = predictor.encoder((matrix - centre) / spread).std(dim=0)
    return TrainedPredictor(predictor, centre, spread, scale)


class _Training:
    """One training: the two networks, their optimizers and their losses."""

    def __init__(
        self,
        predictor: Predictor,
        critic: Critic,
        settings: Removal,
        single: bool,
        group: Tensor,
        groups: int,
    ) -> None:
        self._predictor, self._critic = predictor, critic
        self._settings, self._single, self._group = settings, single, group
        # Weighing a group by its rarity stands for drawing the groups in equal numbers.
        counts = torch.bincount(group, minlength=groups).float()
        self._rarity = counts.sum() / (groups * counts)
        rate = settings.learning_rate
        self._task_step = torch.optim.Adam(predictor.parameters(), lr=rate)
        self._critic_step = torch.optim.Adam(critic.parameters(), lr=rate)

    def fit(self, features: Tensor, target: Tensor, progress: Progress) -> None:
        one = self._settings
        adversarial = one.strength > 0
        plan = [("task", one.task_epochs)]
        if adversarial:
            plan.append(("critic", one.critic_epochs))
        # Without a critic the task gets the same number of epochs, for a fair comparison.
        plan.append(("joint" if adversarial else "task", one.joint_epochs))
        total, done = sum(epochs for _, epochs in plan), 0
        for phase, epochs in plan:
            for _ in range(epochs):
                self._epoch(phase, features, target)
                done += 1
                progress(done, total)

    def _epoch(self, phase: str, features: Tensor, target: Tensor) -> None:
        order, size = torch.randperm(len(features)), self._settings.batch_size
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            if phase != "task":
                self._teach_critic(features[rows], rows)
            if phase != "critic":
                self._teach_predictor(features[rows], target[rows], rows, phase == "joint")

    def _teach_critic(self, features: Tensor, rows: Tensor) -> None:
        with torch.no_grad():
            representation = self._predictor.encoder(features)
        for _ in range(self._settings.critic_steps):
            self._critic_step.zero_grad()
            torch.autograd.backward([self._critic_loss(representation, rows, 0.0)])
            self._critic_step.step()

    def _teach_predictor(
        self, features: Tensor, target: Tensor, rows: Tensor, adversarial: bool
    ) -> None:
        representation = self._predictor.encoder(features)
        logits = self._predictor.head(representation)
        if self._single:
            loss = functional.cross_entropy(logits, target.argmax(dim=1))
        else:
            loss = functional.binary_cross_entropy_with_logits(logits, target)
        if adversarial:
            # Reversed on its way to the encoder; the critic itself does not step here.
            loss = loss + self._critic_loss(representation, rows, self._settings.strength)
        self._task_step.zero_grad()
        torch.autograd.backward([loss])
        self._task_step.step()

    def _critic_loss(self, representation: Tensor, rows: Tensor, strength: float) -> Tensor:
        guessed = self._critic(representation, strength)
        return functional.cross_entropy(guessed, self._group[rows], weight=self._rarity)


def _matrix(features: Any) -> NDArray[np.float32]:
    """Return features as numbers (n, d), or say what is wrong with them."""
    matrix = np.asarray(features)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or not np.isfinite(matrix).all():
        raise InputError("`features` must be finite numbers with the axes (row, feature)")
    return np.ascontiguousarray(matrix, dtype=np.float32)
