"""How fast causal models are scored, beside plain ways to do it with transformers.

A model of SmolLM2-135M's size, random or from a file, reads the paper's sentences (20 templates,
32 occupations and 2 pronouns: 1,280 sentences), in one process, turn by turn:

  lmprobe   `score_directions` without the cache: both directions, the mass, tokenizing included
  batches   padded batches of 64 sentences, full logits, nothing reused
  loop      one sentence at a time

    python benchmarks/causal_runner.py [--model SmolLM2.gguf] [--rounds 3] [--json out.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers

from lmprobe.models import CausalModel, load_model
from lmprobe.models.forward import quiet_transformers
from lmprobe.probing.scores import score_directions
from lmprobe.templates import TemplateSet, load_templates

FITBERT = load_templates("fitbert")
PAIR = ("he", "she")
Times = tuple[float, float]


def main() -> None:
    options = arguments()
    if options.threads:
        torch.set_num_threads(options.threads)
    templates = replace(FITBERT, templates=FITBERT.templates[: options.templates])
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            make_checkpoint(Path(folder))
        model = load_model(options.model or folder, device="cpu", kind="causal")
        assert isinstance(model, CausalModel)
        sentences = token_ids(model, templates)
        work: dict[str, Callable[[], Any]] = {
            "lmprobe": lambda: score_directions(model, templates, attributes=PAIR, cache=False),
            "batches": lambda: batched(model, sentences, 64),
            "loop": lambda: batched(model, sentences, 1),
        }
        check(model, templates, sentences)
        seconds: dict[str, list[Times]] = {name: [] for name in work}
        for _ in range(options.rounds):
            for name, run in work.items():
                seconds[name].append(timed(name, run))
    report(seconds, len(sentences), options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a checkpoint or GGUF file; else a random one is made")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--templates", type=int, default=20, help="how many of the 20 to read")
    parser.add_argument("--threads", type=int, help="of torch; by default one per core")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def make_checkpoint(folder: Path) -> None:
    """Write a random Llama of SmolLM2-135M's size, with a tokenizer that knows every word."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    texts = [
        template.sentence(attribute, task).text
        for template in FITBERT.templates
        for attribute in PAIR
        for task in FITBERT.tasks
    ]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=360, special_tokens=["<s>"], show_progress=False)
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="<s>", pad_token="<s>"
    )
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    with quiet_transformers():
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def token_ids(model: CausalModel, templates: TemplateSet) -> list[list[int]]:
    start = model.tokenizer.bos_token_id
    return [
        [start, *model.tokenizer(template.sentence(attribute, task).text)["input_ids"]]
        for template in templates.templates
        for attribute in PAIR
        for task in templates.tasks
    ]


def batched(model: CausalModel, sentences: list[list[int]], size: int) -> list[float]:
    """Return the log-likelihoods: sorted by length, padded on the right, full logits."""
    order = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
    results = [0.0] * len(sentences)
    for start in range(0, len(order), size):
        rows = [sentences[number] for number in order[start : start + size]]
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        attention = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        with torch.inference_mode():
            logits = model.network(input_ids=ids, attention_mask=attention).logits
            shares = logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
            values = (shares * attention[:, 1:]).sum(1).tolist()
        for number, value in zip(order[start : start + size], values, strict=True):
            results[number] = value
    return results


def check(model: CausalModel, templates: TemplateSet, sentences: list[list[int]]) -> None:
    """Stop unless all give the same numbers; this is the warm-up, too."""
    ours = score_directions(model, templates, attributes=PAIR, cache=False)
    table = next(iter(ours.values())).log_probability.reshape(-1)
    plain = batched(model, sentences, 64)
    worst = max(abs(item - other) for item, other in zip(table.tolist(), plain, strict=True))
    print(f"largest difference of a log-likelihood: {worst:.1e}", file=sys.stderr)
    if worst > 1e-3:
        raise SystemExit("the numbers differ")


def timed(name: str, run: Callable[[], Any]) -> Times:
    """Return wall and processor seconds; the latter do not suffer from other work here."""
    wall, processor = time.perf_counter(), time.process_time()
    run()
    took = time.perf_counter() - wall, time.process_time() - processor
    print(f"{name}: {took[0]:.2f} s, processor {took[1]:.2f} s", file=sys.stderr, flush=True)
    return took


def report(seconds: dict[str, list[Times]], count: int, options: argparse.Namespace) -> None:
    """Print the least time of each, which other work on the machine disturbs least."""
    document: dict[str, Any] = {"sentences": count, "seconds": seconds}
    for number, clock in enumerate(("wall", "processor")):
        least = {name: min(times[number] for times in runs) for name, runs in seconds.items()}
        print(f"{clock + ' time':16}{'seconds':>9}{'sentences/s':>13}{'lmprobe is':>14}")
        for name, value in least.items():
            print(f"{name:16}{value:9.2f}{count / value:13.1f}{value / least['lmprobe']:12.2f} x")
        document[clock] = {
            f"times_the_{name}": least[name] / least["lmprobe"] for name in ("loop", "batches")
        }
    document |= {
        "model": options.model or "random, of SmolLM2-135M's size",
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "machine": platform.machine(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    print(json.dumps(document, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
