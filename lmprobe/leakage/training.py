"""Trains the attackers of all rounds side by side; each guesses with its best snapshot.

Every parameter has a leading axis for the round, so one call of a batched product serves
all rounds. Rows of a batch that look the same are computed once: a row carries its share of
the batch as a weight, and BatchNorm takes weighted moments, which are those of the full batch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lmprobe.io.work import Progress
from lmprobe.leakage.attackers import Mlp
from lmprobe.leakage.inputs import AttackerInput, Codes
from lmprobe.leakage.rounds import PARTS, Trial
from lmprobe.models.forward import fast_products, resolve_device, torch_threads

# What torch.nn.BatchNorm1d and torch.nn.LeakyReLU use.
_EPSILON, _MOMENTUM, _SLOPE = 1e-5, 0.1, 0.01

# Accuracies are ratios of counts; closer than this they are the same count.
_SAME = 1e-6

# Rows that are judged, and cells that are counted, at a time: large data must not fill the memory.
_ROWS, _CELLS = 16_384, 1 << 24

# With fewer equal rows than this for each combination, counting them takes as long as it saves.
_ALIKE = 8

Batch = tuple[Tensor, Tensor, Tensor]
"""What the first layer makes of U different rows (R, U, H), the share of the batch that looks
like each of them (R, 1, U), and that share by group (R, U, G)."""


def train_and_guess(
    trials: Sequence[Trial], recipe: Mlp, *, device: str, progress: Progress
) -> list[Codes]:
    """Train one attacker per trial and return its guesses of the test rows.

    On a CPU the trials are shared out between as many workers as torch has threads.
    """
    place = torch.device(resolve_device(device))
    workers = min(torch.get_num_threads(), len(trials)) if place.type == "cpu" else 1
    steps, lock, stopped = [0] * workers, Lock(), Event()
    per_trial = recipe.epochs * max(1, len(trials[0].rows.train) // recipe.batch_size)

    def work(worker: int) -> list[Codes]:
        own = trials[worker::workers]

        def report(step: int) -> None:
            if stopped.is_set():
                raise _Stopped
            with lock:
                steps[worker] = step * len(own)
                progress(sum(steps), per_trial * len(trials))

        return _train(own, recipe, place, report)

    with torch_threads(1), fast_products(place.type), ThreadPoolExecutor(workers) as pool:
        try:
            guesses = list(pool.map(work, range(workers)))
        except BaseException:
            # An interrupted worker must not keep the others going.
            stopped.set()
            raise
    progress(per_trial * len(trials), per_trial * len(trials))
    return [guesses[number % workers][number // workers] for number in range(len(trials))]


class _Stopped(Exception):
    """Ends the training of a worker."""


def _train(
    trials: Sequence[Trial], recipe: Mlp, place: torch.device, report: Callable[[int], None]
) -> list[Codes]:
    """Train the attackers of these trials in one batched network; every step is reported."""
    rows, step = len(trials[0].rows.train), 0
    batch_size = min(recipe.batch_size, rows)
    counted = all(_worth_counting(trial.inputs) for trial in trials)
    examples = (_CountedExamples if counted else _NumberExamples)(trials, place)
    generators = [torch.Generator().manual_seed(trial.rows.seed) for trial in trials]
    widths = [trials[0].inputs.size, *[recipe.width] * (recipe.layers - 1)]
    network = _Networks([*widths, len(trials[0].groups.names)], generators, place)
    optimizer = torch.optim.Adam(network.parameters, lr=recipe.learning_rate, fused=True)
    # Of each round the guesses with the highest dev accuracy, the first ones on a tie.
    best = torch.zeros_like(examples.rows["test"])
    accuracy = torch.full((len(trials),), -math.inf, device=place)
    best_epoch = torch.zeros_like(accuracy)
    for epoch in range(1, recipe.epochs + 1):
        order = torch.stack([torch.randperm(rows, generator=each) for each in generators])
        for first, weight, target in examples.batches(network, order.to(place), batch_size):
            logits = network.logits(first, weight, batch_size)
            # Rounds share no parameter, so the sum of their losses trains each alone.
            loss = -(functional.log_softmax(logits, dim=2) * target).sum()
            optimizer.zero_grad()
            torch.autograd.backward([loss])
            optimizer.step()
            step += 1
            report(step)
        with torch.no_grad():
            guessed = examples.guesses(network, examples.rows["dev"])
            now = (guessed == examples.dev_groups).float().mean(dim=1)
            better = now > accuracy + _SAME
            if better.any():
                accuracy[better], best_epoch[better] = now[better], epoch
                best[better] = examples.guesses(network, examples.rows["test"])[better]
        patience = recipe.patience
        waited = patience is not None and (epoch - best_epoch >= patience).all()
        if waited or (accuracy >= examples.best_possible - _SAME).all():
            break
    return [np.asarray(guess) for guess in best.cpu().numpy()]


class _NormAndBend(torch.autograd.Function):
    """BatchNorm with weighted rows, then LeakyReLU, with the gradient written out.

    Autograd would keep and walk every product of the two; together they need half of that.
    """

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, weight: Tensor, scale: Tensor, shift: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean = torch.bmm(weight, values)
        normed = values - mean
        variance = torch.bmm(weight, normed * normed)
        spread = torch.rsqrt(variance + _EPSILON)
        normed *= spread
        straight = torch.addcmul(shift, normed, scale)
        ctx.save_for_backward(normed, straight, weight, scale * spread)
        ctx.mark_non_differentiable(mean, variance)
        return functional.leaky_relu(straight, _SLOPE), mean, variance

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, Tensor, Tensor]:
        normed, straight, weight, factor = ctx.saved_tensors
        slope = torch.ops.aten.leaky_relu_backward(gradients[0], straight, _SLOPE, False)
        of_shift = slope.sum(dim=1, keepdim=True)
        of_scale = (slope * normed).sum(dim=1, keepdim=True)
        # What a row adds to the mean and to the variance of the batch.
        through = torch.addcmul(of_shift, normed, of_scale).mul_(weight.transpose(1, 2))
        return slope.sub(through).mul_(factor), None, of_scale, of_shift


class _Networks:
    """R networks of one shape: linear layers with BatchNorm and LeakyReLU between them.

    A layer before a BatchNorm has no bias: the mean is subtracted right after it.
    """

    def __init__(
        self, widths: Sequence[int], generators: Sequence[torch.Generator], device: torch.device
    ) -> None:
        def drawn(fan_in: int, *shape: int) -> Tensor:
            """Draw for each round from its own generator, as torch.nn.Linear does."""
            values = torch.stack([torch.rand(*shape, generator=each) for each in generators])
            return ((values * 2 - 1) * (1 / math.sqrt(fan_in))).to(device)

        rounds, hidden = len(generators), widths[1:-1]
        self.weights = [drawn(fan_in, fan_in, out) for fan_in, out in itertools.pairwise(widths)]
        self.bias = drawn(widths[-2], 1, widths[-1])
        self.scales = [torch.ones(rounds, 1, width, device=device) for width in hidden]
        self.shifts = [torch.zeros(rounds, 1, width, device=device) for width in hidden]
        self.means = [torch.zeros(rounds, 1, width, device=device) for width in hidden]
        self.variances = [torch.ones(rounds, 1, width, device=device) for width in hidden]
        self.parameters = [*self.weights, self.bias, *self.scales, *self.shifts]
        for parameter in self.parameters:
            parameter.requires_grad_(True)

    def logits(self, first: Tensor, weight: Tensor | None = None, batch_size: int = 0) -> Tensor:
        """Return the logits (R, U, G) of what the first layer makes of U rows.

        With the `weight` of the rows in a batch, the moments are those of the batch, and they
        are noted; without, those that were noted serve.
        """
        values = first
        for layer, (scale, shift) in enumerate(zip(self.scales, self.shifts, strict=True)):
            means, variances = self.means[layer], self.variances[layer]
            if weight is None:
                factor = scale * torch.rsqrt(variances + _EPSILON)
                values = torch.addcmul(shift, values - means, factor)
                values = functional.leaky_relu(values, _SLOPE)
            else:
                values, mean, variance = _NormAndBend.apply(values, weight, scale, shift)  # type: ignore[no-untyped-call]
                with torch.no_grad():
                    means.lerp_(mean, _MOMENTUM)
                    # The running variance is that of the population, hence n / (n - 1).
                    variances.lerp_(variance * (batch_size / (batch_size - 1)), _MOMENTUM)
            following = self.weights[layer + 1]
            if layer + 1 < len(self.scales):
                values = torch.bmm(values, following)
            else:
                values = torch.baddbmm(self.bias, values, following)
        return values if self.scales else values + self.bias


class _Examples:
    """The examples of all rounds, on the device."""

    def __init__(self, trials: Sequence[Trial], device: torch.device) -> None:
        groups = trials[0].groups
        self.rows = {
            part: torch.from_numpy(np.stack([getattr(trial.rows, part) for trial in trials]))
            .to(device)
            for part in PARTS
        }  # fmt: skip
        self.codes = torch.from_numpy(groups.codes).to(device)
        self.groups, self.dev_groups = len(groups.names), self.codes[self.rows["dev"]]
        self.best_possible = torch.ones(len(trials), device=device)
        """The highest dev accuracy that any attacker can reach, (R,)."""


class _NumberExamples(_Examples):
    """Examples that are rows of numbers."""

    def __init__(self, trials: Sequence[Trial], device: torch.device) -> None:
        super().__init__(trials, device)
        # Each different matrix is moved once: rounds share it.
        matrices = {id(trial.inputs): trial.inputs.values for trial in trials}
        moved = {
            key: torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).to(device)
            for key, values in matrices.items()
        }
        self._values = [moved[id(trial.inputs)] for trial in trials]

    def batches(self, network: _Networks, order: Tensor, size: int) -> Iterator[Batch]:
        """Yield the batches of `order`; every row weighs the same."""
        train = self.rows["train"].gather(1, order)
        target = functional.one_hot(self.codes[train], self.groups).float() / size
        weight = target.new_full((len(train), 1, size), 1 / size)
        for start in range(0, order.shape[1] - size + 1, size):
            stop = start + size
            yield self._first(network, train[:, start:stop]), weight, target[:, start:stop]

    def guesses(self, network: _Networks, rows: Tensor) -> Tensor:
        """Return the guessed group of those rows of each round, (R, n)."""
        logits = [
            network.logits(self._first(network, part)) for part in torch.split(rows, _ROWS, dim=1)
        ]
        return torch.cat([part.argmax(dim=2) for part in logits], dim=1)

    def _first(self, network: _Networks, rows: Tensor) -> Tensor:
        pairs = zip(self._values, rows, strict=True)
        given = torch.stack([values.index_select(0, own) for values, own in pairs])
        return torch.bmm(given, network.weights[0])


def _worth_counting(inputs: AttackerInput) -> bool:
    """Tell whether so many examples are equal that a batch of them is best counted."""
    return inputs.coded or _ALIKE * (int(inputs.combinations.max()) + 1) <= len(inputs.values)


class _CountedExamples(_Examples):
    """Examples of which many are equal: a batch is the counts of its combinations by group."""

    def __init__(self, trials: Sequence[Trial], device: torch.device) -> None:
        super().__init__(trials, device)
        codes = np.stack([trial.inputs.combinations for trial in trials])
        self._combinations = torch.from_numpy(codes).to(device)
        self._table: Tensor | None = None
        """The numbers of each combination (R, K, size); of one label per example, none."""
        if trials[0].inputs.coded:
            self._size = trials[0].inputs.size
        else:
            tables = [trial.inputs.distinct(np.arange(codes.shape[1]))[0] for trial in trials]
            self._size = max(map(len, tables))
            # Rounds with fewer combinations are filled up with some that never occur.
            filled = [np.pad(table, ((0, self._size - len(table)), (0, 0))) for table in tables]
            self._table = torch.from_numpy(np.stack(filled)).to(device)
        # One number says both the combination and the group.
        self._cells = self._combinations * self.groups + self.codes
        dev = self._shares(self._cells.gather(1, self.rows["dev"])[:, None])
        self.best_possible = dev.amax(dim=3).sum(dim=(1, 2))

    def _shares(self, cells: Tensor) -> Tensor:
        """Return (R, B, K, G): the share of each combination and group in each of B batches."""
        counts = torch.zeros(*cells.shape[:2], self._size * self.groups, device=cells.device)
        counts.scatter_add_(2, cells, torch.ones_like(cells, dtype=torch.float32))
        return counts.view(*cells.shape[:2], self._size, self.groups) / cells.shape[2]

    def batches(self, network: _Networks, order: Tensor, size: int) -> Iterator[Batch]:
        """Yield the batches of `order`; a combination weighs as much as the rows that have it."""
        rounds, rows = order.shape
        cells = self._cells.gather(1, self.rows["train"].gather(1, order[:, : rows - rows % size]))
        several = max(1, _CELLS // (rounds * self._size * self.groups))
        for part in torch.split(cells.view(rounds, -1, size), several, dim=1):
            shares = self._shares(part)
            weight = shares.sum(dim=3)
            present = weight > 0
            widest = int(present.sum(dim=2).max())
            # Those of the batch first; rounds with fewer are filled up with some of weight 0.
            which = present.byte().argsort(dim=2, descending=True, stable=True)[:, :, :widest]
            weight = weight.gather(2, which)
            target = shares.gather(2, which[..., None].expand(*which.shape, self.groups))
            for number in range(part.shape[1]):
                first = self._first(network, which[:, number])
                yield first, weight[:, None, number], target[:, number]

    def guesses(self, network: _Networks, rows: Tensor) -> Tensor:
        """Return the guessed group of those rows of each round, (R, n)."""
        which = torch.arange(self._size, device=rows.device).expand(len(rows), -1)
        logits = [
            network.logits(self._first(network, part)) for part in torch.split(which, _ROWS, dim=1)
        ]
        by_combination = torch.cat([part.argmax(dim=2) for part in logits], dim=1)
        return by_combination.gather(1, self._combinations.gather(1, rows))

    def _first(self, network: _Networks, which: Tensor) -> Tensor:
        """Return what the first layer makes of those combinations of each round (R, U)."""
        # A product with a single 1 is a look-up in the first weights.
        table = network.weights[0] if self._table is None else self._table
        flat = which + self._size * torch.arange(len(which), device=which.device)[:, None]
        rows = table.view(-1, table.shape[2]).index_select(0, flat.reshape(-1))
        rows = rows.view(*which.shape, -1)
        return rows if self._table is None else torch.bmm(rows, network.weights[0])
