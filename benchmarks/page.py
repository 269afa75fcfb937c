"""Writes docs/appendix/benchmarks.md: every benchmark of speed in one run, before and after.

    python benchmarks/page.py --before CHECKOUT [--vocabulary vocab.txt] [--rounds 3]

`--before` is a checkout of an earlier version, which is measured in the same turns. Other work on
the machine disturbs both; the processor time less than the other.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import models
import numpy as np
import pandas as pd
import tables
from measure import Measured, command, compared, environment

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "appendix" / "benchmarks.md"
LIMIT = 60
"""Seconds after which a command is ended."""
LEAK, IMSITU = "`leak`, 20,000 rows, four 0/1 columns", "`reproduce leakage-imsitu`"
LONG = (LEAK, IMSITU)
"""Run once: the version before takes longer than the limit."""

INTRODUCTION = """\
# Benchmarks

After reading this page you know how fast each job is, beside other ways to do it and beside the
version before, and how much memory it takes. For contributors; written by
`python benchmarks/page.py --before CHECKOUT`, not by hand.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path, help="BERT's vocab.txt; else one is made up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000_000, 100_000_000])
    options = parser.parse_args()
    parts = [INTRODUCTION, *probes(options), *whole_commands(options), *counted_tables(options)]
    facts = ", ".join(f"{name} {value}" for name, value in environment().items())
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join([*parts, f"Measured with: {facts}.", ""]), encoding="utf-8")


