"""Amplification of long tables beside a bare DuckDB group-by and pandas, in one run.

    python benchmarks/tables.py [--rows 10000000] [--formats csv parquet] [--json out.json]
    python benchmarks/tables.py --rows 90000 --tasks 3 20 --probabilities

Generated rows with a group and 1 or 20 tasks of 0/1 with predictions, as CSV and as Parquet. With
`--probabilities` the predictions are fractions and every other task has no link with the group, so
that its lean is cross-fitted.
Each measurement runs in a process of its own, which has done the same work on a short table
before: time is that of the work alone, read from disk cache, and memory is the peak of the
process. The ways take turns, and the best time counts. Processor time is that of all threads:
on a busy machine its ratio is the one to trust.

  duckdb     SELECT group, sums of labels and predictions GROUP BY group: what the value needs
  pandas     read_csv or read_parquet, then groupby().sum()
  value      lmprobe.amplify without interval
  interval   lmprobe.amplify with its bootstrap interval
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from measure import measured, report

WAYS = ("duckdb", "pandas", "value", "interval")
FORMATS = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet"}


def generate(path: Path, rows: int, tasks: int, *, probabilities: bool = False) -> None:
    """Write a table, in blocks, by DuckDB itself."""
    guess = "(hash(i, {k}, 7) % 100 < 25 + 35 * (hash(i) % 2))::UTINYINT"
    if probabilities:
        guess = "(hash(i, {k}, 7) % 600001 + 200000 * (hash(i) % 2)) / 1000000"
    cells = ", ".join(
        f"(hash(i, {k}) % 100 < 30 + {0 if probabilities and k % 2 else 20} * (hash(i) % 2))"
        f"::UTINYINT AS t{k}, {guess.format(k=k)} AS p{k}"
        for k in range(tasks)
    )
    query = f"SELECT if(hash(i) % 2 = 0, 'f', 'm') AS sex, {cells} FROM range({rows}) AS r(i)"
    duckdb.sql(f"COPY ({query}) TO '{path}' ({FORMATS[path.suffix[1:]]})")


def work(way: str, path: Path, tasks: int) -> None:
    """Do one measurement."""
    labels, said = ([f"{letter}{k}" for k in range(tasks)] for letter in "tp")
    if way == "duckdb":
        sums = ", ".join(f"sum({name})" for name in (*labels, *said))
        duckdb.sql(f"SELECT sex, count(*), {sums} FROM '{path}' GROUP BY sex").fetchall()
    elif way == "pandas":
        import pandas as pd

        read = pd.read_csv if path.suffix == ".csv" else pd.read_parquet
        read(path).groupby("sex").sum()
    else:
        import lmprobe

        lmprobe.amplify(
            path,
            attribute="sex",
            task=labels,
            task_prediction=said,
            interval="bootstrap" if way == "interval" else None,
        )


def compared(
    path: Path, short: Path, tasks: int, ways: list[str], times: int
) -> Iterator[dict[str, Any]]:
    """Yield each way's best times and largest memory, and their ratio to DuckDB's."""
    results: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(times):
        for way in ways:
            results[way].append(measured([__file__, "--do", way, path, short, str(tasks)]))
    kinds = ("seconds", "processor_seconds")
    best = {way: {kind: min(item[kind] for item in results[way]) for kind in kinds} for way in ways}
    for way in ways:
        yield {
            "tasks": tasks,
            "format": path.suffix[1:],
            "way": way,
            **best[way],
            **{f"{kind}_ratio": best[way][kind] / best["duckdb"][kind] for kind in kinds},
            "megabytes": max(item["megabytes"] for item in results[way]),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", type=int, default=[1, 20])
    parser.add_argument("--ways", nargs="+", default=WAYS)
    parser.add_argument("--formats", nargs="+", default=list(FORMATS))
    parser.add_argument("--probabilities", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--do", nargs=4)
    options = parser.parse_args()
    if options.do:
        way, path, short, tasks = options.do
        # The short table is for imports.
        work(way, Path(short), int(tasks))
        report(lambda: work(way, Path(path), int(tasks)))
        return
    print(
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}, duckdb {duckdb.__version__}, {platform.machine()}"
    )
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for tasks, kind in itertools.product(options.tasks, options.formats):
            path, short = (Path(folder) / f"{name}.{kind}" for name in ("table", "short"))
            for name, rows in ((path, options.rows), (short, 1000)):
                generate(name, rows, tasks, probabilities=options.probabilities)
            for row in compared(path, short, tasks, options.ways, options.times):
                results.append({"rows": options.rows, **row})
                print(
                    f"{options.rows:>11,} rows {tasks:>2} tasks {kind:<8}{row['way']:<9}"
                    f"{row['seconds']:8.2f} s {row['seconds_ratio']:6.2f} x   processor "
                    f"{row['processor_seconds']:8.2f} s {row['processor_seconds_ratio']:6.2f} x "
                    f"{row['megabytes']:8.0f} MB",
                    flush=True,
                )
            path.unlink()
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
