"""Runs all studies: `python -m benchmarks.coverage --output docs/appendix/coverage.md`.

Takes tens of minutes on one core. `--runs 200` is a quick look, `--only rows` one study.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.coverage.page import STUDIES, page
from lmprobe.io.files import write_text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=STUDIES, default=[])
    arguments = parser.parse_args()
    start = time.perf_counter()
    old = arguments.output.read_text() if arguments.output and arguments.output.exists() else ""
    text = page(arguments.runs, arguments.seed, only=arguments.only, old=old)
    if arguments.output is None:
        print(text)
    else:
        write_text(arguments.output, text)
    print(f"{(time.perf_counter() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
