"""What a probe of 200 occupations takes beside one of 32, and how much narrower its interval is.

    python benchmarks/occupations.py [--rounds 1] [--draws 40] [--narrowing]

Time and memory: a random model of bert-base's size is asked the 20 sentences of `fitbert` about the
first 32 and 200 occupations of `labor-2019`, he and she, in both directions, without the cache, in
a process of its own that has loaded the model and asked a few of them before.

Narrowing: the intervals of recorded answers, whose tasks are drawn with replacement from the 32 of
`reference:amplified` on `fitbert`, with all that it said of each and its base rates in `labor`. The
spread is that of a probe of a small model; that other occupations have it too is assumed. `both`
is the interval that a probe shows; `tasks` takes the sentences as they are.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measure import compared, environment, measured, report
from models import make_masked

import lmprobe
from lmprobe.io.files import shipped_folder

ASKED, DRAWN = (32, 200), (32, 200, 299)
BASE, PAIR, WAYS = "labor-2019", ("he", "she"), ("both", "tasks")


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--narrowing", action="store_true", help="the widths alone")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--do", nargs=2, help="measure here: template set, checkpoint")
    options = parser.parse_args()
    if options.do:
        do(*options.do)
        return
    document: dict[str, Any] = {"widths": widths(options.draws)}
    with tempfile.TemporaryDirectory() as folder:
        if not options.narrowing:
            document["probes"] = probes(Path(folder), options.rounds)
    if options.json:
        options.json.write_text(json.dumps(document | environment(), indent=1) + "\n")


def probes(folder: Path, rounds: int) -> dict[str, Any]:
    """Measure a probe of each number of occupations, and print them side by side."""
    tasks = lmprobe.load_templates("occupations").tasks
    fitbert = (shipped_folder("templates") / "fitbert.toml").read_text()
    sets = {number: folder / f"occupations-{number}.toml" for number in ASKED}
    for number, path in sets.items():
        path.write_text(fitbert.replace('{ lexicon = "winobias-32" }', json.dumps(tasks[:number])))
    texts = lmprobe.load_templates(sets[max(ASKED)]).item_table()[list(PAIR)].to_numpy().ravel()
    known = sorted(set(re.findall(r"\w+|[^\w\s]", " ".join(texts).lower())))
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known]
    vocabulary = folder / "vocab.txt"
    fillers = (f"filler{number}" for number in range(30522 - len(tokens)))
    vocabulary.write_text("\n".join([*tokens, *fillers]) + "\n")
    make_masked(folder / "model", vocabulary)
    jobs = {number: [__file__, "--do", path, folder / "model"] for number, path in sets.items()}
    results = compared({str(n): partial(measured, job) for n, job in jobs.items()}, rounds)
    print(f"{'occupations':>11}{'seconds':>10}{'processor':>11}{'memory':>10}")
    for way, took in results.items():
        times = f"{took['seconds']:10.1f}{took['processor_seconds']:11.1f}"
        print(f"{way:>11}{times}{took['megabytes']:7.0f} MB", flush=True)
    return results


def do(templates: str, folder: str) -> None:
    """Probe in this process, after a little of it: imports and compiled code are not counted."""
    warnings.simplefilter("ignore")
    model, asked = lmprobe.load_model(folder, device="cpu"), lmprobe.load_templates(templates)
    lmprobe.probe(model, asked, BASE, tasks=asked.tasks[:2], cache=False)
    report(lambda: lmprobe.probe(model, asked, BASE, cache=False))


def widths(draws: int) -> dict[str, dict[str, float]]:
    """Print the mean width of the interval of the value, by the number of tasks."""
    row = lmprobe.probe("reference:amplified", "fitbert", "labor", attributes=PAIR).rows[0]
    away = np.nanmean(row.lean * (row.predicted.mean(axis=0) - row.base_rate), axis=0)
    print(f"standard deviation over {len(away)} tasks of the model: {away.std(ddof=1):.4f}")
    print(f"{'occupations':>11}{'both':>9}{'narrower':>10}{'tasks':>9}{'narrower':>10}")
    rng, mean_widths = np.random.default_rng(0), {}
    frames = [f"sentence {place}" for place in range(len(row.predicted))]
    for number in DRAWN:
        names, each = [f"occupation {place}" for place in range(number)], []
        where = {"template": np.repeat(frames, number), "task": names * len(frames)}
        for _ in range(draws):
            drawn = rng.integers(len(row.tasks), size=number)
            said, rates = row.predicted[:, :, drawn].swapaxes(0, 1), row.base_rate[:, drawn]
            table = pd.DataFrame(where | {who: said[k].ravel() for k, who in enumerate(PAIR)})
            base = pd.DataFrame({"task": names} | {who: rates[k] for k, who in enumerate(PAIR)})
            model = lmprobe.load_model(table, values="probability")
            probed = partial(lmprobe.probe, model, base=base, direction="T->A")
            each.append([probed(resample=way).rows[0].interval.width for way in WAYS])
        width = np.mean(each, axis=0)
        mean_widths[str(number)] = dict(zip(WAYS, width.tolist(), strict=True))
        ratios = np.array([mean_widths[str(DRAWN[0])][way] for way in WAYS]) / width
        parts = (f"{w:9.4f}{r:8.2f} x" for w, r in zip(width, ratios, strict=True))
        print(f"{number:>11}{''.join(parts)}", flush=True)
    return mean_widths


if __name__ == "__main__":
    main()
