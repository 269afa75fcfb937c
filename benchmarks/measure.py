"""Time and memory of ways to do the same work, each in a process of its own, turn by turn."""

from __future__ import annotations

import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Measured = dict[str, float]


def report(work: Callable[[], Any]) -> None:
    """Do the work in this process, and print what it took as the last line."""
    start, processor = time.perf_counter(), time.process_time()
    work()
    results = {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - processor,
        "megabytes": peak_memory(),
    }
    print(json.dumps(results))


def peak_memory() -> float:
    """Return the peak memory of this process; `getrusage` begins with that of its parent."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def measured(words: Sequence[str | Path], checkout: Path | None = None) -> Measured:
    """Return what a process took that reports; `checkout` has another version of lmprobe."""
    done = subprocess.run(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | ({"PYTHONPATH": str(checkout)} if checkout else {}),
    )
    results: Measured = json.loads(done.stdout.splitlines()[-1])
    return results


def command(words: Sequence[str], checkout: Path, *, cache: Path, limit: float) -> Measured:
    """Return what a whole command of lmprobe took; one that takes longer than `limit` is ended."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _LAUNCHER, str(limit), "-m", "lmprobe", *words],
        stdout=subprocess.PIPE,
        cwd=checkout,
        check=True,
        env=os.environ | {"PYTHONPATH": str(checkout), "LMPROBE_CACHE": str(cache)},
    )
    processor, kilobytes, ended = json.loads(done.stdout)
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": math.inf if ended else processor,
        "megabytes": kilobytes / 1024,
    }


# A small process between: the peak memory of a process begins with that of its parent.
_LAUNCHER = """
import json, resource, subprocess, sys
words, ended = [sys.executable, *sys.argv[2:]], False
nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
try:
    subprocess.run(words, check=True, timeout=float(sys.argv[1]), **nothing)
except subprocess.TimeoutExpired:
    ended = True
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([usage.ru_utime + usage.ru_stime, usage.ru_maxrss, ended]))
"""


def compared(ways: dict[str, Callable[[], Measured]], rounds: int) -> dict[str, Measured]:
    """Return the least time and the largest memory of each way; other work disturbs these least."""
    results: dict[str, list[Measured]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, measure in ways.items():
            results[way].append(measure())
            took = results[way][-1]
            print(
                f"{way}: {took['seconds']:.2f} s, processor {took['processor_seconds']:.2f} s, "
                f"{took['megabytes']:.0f} MB",
                file=sys.stderr,
                flush=True,
            )
    return {
        way: {
            kind: (max if kind == "megabytes" else min)(item[kind] for item in items)
            for kind in items[0]
        }
        for way, items in results.items()
    }


def environment() -> dict[str, Any]:
    """Return what the times depend on."""
    from importlib.metadata import version

    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers", "numpy", "duckdb")},
    }