def probes(options: argparse.Namespace) -> Iterator[str]:
    """Yield the section about whole probes."""
    yield "## A probe\n"
    yield " ".join(line.strip() for line in str(models.__doc__).split("\n\n")[1].splitlines())
    yield (
        "Shortest of the rounds; every way in a process of its own, after a little of the same "
        "work. Both directions, interval and verdict included for lmprobe. Where that keeps the "
        "accuracy of float32, lmprobe multiplies by oneDNN; the other ways take what torch takes "
        "by default, which is slower on processors of AMD.\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        models.make_masked(Path(folder, models.MASKED), options.vocabulary)
        models.make_causal(Path(folder, models.CAUSAL))
        for kind, scorers in models.SCORERS.items():
            for scorer in scorers:
                ways = models.ways_of(kind, scorer, Path(folder, kind), options.before)
                yield from compared_table(
                    f"{kind}, scorer `{scorer}`", compared(ways, options.rounds)
                )


def compared_table(title: str, results: dict[str, Measured]) -> Iterator[str]:
    own = results["lmprobe"]["seconds"]
    yield f"| {title} | seconds | relative to lmprobe | processor seconds | peak memory |"
    yield "|---|---|---|---|---|"
    for way, took in results.items():
        yield (
            f"| {models.WAYS[way]} | {took['seconds']:.2f} | {took['seconds'] / own:.2f} | "
            f"{took['processor_seconds']:.2f} | {took['megabytes']:,.0f} MB |"
        )
    yield ""


def whole_commands(options: argparse.Namespace) -> Iterator[str]:
    """Yield the section about commands, start-up included."""
    yield "## Whole commands\n"
    yield (
        "Processor seconds of the whole command, start-up included, and its peak memory. A command "
        f"that takes longer than {LIMIT} seconds is ended.\n"
    )
    yield "| command | before | now | memory before | memory now |"
    yield "|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        for title, words in commands(Path(folder)).items():
            versions = {
                name: partial(command, checkout=checkout, cache=Path(folder, name), limit=LIMIT)
                for name, checkout in (("before", options.before), ("lmprobe", ROOT))
            }
            for measure in versions.values() if "--base" in words else ():
                # The answers of the model are in the cache, asked for another base.
                measure([word if word != "labor" else "uniform" for word in words])
            ways = {name: partial(measure, words) for name, measure in versions.items()}
            took = compared(ways, 1 if title in LONG else options.rounds)
            cells = [took[way]["processor_seconds"] for way in ways]
            memory = [took[way]["megabytes"] for way in ways]
            yield (
                f"| {title} | "
                + " | ".join(
                    [
                        *(f"{cell:.2f}" if np.isfinite(cell) else "ended" for cell in cells),
                        *(f"{cell:,.0f} MB" for cell in memory),
                    ]
                )
                + " |"
            )
    yield ""
    yield from bare_help()


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the commands by what they are, their tables written."""
    labels, scores = folder / "labels.csv", folder / "scores.csv"
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 20_000)
    shares = np.where(group[:, None] == "a", [0.2, 0.5, 0.3, 0.6], [0.3, 0.5, 0.6, 0.4])
    names = [f"label_{number}" for number in range(4)]
    frame = pd.DataFrame((rng.random((20_000, 4)) < shares).astype(int), columns=names)
    frame.assign(group=group).to_csv(labels, index=False)
    # Links so weak that the lean of a pair is not certain: the intervals are cross-fitted.
    group = rng.choice(["a", "b"], 90_000)
    rates = np.where(group[:, None] == "a", [0.30, 0.40, 0.5], [0.303, 0.41, 0.52])
    truth = (rng.random(rates.shape) < rates).astype(int)
    score = np.clip(0.2 + 0.5 * truth + rng.normal(0, 0.2, rates.shape), 0, 1).round(4)
    columns = {f"truth_{number}": truth[:, number] for number in range(3)}
    columns |= {f"score_{number}": score[:, number] for number in range(3)}
    pd.DataFrame({"group": group, **columns}).to_csv(scores, index=False)
    pairs = [("-t", f"truth_{number}", "-p", f"score_{number}") for number in range(3)]
    amplify = [word for pair in pairs for word in pair]
    leak = [word for name in names for word in ("--labels", name)]
    return {
        "`lmprobe --help`": ["--help"],
        "`run` with another base, answers in the cache": [
            "run", "reference:amplified", "--base", "labor", "--json",
        ],
        LEAK: [
            "leak", str(labels), *leak, "--attribute", "group", "--json",
        ],
        IMSITU: ["reproduce", "leakage-imsitu", "--json"],
        "`amplify`, 90,000 rows, three tasks with probabilities": [
            "amplify", str(scores), "--attribute", "group", *amplify, "--json",
        ],
    }  # fmt: skip


def bare_help() -> Iterator[str]:
    """Yield how long a help of typer takes that has one empty command."""
    program = (
        "import typer\napp = typer.Typer()\n@app.command()\ndef run(name: str) -> None: ...\napp()"
    )
    words = [sys.executable, "-c", program, "--help"]
    before = os.times().children_user + os.times().children_system
    for _ in range(5):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    took = (os.times().children_user + os.times().children_system - before) / 5
    yield f"The help of a program of one empty command with typer: {took:.2f}.\n"


def counted_tables(options: argparse.Namespace) -> Iterator[str]:
    """Yield the section about tables of predictions."""
    yield "## Tables\n"
    yield (
        "`amplify` of one attribute and one task, without an interval (value) and with it, beside "
        "a plain grouping of the same columns by DuckDB and by pandas.\n"
    )
    yield "| rows, Parquet | seconds | relative to DuckDB | processor seconds | peak memory |"
    yield "|---|---|---|---|---|"
    for rows in options.rows:
        for took in measured_tables(rows, options.rounds if rows < 20_000_000 else 1):
            yield (
                f"| {rows:,}, {took['way']} | {took['seconds']:.2f} | "
                f"{took['seconds_ratio']:.2f} | {took['processor_seconds']:.2f} | "
                f"{took['megabytes']:,.0f} MB |"
            )
    yield ""


def measured_tables(rows: int, rounds: int) -> Sequence[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        path, short = Path(folder, "table.parquet"), Path(folder, "short.parquet")
        tables.generate(path, rows, 1)
        tables.generate(short, 1000, 1)
        return list(tables.compared(path, short, 1, tables.WAYS, rounds))


if __name__ == "__main__":
    main()
