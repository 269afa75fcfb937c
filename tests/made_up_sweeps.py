"""Sweeps without a model: as many made-up models, sets and checkpoints as a page is to show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lmprobe.metrics.direction import Direction
from lmprobe.probing.result import ProbeResult
from lmprobe.results import Estimate, Interval, decide
from lmprobe.sweeping.jobs import Subject
from lmprobe.sweeping.result import Failure, Order, SweepResult, SweepRow, TrainingCurve
from lmprobe.sweeping.summary import SubjectProbe, summarise

Made = Callable[..., ProbeResult]


def made_up_sweep(
    made: Made,
    models: int,
    *,
    sets: Sequence[str] = ("fitbert",),
    bases: Sequence[str] = ("labor", "wikipedia"),
    steps: bool = False,
    failures: int = 0,
) -> SweepResult:
    """Return a sweep whose models lie on six levels, so that some can be told apart."""
    rng = np.random.default_rng(5)
    names = [f"acme/model-{number:03}" for number in range(models)]
    level = rng.permutation(models) % 6 / 6
    entries = []
    for number, name in enumerate(names):
        run = {"step": 2**number, "run": "acme/run"} if steps else {}
        for templates in sets:
            probe = made(model=name, bases=bases, seed=3)
            shifted = _shifted(probe, float(level[number]), rng)
            entries.append(SubjectProbe(Subject(name, name, **run), templates, shifted))
    failed = [
        Failure(f"acme/broken-{number}", sets[0], "acme/broken: no model of that name")
        for number in range(failures)
    ]
    settings = {"templates": list(sets), "base": list(bases)}
    return summarise(entries, failures=failed, settings=settings)


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


def plain_row(model: str, value: float = 0.1, **changes: Any) -> SweepRow:
    """Return the row of a model that nobody probed."""
    ends = Interval(value - 0.05, value + 0.05, 0.95, "bootstrap")
    row = SweepRow(
        model=model,
        templates="fitbert",
        base="labor",
        direction=Direction.TASK_TO_ATTRIBUTE,
        attributes=("he", "she"),
        estimate=Estimate(value, ends, decide(ends)),
        association=None,
        preference=None,
        candidate_mass=0.5,
        perplexity=None,
        undefined_pairs=0,
        by_task={"nurse": value, "baker": -value},
    )
    return replace(row, **changes)


def plain_sweep(
    *rows: SweepRow,
    groups: Sequence[Sequence[str]] | None = None,
    curves: Sequence[TrainingCurve] = (),
    **more: Any,
) -> SweepResult:
    """Return a sweep of these rows; `groups` are those of each question, lowest models first."""
    questions = dict.fromkeys(row.question for row in rows)
    orders = []
    if groups is not None:
        sets = tuple(tuple(group) for group in groups)
        models = tuple(dict.fromkeys(model for group in sets for model in group))
        orders = [Order(question, models, sets) for question in questions]
    return SweepResult(rows, tuple(orders), tuple(curves), (), {"settings": {}, "seed": 0}, **more)
