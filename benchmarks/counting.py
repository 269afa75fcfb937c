"""How fast text is counted, beside a straightforward Python version of the paper's rule.

    python benchmarks/counting.py [--megabytes 2000] [--text FILE]

Reads the WikiText-2 training text (any text will do) and repeats it to a file large enough
to measure. Both versions read from the disk cache and must give the same counts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmprobe.corpus.count import count
from lmprobe.corpus.lexicon import ATTRIBUTES, PAPER_ATTRIBUTES, lexicon
from lmprobe.corpus.plan import plan
from lmprobe.sources import load_base_rates

TEXT = Path(__file__).parents[2] / "shared" / "data" / "wikitext-2-train.txt"
TASKS = load_base_rates("labor").tasks  # type: ignore[attr-defined]


def straightforward(path: Path) -> dict[tuple[int, int], int]:
    """Count by the paper's rule as one would write it down."""
    counts: dict[tuple[int, int], int] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if "=" in line:
                continue
            for sentence in line.rstrip("\n").split("."):
                selected = None
                for number, task in enumerate(TASKS):
                    if task in sentence:
                        selected = number if selected is None else None
                if selected is None:
                    continue
                tokens = set(sentence.split(" "))
                groups = [
                    number
                    for number, words in enumerate(PAPER_ATTRIBUTES.values())
                    if tokens.intersection(words)
                ]
                if len(groups) == 1:
                    pair = groups[0], selected
                    counts[pair] = counts.get(pair, 0) + 1
    return counts


def best(work: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the shortest time of some rounds and what came out."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - start)
    return min(times), answer


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=2000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--text", type=Path, default=TEXT)
    chosen = options.parse_args()
    text = chosen.text.read_bytes()
    copies = max(1, chosen.megabytes * 1_000_000 // len(text))
    words = {
        "paper": lexicon(PAPER_ATTRIBUTES, TASKS),
        "word": lexicon(ATTRIBUTES, TASKS),
        "pattern": lexicon(ATTRIBUTES, TASKS),
    }
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.txt"
        with large.open("wb") as stream:
            for _ in range(copies):
                stream.write(text)
        size = large.stat().st_size / 1e6
        seconds, slow = best(lambda: straightforward(chosen.text), chosen.rounds)
        plain = len(text) / 1e6 / seconds
        rows: list[dict[str, Any]] = [{"what": "straightforward Python, paper", "mb_per_s": plain}]
        for rule in ("paper", "word", "pattern"):
            rates = []
            for workers in (1, 2):
                seconds, found = best(
                    lambda rule=rule, workers=workers: count(  # type: ignore[misc]
                        plan(large), words[rule], rule=rule, workers=workers
                    ),
                    chosen.rounds,
                )
                if rule == "paper":
                    assert found.counts.sum() == copies * sum(slow.values())
                rates.append(size / seconds)
                rows.append(
                    {"what": f"lmprobe, {rule}, {workers} worker", "mb_per_s": size / seconds,
                     "times_plain": size / seconds / plain}
                )  # fmt: skip
            rows.append({"what": f"two workers over one, {rule}", "ratio": rates[1] / rates[0]})
    print(json.dumps({"megabytes": size, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
