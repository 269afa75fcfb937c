"""How fast the paper's attacker trains here, beside the straightforward loop.

Both train the same network by the same recipe (four layers, 300 wide, BatchNorm, LeakyReLU,
Adam 5e-5, batches of 128), five rounds, on the CPU, with as many threads as torch takes:

  lmprobe   all rounds side by side, data as tensors, equal rows of a batch computed once
  loop      one round after another: a Dataset of rows, a DataLoader, nn.Sequential

on data of imSitu's shape (14,600 train rows, one of 211 labels) and of COCO's (13,000 train
rows, 79 yes-or-no labels, three of them on average). An epoch includes judging the dev rows.

    python benchmarks/leakage.py [--epochs 3] [--turns 3] [--json out.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lmprobe.io.work import silent
from lmprobe.leakage.attackers import Mlp
from lmprobe.leakage.inputs import AttackerInput, GroupLabels
from lmprobe.leakage.rounds import Trial, draw_rounds

ROUNDS = 5


def main() -> None:
    options = arguments()
    results: dict[str, dict[str, float]] = {}
    for shape, trials in (("imsitu", imsitu()), ("coco", coco())):
        work: dict[str, Callable[[], float]] = {
            "lmprobe": lambda trials=trials: ours(trials, options.epochs),  # type: ignore[misc]
            "loop": lambda trials=trials: loop(trials, options.epochs),  # type: ignore[misc]
        }
        seconds: dict[str, list[float]] = {name: [] for name in work}
        # Turn by turn, so that a busy moment of the machine hits both.
        for _ in range(options.turns):
            for name, run in work.items():
                seconds[name].append(run() / options.epochs / ROUNDS)
        middle = {name: statistics.median(values) for name, values in seconds.items()}
        results[shape] = {**middle, "ratio": middle["loop"] / middle["lmprobe"]}
        print(
            f"{shape}: lmprobe {middle['lmprobe']:.3f} s, loop {middle['loop']:.3f} s "
            f"per epoch and round; the loop takes {results[shape]['ratio']:.1f} times as long"
        )
    if options.json:
        about = {"torch": torch.__version__, "threads": torch.get_num_threads()}
        about |= {"machine": platform.processor() or platform.machine()}
        options.json.write_text(json.dumps({"seconds": results, **about}, indent=2) + "\n")


def arguments() -> Any:
    parser = argparse.ArgumentParser(description="The attacker beside the straightforward loop.")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


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
    start = time.perf_counter()
    Mlp(epochs=epochs).attack(trials, device="cpu", progress=silent)
    return time.perf_counter() - start


def loop(trials: list[Trial], epochs: int) -> float:
    start = time.perf_counter()
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
    return time.perf_counter() - start


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
