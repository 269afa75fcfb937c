"""What the batched attackers are fed, against plain loops over tiny data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lmprobe.leakage import batches
from lmprobe.leakage.batches import CountedBatches, RowBatches
from lmprobe.leakage.ensemble import Ensemble
from lmprobe.leakage.inputs import AttackerInput, GroupLabels
from lmprobe.leakage.rounds import Round, Trial
from tests.leakage.plain_network import CPU

GROUPS = GroupLabels(np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]), ("a", "b", "c"))
CODES = np.array([0, 1, 3, 3, 0, 1, 1, 4, 0, 0, 3, 1, 4, 0])
SIZE = 5
NUMBERS = np.random.default_rng(0).normal(size=(14, SIZE)).astype(np.float32)
DRAWN = [
    Round(np.array([0, 1, 2, 3, 4, 5, 6]), np.array([7, 8, 9]), np.array([10, 11, 12, 13]), 1),
    Round(np.array([13, 3, 8, 2, 1, 0, 6]), np.array([10, 4, 5]), np.array([7, 9, 11, 12]), 2),
]
ORDER = torch.tensor([[6, 0, 3, 1, 5, 2, 4], [2, 4, 0, 6, 1, 3, 5]])


def trials(kind: str, rounds: int = 2) -> list[Trial]:
    # The second round sees other values than the first, as perturbed labels do.
    seen = [CODES, np.roll(CODES, 5)] if kind == "coded" else [NUMBERS, 2 - NUMBERS]
    return [Trial(AttackerInput(seen[n], SIZE), GROUPS, DRAWN[n]) for n in range(rounds)]


def network(rounds: int = 2) -> Ensemble:
    generators = [torch.Generator().manual_seed(n) for n in range(rounds)]
    found = Ensemble([SIZE, 4, 3], generators, CPU)
    for one in found.parameters():
        one.requires_grad_(False)
    return found


def said(one: Ensemble, trial: Trial, number: int, rows: Any) -> list[int]:
    """Return the guesses of a network that has noted no moments yet, written out."""
    hidden = trial.inputs.rows(rows) @ one.weights[0][number].numpy() / np.sqrt(1 + 1e-5)
    hidden = np.where(hidden > 0, hidden, 0.01 * hidden)
    logits = hidden @ one.weights[1][number].numpy() + one.bias[number].numpy()
    return [int(guess) for guess in logits.argmax(axis=1)]


@pytest.mark.parametrize("rows", [7, 6])
@pytest.mark.parametrize("rounds", [1, 2])
def test_rows_come_in_the_order_and_a_rest_is_left_out(rows: int, rounds: int) -> None:
    given = trials("dense", rounds)
    found = list(RowBatches(given, CPU).batches(ORDER[:rounds, :rows], 2))
    assert len(found) == 3
    for number, (values, weight, target) in enumerate(found):
        assert weight.shape == (rounds, 1, 2)
        assert (weight == 0.5).all()
        for place, trial in enumerate(given):
            index = trial.rows.train[ORDER[place, 2 * number : 2 * number + 2].numpy()]
            assert (values[place].numpy() == trial.inputs.values[index]).all()
            assert target[place].tolist() == (np.eye(3)[GROUPS.codes[index]] / 2).tolist()


@pytest.mark.parametrize("kind", ["dense", "coded"])
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("judged", [16_384, 2])
def test_guesses_and_accuracy_are_those_of_each_network(
    kind: str, rounds: int, judged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_JUDGED", judged)
    given, net = trials(kind, rounds), network(rounds)
    feed = RowBatches(given, CPU) if kind == "dense" else CountedBatches(given, CPU)
    accuracy, guesses = feed.dev_accuracy(net), feed.test_guesses(net)
    assert accuracy.shape == (rounds,)
    assert len(guesses) == rounds
    for number, trial in enumerate(given):
        right = said(net, trial, number, trial.rows.dev) == trial.groups.codes[trial.rows.dev]
        assert float(accuracy[number]) == pytest.approx(np.mean(right))
        assert guesses[number].tolist() == said(net, trial, number, trial.rows.test)


def test_nobody_guesses_more_than_the_most_frequent_group_of_each_label() -> None:
    given = trials("coded")
    expected = []
    for trial in given:
        dev, codes = trial.rows.dev, trial.inputs.values
        groups = {code: GROUPS.codes[dev[codes[dev] == code]] for code in set(codes[dev])}
        expected.append(sum(np.bincount(one).max() for one in groups.values()) / len(dev))
    assert CountedBatches(given, CPU).best_possible.tolist() == pytest.approx(expected)
    assert min(expected) < 1
    assert RowBatches(trials("dense"), CPU).best_possible.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rows", [7, 6])
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("cells", [1 << 24, 1, 2 * 2 * SIZE * 3])
def test_a_counted_batch_holds_each_of_its_labels_once(
    rows: int, rounds: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_COUNTED", cells)
    given, net = trials("coded", rounds), network(rounds)
    feed = CountedBatches(given, CPU)
    found = list(feed.batches(ORDER[:rounds, :rows], 2))
    assert len(found) == 3
    for number, (labels, weight, target) in enumerate(found):
        first, most = feed.first(net, labels), 0
        assert first.shape == (*labels.shape, 4)
        for place, trial in enumerate(given):
            index = trial.rows.train[ORDER[place, 2 * number : 2 * number + 2].numpy()]
            shares: dict[int, Any] = {}
            for row in index:
                share = shares.setdefault(int(trial.inputs.values[row]), np.zeros(3))
                share[GROUPS.codes[row]] += 0.5
            most = max(most, len(shares))
            held = [int(label) - place * SIZE for label in labels[place]]
            for spot, label in enumerate(held):
                expected = shares.pop(label, np.zeros(3))
                assert target[place, spot].tolist() == expected.tolist()
                assert float(weight[place, 0, spot]) == expected.sum()
                assert (first[place, spot] == net.weights[0][place, label]).all()
            assert not shares
            assert len(set(held)) == len(held)
        # As wide as the fullest round needs, no wider.
        assert labels.shape[1] == most


def test_a_matrix_that_rounds_share_is_held_once() -> None:
    same = AttackerInput(NUMBERS, SIZE)
    feed = RowBatches([Trial(same, GROUPS, one) for one in DRAWN], CPU)
    assert feed._values[0] is feed._values[1]
