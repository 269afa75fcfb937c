"""What is read of a file, as the system counts it: columns that nobody needs, and passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

import lmprobe

COUNTER = Path("/proc/self/io")
ROWS = 120_000
TASKS, GUESSES, SCORES = (tuple(f"{letter}{k}" for k in range(2)) for letter in "tgs")
COMMON: dict[str, Any] = {"attribute": "sex", "task": TASKS, "interval": None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table as Parquet and as CSV; most of its columns are not measured."""
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"sex": draw.choice(["f", "m"], ROWS), "who": np.arange(ROWS) // 4})
    for task, guess, score in zip(TASKS, GUESSES, SCORES, strict=True):
        table[task] = (draw.random(ROWS) < 0.3 + 0.2 * (table["sex"] == "m")).astype(int)
        table[guess], table[score] = draw.random((2, ROWS)).round(9)
    for number in range(6):
        table[f"other {number}"] = draw.random(ROWS).round(9)
    path = tmp_path_factory.mktemp("tables")
    table.to_parquet(path / "table.parquet", row_group_size=20_000)
    table.to_csv(path / "table.csv", index=False)
    return path


def bytes_read(path: Path, **options: Any) -> int:
    """Return how many bytes this process reads at least while a table is measured."""

    def count() -> int:
        return int(COUNTER.read_text().split()[1])

    def measure() -> int:
        start = count()
        lmprobe.amplify(path, **COMMON | options)
        return count() - start

    # The first time, modules are read too; other threads of the process may read at any time.
    return min(measure() for _ in range(4))


# Options, columns besides labels, and how often the columns of Parquet and all of a CSV are read.
# Of a CSV the first rows tell the types; with an interval, whether kinds of rows can be counted.
CASES: dict[str, tuple[dict[str, Any], tuple[str, ...], int, int]] = {
    "value": ({"task_prediction": GUESSES}, GUESSES, 1, 2),
    "interval": ({"task_prediction": GUESSES, "interval": "bootstrap"}, GUESSES, 2, 3),
    "clusters": (
        {"task_prediction": GUESSES, "interval": "bootstrap", "cluster": "who"},
        (*GUESSES, "who"),
        2,
        3,
    ),
    "cuts": ({"score": SCORES, "threshold": 0.5}, SCORES, 1, 2),
    # Labels, then each score for its threshold, then all at these thresholds.
    "thresholds": ({"score": SCORES}, SCORES, 2, 7),
}


@pytest.mark.skipif(not COUNTER.exists(), reason="the system does not count bytes")
@pytest.mark.parametrize(("options", "more", "columns", "files"), CASES.values(), ids=CASES)
def test_only_needed_columns_are_read_and_no_more_often_than_said(
    folder: Path, options: dict[str, Any], more: tuple[str, ...], columns: int, files: int
) -> None:
    metadata = parquet.ParquetFile(folder / "table.parquet").metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    parts = [group.column(place) for group in groups for place in range(group.num_columns)]
    needed = sum(
        part.total_compressed_size
        for part in parts
        if part.path_in_schema in ("sex", *TASKS, *more)
    )
    size = (folder / "table.csv").stat().st_size
    # The rest are the descriptions of row groups.
    assert bytes_read(folder / "table.parquet", **options) < (columns + 0.15) * needed
    assert bytes_read(folder / "table.csv", **options) < (files + 0.05) * size


def test_a_file_is_measured_without_pandas(folder: Path) -> None:
    """Loading it takes a third of the command's time for a short table."""
    program = (
        "import sys, lmprobe; from pathlib import Path; "
        f"lmprobe.amplify(Path({str(folder)!r}) / sys.argv[1], attribute='sex', task='t0', "
        "task_prediction='g0'); print('pandas' in sys.modules)"
    )
    for name in ("table.parquet", "table.csv"):
        command = [sys.executable, "-c", program, name]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.stdout.strip() == "False", done.stderr
