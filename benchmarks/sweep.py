"""How a sweep uses two workers, and what a probe costs while a model trains.

Six random models (BERT and GPT-2, of 4 layers x 256 and 6 layers x 384) x 2 template sets x 3
bases, one thread each. On a machine that does other work too, compare the processor seconds: those
of the driver and of the worker that used most, which have to pass even on idle cores. `--models`
makes it smaller, `--ray` runs the Ray engine as well, `--callback` measures the overhead of
`ProbeCallback` at its default settings instead.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "models")]

SETS = ["fitbert", "everyday"]
BUNDLED = "reference:amplified"
BASES = ["labor", "winobias", "uniform"]
SIZES = [(4, 256), (6, 384)]
"""Layers and hidden units."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=6)
    parser.add_argument("--ray", action="store_true", help="Run the Ray engine as well.")
    parser.add_argument("--callback", action="store_true", help="Measure the callback instead.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.callback:
            callback(Path(folder))
        else:
            engines(Path(folder), options.models, ray=options.ray)


def engines(folder: Path, number: int, *, ray: bool) -> None:
    """Print how long each engine takes, and whether all give the same bytes."""
    models = make_models(folder / "models", number)
    runs: dict[tuple[str, int], Run] = {}
    for engine, workers in [("local", 1), ("local", 2), *([("ray", 2)] if ray else [])]:
        place = folder / f"{engine}-{workers}"
        os.environ["LMPROBE_CACHE"] = str(place / "cache")
        runs[engine, workers] = timed(models, engine, workers, place)
    first = runs["local", 1]
    for (engine, workers), run in runs.items():
        ratio = first.seconds / run.seconds
        processor = first.processor / run.processor
        print(
            f"{engine}, {workers} workers: {run.seconds:6.1f} s ({ratio:.2f} times one worker)"
            + f", {run.processor:6.1f} processor s ({processor:.2f})" * (engine == "local")
            + f", same result: {run.result == first.result}, load {os.getloadavg()[0]:.1f}"
        )


def make_models(folder: Path, number: int) -> list[str]:
    """Write random checkpoints, masked and causal, of several sizes."""
    from test_causal import save_causal

    models = []
    for index in range(number):
        layers, hidden = SIZES[index // 2 % len(SIZES)]
        size = {
            "num_hidden_layers": layers,
            "hidden_size": hidden,
            "num_attention_heads": hidden // 64,
            # No two alike: equal models answer from one cache.
            "initializer_range": 0.02 + 0.001 * index,
        }
        if index % 2:
            place = save_causal(folder / f"gpt2-{index}", "GPT2", **size)
        else:
            place = save_bert(folder / f"bert-{index}", intermediate_size=4 * hidden, **size)
        models.append(str(place))
    return models


def save_bert(folder: Path, **size: Any) -> Path:
    """Write a random model with as many words as bert-base and the tokenizer of a bundled model."""
    import transformers

    from lmprobe import load_model

    tokenizer = transformers.AutoTokenizer.from_pretrained(load_model(BUNDLED).folder)
    config = transformers.BertConfig(vocab_size=30522, **size)
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@dataclass(frozen=True)
class Run:
    """A sweep that was timed."""

    seconds: float
    processor: float
    """Processor seconds of this process during the sweep, and of its busiest worker."""
    result: str


def timed(models: list[str], engine: str, workers: int, place: Path) -> Run:
    from lmprobe import sweep

    start, own = time.perf_counter(), time.process_time()
    used: dict[str, float] = {}
    result = sweep(
        models, SETS, BASES, engine=engine, workers=workers, output=place,
        progress=lambda done, total: used.update(processor_seconds()),
    )  # fmt: skip
    assert not result.failures
    processor = time.process_time() - own + max(used.values(), default=0.0)
    return Run(time.perf_counter() - start, processor, result.to_json())


def processor_seconds() -> dict[str, float]:
    """Return what each process that this one started has used, on Linux."""
    ticks = os.sysconf("SC_CLK_TCK")
    seconds = {}
    for listed in Path("/proc/self/task").glob("*/children"):
        for child in listed.read_text().split():
            # User and system time are the 12th and 13th number after the name.
            numbers = Path("/proc", child, "stat").read_text().rpartition(")")[2].split()
            seconds[child] = (int(numbers[11]) + int(numbers[12])) / ticks
    return seconds


def callback(folder: Path) -> None:
    """Print the share of a small training run that probing after every evaluation takes.

    A bundled model is trained on for 500 steps of 32 sentences and evaluated every 100, on one
    thread. CPU time is measured, which depends less on what else the machine does. The first
    probe, which also loads modules, is made before.
    """
    import torch

    torch.set_num_threads(1)
    make_trainer(folder / "first", steps=1, probed=True).train()
    seconds = {}
    for probed in (False, True):
        trainer = make_trainer(folder / str(probed), steps=500, probed=probed)
        start = time.process_time()
        trainer.train()
        seconds[probed] = time.process_time() - start
    share = (seconds[True] - seconds[False]) / seconds[False]
    print(
        f"500 steps: {seconds[False]:.1f} s of CPU time, with 5 probes {seconds[True]:.1f} s: "
        f"{share:.0%} of the training time"
    )


def make_trainer(output: Path, *, steps: int, probed: bool) -> Any:
    import numpy as np
    import transformers

    from lmprobe import load_model
    from lmprobe.integrations.transformers import ProbeCallback
    from tools.reference.corpus import Planted, generate, planted

    place = load_model(BUNDLED).folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    whole = planted("amplified")
    few = Planted(whole.occupations, np.ceil(whole.counts / 16).astype(np.int64))
    data = [tokenizer(line.text) for line in generate(few, 1)]
    trainer = transformers.Trainer(
        model=transformers.AutoModelForMaskedLM.from_pretrained(place),
        args=transformers.TrainingArguments(
            output_dir=str(output),
            max_steps=steps,
            per_device_train_batch_size=32,
            eval_strategy="steps",
            eval_steps=min(100, steps),
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=data[:-400],
        eval_dataset=data[-400:],
        data_collator=transformers.DataCollatorForLanguageModeling(tokenizer, seed=2),
        processing_class=tokenizer,
    )
    if probed:
        trainer.add_callback(ProbeCallback(trainer))
    return trainer


if __name__ == "__main__":
    main()
