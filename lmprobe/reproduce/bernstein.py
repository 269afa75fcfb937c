"""Bernstein-Bounded Unfairness (Ethayarajh 2020): how much data a claim needs, and coverage.

Figure 2 is arithmetic and comes out exactly. Figure 1 used the annotators of MNLI as the
classifier; here each genre is a population with the mean costs of the paper's Table 1, each
row's cost the share of five annotators who disagree, so that the true bias is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

import lmprobe
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.reproduce.experiment import (
    Reason,
    ReproducedRow,
    Reproduction,
    comparison_table,
    experiment,
    figure_texts,
    published,
    reproduction,
)
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import Figure, Interval, Series, SeriesPlot

GENRES: dict[str, tuple[float, float]] = published("bernstein")["genres"]
BIAS = {genre: inside - outside for genre, (inside, outside) in GENRES.items()}
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
        for name, value, paper in (
            ("examples to claim 0.05", needed, size),
            (f"claimable with WinoBias ({WINOBIAS})", claimable, effect),
        ):
            row = ReproducedRow(f"{method}: {name}", value, paper, details={"method": method})
            rows.append(row)
    sizes = comparison_table(rows)
    rng = np.random.default_rng(settings.seed)
    plans = [(n, 0.1) for n in SIZES] + [(500, share) for share in SHARES[1:]]
    shown, coverage = {}, []
    for done, (n, share) in enumerate(plans, start=1):
        samples = {genre: _intervals(genre, n, share, rng) for genre in GENRES}
        shown[n, share] = samples["government"][0]
        covered = [BIAS[genre] in interval for genre in GENRES for interval in samples[genre]]
        name = f"bernstein covers the bias, n = {n}, share {share}"
        details = {"n": n, "group_share": share, "method": "bernstein", "runs": len(covered)}
        # The paper: "100% of the time", from 100 examples on (section 3.2).
        share_covered = float(np.mean(covered))
        reason = Reason.MISSING_DATA
        coverage.append(ReproducedRow(name, share_covered, 1.0, details=details, reason=reason))
        progress(done, len(plans))
    figures = (
        _figure_1("figure-1-left", {n: shown[n, 0.1] for n in SIZES}),
        _figure_1("figure-1-right", {share: shown[500, share] for share in SHARES}),
        _figure_2(),
    )
    return reproduction(
        "bernstein",
        [*rows, *coverage],
        sizes,
        replace(comparison_table(coverage, name="coverage"), detail=True),
        drawn=figures,
        covered=round(sum(row.value * row.details["runs"] for row in coverage)),
        samples=sum(row.details["runs"] for row in coverage),
    )


def _intervals(genre: str, n: int, share: float, rng: np.random.Generator) -> list[Interval]:
    """Return the published bound on RUNS samples of n rows, of which `share` are of the genre."""
    sizes = round(n * share), n - round(n * share)

    def costs(mean: float, rows: int) -> Floats:
        """Draw the share of annotators who disagree; most rows have none."""
        return rng.binomial(ANNOTATORS, rng.beta(mean, 1 - mean, rows)) / ANNOTATORS

    return [
        lmprobe.group_disparity(
            np.zeros(n),
            np.concatenate([*map(costs, GENRES[genre], sizes)]),
            sensitive_features=np.repeat([genre, "others"], sizes),
            protected=genre,
            cost=lambda _, predicted: predicted,
            group_share=share,
            method="bernstein",
        ).interval
        for _ in range(RUNS)
    ]


def _figure_1(name: str, intervals: Mapping[float, Interval]) -> Figure:
    """Return one side of Figure 1: intervals of one sample each, and the true bias."""
    truth, x, samples = BIAS["government"], tuple(intervals), tuple(intervals.values())
    low, high = (tuple(getattr(sample, end) for sample in samples) for end in ("low", "high"))
    middle = tuple((sample.low + sample.high) / 2 for sample in samples)
    widths = (samples[0].width, samples[-1].width)
    texts = figure_texts("bernstein", name, truth=truth, widths=widths)
    series = (
        Series("estimate, 95 % interval", x, middle, low=low, high=high, style="points"),
        Series("true bias", x, (truth,) * len(x), style="dashed"),
    )
    return SeriesPlot(series=series, **texts)


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
    texts = figure_texts("bernstein", "figure-2", needed=needed)
    return SeriesPlot(series=(*lines, marks), **texts)
