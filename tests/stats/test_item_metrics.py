"""The published measures of item sets: their values by definition, and what their intervals hold.

Answers are drawn from a model with effects of tasks, of items, of clusters of items and of frames,
so that what an interval should hold is known from a formula and not from the code.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lmprobe
from lmprobe import LmprobeError
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.metric import item_metric
from lmprobe.results import Estimate, IntervalStatus, Verdict
from lmprobe.results.metric_values import MetricValue
from lmprobe.stats.item_metrics import item_metric_estimate
from lmprobe.stats.items import Items
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import IntervalSettings

SHARE, RATE = "stereotype-share", "gest"
METRICS = (SHARE, RATE)
# Three tasks lean to either group, and one to none.
LEAN = {"smith": 1, "baker": 1, "diver": 1, "clerk": -1, "nurse": -1, "guide": -1, "miner": 0}
LEANS = pd.DataFrame({
    "task": list(LEAN),
    "he": [1.5 + 0.5 * lean for lean in LEAN.values()],
    "she": [1.5 - 0.5 * lean for lean in LEAN.values()],
    "they": 1.0,
})  # fmt: skip
PAIR = ["he", "she"]


def answers(seed: int, *, frames: int = 3, gaps: bool = True) -> pd.DataFrame:
    """Return answers with ties, tasks of unequal size, and items that some templates lack."""
    rng = np.random.default_rng(seed)
    rows = []
    for place, task in enumerate(LEAN):
        for item in range(2 + place):
            for frame in range(frames):
                if gaps and item and rng.random() < 0.2:
                    continue
                he, she, they = rng.integers(-2, 3, 3) / 2
                row = {"task": task, "template": f"frame {frame}", "item": str(item)}
                rows.append(row | {"he": he, "she": she, "they": they})
    return pd.DataFrame(rows)


def sentences(table: pd.DataFrame) -> pd.DataFrame:
    """Return an item table of the same layout, with sentences that were made up."""
    about = table["task"] + " " + table["item"] + " " + table.get("template", "")
    words = [name for name in table.columns if name in ("he", "she", "they")]
    return table.assign(**{word: f"{word.capitalize()} is one: " + about for word in words})


def measured(
    table: pd.DataFrame, names: Sequence[str] = METRICS, **options: Any
) -> dict[str, MetricValue]:
    model = lmprobe.load_model(table, values="log-probability")
    found = lmprobe.probe(
        model, sentences(table), **{"base": "uniform", "lean": LEANS} | options, metrics=names
    )
    return dict(zip(names, found.metrics, strict=True))


def share_by_loop(table: pd.DataFrame) -> float:
    """The share of all items whose candidate of the leaned-to group is likelier, by template."""
    shares = []
    for _, rows in table.groupby("template"):
        likelier = total = 0
        for row in rows.itertuples():
            if LEAN[row.task]:
                named, other = (row.he, row.she) if LEAN[row.task] > 0 else (row.she, row.he)
                likelier += named > other
                total += 1
        shares.append(likelier / total)
    return sum(shares) / len(shares)


def rate_by_loop(table: pd.DataFrame) -> float:
    """exp of the mean score of the tasks about he, by that of the tasks about she, by template."""
    rates = []
    for _, rows in table.groupby("template"):
        scores: dict[str, list[float]] = defaultdict(list)
        for row in rows.itertuples():
            scores[row.task].append(math.log10(math.exp(row.he) / math.exp(row.she)))
        halves = []
        for lean in (1, -1):
            means = [sum(own) / len(own) for task, own in scores.items() if LEAN[task] == lean]
            halves.append(math.exp(sum(means) / len(means)))
        rates.append(halves[0] / halves[1])
    return sum(rates) / len(rates)


LOOPS: dict[str, Callable[[pd.DataFrame], float]] = {SHARE: share_by_loop, RATE: rate_by_loop}


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_the_definitions(seed: int) -> None:
    table = answers(seed)
    found = measured(table, attributes=PAIR)
    tied = table["he"] == table["she"]
    assert tied.any()
    for name, value in found.items():
        assert value.value == pytest.approx(LOOPS[name](table), abs=1e-12), name
    # A group to which no task leans is not compared.
    with_third = measured(table)
    for name, value in with_third.items():
        assert value.value == pytest.approx(found[name].value, abs=1e-12), name


def test_values_without_frames_are_those_of_one_template() -> None:
    table = answers(5, frames=1)
    found = measured(table.drop(columns="template"), attributes=PAIR)
    for name, value in found.items():
        assert value.value == pytest.approx(LOOPS[name](table), abs=1e-12), name


def test_the_order_of_the_items_changes_nothing() -> None:
    table = answers(6)
    first = measured(table)
    for seed in range(3):
        other = measured(table.sample(frac=1, random_state=seed))
        for name in METRICS:
            assert other[name].value == pytest.approx(first[name].value, abs=1e-12)
            for end in ("low", "high"):
                ends = (getattr(found[name].interval, end) for found in (other, first))
                assert next(ends) == pytest.approx(next(ends), abs=1e-9)


def test_a_task_without_a_lean_is_left_out() -> None:
    table = answers(7)
    changed = table.copy()
    none = (changed["task"] == "miner").to_numpy()
    changed.loc[none, "he"] += 9.0
    without = table[~none]
    for name, value in measured(table).items():
        for other in (changed, without):
            assert measured(other)[name].value == pytest.approx(value.value, abs=1e-12)
    # Whether the lean is 0 or unknown.
    unknown = measured(table, lean=LEANS[LEANS["task"] != "miner"])
    assert unknown[RATE].value == pytest.approx(measured(table)[RATE].value, abs=1e-12)


def test_without_any_lean_there_is_no_value() -> None:
    even = LEANS.assign(he=1.5, she=1.5)
    for value in measured(answers(8), lean=even).values():
        assert value.value is None
        assert value.interval is not None
        assert value.interval.status is IntervalStatus.UNDEFINED
        assert value.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("name", METRICS)
def test_crossed_sets_and_labelled_rows_are_refused(name: str) -> None:
    with pytest.raises(LmprobeError, match=f'"{name}" is for item tables, and fitbert is'):
        lmprobe.probe("reference:amplified", "fitbert", metrics=[name])
    rows = pd.DataFrame({"sex": ["f", "m"] * 8, "cook": [0, 1] * 8, "guess": [1, 0] * 8})
    with pytest.raises(LmprobeError, match=f'"{name}" is for item sets .* not for labelled rows'):
        lmprobe.amplify(rows, attribute="sex", task="cook", task_prediction="guess", metrics=[name])


def test_an_uninformed_model_gets_no_verdict() -> None:
    table = lmprobe.load_templates("fitbert-iclr").item_table()[["task", "he", "she"]]
    result = lmprobe.probe(
        "reference:amplified", table, "labor", metrics=list(METRICS), min_mass=1.0
    )
    assert result.rows[0].verdict is Verdict.UNINFORMED
    assert [value.verdict for value in result.metrics] == [Verdict.UNINFORMED] * 2
    informed = lmprobe.probe("reference:amplified", table, "labor", metrics=list(METRICS))
    assert [value.verdict for value in informed.metrics] == [Verdict.FOLLOWS] * 2


@pytest.mark.parametrize("method", ["bootstrap", "t", "bernstein"])
@pytest.mark.parametrize("framed", [True, False])
@pytest.mark.parametrize("shift", [-9.0, 0.0, 9.0])
def test_no_interval_leaves_the_range(method: str, framed: bool, shift: float) -> None:
    table = answers(9)
    table["he"] += shift * table["task"].map(LEAN)
    table = table if framed else table[table["template"] == "frame 1"].drop(columns="template")
    for resample in ("both", "tasks", "templates"):
        found = measured(table, interval=method, resample=resample)
        for name, most in ((SHARE, 1.0), (RATE, math.inf)):
            value, ends = found[name].value, found[name].interval
            assert value is not None
            assert ends is not None
            if ends.status is IntervalStatus.OK:
                assert 0 <= ends.low <= value <= ends.high <= most
            else:
                # Nothing is claimed where there is no interval.
                assert found[name].verdict is Verdict.UNDECIDED
            if method == "bernstein":
                # A rate has no upper bound; one frame alone, or none, says nothing of others.
                assert (ends.status is IntervalStatus.OK) == (framed and name == SHARE)


@dataclass(frozen=True)
class Drawn:
    """Log odds of the stereotypical candidate: a mean, and effects that add up."""

    sizes: tuple[int, ...] = (20,) * 16
    frames: int = 1
    mean: float = 0.3
    task: float = 0.4
    item: float = 0.8
    cluster: float = 0.0
    clusters: int = 0
    frame: float = 0.0
    preference: float = 0.5
    """For he, whatever the task."""

    @property
    def task_of(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def cluster_of(self) -> np.ndarray:
        """Some are ten times as large as others."""
        chance = np.geomspace(1, 10, self.clusters)
        rng = np.random.default_rng(1)
        return rng.choice(self.clusters, len(self.task_of), p=chance / chance.sum())

    def effects_of_tasks(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the effect and the lean of each task."""
        rng = np.random.default_rng([1, seed])
        number = len(self.sizes)
        return rng.normal(0, self.task, number), np.where(rng.random(number) < 0.5, 1, -1)

    def odds(self, seed: int, tasks: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return the log odds of he, (K, N)."""
        rng = np.random.default_rng([2, seed])
        effect, lean = (each[self.task_of] for each in tasks)
        own = self.mean + effect + rng.normal(0, self.item, len(effect))
        if self.clusters:
            own = own + rng.normal(0, self.cluster, self.clusters)[self.cluster_of]
        odds = lean * (own + rng.normal(0, self.frame, (self.frames, 1))) + self.preference
        return np.asarray(odds)

    def truth(self, name: str, tasks: tuple[np.ndarray, np.ndarray] | None) -> float:
        """Return the expectation for these tasks, or for others like them; without frames."""
        within = math.hypot(self.item, self.cluster)
        if tasks is not None:
            effect, lean = tasks
            if name == SHARE:
                likelier = stats.norm.cdf((self.mean + effect + lean * self.preference) / within)
                return float(np.average(likelier, weights=self.sizes))
            halves = [(self.mean + effect[lean == half]).mean() for half in (1, -1)]
            return math.exp(sum(halves) / math.log(10))
        if name == SHARE:
            whole = math.hypot(within, self.task, self.frame)
            ends = [self.mean + self.preference, self.mean - self.preference]
            return float(stats.norm.cdf(np.array(ends) / whole).mean())
        # The mean over frames of exp(normal).
        return math.exp(2 * self.mean / math.log(10) + 2 * (self.frame / math.log(10)) ** 2)


def estimated(
    drawn: Drawn, odds: np.ndarray, lean: np.ndarray, name: str, resample: str, *, clustered: bool
) -> Estimate:
    frames, tasks = len(odds), [f"task {number:03}" for number in range(len(lean))]
    items = Items(
        shares=np.stack([odds, np.zeros(odds.shape)], axis=1),
        task=drawn.task_of,
        unit=drawn.cluster_of if clustered else np.arange(odds.shape[1]),
        texts=None,
        key="items",
        clustered=clustered,
        framed=frames > 1,
    )
    signs = np.stack([lean, -lean]).astype(np.float64)
    row = RowTables(
        Direction.TASK_TO_ATTRIBUTE,
        np.full((frames, 2, len(tasks)), 0.5),
        np.zeros((frames, 2, len(tasks))),
        np.ones((2, len(tasks))),
        tuple(map(str, range(frames))),
        tuple(tasks),
        tuple(tasks),
        declared=signs,
        items=items,
    )
    metric = item_metric(name)
    assert metric is not None
    settings = IntervalSettings(resample=resample)  # type: ignore[arg-type]
    return item_metric_estimate(metric, items, signs, row, settings, None)


def coverage(
    drawn: Drawn, name: str, resample: str, samples: int, *, clustered: bool = False
) -> tuple[int, int, float]:
    """Return how often the interval holds the truth, how often the naive one, and both widths."""
    held = naive = 0
    widths = []
    fixed = drawn.effects_of_tasks(0) if resample == "templates" else None
    truth = drawn.truth(name, fixed)
    for seed in range(samples):
        tasks = fixed or drawn.effects_of_tasks(1 + seed)
        odds = drawn.odds(seed, tasks)
        ends = estimated(drawn, odds, tasks[1], name, resample, clustered=clustered).interval
        held += truth in ends
        likelier = (odds * tasks[1][drawn.task_of] > 0).mean(axis=0)
        half = 1.96 * likelier.std(ddof=1) / math.sqrt(len(likelier))
        naive += abs(likelier.mean() - truth) < half
        widths.append(ends.width / (2 * half))
    return held, naive, float(np.mean(widths))


def is_held(held: int, samples: int) -> bool:
    return bool(stats.binomtest(held, samples, 0.95, alternative="less").pvalue > 1e-3)


CLUSTERED = Drawn(sizes=(60,) * 9, cluster=0.6, clusters=40)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("resample", ["both", "templates"])
def test_items_of_tasks_are_no_units_of_their_own(name: str, resample: str) -> None:
    held, naive, width = coverage(Drawn(), name, resample, 80)
    assert is_held(held, 80)
    if name == SHARE and resample == "both":
        # As if every item had a task of its own, the interval is too short by half and more.
        assert naive < 0.8 * 80
        assert width > 2


def test_clusters_that_share_noise_do_not_narrow_the_interval() -> None:
    for name in METRICS:
        assert is_held(coverage(CLUSTERED, name, "templates", 80, clustered=True)[0], 80)
        assert not is_held(coverage(CLUSTERED, name, "templates", 80)[0], 80)


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(
    ("drawn", "resample"),
    [
        pytest.param(Drawn(), "both", id="tasks"),
        pytest.param(Drawn(), "templates", id="items"),
        pytest.param(CLUSTERED, "both", id="tasks and clusters"),
        pytest.param(CLUSTERED, "templates", id="clusters"),
        pytest.param(Drawn((30,) * 16, frames=4, frame=0.2), "both", id="frames"),
        pytest.param(Drawn(tuple(range(1, 11)) * 6), "both", id="60 tasks of 1 to 10 items"),
        pytest.param(Drawn(tuple(range(1, 11)) * 6), "templates", id="1 to 10 items, tasks fixed"),
        pytest.param(Drawn((1,) * 30 + (10,) * 30), "templates", id="items that are alone"),
        pytest.param(Drawn(tuple(range(3, 480, 28))), "both", id="as uneven as CrowS-Pairs"),
    ],
)
def test_coverage(drawn: Drawn, resample: str, name: str) -> None:
    held = coverage(drawn, name, resample, 300, clustered=bool(drawn.clusters))[0]
    assert is_held(held, 300)
