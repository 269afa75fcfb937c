"""Sweeps without a model: as many made-up models, sets and checkpoints as a page is to show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from lmprobe.probing.result import ProbeResult
from lmprobe.sweeping.jobs import Subject
from lmprobe.sweeping.result import Failure, SweepResult
from lmprobe.sweeping.summary import Entry, summarise

Made = Callable[..., ProbeResult]


def made_up_sweep(
    made: Made,
    models: int,
    *,
    sets: Sequence[str] = ("fitbert",),
    bases: Sequence[str] = ("labor", "wikipedia"),
    levels: int = 6,
    steps: bool = False,
    failures: int = 0,
) -> SweepResult:
    """Return a sweep whose models lie on a few levels, so that some can be told apart."""
    rng = np.random.default_rng(5)
    names = [f"acme/model-{number:03}" for number in range(models)]
    level = rng.permutation(models) % levels / levels
    entries = [
        Entry(
            Subject(
                name, name, step=2**number if steps else None, run="acme/run" if steps else None
            ),
            one,
            _shifted(made(model=name, bases=bases, seed=3), float(level[number]), rng),
        )
        for number, name in enumerate(names)
        for one in sets
    ]
    return summarise(
        entries,
        failures=[
            Failure(f"acme/broken-{number}", sets[0], "acme/broken: no model of that name")
            for number in range(failures)
        ],
        settings={"templates": list(sets), "base": list(bases)},
    )


def _shifted(result: ProbeResult, level: float, rng: np.random.Generator) -> ProbeResult:
    """Return the result with its tables moved towards even ones, and noise of their own."""
    rows = []
    for row in result.rows:
        noise = rng.normal(1, 0.02, row.predicted.shape)
        given = 1 if row.direction == "task->attribute" else 2
        even = row.predicted.mean(axis=given, keepdims=True)
        predicted = (level * even + (1 - level) * row.predicted) * noise
        predicted /= predicted.sum(axis=given, keepdims=True)
        moved = replace(row, predicted=predicted)
        shift = moved.value - row.value
        ends = row.interval
        interval = replace(ends, low=ends.low + shift, high=ends.high + shift)
        rows.append(replace(moved, interval=interval))
    return replace(result, rows=tuple(rows), perplexity=float(rng.uniform(5, 500)))
