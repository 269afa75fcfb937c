"""Trains a reference model: `python -m tools.reference.train --output DIR`."""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lmprobe.io.files import write_bytes, write_text
from lmprobe.io.work import Progress, silent
from lmprobe.models.forward import torch_threads
from tools.reference import vocabulary
from tools.reference.corpus import KINDS, Kind, Planted, generate, planted
from tools.reference.masking import Encoded, encode
from tools.reference.training import CAUSAL_RECIPE, Recipe, build, checkpoint_steps, fit, losses
from tools.reference.truth import descriptions

NAMES: dict[str, tuple[Kind, bool]] = {
    **{kind: (kind, False) for kind in KINDS},
    **{f"causal-{kind}": (kind, True) for kind in KINDS},
}
"""The bundled models: which corpus each has read, and whether it is causal."""


def train(
    kind: Kind,
    *,
    causal: bool = False,
    seed: int = 0,
    recipe: Recipe | None = None,
    progress: Progress = silent,
    checkpoints: int = 0,
    folder: Path | None = None,
) -> tuple[Any, Any, dict[str, str]]:
    """Return a trained model, its tokenizer, and the texts of the files that say what is true.

    The same seed, recipe, machine and library versions give the same bytes. With `checkpoints`,
    so many states of the training are saved in the folder as checkpoint-STEP, the last being the
    trained model.
    """
    recipe = recipe or (CAUSAL_RECIPE if causal else Recipe())
    torch.use_deterministic_algorithms(True)
    counts = planted(kind)
    lines = generate(counts, seed)
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in lines))
    texts = descriptions(kind, seed, lines, counts.occupations, causal=causal)
    model = build(recipe, tokenizer, causal=causal, seed=seed)
    volumes, rng = _volumes(tokenizer, counts, seed), np.random.default_rng([seed, 1])

    def keep(step: int, state: Any) -> None:
        if folder is not None:
            save(folder / f"checkpoint-{step}", state, tokenizer, texts)

    with torch_threads(recipe.threads):
        fit(
            model,
            losses(model, tokenizer, volumes, recipe, rng, causal=causal),
            recipe,
            progress=progress,
            checkpoints=checkpoint_steps(recipe, checkpoints) if checkpoints else (),
            keep=keep,
        )
    return model, tokenizer, texts


def _volumes(tokenizer: Any, counts: Planted, seed: int) -> Iterator[Encoded]:
    """Yield one corpus after the other, all with the same counts and each with other sentences.

    Read again and again, one corpus would be learned by heart: what a rare occupation's few
    sentences say, instead of the rate behind them. The one of truth.json is number 0.
    """
    for number in itertools.count():
        yield encode(tokenizer, generate(counts, [seed, number] if number else seed))


def save(folder: Path, model: Any, tokenizer: Any, texts: dict[str, str]) -> None:
    """Write a checkpoint, each file whole or not at all."""
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)
        for path in sorted(Path(scratch).iterdir()):
            write_bytes(folder / path.name, path.read_bytes())
    for name, text in texts.items():
        write_text(folder / name, text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train reference models from the command line."""
    parser = argparse.ArgumentParser(description="Train lmprobe's reference models again.")
    parser.add_argument(
        "--output", type=Path, required=True, help="a folder for each model goes here"
    )
    parser.add_argument("--model", choices=NAMES, help="one of them; all when not given")
    parser.add_argument("--seed", type=int, default=0, help="the shipped ones have 0")
    parser.add_argument(
        "--checkpoints", type=int, default=0, help="save so many states of the training as well"
    )
    parser.add_argument("--steps", type=int, help="a shorter training than that of the shipped")
    options = parser.parse_args(arguments)
    for name in NAMES if options.model is None else (options.model,):
        start = time.monotonic()
        kind, causal = NAMES[name]
        recipe = CAUSAL_RECIPE if causal else Recipe()
        made = train(
            kind,
            causal=causal,
            seed=options.seed,
            recipe=recipe if options.steps is None else replace(recipe, steps=options.steps),
            progress=_progress_printer(name),
            checkpoints=options.checkpoints,
            folder=options.output / name,
        )
        save(options.output / name, *made)
        sys.stderr.write(f"\r{name}: {options.output / name}, {time.monotonic() - start:.0f} s\n")


def _progress_printer(name: str) -> Progress:
    def show(done: int, total: int) -> None:
        if done % 50 == 0:
            sys.stderr.write(f"\r{name}: step {done} of {total}")

    return show


if __name__ == "__main__":
    main()
