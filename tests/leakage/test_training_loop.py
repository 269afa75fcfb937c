"""The loop around the networks: epochs, batches, the snapshot that is kept, who trains where."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lmprobe.io.progress import silent
from lmprobe.leakage import training
from lmprobe.leakage.attackers.mlp import Mlp
from lmprobe.leakage.ensemble import Ensemble
from lmprobe.leakage.inputs import AttackerInput, GroupLabels
from lmprobe.leakage.rounds import Round, Trial
from lmprobe.leakage.training import _Best, train_and_guess
from tests.leakage.leaking_data import many_labels, one_label
from tests.leakage.plain_network import CPU, plain


def made(kind: str, rounds: int = 1) -> list[Trial]:
    rng = np.random.default_rng(2)
    labels, group = one_label(rng, 120, 0.3, 6) if kind == "coded" else many_labels(rng, 120, 6)
    groups = GroupLabels(group.astype(np.int64), ("a", "b"))
    evidence = AttackerInput(labels.astype(np.int64 if kind == "coded" else np.float32), 6)
    drawn = [rng.permutation(120) for _ in range(rounds)]
    return [
        Trial(evidence, groups, Round(rows[:50], rows[50:81], rows[81:], seed))
        for seed, rows in enumerate(drawn)
    ]


def alone(recipe: Mlp, trial: Trial) -> list[int]:
    """Train one attacker in the plain way: the best epoch on the dev rows, the first on a tie."""
    generator = torch.Generator().manual_seed(trial.rows.seed)
    widths = [6, *[recipe.width] * (recipe.layers - 1), 2]
    network = plain(Ensemble(widths, [generator], CPU), 0)
    step = torch.optim.Adam(network.parameters(), lr=recipe.learning_rate)
    rows, best, guess = trial.rows, -1.0, [-1]
    size = min(recipe.batch_size, len(rows.train))
    for _ in range(recipe.epochs):
        order = torch.randperm(len(rows.train), generator=generator).numpy()
        network.train()
        for number in range(len(order) // size):
            index = rows.train[order[number * size : (number + 1) * size]]
            said = network(torch.from_numpy(trial.inputs.rows(index)))
            step.zero_grad()
            nn.functional.cross_entropy(
                said, torch.from_numpy(trial.groups.codes[index])
            ).backward()
            step.step()
        network.eval()
        with torch.no_grad():
            dev, test = (
                network(torch.from_numpy(trial.inputs.rows(part))).argmax(dim=1).numpy()
                for part in (rows.dev, rows.test)
            )
        accuracy = float(np.mean(dev == trial.groups.codes[rows.dev]))
        if accuracy > best:
            best, guess = accuracy, test.tolist()
    return guess


@pytest.mark.parametrize("kind", ["coded", "dense"])
@pytest.mark.parametrize("batch_size", [16, 1000])
def test_the_guesses_are_those_of_a_plain_training(kind: str, batch_size: int) -> None:
    recipe = Mlp(layers=2, width=5, epochs=4, batch_size=batch_size, learning_rate=3e-2)
    given = made(kind, 2)
    found = train_and_guess(recipe, given, device="cpu", progress=silent)
    for guess, trial in zip(found, given, strict=True):
        assert guess.tolist() == alone(recipe, trial)
        (by_itself,) = train_and_guess(recipe, [trial], device="cpu", progress=silent)
        assert by_itself.tolist() == guess.tolist()


def reported(recipe: Mlp, trials: list[Trial]) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    train_and_guess(recipe, trials, device="cpu", progress=lambda *at: seen.append(at))
    return seen


def test_every_epoch_is_trained_and_reported_once() -> None:
    trials = made("coded")
    assert reported(Mlp(layers=1, epochs=3), trials) == [(1, 3), (2, 3), (3, 3)]
    assert reported(Mlp(layers=1, epochs=1), trials) == [(1, 1)]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets what the dev accuracy after each epoch is, and its maximum."""

    def script(accuracies: Sequence[float], most: float = 1.0) -> None:
        left = iter(accuracies)

        class Told(training.CountedBatches):
            def __init__(self, *given: Any) -> None:
                super().__init__(*given)
                self.best_possible = torch.tensor([most])

            def dev_accuracy(self, network: Ensemble) -> torch.Tensor:
                return torch.tensor([next(left)])

        monkeypatch.setattr(training, "CountedBatches", Told)

    return script


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_training_ends_when_patience_is_used_up_and_not_before(
    scripted: Any, patience: int
) -> None:
    # The second epoch is the best; the last report says that nothing is left to do.
    scripted([0.5, 0.7, 0.6, 0.7, 0.7, 0.7, 0.7])
    seen = reported(Mlp(layers=1, epochs=9, patience=patience), made("coded"))
    assert seen == [*[(epoch, 9) for epoch in range(1, 3 + patience)], (9, 9)]


