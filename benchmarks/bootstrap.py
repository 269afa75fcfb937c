"""The bootstrap beside scipy's and fairlearn's on the COMPAS table, in one run.

    python benchmarks/bootstrap.py

All three put a 95 % interval around the same number: how much more often African-American
defendants are called high risk (a decile score of 5 or more) than Caucasian ones. Times are
per replicate, the best of three runs of as many replicates as take a while.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame, selection_rate
from scipy import stats

import lmprobe
from lmprobe.metrics.direction import Direction
from lmprobe.reproduce.experiment import shipped_table
from lmprobe.stats.method import resampled
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import IntervalSettings, estimate_rows


def best(work: Callable[[], Any], times: int = 3) -> float:
    """Return the shortest of some runs, in seconds."""
    results = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        results.append(time.perf_counter() - start)
    return min(results)


def compas() -> tuple[np.ndarray, np.ndarray]:
    """Return the prediction and the race of each defendant."""
    counts, _ = shipped_table("compas_counts")
    people = counts.loc[counts.index.repeat(counts["count"])]
    return (people["decile_score"] >= 5).to_numpy(dtype=float), people["race"].to_numpy(dtype=str)


def ours(guess: np.ndarray, race: np.ndarray, replicates: int) -> np.ndarray:
    protected = race == "African-American"
    result = resampled(guess[protected], guess[~protected], replicates, np.random.default_rng(0))
    return np.quantile(result, [0.025, 0.975])


def with_scipy(guess: np.ndarray, race: np.ndarray, replicates: int) -> np.ndarray:
    protected = race == "African-American"

    def difference(mine: np.ndarray, theirs: np.ndarray, axis: int = -1) -> np.ndarray:
        return mine.mean(axis=axis) - theirs.mean(axis=axis)

    result = stats.bootstrap(
        (guess[protected], guess[~protected]),
        difference,
        n_resamples=replicates,
        method="percentile",
        vectorized=True,
        batch=100,
        rng=np.random.default_rng(0),
    )
    return np.array([result.confidence_interval.low, result.confidence_interval.high])


def with_fairlearn(guess: np.ndarray, race: np.ndarray, replicates: int) -> np.ndarray:
    frame = MetricFrame(
        metrics=selection_rate,
        y_true=guess,
        y_pred=guess,
        sensitive_features=race,
        n_boot=replicates,
        ci_quantiles=[0.025, 0.975],
        random_state=0,
    )
    return np.array(frame.difference_ci())


def probe_tables() -> RowTables:
    """Return a probe of 20 templates and 32 tasks."""
    draw = np.random.default_rng(0)
    base, logs = draw.gamma(1.0, size=(2, 32)), draw.normal(size=(20, 2, 32))
    predicted = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    templates, tasks = (tuple(map(str, range(number))) for number in (20, 32))
    given = Direction.TASK_TO_ATTRIBUTE
    return RowTables(given, predicted, logs, base, templates, tasks, tasks)


def rows_benchmark(rows: int) -> tuple[float, int]:
    """Return the seconds that so many rows take with their interval, and the peak of memory."""
    draw = np.random.default_rng(0)
    group = draw.integers(0, 2, rows)
    task = (draw.random(rows) < 0.4 + 0.2 * group).astype(np.uint8)
    guess = (draw.random(rows) < 0.3 + 0.4 * group).astype(np.uint8)
    table = pd.DataFrame({"group": group, "task": task, "guess": guess})
    start = time.perf_counter()
    lmprobe.amplify(table, attribute="group", task="task", task_prediction="guess")
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="One JSON document.")
    as_json = parser.parse_args().json
    guess, race = compas()
    runs = {
        "lmprobe": (ours, 10_000),
        "scipy.stats.bootstrap": (with_scipy, 1000),
        "fairlearn MetricFrame": (with_fairlearn, 20),
    }
    table = []
    for name, (work, replicates) in runs.items():
        seconds = best(lambda work=work, n=replicates: work(guess, race, n)) / replicates
        ends = work(guess, race, max(replicates, 100 if name.startswith("fair") else 0))
        table.append({"what": name, "ms_per_replicate": seconds * 1e3, "interval": ends.tolist()})
    for row in table:
        row["times_ours"] = row["ms_per_replicate"] / table[0]["ms_per_replicate"]
    probe = best(lambda: estimate_rows([probe_tables()], [None], IntervalSettings()))
    million, memory = rows_benchmark(1_000_000)
    document = {
        "compas": table,
        "probe_20x32_seconds": probe,
        "million_rows_10000_replicates_seconds": million,
        "peak_memory_mb": memory / 1024,
    }
    if as_json:
        print(json.dumps(document, indent=2))
        return
    print(pd.DataFrame(table).to_string(index=False))
    print(f"all estimates of a row of a 20 x 32 probe: {probe:.3f} s")
    print(f"1,000,000 rows, 10,000 replicates: {million:.2f} s, peak {memory / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
