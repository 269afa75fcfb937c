"""The batched training must be the plain training of each attacker, only faster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from lmprobe.errors import InputError
from lmprobe.io.progress import silent
from lmprobe.leakage import training
from lmprobe.leakage.attackers.mlp import Mlp
from lmprobe.leakage.batches import CountedBatches, RowBatches
from lmprobe.leakage.ensemble import Ensemble
from lmprobe.leakage.inputs import AttackerInput, GroupLabels
from lmprobe.leakage.rounds import Trial, draw_rounds
from lmprobe.leakage.training import _Best, train_and_guess
from tests.leakage.leaking_data import many_labels, one_label
from tests.leakage.plain_network import CPU, plain


def coded_trials(labels: int = 6, rounds: int = 2) -> list[Trial]:
    rng = np.random.default_rng(5)
    codes, group = one_label(rng, 600, 0.5, labels)
    groups = GroupLabels(group.astype(np.int64), ("a", "b"))
    evidence = AttackerInput(codes.astype(np.int64), labels)
    return [
        Trial(evidence, groups, one) for one in draw_rounds(groups, None, rounds=rounds, rng=rng)
    ]


def dense_trials() -> list[Trial]:
    rng = np.random.default_rng(6)
    labels, group = many_labels(rng, 600)
    groups = GroupLabels(group.astype(np.int64), ("a", "b"))
    evidence = AttackerInput(labels.astype(np.float32), 8)
    return [Trial(evidence, groups, one) for one in draw_rounds(groups, None, rounds=2, rng=rng)]


@pytest.mark.parametrize("kind", ["coded", "dense"])
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_each_round_learns_what_it_would_learn_alone(kind: str, layers: int) -> None:
    # More labels than a batch holds, so that some are missing from each batch.
    trials = coded_trials(80) if kind == "coded" else dense_trials()
    evidence, batch = trials[0].inputs, 50
    generators = [torch.Generator().manual_seed(number) for number in range(2)]
    network = Ensemble([evidence.size, *[12] * (layers - 1), 2], generators, CPU)
    alone = [plain(network, number) for number in range(2)]
    feed = CountedBatches(trials, CPU) if kind == "coded" else RowBatches(trials, CPU)
    step = torch.optim.Adam(network.parameters(), lr=1e-2)
    steps = [torch.optim.Adam(one.parameters(), lr=1e-2) for one in alone]
    rows = len(trials[0].rows.train)
    for _ in range(2):
        order = torch.stack([torch.randperm(rows, generator=one) for one in generators])
        for given, weight, target in feed.batches(order, batch):
            logits = network.learn(feed.first(network, given), weight, batch)
            loss = -(functional.log_softmax(logits, dim=2) * target).sum()
            step.zero_grad()
            loss.backward()
            step.step()
        for number, one in enumerate(alone):
            trial = trials[number]
            for start in range(0, rows - batch + 1, batch):
                index = trial.rows.train[order[number, start : start + batch].numpy()]
                steps[number].zero_grad()
                said = one(torch.from_numpy(evidence.rows(index)))
                functional.cross_entropy(
                    said, torch.from_numpy(trial.groups.codes[index])
                ).backward()
                steps[number].step()
    with torch.no_grad():
        accuracy = feed.dev_accuracy(network)
        for number, one in enumerate(alone):
            assert_same(network, one, number)
            trial = trials[number]
            one.eval()
            said = one(torch.from_numpy(evidence.rows(trial.rows.dev))).argmax(dim=1).numpy()
            expected = np.mean(said == trial.groups.codes[trial.rows.dev])
            assert float(accuracy[number]) == pytest.approx(expected, abs=0.011)


def assert_same(network: Ensemble, alone: nn.Sequential, number: int) -> None:
    linear = [layer for layer in alone if isinstance(layer, nn.Linear)]
    norms = [layer for layer in alone if isinstance(layer, nn.BatchNorm1d)]
    for ours, theirs in zip(network.weights, linear, strict=True):
        assert torch.allclose(ours[number], theirs.weight.T, atol=2e-3)
    for layer, theirs_norm in enumerate(norms):
        assert torch.allclose(network.scales[layer][number, 0], theirs_norm.weight, atol=2e-3)
        assert theirs_norm.running_var is not None
        assert torch.allclose(
            network.variances[layer][number, 0], theirs_norm.running_var, rtol=4e-3, atol=1e-4
        )


def test_equal_rows_are_computed_once() -> None:
    trials = coded_trials()
    feed = CountedBatches(trials, CPU)
    order = torch.stack([torch.arange(len(trials[0].rows.train))] * 2)
    codes, weight, target = next(feed.batches(order, 100))
    assert codes.shape[1] <= 6
    assert weight.sum(dim=2).flatten().tolist() == pytest.approx([1.0, 1.0])
    assert target.sum(dim=(1, 2)).tolist() == pytest.approx([1.0, 1.0])


def guesses(recipe: Mlp, trials: list[Trial]) -> list[NDArray[Any]]:
    return train_and_guess(recipe, trials, device="cpu", progress=silent)


def test_workers_change_nothing() -> None:
    trials = coded_trials(rounds=3)
    recipe = Mlp(epochs=3, width=16, learning_rate=1e-2)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = guesses(recipe, trials)
        torch.set_num_threads(2)
        two = guesses(recipe, trials)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    for ours, theirs in zip(one, two, strict=True):
        assert (ours == theirs).all()


def test_stops_early_only_where_nothing_can_change() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    groups = GroupLabels(group.astype(np.int64), ("a", "b"))
    drawn = draw_rounds(groups, None, rounds=2, rng=rng)
    trials = [Trial(AttackerInput(groups.codes, 2), groups, one) for one in drawn]
    seen: list[int] = []

    def note(done: int, total: int) -> None:
        seen.append(done)

    recipe = Mlp(epochs=50, width=16, learning_rate=1e-2)
    found = train_and_guess(recipe, trials, device="cpu", progress=note)
    # Fewer reports than epochs: the labels tell the group, so the dev rows are all guessed.
    assert len(seen) < 50
    for guess, trial in zip(found, trials, strict=True):
        assert (guess == trial.truth).all()


class Scripted:
    """Batches whose dev accuracies are given beforehand and whose guess is the snapshot itself."""

    best_possible = torch.ones(2)

    def __init__(self, accuracies: list[list[float]]) -> None:
        self._accuracies = iter(accuracies)

    def dev_accuracy(self, network: Any) -> torch.Tensor:
        return torch.tensor(next(self._accuracies))

    def test_guesses(self, network: Any) -> list[torch.Tensor]:
        return list(network.state()[0])


def test_each_round_keeps_its_own_best_snapshot_and_the_first_on_a_tie() -> None:
    network = SimpleNamespace(epoch=torch.zeros(2))
    network.state = lambda: [network.epoch]
    best = _Best(network, Scripted([[0.6, 0.5], [0.8, 0.5], [0.8, 0.9], [0.7, 0.1]]))  # type: ignore[arg-type]
    for epoch in range(1, 5):
        network.epoch.fill_(epoch)
        best.look(epoch)
        assert not best.cannot_improve()
    assert best.waited(5, 2)
    assert not best.waited(4, 2)
    assert [int(one) for one in best.guesses()] == [2, 3]


def test_the_network_has_the_layers_of_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[int]] = []

    class Noted(Ensemble):
        def __init__(self, widths: Any, *rest: Any) -> None:
            made.append(list(widths))
            super().__init__(widths, *rest)

    monkeypatch.setattr(training, "Ensemble", Noted)
    for layers in (1, 2, 4):
        guesses(Mlp(layers=layers, width=7, epochs=1), coded_trials())
    assert {tuple(widths) for widths in made} == {(6, 2), (6, 7, 2), (6, 7, 7, 7, 2)}


def test_patience_is_off_unless_asked_for() -> None:
    trials = coded_trials()
    epochs: list[int] = []

    def note(done: int, total: int) -> None:
        epochs.append(done)

    train_and_guess(Mlp(epochs=30, width=4), trials, device="cpu", progress=note)
    full = len(epochs)
    epochs.clear()
    train_and_guess(Mlp(epochs=30, width=4, patience=2), trials, device="cpu", progress=note)
    assert len(epochs) < full


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(InputError, match='no device "warp"; use auto'):
        train_and_guess(Mlp(epochs=1), coded_trials(), device="warp", progress=silent)
