"""How fast the runner is, beside the ways in which people probe a model today.

A random model of bert-base's size reads the paper's sentences (20 templates, 32 occupations
and 2 pronouns: 640 + 40 different masked sentences), in one process, turn by turn:

  lmprobe    `score_templates` in both directions without the cache, tokenizing included
  encoder    the model's encoder alone, without head, on the very same batches
  pipeline   transformers' fill-mask pipeline with the candidates as targets, at its best batch size
  loop       one sentence at a time, as FitBERT does

    python benchmarks/runner.py [--vocabulary vocab.txt] [--rounds 3] [--json out.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

from lmprobe.metrics.direction import DIRECTIONS
from lmprobe.models import MaskedModel, load_model
from lmprobe.models.forward import quiet_transformers
from lmprobe.probing.scores import score_templates
from lmprobe.templates import load_templates

PIPELINE_BATCHES = (1, 16, 64, 128)
Times = tuple[float, float]
TEMPLATES = load_templates("fitbert")


def main() -> None:
    options = arguments()
    if options.threads:
        torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        make_checkpoint(Path(folder), options.vocabulary)
        model = load_model(folder, device="cpu")
        batches = batches_of(model)
        count = sum(len(batch["input_ids"]) for batch in batches)
        fill, single = pipeline_of(folder), loop_of(model)
        work: dict[str, Callable[[], Any]] = {
            "lmprobe": lambda: ask(model),
            "encoder": lambda: encode(model, batches),
            **{f"pipeline/{size}": lambda size=size: fill(size) for size in PIPELINE_BATCHES},
            "loop": single,
        }
        seconds = {name: [timed(name, run)] for name, run in work.items()}
        best = min((name for name in work if "/" in name), key=lambda name: seconds[name][0][1])
        turns = ("lmprobe", "encoder", best, "loop")
        for _ in range(options.rounds):
            for name in turns:
                seconds[name].append(timed(name, work[name]))
    report(seconds, best, count, options.json)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", type=Path, help="BERT's vocab.txt; else one is made up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="of torch; by default one per core")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def make_checkpoint(folder: Path, vocabulary: Path | None) -> None:
    """Write a random model with BERT's default configuration, which is bert-base."""
    if vocabulary is None:
        sentences = " ".join(
            template.sentence("he", TEMPLATES.tasks[0]).text for template in TEMPLATES.templates
        )
        words = {*sentences.lower().replace(".", " . ").split(), *TEMPLATES.tasks}
        words |= {*TEMPLATES.all_attributes, "an"}
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(words)]
        tokens += [f"filler{number}" for number in range(30522 - len(tokens))]
        vocabulary = folder / "vocab.txt"
        vocabulary.write_text("\n".join(tokens) + "\n")
    torch.manual_seed(0)
    with quiet_transformers():
        transformers.BertForMaskedLM(transformers.BertConfig()).save_pretrained(folder)
        transformers.BertTokenizer(vocab=str(vocabulary)).save_pretrained(folder)


def ask(model: MaskedModel) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for direction in DIRECTIONS:
            score_templates(model, TEMPLATES, direction, scorer="first-piece", cache=False)


def batches_of(model: MaskedModel) -> list[dict[str, torch.Tensor]]:
    """Return what the runner gives to the network; this is the warm-up, too."""
    batches: list[dict[str, torch.Tensor]] = []
    hook = model.network.register_forward_pre_hook(
        lambda _, __, inputs: batches.append(inputs), with_kwargs=True
    )
    ask(model)
    hook.remove()
    return batches


def encode(model: MaskedModel, batches: list[dict[str, torch.Tensor]]) -> None:
    with torch.inference_mode():
        for batch in batches:
            model.network.base_model(**batch)


def masked_texts() -> list[tuple[str, list[str]]]:
    """Return the different masked sentences, each with its candidates."""
    texts: dict[str, list[str]] = {}
    for template in TEMPLATES.templates:
        for attribute in TEMPLATES.attributes:
            for task in TEMPLATES.tasks:
                sentence = template.sentence(attribute, task)
                for start, end in (sentence.attribute_span, sentence.task_span):
                    masked = f"{sentence.text[:start]}[MASK]{sentence.text[end:]}"
                    texts.setdefault(masked, []).append(sentence.text[start:end].lower())
    return list(texts.items())


def pipeline_of(folder: str) -> Callable[[int], None]:
    with quiet_transformers():
        fill = transformers.pipeline("fill-mask", model=folder, device="cpu")
    transformers.utils.logging.set_verbosity_error()
    groups: dict[tuple[str, ...], list[str]] = {}
    for text, candidates in masked_texts():
        groups.setdefault(tuple(sorted(set(candidates))), []).append(text)

    def run(size: int) -> None:
        # One call per list of candidates, which all its sentences share.
        for candidates, texts in groups.items():
            fill(texts, targets=list(candidates), top_k=len(candidates), batch_size=size)

    return run


def loop_of(model: MaskedModel) -> Callable[[], None]:
    tokenizer, texts = model.tokenizer, masked_texts()

    def run() -> None:
        for text, candidates in texts:
            tokens = tokenizer(text, return_tensors="pt")
            with torch.inference_mode():
                logits = model.network(**tokens).logits
            place = tokens["input_ids"][0].tolist().index(tokenizer.mask_token_id)
            shares = logits[0, place].softmax(-1)
            shares[[tokenizer(word)["input_ids"][1] for word in set(candidates)]].tolist()

    return run


def timed(name: str, run: Callable[[], Any]) -> Times:
    """Return wall and processor seconds; the latter do not suffer from other work here."""
    wall, processor = time.perf_counter(), time.process_time()
    run()
    took = time.perf_counter() - wall, time.process_time() - processor
    print(f"{name}: {took[0]:.2f} s, processor {took[1]:.2f} s", file=sys.stderr, flush=True)
    return took


def report(seconds: dict[str, list[Times]], best: str, count: int, path: Path | None) -> None:
    """Print the least time of each, which other work on the machine disturbs least."""
    document: dict[str, Any] = {"sentences": count, "best_pipeline": best, "seconds": seconds}
    for number, clock in enumerate(("wall", "processor")):
        least = {name: min(times[number] for times in runs) for name, runs in seconds.items()}
        print(f"{clock + ' time':16}{'seconds':>9}{'sentences/s':>13}{'lmprobe is':>14}")
        for name, value in least.items():
            print(f"{name:16}{value:9.2f}{count / value:13.1f}{value / least['lmprobe']:12.2f} x")
        document[clock] = {
            "times_the_loop": least["loop"] / least["lmprobe"],
            "times_the_pipeline": least[best] / least["lmprobe"],
            "share_of_the_bare_encoder": least["encoder"] / least["lmprobe"],
        }
    document |= {
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "machine": platform.machine(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    print(json.dumps(document, indent=2))
    if path is not None:
        path.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
