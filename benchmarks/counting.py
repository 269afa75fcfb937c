"""How fast text is counted, beside a straightforward Python version of the paper's rule.

    python benchmarks/counting.py [--megabytes 4000] [--text FILE]

Repeats a text to a file large enough to measure: FILE, or 9 MB written by the grammar of the
reference models, in which one sentence in a hundred links a pronoun to an occupation. The
published figures (docs/counting.md) are of the WikiText-2 training text, given with --text.

Both versions read from the disk cache and must give the same counts. The rates of one process
are per second of processor time, so that a busy machine changes them little; the gain of two
processes is by the clock and needs two idle cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe.sources.counting.corpus import plan
from lmprobe.sources.counting.count import CountResult, count
from lmprobe.sources.counting.lexicon import ATTRIBUTES, PAPER_ATTRIBUTES, Lexicon, lexicon

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.reference.corpus import labor
from tools.reference.grammar import load_grammar

TASKS, _ = labor()
OWN_TEXT = "written by the grammar of the reference models; any other with --text FILE"


def write_own_text(path: Path, sentences: int = 250_000) -> Path:
    """Write sentences of the grammar, one on each line, about one in a hundred a link."""
    grammar, rng = load_grammar(), np.random.default_rng(0)
    lines = []
    for kind, share in (("other", 0.99), ("link", 0.01)):
        frames = grammar.frames[kind]
        for frame in frames:
            count = round(sentences * share / len(frames))
            pronouns, occupations = rng.choice(["he", "she"], count), rng.choice(TASKS, count)
            words = {"pronouns": pronouns.tolist(), "occupations": occupations.tolist()}
            filled = grammar.fill(frame, rng, count=count, **(words if kind == "link" else {}))
            lines += [line.text for line in filled]
    rng.shuffle(lines)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def straightforward(path: Path) -> dict[tuple[int, int], int]:
    """Count by the paper's rule as one would write it down."""
    counts: dict[tuple[int, int], int] = {}
    with path.open(encoding="utf-8", errors="replace") as lines:
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


def best(work: Callable[[], Any], rounds: int) -> tuple[float, float, Any]:
    """Return the least processor time and the least time by the clock, and what came out."""
    times = []
    for _ in range(rounds):
        start = time.process_time(), time.perf_counter()
        answer = work()
        times.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    return min(cpu for cpu, _ in times), min(clock for _, clock in times), answer


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=4000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--text", type=Path, default=None, metavar="FILE")
    arguments = options.parse_args()
    if arguments.text and not arguments.text.is_file():
        options.error(f"{arguments.text}: no such file")
    with tempfile.TemporaryDirectory() as folder:
        text = arguments.text or write_own_text(
            Path(folder) / "text.txt", min(250_000, 30_000 * arguments.megabytes)
        )
        lines = text.read_bytes().rstrip(b"\n") + b"\n"
        copies = max(1, arguments.megabytes * 1_000_000 // len(lines))
        large = Path(folder) / "large.txt"
        with large.open("wb") as stream:
            for _ in range(copies):
                stream.write(lines)
        document = {
            "text": str(arguments.text or OWN_TEXT),
            "megabytes": large.stat().st_size / 1e6,
            "rows": measure(text, large, copies, arguments.rounds),
        }
    print(json.dumps(document, indent=2))


def measure(text: Path, large: Path, copies: int, rounds: int) -> list[dict[str, Any]]:
    size = large.stat().st_size / 1e6
    seconds, _, slow = best(lambda: straightforward(text), rounds)
    plain = text.stat().st_size / 1e6 / seconds
    rows: list[dict[str, Any]] = [{"what": "straightforward Python, paper", "mb_per_s": plain}]
    for rule in ("paper", "word", "pattern"):
        words = lexicon(PAPER_ATTRIBUTES if rule == "paper" else ATTRIBUTES, TASKS)

        def run(workers: int, rule: str = rule, words: Lexicon = words) -> CountResult:
            return count(plan(large), words, rule=rule, workers=workers)

        seconds, first, result = best(lambda run=run: run(1), rounds)
        if rule == "paper":
            expected = np.zeros_like(result.counts)
            for pair, sentences in slow.items():
                expected[pair] = copies * sentences
            assert (result.counts == expected).all()
        rate = size / seconds
        _, two, _ = best(lambda run=run: run(2), rounds)
        rows.append({"what": f"lmprobe, {rule}", "mb_per_s": rate, "times_plain": rate / plain,
                     "one_by_the_clock": size / first, "two_by_the_clock": size / two,
                     "two_over_one": first / two})  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
