"""Trains the attackers of all rounds at once and keeps each one's best snapshot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lmprobe.io.progress import Progress
from lmprobe.leakage.attackers.mlp import Mlp
from lmprobe.leakage.batches import CountedBatches, RowBatches, TrialBatches
from lmprobe.leakage.ensemble import Ensemble
from lmprobe.leakage.inputs import Codes
from lmprobe.leakage.rounds import Trial
from lmprobe.models.device import resolve_device, torch_threads

# Accuracies are ratios of counts; closer than this they are the same count.
_SAME = 1e-6


def train_and_guess(
    recipe: Mlp, trials: Sequence[Trial], *, device: str, progress: Progress
) -> list[Codes]:
    """Train one attacker per trial by the recipe and return its guesses of the test rows.

    On a CPU the trials are shared out between as many workers as torch has threads.
    """
    place = torch.device(resolve_device(device))
    workers = min(torch.get_num_threads(), len(trials)) if place.type == "cpu" else 1
    shares = [list(trials[start::workers]) for start in range(workers)]
    with torch_threads(1), ThreadPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(_train, recipe, share, place, report)
            for share, report in zip(shares, _together(progress, workers), strict=True)
        ]
        guesses = [job.result() for job in jobs]
    return [guesses[number % workers][number // workers] for number in range(len(trials))]


def _together(progress: Progress, workers: int) -> list[Progress]:
    """Return one progress per worker that reports the sum of all of them."""
    done = [0] * workers
    lock = Lock()

    def of(worker: int) -> Progress:
        def report(epoch: int, epochs: int) -> None:
            with lock:
                done[worker] = epoch
                progress(sum(done), epochs * workers)

        return report

    return [of(worker) for worker in range(workers)]


def _train(
    recipe: Mlp, trials: Sequence[Trial], place: torch.device, progress: Progress
) -> list[Codes]:
    """Train the attackers of these trials in one batched network."""
    inputs = trials[0].inputs
    batch = min(recipe.batch_size, len(trials[0].rows.train))
    batches: TrialBatches = (
        CountedBatches(trials, place) if inputs.coded else RowBatches(trials, place)
    )
    generators = [torch.Generator().manual_seed(trial.rows.seed) for trial in trials]
    hidden = [recipe.width] * (recipe.layers - 1)
    network = Ensemble([inputs.size, *hidden, len(trials[0].groups.names)], generators, place)
    optimizer = torch.optim.Adam(network.parameters(), lr=recipe.learning_rate, fused=True)
    best = _Best(network, batches)
    for epoch in range(1, recipe.epochs + 1):
        order = _order(generators, len(trials[0].rows.train)).to(place)
        for given, weight, target in batches.batches(order, batch):
            logits = network.learn(batches.first(network, given), weight, batch)
            # Rounds share no parameter, so the sum of their losses trains each alone.
            loss = -(functional.log_softmax(logits, dim=2) * target).sum()
            optimizer.zero_grad()
            torch.autograd.backward([loss])
            optimizer.step()
        best.look(epoch)
        progress(epoch, recipe.epochs)
        if best.cannot_improve() or best.waited(epoch, recipe.patience):
            progress(recipe.epochs, recipe.epochs)
            break
    return best.guesses()


def _order(generators: Sequence[torch.Generator], rows: int) -> Tensor:
    """Return a fresh order of the train rows for each round, (R, n)."""
    return torch.stack([torch.randperm(rows, generator=one) for one in generators])


class _Best:
    """The snapshot of each round with the highest dev accuracy, the first one on a tie."""

    def __init__(self, network: Ensemble, batches: TrialBatches) -> None:
        self._network, self._batches = network, batches
        self._kept = [one.detach().clone() for one in network.state()]
        self._accuracy = torch.full_like(batches.best_possible, -math.inf)
        self._epoch = torch.zeros_like(self._accuracy)

    @torch.no_grad()
    def look(self, epoch: int) -> None:
        accuracy = self._batches.dev_accuracy(self._network)
        better = accuracy > self._accuracy + _SAME
        self._accuracy = torch.where(better, accuracy, self._accuracy)
        self._epoch[better] = epoch
        if better.any():
            for kept, now in zip(self._kept, self._network.state(), strict=True):
                kept[better] = now[better]

    def cannot_improve(self) -> bool:
        """Tell whether every round has the highest accuracy that is possible at all."""
        return bool((self._accuracy >= self._batches.best_possible - _SAME).all())

    def waited(self, epoch: int, patience: int | None) -> bool:
        return patience is not None and bool((epoch - self._epoch >= patience).all())

    @torch.no_grad()
    def guesses(self) -> list[Codes]:
        for kept, now in zip(self._kept, self._network.state(), strict=True):
            now.copy_(kept)
        return [np.asarray(one.cpu().numpy()) for one in self._batches.test_guesses(self._network)]
