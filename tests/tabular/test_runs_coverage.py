"""The interval over training runs covers; which measures tell models apart over a few runs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import lmprobe
from lmprobe.metrics.directional import directional_amplification
from lmprobe.results.verdict import Interval
from lmprobe.stats.rows import interval_over_runs

GROUP = np.repeat([0, 1], 400)
TRUTH = np.tile(np.repeat([1, 0], [120, 280]), 2)
TRUTH[400:] = np.repeat([1, 0], [240, 160])


def predictions(bias: float, draw: np.random.Generator) -> np.ndarray:
    """Return a run's predictions: its own bias moves both groups apart."""
    rate = np.where(GROUP == 1, 0.6 + bias, 0.3 - bias)
    return (draw.random(800) < rate).astype(int)


@pytest.mark.slow
def test_the_interval_over_runs_covers_the_mean_of_all_runs() -> None:
    """Five runs of a training procedure whose bias scatters; 600 studies on the same rows."""
    hits, truth = 0, 0.05  # on average the rates move by 0.05 in both groups
    draw = np.random.default_rng(4)
    for _ in range(600):
        values = []
        for bias in draw.normal(0.05, 0.03, 5):
            result = directional_amplification(
                GROUP, TRUTH, task_predictions=predictions(bias, draw)
            ).attribute_to_task
            assert result is not None
            values.append(result.value)
        hits += truth in interval_over_runs(values)
    # 0.95 within three standard errors of 600 studies.
    assert 0.923 <= hits / 600 <= 0.977


@dataclass(frozen=True)
class Architecture:
    """A model whose every run learns the task so well, and moves scores by group by chance."""

    skill: float
    bias: float = 0.0

    def scores(self, draw: np.random.Generator) -> np.ndarray:
        moved = draw.normal(self.bias, 0.35) * np.where(GROUP == 1, 0.5, -0.5)
        return self.skill * TRUTH + moved + draw.normal(size=800)


def average_precision(scores: np.ndarray) -> float:
    hits = TRUTH[np.argsort(-scores)]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits == 1].mean())


def false_positive_gap(guess: np.ndarray) -> float:
    rates = [guess[(item == GROUP) & (TRUTH == 0)].mean() for item in (0, 1)]
    return float(rates[1] - rates[0])


def studied(model: Architecture, draw: np.random.Generator) -> dict[str, Interval]:
    """Return the interval over five runs of each measure."""
    runs = [model.scores(draw) for _ in range(5)]
    # The paper's threshold: as many are predicted positive as are.
    said = [(run >= np.sort(run)[-TRUTH.sum()]).astype(int) for run in runs]
    frames = [pd.DataFrame({"group": GROUP, "task": TRUTH, "said": item}) for item in said]
    row = lmprobe.amplify(
        frames, attribute="group", task="task", task_prediction="said", runs=True, interval=None
    ).row("A->T")
    assert row.over_runs is not None
    return {
        "average precision": interval_over_runs([average_precision(run) for run in runs]),
        "FPR difference": interval_over_runs([false_positive_gap(item) for item in said]),
        "amplification": row.over_runs.interval,
    }


def apart(first: Interval, other: Interval) -> bool:
    return first.high < other.low or other.high < first.low


def test_what_runs_can_tell_apart_depends_on_the_measure() -> None:
    """Figure 4 of the paper on generated runs, five of each of three architectures.

    "Average precision retains a consistent ranking across models, but two different fairness
    measures (FPR difference and A->T bias amplification) have overlapping intervals"; across
    ratios of majority to minority, differences in A->T are large enough for conclusions. Over
    60 seeds the four assertions hold in 0.97, 0.97, 0.93 and 0.98; this is one seed.
    """
    draw = np.random.default_rng(1)
    actual = [studied(Architecture(skill), draw) for skill in (1.0, 1.6, 2.2)]
    pairs = list(itertools.combinations(actual, 2))
    name = "average precision"
    assert all(apart(first[name], other[name]) for first, other in pairs)
    assert actual[0][name].high < actual[1][name].low < actual[1][name].high < actual[2][name].low
    for name in ("FPR difference", "amplification"):
        assert not any(apart(first[name], other[name]) for first, other in pairs)
    skewed = studied(Architecture(1.6, bias=1.6), draw)
    assert apart(actual[1]["amplification"], skewed["amplification"])
