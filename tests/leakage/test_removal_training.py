"""The training against a critic, step by step against a plain one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from lmprobe.errors import InputError
from lmprobe.leakage.adversarial import Removal, TrainedPredictor, _matrix, train
from lmprobe.leakage.inputs import GroupLabels, TrueLabels, read_groups, read_labels

TINY = Removal(
    strength=0.7, width=4, task_epochs=2, critic_epochs=1, joint_epochs=2, critic_steps=3,
    batch_size=7, learning_rate=1e-2, seed=5,
)  # fmt: skip
RNG = np.random.default_rng(0)
FEATURES = np.column_stack([RNG.normal(3.0, [2.0, 0.5, 4.0], size=(24, 3)), np.full(24, 6.0)])
# Sixteen rows of one group, eight of the other; the last four rows are not trained on.
GROUP = read_groups(["w", "m", "w"] * 8)
ROWS = np.arange(20)
SEVERAL = read_labels(RNG.integers(0, 2, (24, 5)))
ONE = read_labels(["x", "y", "z", "y"] * 6)


def layers(width: int, *widths: int) -> nn.Sequential:
    found: list[nn.Module] = []
    for fan_in, fan_out in zip((width, *widths[:-1]), widths, strict=True):
        found += [nn.Linear(fan_in, fan_out), nn.LeakyReLU()]
    return nn.Sequential(*found)


def scaled(features: Any) -> torch.Tensor:
    """Standardise by the train rows; a column that is constant there is only centred."""
    train_rows = FEATURES[ROWS]
    spread = train_rows.std(axis=0, ddof=1)
    spread[3] = 1.0
    return torch.from_numpy((features - train_rows.mean(axis=0)) / spread).float()


def alone(labels: TrueLabels, settings: Removal) -> tuple[nn.Sequential, nn.Linear]:
    """Train as the paper says: the task, the critic, then both against each other."""
    features, width = scaled(FEATURES[ROWS]), settings.width
    target, group = torch.from_numpy(labels.values[ROWS]), torch.from_numpy(GROUP.codes[ROWS])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        encoder, head = layers(4, width, width), nn.Linear(width, target.shape[1])
        critic = nn.Sequential(*layers(width, width, width), nn.Linear(width, 2))
        parts = [[*encoder.parameters(), *head.parameters()], list(critic.parameters())]
        task_step, critic_step = (torch.optim.Adam(one, lr=settings.learning_rate) for one in parts)
        # Each group weighs one half of the critic's loss, however frequent it is.
        weight = len(group) / (2 * torch.bincount(group))
        plan = ["task"] * settings.task_epochs + ["critic"] * settings.critic_epochs
        plan += ["joint"] * settings.joint_epochs
        if not settings.strength:
            plan = ["task"] * (settings.task_epochs + settings.joint_epochs)
        for phase in plan:
            for rows in torch.randperm(len(ROWS)).split(settings.batch_size):
                for _ in range(settings.critic_steps if phase != "task" else 0):
                    guessed = critic(encoder(features[rows]).detach())
                    critic_step.zero_grad()
                    functional.cross_entropy(guessed, group[rows], weight=weight).backward()
                    critic_step.step()
                if phase == "critic":
                    continue
                inner = encoder(features[rows])
                if labels.single:
                    loss = functional.cross_entropy(head(inner), target[rows].argmax(dim=1))
                else:
                    loss = functional.binary_cross_entropy_with_logits(
                        head(inner), target[rows].float()
                    )
                if phase == "joint":
                    told = functional.cross_entropy(critic(inner), group[rows], weight=weight)
                    # The sum has the gradient of the loss minus that of the critic's.
                    loss = loss - settings.strength * told
                task_step.zero_grad()
                loss.backward()
                task_step.step()
    return encoder, head


@pytest.mark.parametrize("labels", [SEVERAL, ONE], ids=["several", "one"])
@pytest.mark.parametrize("strength", [0.7, 0.0])
def test_the_training_is_the_plain_one(labels: TrueLabels, strength: float) -> None:
    settings = replace(TINY, strength=strength)
    encoder, head = alone(labels, settings)
    model = train(FEATURES, labels, GROUP, ROWS, settings)
    # Rows that were not trained on, and one whose last feature is not the constant of the rest.
    given = np.vstack([FEATURES, np.add(FEATURES[:1], [0, 0, 0, 1.0])])
    with torch.no_grad():
        expected = head(encoder(scaled(given))).numpy()
    assert model.logits(given) == pytest.approx(expected, abs=1e-4)
    assert model.logits(given).shape == (25, len(labels.names))
    for default in ({}, {"rng": np.random.default_rng(0)}):
        noisy = model.logits(given, noise=0.5, **default)
        assert noisy == pytest.approx(with_noise(encoder, head, given, 0.5), abs=1e-4)


def with_noise(encoder: nn.Sequential, head: nn.Linear, given: Any, noise: float) -> Any:
    drawn = np.random.default_rng(0).standard_normal((len(given), TINY.width), dtype=np.float32)
    with torch.no_grad():
        spread = encoder(scaled(FEATURES[ROWS])).numpy().std(axis=0, ddof=1)
        inner = encoder(scaled(given)).numpy() + noise * spread * drawn
        return head(torch.from_numpy(inner)).numpy()


@pytest.mark.parametrize(("strength", "total"), [(0.7, 5), (0.0, 4), (1.5, 5)])
def test_every_epoch_is_reported_once(strength: float, total: int) -> None:
    settings = Removal(strength, 4, 2, 1, 2, critic_steps=1)
    seen: list[tuple[int, int]] = []
    threads: list[int] = []

    def note(done: int, epochs: int) -> None:
        seen.append((done, epochs))
        threads.append(torch.get_num_threads())

    train(FEATURES, SEVERAL, GROUP, ROWS, settings, progress=note)
    assert seen == [(number, total) for number in range(1, total + 1)]
    assert set(threads) == {1}


def test_three_groups_have_a_critic_of_three() -> None:
    groups = GroupLabels(np.arange(24) % 3, ("a", "b", "c"))
    model = train(FEATURES, SEVERAL, groups, ROWS, Removal(1.0, 4, 1, 1, 1))
    assert isinstance(model, TrainedPredictor)
    assert np.isfinite(model.logits(FEATURES)).all()


def test_the_recipe_is_the_documented_one() -> None:
    assert Removal() == Removal(
        strength=1.0, width=64, task_epochs=20, critic_epochs=5, joint_epochs=100, critic_steps=5,
        batch_size=128, learning_rate=0.001, seed=0,
    )  # fmt: skip


def test_any_strength_from_zero_on_is_taken() -> None:
    assert [Removal(strength=one).strength for one in (0.0, 0.5, 2.0)] == [0.0, 0.5, 2.0]
    for wrong in (-1e-9, float("nan")):
        with pytest.raises(InputError, match="`strength` must be 0 or more"):
            Removal(strength=wrong)


@pytest.mark.parametrize("features", [[[1, 2]], [[True]], [[0.5], [1.5]], np.uint8([[3]])])
def test_features_are_any_finite_numbers(features: Any) -> None:
    found = _matrix(features)
    assert found.dtype == np.float32
    assert found.tolist() == np.asarray(features).astype(float).tolist()


@pytest.mark.parametrize(
    "features",
    [[1.0, 2.0], [[[1.0]]], [["a"]], [[np.nan]], [[1.0], [np.inf]], np.array([[1.0, None]])],
)
def test_other_features_are_refused(features: Any) -> None:
    with pytest.raises(InputError, match="finite numbers with the axes"):
        _matrix(features)