def test_training_ends_when_nothing_better_is_possible(scripted: Any) -> None:
    scripted([0.5, 0.8, 0.9], most=0.8)
    seen = reported(Mlp(layers=1, epochs=5), made("coded"))
    assert seen == [(1, 5), (2, 5), (5, 5)]


class Told:
    def __init__(self, accuracies: Sequence[float], most: float) -> None:
        self.best_possible, self._left = torch.tensor([most]), iter(accuracies)

    def dev_accuracy(self, network: Any) -> torch.Tensor:
        return torch.tensor([next(self._left)])

    def test_guesses(self, network: Any) -> list[torch.Tensor]:
        return list(network.state()[0])


@pytest.mark.parametrize(
    ("accuracies", "kept"),
    [
        ([0.0, 0.0], 1),
        ([0.5, 0.501], 2),
        # Closer than a millionth is the same count of rows; float32 knows exactly these.
        ([0.0, 1e-6], 1),
        ([0.0, 1.01e-6], 2),
        ([0.25, 0.5, 0.4], 2),
    ],
)
def test_the_first_of_equal_accuracies_is_kept(accuracies: list[float], kept: int) -> None:
    network = SimpleNamespace(epoch=torch.zeros(1))
    network.state = lambda: [network.epoch]
    best = _Best(network, Told(accuracies, 1.0))  # type: ignore[arg-type]
    for epoch in range(1, len(accuracies) + 1):
        network.epoch.fill_(epoch)
        best.look(epoch)
    assert [int(one) for one in best.guesses()] == [kept]


@pytest.mark.parametrize(
    ("accuracy", "most", "done"),
    [(0.8, 0.8, True), (0.0, 1e-6, True), (0.0, 1.01e-6, False), (0.79, 0.8, False)],
)
def test_an_accuracy_within_a_millionth_of_the_highest_is_the_highest(
    accuracy: float, most: float, done: bool
) -> None:
    network = SimpleNamespace(state=lambda: [torch.zeros(1)])
    best = _Best(network, Told([accuracy], most))  # type: ignore[arg-type]
    best.look(1)
    assert best.cannot_improve() is done


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Return the trials of each worker, by their seeds."""
    seen: list[list[int]] = []

    def fake(recipe: Mlp, trials: Sequence[Trial], place: Any, progress: Any) -> list[Any]:
        seen.append([trial.rows.seed for trial in trials])
        progress(1, 2)
        return [np.array([trial.rows.seed]) for trial in trials]

    monkeypatch.setattr(training, "_train", fake)
    return seen


@pytest.mark.parametrize(
    ("threads", "place", "expected"),
    [
        (1, "cpu", [[0, 1, 2]]),
        (2, "cpu", [[0, 2], [1]]),
        (8, "cpu", [[0], [1], [2]]),
        (2, "cuda", [[0, 1, 2]]),
    ],
)
def test_trials_are_shared_out_and_come_back_in_order(
    shares: list[list[int]],
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    place: str,
    expected: list[list[int]],
) -> None:
    monkeypatch.setattr(training, "resolve_device", lambda name: place)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    limits: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", limits.append)
    seen: list[tuple[int, int]] = []
    found = train_and_guess(
        Mlp(), made("coded", 3), device="cpu", progress=lambda *at: seen.append(at)
    )
    assert [one.tolist() for one in found] == [[0], [1], [2]]
    assert sorted(shares) == expected
    # Each worker does its products on one thread; afterwards torch has its threads back.
    assert limits == [1, threads]
    # Every worker reports half of its epochs: the sum is half of all.
    workers = len(expected)
    assert seen == [(number, 2 * workers) for number in range(1, workers + 1)]
