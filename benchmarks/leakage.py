"""What leakage costs: whole commands, and the paper's attacker beside the straightforward loop.

The commands run in processes of their own, imports included; processor time is that of all
threads, and memory the peak of the process:

  auto, logistic, mlp   `lmprobe leak` of 20,000 rows with four 0/1 labels and four predictions
  imsitu                `lmprobe reproduce leakage-imsitu`

Both attackers train one network by the same recipe (four layers, 300 wide, BatchNorm, LeakyReLU,
Adam 5e-5, batches of 128), five rounds, on the CPU with one thread:

  lmprobe   all rounds side by side, data as tensors, equal rows of a batch computed once
  loop      one round after another: a Dataset of rows, a DataLoader, nn.Sequential

on data of imSitu's shape (14,600 train rows, one of 211 labels) and of COCO's (13,000 train
rows, 79 yes-or-no labels, three of them on average). An epoch includes judging the dev rows.

    python benchmarks/leakage.py [--only auto imsitu ...] [--epochs 3] [--turns 3] [--json out.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lmprobe.io.work import silent
from lmprobe.leakage.attackers import Mlp
from lmprobe.leakage.inputs import AttackerInput, GroupLabels
from lmprobe.leakage.rounds import Trial, draw_rounds

ROUNDS = 5
COLUMNS = [f"{kind}{number}" for kind in ("label", "prediction") for number in range(4)]
LEAK = ["leak", "--attribute", "group"]
LEAK += [word for name in COLUMNS[:4] for word in ("--labels", name)]
LEAK += [word for name in COLUMNS[4:] for word in ("--predictions", name)]
REPRODUCE = ["reproduce", "leakage-imsitu"]
COMMANDS = ("auto", "logistic", "mlp", "imsitu")


def main() -> None:
    options = arguments()
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "labels.csv"
        write_table(table)
        for name in COMMANDS:
            if name in options.only:
                words = [*LEAK, str(table), "--attacker", name]
                results[name] = command(REPRODUCE if name == "imsitu" else words)
                print(
                    "{0}: {processor_seconds:.1f} s of processor time, {seconds:.1f} s, "
                    "{megabytes:.0f} MB".format(name, **results[name])
                )
    for shape, trials in (("imsitu-epoch", imsitu()), ("coco-epoch", coco())):
        if shape in options.only:
            results[shape] = turns(trials, options.epochs, options.turns)
            print(
                "{0}: lmprobe {lmprobe:.3f} s, loop {loop:.3f} s of processor time per epoch and "
                "round; the loop takes {ratio:.1f} times as long".format(shape, **results[shape])
            )
    if options.json:
        about = {"torch": torch.__version__, "machine": platform.processor() or platform.machine()}
        options.json.write_text(json.dumps({"results": results, **about}, indent=2) + "\n")


def arguments() -> Any:
    parser = argparse.ArgumentParser(description="What leakage costs.")
    known = (*COMMANDS, "imsitu-epoch", "coco-epoch")
    parser.add_argument("--only", nargs="+", choices=known, default=known)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def write_table(path: Path) -> None:
    """Write labels of which two are more frequent with a group, and predictions that exaggerate."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, (20_000, 1))
    side = np.array([1, 0, 1, 0]) == group
    labels = (rng.random((20_000, 4)) < np.where(side, 0.5, 0.3)).astype(int)
    wrong = rng.random((20_000, 4)) < np.where(side, 0.2, 0.1)
    table = pd.DataFrame(np.hstack([labels, labels ^ wrong]), columns=COLUMNS)
    table.assign(group=np.where(group[:, 0], "woman", "man")).to_csv(path, index=False)


def command(words: list[str]) -> dict[str, float]:
    """Return the times and the peak memory of a command of lmprobe."""
    start = time.perf_counter()
    words = [sys.executable, "-m", "lmprobe", *words, "--json"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} failed")
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss / 1024,
    }


def turns(trials: list[Trial], epochs: int, times: int) -> dict[str, float]:
    """Return the processor time of an epoch of a round, and how many times as long the loop is."""
    # Two threads that share a small product mostly wait, which is processor time too.
    torch.set_num_threads(1)
    work = {"lmprobe": ours, "loop": loop}
    seconds: dict[str, list[float]] = {name: [] for name in work}
    # Turn by turn, so that a busy moment of the machine hits both.
    for _ in range(times):
        for name, run in work.items():
            seconds[name].append(run(trials, epochs) / epochs / ROUNDS)
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    return {**middle, "ratio": middle["loop"] / middle["lmprobe"]}


def imsitu() -> list[Trial]:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 30_000)
    return trials_of(AttackerInput(rng.integers(0, 211, 30_000), 211), group, (7300, 3000, 3000))


def coco() -> list[Trial]:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 30_000)
    labels = (rng.random((30_000, 79)) < 3 / 79).astype(np.float32)
    return trials_of(AttackerInput(labels, 79), group, (6500, 2500, 2500))


def trials_of(evidence: AttackerInput, group: Any, limits: tuple[int, ...]) -> list[Trial]:
    groups = GroupLabels(group.astype(np.int64), ("man", "woman"))
    rng = np.random.default_rng(1)
    drawn = draw_rounds(groups, None, rounds=ROUNDS, rng=rng, limits=limits)
    return [Trial(evidence, groups, item) for item in drawn]


def ours(trials: list[Trial], epochs: int) -> float:
    start = time.process_time()
    Mlp(epochs=epochs).attack(trials, device="cpu", progress=silent)
    return time.process_time() - start


def loop(trials: list[Trial], epochs: int) -> float:
    start = time.process_time()
    for trial in trials:
        train = DataLoader(dataset(trial, trial.rows.train), batch_size=128, shuffle=True)
        dev = DataLoader(dataset(trial, trial.rows.dev), batch_size=128)
        model = network(trial.inputs.size)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-5)
        for _ in range(epochs):
            model.train()
            for rows, group in train:
                optimizer.zero_grad()
                functional.cross_entropy(model(rows), group).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                sum(int((model(rows).argmax(dim=1) == group).sum()) for rows, group in dev)
    return time.process_time() - start


def dataset(trial: Trial, rows: Any) -> TensorDataset:
    values = torch.from_numpy(trial.inputs.rows(rows))
    return TensorDataset(values, torch.from_numpy(trial.groups.codes[rows]))


def network(size: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for fan_in in (size, 300, 300):
        layers += [nn.Linear(fan_in, 300), nn.BatchNorm1d(300), nn.LeakyReLU()]
    return nn.Sequential(*layers, nn.Linear(300, 2))


if __name__ == "__main__":
    main()
