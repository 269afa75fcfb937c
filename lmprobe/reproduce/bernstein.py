"""Bernstein-Bounded Unfairness (Ethayarajh 2020): how much data a claim needs, and coverage.

Figure 2 is arithmetic and comes out exactly. Figure 1 used the annotators of MNLI as the
classifier; here each genre is a population with the mean costs of the paper's Table 1, each
row's cost the share of five annotators who disagree, so that the true bias is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import lmprobe
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.tally import Floats
from lmprobe.reproduce.experiment import experiment
from lmprobe.reproduce.result import ReproducedRow, Reproduction, reproduction
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.reproduce.shipped import published
from lmprobe.results import Figure, Interval, Series, SeriesPlot

GENRES = published("bernstein")["genres"]
SIZES = (100, 200, 500, 1000, 2000)
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
RUNS = 20
ANNOTATORS = 5
WINOBIAS = 3160
PRINTED = {"bernstein": (11903, 0.0975), "betting": (None, None)}
"""What the paper marks in Figure 2: examples to claim 0.05, and what WinoBias can claim."""


@experiment("bernstein")
def bernstein(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Ethayarajh 2020: 11,903 examples for a claim of 0.05, and how often the bound covers."""
    rows = []
    for method, (size, effect) in PRINTED.items():
        needed = lmprobe.sample_size(0.05, method=method)
        claimable = lmprobe.claimable_effect(WINOBIAS, method=method)
        marks = {
            f"{method}: examples to claim 0.05": (needed, size),
            f"{method}: claimable with WinoBias ({WINOBIAS})": (claimable, effect),
        }
        rows += [
            ReproducedRow(name, *mark, details={"method": method}) for name, mark in marks.items()
        ]
    rng = np.random.default_rng(settings.seed)
    plans = [(n, 0.1) for n in SIZES] + [(500, share) for share in SHARES[1:]]
    shown = {}
    for done, (n, share) in enumerate(plans, start=1):
        intervals = {genre: _intervals(genre, n, share, rng) for genre in GENRES}
        shown[n, share] = intervals["government"][0]
        covered = [_bias(genre) in one for genre, drawn in intervals.items() for one in drawn]
        rows.append(
            ReproducedRow(
                f"bernstein covers the true bias, n = {n}, share {share}",
                float(np.mean(covered)),
                # "100% of the time", from 100 examples on (section 3.2).
                1.0,
                details={"n": n, "group_share": share, "method": "bernstein", "runs": len(covered)},
            )
        )
        progress(done, len(plans))
    by_size = {n: shown[n, 0.1] for n in SIZES}
    by_share = {share: shown[500, share] for share in SHARES}
    figures = (
        _figure_1("figure-1-left", "number of examples", by_size),
        _figure_1("figure-1-right", "share of the protected", by_share),
        _figure_2(),
    )
    return reproduction("bernstein", rows, drawn=figures)


def _bias(genre: str) -> float:
    inside, outside = GENRES[genre]
    return float(inside - outside)


def _intervals(genre: str, n: int, share: float, rng: np.random.Generator) -> list[Interval]:
    """Return the published bound on RUNS samples of n rows, of which `share` are of the genre."""
    size = round(n * share)
    group = np.repeat([genre, "others"], [size, n - size])

    def costs(mean: float, rows: int) -> Floats:
        """Draw the share of annotators who disagree; most rows have none."""
        return rng.binomial(ANNOTATORS, rng.beta(mean, 1 - mean, rows)) / ANNOTATORS

    def interval() -> Interval:
        cost = np.concatenate([costs(GENRES[genre][0], size), costs(GENRES[genre][1], n - size)])
        return lmprobe.group_disparity(
            np.zeros(n),
            cost,
            sensitive_features=group,
            protected=genre,
            cost=lambda _, predicted: predicted,
            group_share=share,
            method="bernstein",
        ).interval

    return [interval() for _ in range(RUNS)]


def _figure_1(name: str, x_label: str, intervals: Mapping[Any, Interval]) -> Figure:
    """Return one side of Figure 1: intervals of one sample each, and the true bias."""
    truth, places = _bias("government"), tuple(intervals)
    low, high = zip(*((one.low, one.high) for one in intervals.values()), strict=True)
    middle = tuple((one.low + one.high) / 2 for one in intervals.values())
    widths = [one.width for one in intervals.values()]
    return SeriesPlot(
        name=name,
        title=f"The bound closes in on the true bias with the {x_label}",
        x_label=x_label,
        y_label="bias",
        series=(
            Series("estimate, 95 % interval", places, middle, low=low, high=high, style="points"),
            Series("true bias", places, (truth,) * len(places), style="dashed"),
        ),
        alternative=f"Intervals around a true bias of {truth:.3f}; as the {x_label} grows from "
        f"{places[0]:g} to {places[-1]:g}, their width falls from {widths[0]:.2f} "
        f"to {widths[-1]:.2f}.",
    )


def _figure_2() -> Figure:
    effects = tuple(float(effect) for effect in np.linspace(0.02, 0.2, 37))
    lines = [
        Series(name, effects, tuple(float(lmprobe.sample_size(e, method=name)) for e in effects))
        for name in PRINTED
    ]
    needed = [lmprobe.sample_size(0.05, method=name) for name in PRINTED]
    marks = Series(
        "marks of the paper",
        (0.05, lmprobe.claimable_effect(WINOBIAS)),
        (float(needed[0]), float(WINOBIAS)),
        labels=("11,903 for 0.05", "WinoBias: 3,160"),
        style="points",
    )
    return SeriesPlot(
        name="figure-2",
        title="How many examples a claim of bias needs",
        x_label="bias estimate",
        y_label="examples",
        series=(*lines, marks),
        alternative="The number of examples falls with the square of the bias to be claimed; at "
        f"0.05 the published bound needs {needed[0]:,} and betting {needed[1]:,}.",
        y_scale="log",
    )
