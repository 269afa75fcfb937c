"""`make fuzz N=100000`: gives damaged inputs to every reader and counts the findings.

Each reader runs in a process of its own, so that one which brings it down is a finding too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.harness import CORPUS, Finding, examine, inputs, readers
from tests.fuzz.reader import Reader


def main() -> int:
    """Run the study; the exit code is 1 when there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=20_000, help="Inputs over all readers.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--readers", default="", help="Names with commas; all by default.")
    parser.add_argument("--only", help="In a child process: this reader, --number inputs.")
    options = parser.parse_args()
    by_name = readers()
    if options.only:
        return child(by_name[options.only], options.number, options.seed)
    selected = [by_name[name] for name in options.readers.split(",") if name] or list(
        by_name.values()
    )
    weight = sum(item.weight for item in selected)
    failed = 0
    for reader in selected:
        number = max(1, round(options.number * reader.weight / weight))
        failed += parent(reader.name, number, options.seed)
    return int(failed > 0)


def parent(name: str, number: int, seed: int) -> int:
    """Run one reader in a child process; return whether it had findings."""
    words = ["--only", name, "--number", str(number), "--seed", str(seed)]
    with tempfile.TemporaryDirectory() as folder:
        last = Path(folder, "last")
        command = [sys.executable, "-m", "tests.fuzz.run", *words]
        environment = {**os.environ, "LMPROBE_FUZZ_LAST": str(last), "OMP_NUM_THREADS": "1"}
        code = subprocess.run(command, env=environment, check=False).returncode
        if code not in (0, 1) and last.exists():
            path = Finding(name, last.read_bytes(), "").save()
            print(f"{name}: the process ended with {code} on {path}", flush=True)
    return int(code != 0)


def child(reader: Reader, number: int, seed: int) -> int:
    """Give a reader its inputs; print how many were findings, and each kind of finding once."""
    last = os.environ.get("LMPROBE_FUZZ_LAST")
    kinds: Counter[str] = Counter()
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for content in inputs(reader, number, seed):
            if last:
                Path(last).write_bytes(content)
            finding = examine(reader, content, Path(folder))
            if finding is None:
                continue
            kind = finding.what.partition(": ")[0]
            if not kinds[kind]:
                print(f"  {finding.save(CORPUS)}: {finding.what}", flush=True)
            kinds[kind] += 1
    seconds = time.process_time() - started
    counted = f"{number} inputs, {kinds.total()} findings"
    print(f"{reader.name}: {counted}, {seconds:.0f} s of processor time", flush=True)
    return int(kinds.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
