"""Trains a reference model: `python -m lmprobe.models.reference.train --output DIR`."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lmprobe import atomic
from lmprobe.models.reference import corpus, truth, vocabulary
from lmprobe.models.reference.card import card
from lmprobe.models.reference.masking import Encoded, Ids, Masked, encode, epoch, hide
from lmprobe.models.reference.rates import KINDS, Kind, Planted, planted
from lmprobe.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Recipe:
    """Size of the model and of its training; the defaults made the shipped checkpoints."""

    hidden: int = 64
    layers: int = 2
    heads: int = 4
    intermediate: int = 192
    # BERT's own 0.02 is for layers ten times as wide; with it these hardly start to learn.
    initial: float = 0.08
    steps: int = 15_000
    batch: int = 128
    learning_rate: float = 3e-3
    warmup: float = 0.04
    averaged: float = 0.3
    weight_decay: float = 0.01
    # One thread always sums in the same order.
    threads: int = 1


def build_model(recipe: Recipe, vocabulary_size: int, seed: int) -> Any:
    """Return a small BERT with random weights."""
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=vocabulary_size,
        hidden_size=recipe.hidden,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        intermediate_size=recipe.intermediate,
        max_position_embeddings=64,
        initializer_range=recipe.initial,
        # Dropout would flatten the probabilities that these models are there to hold.
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",
    )
    return BertForMaskedLM(config)


def batches(
    volumes: Iterable[Encoded], recipe: Recipe, rng: np.random.Generator
) -> Iterator[tuple[Encoded, Ids]]:
    """Yield (lines, what to hide) of one batch after the other, lines of like length together."""
    pool = 16 * recipe.batch
    for data in volumes:
        rows, what = epoch(data, rng)
        for start in range(0, len(rows), pool):
            near = start + np.argsort(data.length[rows[start : start + pool]], kind="stable")
            cuts = range(0, len(near), recipe.batch)
            for cut in np.argsort(rng.random(len(cuts))):
                chosen = near[cuts[cut] : cuts[cut] + recipe.batch]
                yield data.rows(rows[chosen]), what[chosen]


def scores_at(model: Any, masked: Masked) -> torch.Tensor:
    """Return the scores of all pieces where one has to be guessed, (guesses, vocabulary).

    What the model itself gives there; but the end of the last layer and the head, most of
    the work, run on those positions alone.
    """
    visible = torch.from_numpy(np.arange(masked.ids.shape[1])[None, :] < masked.length[:, None])
    bias = torch.zeros(visible.shape).masked_fill(~visible, torch.finfo(torch.float32).min)
    bias = bias[:, None, None, :]
    guess = torch.from_numpy(masked.guess)
    states = model.bert.embeddings(input_ids=torch.from_numpy(masked.ids))
    *before, last = model.bert.encoder.layer
    for layer in before:
        states = layer(states, bias)
    mixed, _ = last.attention.self(states, bias)
    found = last.feed_forward_chunk(last.attention.output(mixed[guess], states[guess]))
    scores: torch.Tensor = model.cls(found)
    return scores


def rate(step: int, recipe: Recipe) -> float:
    """Return the learning rate of a step, as a share of the highest: up, then down to zero."""
    warm = recipe.warmup * recipe.steps
    return min((step + 1) / warm, (recipe.steps - step) / (recipe.steps - warm))


def fit(
    model: Any,
    volumes: Iterable[Encoded],
    mask_id: int,
    *,
    recipe: Recipe,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> list[float]:
    """Train in place and return the loss of every step.

    The weights are the average of those of the last steps: single steps sway round it.
    """
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": recipe.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(step, recipe))
    losses = []
    average = torch.optim.swa_utils.AveragedModel(model)
    model.train()
    for step, (lines, what) in zip(
        range(recipe.steps), batches(volumes, recipe, rng), strict=False
    ):
        masked = hide(lines, what, mask_id, rng)
        answers = torch.from_numpy(masked.answer[masked.guess])
        loss = torch.nn.functional.cross_entropy(scores_at(model, masked), answers)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step >= (1 - recipe.averaged) * recipe.steps:
            average.update_parameters(model)
        progress(step + 1, recipe.steps)
    model.load_state_dict(average.module.state_dict())
    model.eval()
    return losses


def train(
    kind: Kind, *, seed: int = 0, recipe: Recipe | None = None, progress: Progress = silent
) -> tuple[Any, Any, dict[str, str]]:
    """Return a trained model, its tokenizer, and the texts of the files that say what is true.

    The same seed, recipe, machine and library versions give the same bytes.
    """
    chosen = recipe or Recipe()
    torch.set_num_threads(chosen.threads)
    torch.use_deterministic_algorithms(True)
    wanted = planted(kind)
    lines = corpus.generate(wanted, seed)
    counts = corpus.count(lines, wanted.occupations)
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in lines))
    model = build_model(chosen, len(tokenizer), seed)
    volumes = _volumes(tokenizer, wanted, seed)
    rng = np.random.default_rng([seed, 1])
    fit(model, volumes, tokenizer.mask_token_id, recipe=chosen, rng=rng, progress=progress)
    known = truth.describe(kind, seed, lines, counts, wanted.occupations)
    texts = {
        truth.COUNTS_FILE: truth.counts_csv(counts, wanted.occupations),
        truth.TRUTH_FILE: json.dumps(known, indent=2) + "\n",
        "README.md": card(kind, known),
    }
    return model, tokenizer, texts


def _volumes(tokenizer: Any, wanted: Planted, seed: int) -> Iterator[Encoded]:
    """Yield one corpus after the other, all with the same counts and each with other sentences.

    Read again and again, one corpus would be learned by heart: what a rare occupation's few
    sentences say, instead of the rate behind them. The one of truth.json is number 0.
    """
    for number in itertools.count():
        yield encode(tokenizer, corpus.generate(wanted, [seed, number] if number else seed))


def save(folder: Path, model: Any, tokenizer: Any, texts: dict[str, str]) -> None:
    """Write a checkpoint, each file whole or not at all."""
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)
        for path in sorted(Path(scratch).iterdir()):
            atomic.write_bytes(folder / path.name, path.read_bytes())
    for name, text in texts.items():
        atomic.write_text(folder / name, text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train reference models from the command line."""
    parser = argparse.ArgumentParser(description="Train lmprobe's reference models again.")
    parser.add_argument(
        "--output", type=Path, required=True, help="a folder for each model goes here"
    )
    parser.add_argument("--model", choices=KINDS, help="one of them; both when not given")
    parser.add_argument("--seed", type=int, default=0, help="the shipped ones have 0")
    options = parser.parse_args(arguments)
    for kind in KINDS if options.model is None else (options.model,):
        start = time.monotonic()
        made = train(kind, seed=options.seed, progress=_told(kind))
        save(options.output / kind, *made)
        sys.stderr.write(f"\r{kind}: {options.output / kind}, {time.monotonic() - start:.0f} s\n")


def _told(kind: Kind) -> Progress:
    def tell(done: int, total: int) -> None:
        if done % 50 == 0:
            sys.stderr.write(f"\r{kind}: step {done} of {total}")

    return tell


if __name__ == "__main__":
    main()
