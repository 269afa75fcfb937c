"""How fast and how lean the metric is: a million rows, 2 attributes, 80 tasks.

The rival is a loop over pairs that selects rows with masks and counts them, the usual way
to write the formula down (and that of the published code; this is our own writing of it).
Both run in one process on the same arrays and must agree; the ratio is what to look at,
since a busy machine slows both.

    python benchmarks/amplification.py [ROWS]
"""

from __future__ import annotations

import json
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from lmprobe.metrics.directional import directional_amplification

ATTRIBUTES, TASKS, REPEATS = 2, 80, 3


def data(rows: int) -> dict[str, Any]:
    """Return 0/1 labels and predictions: 8-bit, as one would keep a million rows."""
    rng = np.random.default_rng(0)
    group = np.eye(ATTRIBUTES, dtype=np.uint8)[rng.integers(0, ATTRIBUTES, rows)]
    tilt = 0.02 + 0.1 * rng.random((ATTRIBUTES, TASKS))
    task = np.empty((rows, TASKS), dtype=np.uint8)
    guess = np.empty((rows, TASKS), dtype=np.uint8)
    for t in range(TASKS):
        likely = group @ tilt[:, t]
        task[:, t] = rng.random(rows) < likely
        guess[:, t] = np.where(rng.random(rows) < 0.7, task[:, t], rng.random(rows) < likely)
    said = np.where(rng.random((rows, 1)) < 0.9, group, group[::-1])
    return {"group": group, "task": task, "group_guess": said, "task_guess": guess}


def pair_by_pair(rows: dict[str, Any]) -> tuple[float, float]:
    """Return (attribute->task, task->attribute) by a loop over pairs, rows chosen by masks."""
    group, task = rows["group"], rows["task"]
    n = len(group)
    to_task, to_group = [], []
    for a in range(group.shape[1]):
        for t in range(task.shape[1]):
            has_group, has_task = group[:, a] == 1, task[:, t] == 1
            joint = np.sum(has_group & has_task) / n
            chance = np.sum(has_group) / n * np.sum(has_task) / n
            lean = 1 if joint > chance else -1
            base = np.mean(task[has_group, t])
            to_task.append(lean * (np.mean(rows["task_guess"][has_group, t]) - base))
            base = np.mean(group[has_task, a])
            to_group.append(lean * (np.mean(rows["group_guess"][has_task, a]) - base))
    return float(np.mean(to_task)), float(np.mean(to_group))


def ours(rows: dict[str, Any]) -> tuple[float, float]:
    result = directional_amplification(
        rows["group"],
        rows["task"],
        attribute_predictions=rows["group_guess"],
        task_predictions=rows["task_guess"],
    )
    assert result.attribute_to_task is not None
    assert result.task_to_attribute is not None
    return result.attribute_to_task.value, result.task_to_attribute.value


def fastest(work: Callable[[dict[str, Any]], tuple[float, float]], rows: dict[str, Any]) -> float:
    """Return the least of several times: the one that other processes disturbed least."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work(rows)
        times.append(time.perf_counter() - start)
    return min(times)


def main(count: int) -> dict[str, Any]:
    rows = data(count)
    first, two = ours(rows), pair_by_pair(rows)
    assert np.allclose(first, two, atol=1e-12), (first, two)
    seconds, rival = fastest(ours, rows), fastest(pair_by_pair, rows)
    tracemalloc.start()
    ours(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = sum(table.nbytes for table in rows.values())
    return {
        "benchmark": "amplification",
        "rows": count,
        "attributes": ATTRIBUTES,
        "tasks": TASKS,
        "seconds": round(seconds, 4),
        "pair_by_pair_seconds": round(rival, 4),
        "ratio": round(rival / seconds, 1),
        "input_megabytes": round(size / 1e6, 1),
        "extra_megabytes": round(peak / 1e6, 1),
        "process_peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000), indent=2))
