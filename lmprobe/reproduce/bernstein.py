"""Bernstein-Bounded Unfairness (Ethayarajh 2020): how much data a claim needs, and coverage.

Figure 2 is arithmetic and comes out exactly. Figure 1 used the annotators of MNLI as the
classifier; here each genre is a population with the mean costs of the paper's Table 1, each
row's cost the share of five annotators who disagree, so that the true bias is known.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.inference.planning import claimable_effect, sample_size
from lmprobe.intervals.method import interval
from lmprobe.intervals.two_groups import groups_sample
from lmprobe.io.progress import Progress, silent
from lmprobe.reproduce.experiment import experiment
from lmprobe.reproduce.result import ReproducedRow, Reproduction, texts_as_notes
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.reproduce.tables import comparison_table
from lmprobe.results.figure import Figure, Series, SeriesPlot
from lmprobe.results.interval import Interval

# Table 1: the mean cost in the genre and outside of it.
GENRES: dict[str, tuple[float, float]] = {
    "facetoface": (0.116, 0.128),
    "fiction": (0.122, 0.128),
    "government": (0.154, 0.124),
    "letters": (0.105, 0.130),
    "nineeleven": (0.115, 0.129),
    "oup": (0.132, 0.127),
    "slate": (0.147, 0.125),
    "telephone": (0.125, 0.127),
    "travel": (0.111, 0.129),
    "verbatim": (0.146, 0.125),
}
_SIZES = (100, 200, 500, 1000, 2000)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
_RUNS = 20
_ANNOTATORS = 5
_WINOBIAS = 3160
_METHODS = ("bernstein", "betting")
_SHOWN = _METHODS[0]
"""The method whose intervals Figure 1 draws: the published one."""
PRINTED_COVERAGE = {_SHOWN: 1.0}
"""\"100% of the time\", from 100 examples on (section 3.2)."""


@experiment("bernstein")
def bernstein(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Ethayarajh 2020: 11,903 examples for a claim of 0.05, and how often the bound covers."""
    rows = _figure_2_rows()
    rng = np.random.default_rng(settings.seed)
    plans = [(n, 0.1) for n in _SIZES] + [(500, share) for share in _SHARES[1:]]
    drawn: dict[tuple[int, float], Interval] = {}
    for done, (n, share) in enumerate(plans, start=1):
        held, shown = _coverage(n, share, rng)
        drawn[n, share] = shown
        rows += [_coverage_row(n, share, method, value) for method, value in held.items()]
        progress(done, len(plans))
    return Reproduction(
        name="bernstein",
        title="Bernstein-Bounded Unfairness: sample sizes and coverage",
        paper="Ethayarajh 2020, section 3, Figures 1 and 2",
        rows=tuple(rows),
        printed=(comparison_table(rows),),
        notes=texts_as_notes(
            "Figure 1's populations are generated from the mean costs of Table 1, not MNLI itself.",
            "betting is ours: it bets on the costs of each group as they are, not divided by its "
            "share, so WinoBias is large enough for 0.05.",
            "The paper prints 0.0975 for WinoBias; equation (4) gives 0.09742, which it rounds up.",
        ),
        drawn=(
            _figure_1("figure-1-left", "number of examples", {n: drawn[n, 0.1] for n in _SIZES}),
            _figure_1(
                "figure-1-right", "share of the protected", {g: drawn[500, g] for g in _SHARES}
            ),
            _figure_2(),
        ),
    )


def _coverage_row(n: int, share: float, method: str, value: float) -> ReproducedRow:
    return ReproducedRow(
        f"{method} covers the true bias, n = {n}, share {share}",
        value,
        PRINTED_COVERAGE.get(method),
        details={"n": n, "group_share": share, "method": method, "runs": _RUNS * len(GENRES)},
    )


def _figure_2_rows() -> list[ReproducedRow]:
    marks = {"bernstein": (11903, 0.0975), "betting": (None, None)}
    rows: list[ReproducedRow] = []
    for method, (size, effect) in marks.items():
        needed = sample_size(0.05, method=method)
        claimable = claimable_effect(_WINOBIAS, method=method)
        details = {"method": method}
        name = f"{method}: examples to claim 0.05"
        rows.append(ReproducedRow(name, needed, size, details=details))
        name = f"{method}: claimable with WinoBias ({_WINOBIAS})"
        rows.append(ReproducedRow(name, claimable, effect, details=details))
    return rows


def _coverage(n: int, share: float, rng: np.random.Generator) -> tuple[dict[str, float], Interval]:
    """Return how often each method covers the true bias, and an interval of `government`."""
    held = dict.fromkeys(_METHODS, 0)
    shown: Interval | None = None
    for genre, means in GENRES.items():
        for run in range(_RUNS):
            size = round(n * share)
            protected, other = _costs(means[0], size, rng), _costs(means[1], n - size, rng)
            sample = groups_sample(protected, other, cost_bound=1.0, group_share=share)
            for method in _METHODS:
                # The order of the bets has its own seed, so that the samples are the same
                # whatever the methods draw.
                found = interval(sample, method=method, rng=np.random.default_rng(run))
                held[method] += means[0] - means[1] in found
                if genre == "government" and method == _SHOWN and run == 0:
                    shown = found
    total = _RUNS * len(GENRES)
    assert shown is not None
    return {method: count / total for method, count in held.items()}, shown


def _costs(mean: float, size: int, rng: np.random.Generator) -> Floats:
    """Draw the share of annotators who disagree; most rows have none."""
    each = rng.beta(mean, 1 - mean, size)
    return np.asarray(rng.binomial(_ANNOTATORS, each) / _ANNOTATORS, dtype=np.float64)


def _figure_1(name: str, x_label: str, found: Mapping[float, Interval]) -> Figure:
    """Return one side of Figure 1: intervals of one sample each, and the true bias."""
    truth = GENRES["government"][0] - GENRES["government"][1]
    places = tuple(found)
    bars = Series(
        "estimate, 95 % interval",
        places,
        tuple((one.low + one.high) / 2 for one in found.values()),
        low=tuple(one.low for one in found.values()),
        high=tuple(one.high for one in found.values()),
        style="points",
    )
    widths = [one.width for one in found.values()]
    return SeriesPlot(
        name=name,
        title=f"The bound closes in on the true bias with the {x_label}",
        x_label=x_label,
        y_label="bias",
        series=(bars, Series("true bias", places, (truth,) * len(places), style="dashed")),
        alternative=(
            f"Intervals around a true bias of {truth:.3f}; as the {x_label} grows from "
            f"{places[0]:g} to {places[-1]:g}, their width falls from {widths[0]:.2f} "
            f"to {widths[-1]:.2f}."
        ),
    )


def _figure_2() -> Figure:
    effects = tuple(float(effect) for effect in np.linspace(0.02, 0.2, 37))
    lines = [
        Series(method, effects, tuple(float(sample_size(e, method=method)) for e in effects))
        for method in _METHODS
    ]
    marks = Series(
        "marks of the paper",
        (0.05, claimable_effect(_WINOBIAS)),
        (float(sample_size(0.05)), float(_WINOBIAS)),
        labels=("11,903 for 0.05", "WinoBias: 3,160"),
        style="points",
    )
    return SeriesPlot(
        name="figure-2",
        title="How many examples a claim of bias needs",
        x_label="bias estimate",
        y_label="examples",
        series=(*lines, marks),
        alternative=(
            "The number of examples falls with the square of the bias to be claimed; at 0.05 the "
            "published bound needs 11,903 and the betting one 2,993."
        ),
        y_scale="log",
    )
