"""How a sweep uses two workers, and what a probe costs while a model trains.

24 models x 3 template sets x 3 bases, one thread each: the bundled ones, and small random ones of
several architectures, masked and causal; what is measured is the sweep, not the models. `--models`
makes it smaller, `--ray` runs the Ray engine as well, `--callback` measures the overhead of
`ProbeCallback` at its default settings instead.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "models")]

SETS = ["fitbert", "neutral", "everyday"]
BASES = ["labor", "winobias", "uniform"]
BUNDLED = ["reference:faithful", "reference:amplified"]
MASKED = ["Bert", "Roberta", "Electra", "DistilBert"]
CAUSAL = ["GPT2", "Llama"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=24)
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
    seconds, results = {}, {}
    for engine, workers in [("local", 1), ("local", 2), *([("ray", 2)] if ray else [])]:
        place = folder / f"{engine}-{workers}"
        os.environ["LMPROBE_CACHE"] = str(place / "cache")
        seconds[engine, workers], results[engine, workers] = timed(models, engine, workers, place)
    probes = len(models) * len(SETS)
    for (engine, workers), took in seconds.items():
        ratio = seconds["local", 1] / took
        same = results[engine, workers] == results["local", 1]
        print(
            f"{engine}, {workers} workers: {took:6.1f} s, {probes / took:.2f} probes/s, "
            f"{ratio:.2f} times one worker, same result: {same}"
        )


def make_models(folder: Path, number: int) -> list[str]:
    """Write random checkpoints of several architectures; the first two are the bundled ones."""
    from checkpoints import save_checkpoint
    from test_causal import save_causal

    kinds = [*MASKED, *CAUSAL]
    models = BUNDLED[:number]
    for index in range(number - len(models)):
        kind = kinds[index % len(kinds)]
        place = folder / f"{kind.lower()}-{index}"
        save = save_causal if kind in CAUSAL else save_checkpoint
        models.append(str(save(place, kind, initializer_range=0.1 + 0.02 * index)))
    return models


def timed(models: list[str], engine: str, workers: int, place: Path) -> tuple[float, str]:
    from lmprobe import sweep

    start = time.perf_counter()
    result = sweep(models, SETS, BASES, engine=engine, workers=workers, output=place)
    return time.perf_counter() - start, result.to_json()


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

    sys.path.insert(0, str(ROOT))
    from tools.reference.corpus import Planted, generate, planted

    place = load_model("reference:amplified").folder
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
