"""What the batched attackers are fed: rows of numbers, or codes that are counted first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lmprobe.leakage.ensemble import Ensemble
from lmprobe.leakage.rounds import Trial

# RowBatches judged at a time, so that a large dev set does not fill the memory.
_JUDGED = 16_384
# Cells of the table of counts made at a time.
_COUNTED = 1 << 24


class TrialBatches(Protocol):
    """The examples of all rounds, on the device."""

    best_possible: Tensor
    """The highest dev accuracy that any attacker can reach, (R,)."""

    def batches(self, order: Tensor, batch: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield input, weight (R, 1, U) and target shares (R, U, G) of each batch of `order`."""
        ...

    def first(self, network: Ensemble, given: Tensor) -> Tensor:
        """Return what the first layer makes of an input."""
        ...

    def dev_accuracy(self, network: Ensemble) -> Tensor:
        """Return the dev accuracy of each round, (R,)."""
        ...

    def test_guesses(self, network: Ensemble) -> list[Tensor]:
        """Return the guessed group of each test row, round by round."""
        ...


class RowBatches:
    """Examples that are rows of numbers."""

    def __init__(self, trials: Sequence[Trial], device: torch.device) -> None:
        """Bring each different matrix to the device once; rounds keep row numbers."""
        unique = {id(trial.inputs): trial.inputs for trial in trials}
        moved = {
            key: torch.from_numpy(np.ascontiguousarray(one.values, dtype=np.float32)).to(device)
            for key, one in unique.items()
        }
        self._values = [moved[id(trial.inputs)] for trial in trials]
        self._train, self._dev, self._test = (_stack(trials, part, device) for part in _PARTS)
        group = torch.from_numpy(trials[0].groups.codes).to(device)
        self._groups = len(trials[0].groups.names)
        self._target, self._truth = group[self._train], group[self._dev]
        self.best_possible = torch.ones(len(trials), device=device)

    def batches(self, order: Tensor, batch: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield the batches; every row weighs the same."""
        train = self._train.gather(1, order)
        target = functional.one_hot(self._target.gather(1, order), self._groups).float() / batch
        weight = target.new_full((len(train), 1, batch), 1 / batch)
        for start in range(0, order.shape[1] - batch + 1, batch):
            stop = start + batch
            yield self._pick(train[:, start:stop]), weight, target[:, start:stop]

    def first(self, network: Ensemble, given: Tensor) -> Tensor:
        """Return the product with the first weights."""
        return torch.bmm(given, network.weights[0])

    def dev_accuracy(self, network: Ensemble) -> Tensor:
        """Return the share of dev rows that were guessed."""
        return (self._guess(network, self._dev) == self._truth).float().mean(dim=1)

    def test_guesses(self, network: Ensemble) -> list[Tensor]:
        """Return the guesses of the test rows."""
        return list(self._guess(network, self._test))

    def _pick(self, index: Tensor) -> Tensor:
        pairs = zip(self._values, index, strict=True)
        return torch.stack([values.index_select(0, rows) for values, rows in pairs])

    def _guess(self, network: Ensemble, index: Tensor) -> Tensor:
        starts = range(0, index.shape[1], _JUDGED)
        chunks = [index[:, start : start + _JUDGED] for start in starts]
        logits = [network.judge(self.first(network, self._pick(chunk))) for chunk in chunks]
        return torch.cat([one.argmax(dim=2) for one in logits], dim=1)


class CountedBatches:
    """Examples with one label each: a batch is the counts of its labels by group."""

    def __init__(self, trials: Sequence[Trial], device: torch.device) -> None:
        """Keep the label and the group of every row of every round."""
        self._size = trials[0].inputs.size
        self._groups = len(trials[0].groups.names)
        parts = {name: _stack(trials, name, device) for name in _PARTS}
        codes = torch.from_numpy(np.stack([trial.inputs.values for trial in trials])).to(device)
        group = torch.from_numpy(trials[0].groups.codes).to(device)
        # One number says both the label and the group.
        both = codes * self._groups + group
        self._train = both.gather(1, parts["train"])
        self._test = codes.gather(1, parts["test"])
        dev = both.gather(1, parts["dev"])
        self._dev = self._count(dev[:, None, :])[:, 0] / dev.shape[1]
        self.best_possible = self._dev.amax(dim=2).sum(dim=1)

    def _count(self, both: Tensor) -> Tensor:
        """Return (R, K, L, G): how often each label and group are in each of K batches."""
        shape = (*both.shape[:2], self._size * self._groups)
        zeros = torch.zeros(shape, device=both.device)
        counts = zeros.scatter_add_(2, both, torch.ones_like(both, dtype=torch.float32))
        return counts.view(*both.shape[:2], self._size, self._groups)

    def batches(self, order: Tensor, batch: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield the batches; a label weighs as much as the rows that have it."""
        rounds, rows = order.shape
        usable = rows - rows % batch
        both = self._train.gather(1, order[:, :usable]).view(rounds, -1, batch)
        step = max(1, _COUNTED // (rounds * self._size * self._groups))
        for start in range(0, both.shape[1], step):
            yield from self._merged(both[:, start : start + step], batch)

    def _merged(self, both: Tensor, batch: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield each of the batches (R, K, B) with equal rows made one."""
        shares = self._count(both) / batch
        weight = shares.sum(dim=3)
        present = weight > 0
        widest = int(present.sum(dim=2).max())
        # Labels of the batch first; rounds with fewer are filled up with labels of weight 0.
        codes = present.byte().argsort(dim=2, descending=True, stable=True)[:, :, :widest]
        offset = torch.arange(len(codes), device=codes.device)[:, None, None] * self._size
        weight = weight.gather(2, codes)
        target = shares.gather(2, codes[..., None].expand(*codes.shape, self._groups))
        flat = codes + offset
        for number in range(both.shape[1]):
            yield flat[:, number], weight[:, None, number], target[:, number]

    def first(self, network: Ensemble, given: Tensor) -> Tensor:
        """Return the rows of the first weights: a product with a single 1 is a look-up."""
        table = network.weights[0]
        rows = table.view(-1, table.shape[2]).index_select(0, given.reshape(-1))
        return rows.view(*given.shape, -1)

    def dev_accuracy(self, network: Ensemble) -> Tensor:
        """Return the share of dev rows that were guessed, from their counts."""
        guess = network.judge(network.weights[0]).argmax(dim=2)
        return self._dev.gather(2, guess[..., None]).sum(dim=(1, 2))

    def test_guesses(self, network: Ensemble) -> list[Tensor]:
        """Return the guesses of the test rows."""
        guess = network.judge(network.weights[0]).argmax(dim=2)
        return list(guess.gather(1, self._test))


_PARTS = ("train", "dev", "test")


def _stack(trials: Sequence[Trial], part: str, device: torch.device) -> Tensor:
    """Return the row numbers of one part, (R, n)."""
    return torch.from_numpy(np.stack([getattr(trial.rows, part) for trial in trials])).to(device)
