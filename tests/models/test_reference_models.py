"""The bundled reference models hold what their corpora say."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe.metrics.association import Association
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models.checkpoint import TRUTH_FILE, find_checkpoint
from lmprobe.models.forward import quiet_transformers
from lmprobe.probing.probe import probe
from lmprobe.sources import load_base_rates
from lmprobe.templates import load_templates

PAIR = ("he", "she")
KINDS = ("faithful", "amplified")
CAUSAL = tuple(f"causal-{kind}" for kind in KINDS)
each_kind = pytest.mark.parametrize("kind", KINDS)
each_model = pytest.mark.parametrize("name", [*KINDS, *CAUSAL])
TASKS = load_templates("fitbert").tasks
WORLD = load_base_rates("labor").association(PAIR, TASKS)
ADJECTIVES = ("new", "known", "single", "large", "small", "major", "French", "old", "short", "good")


def folder_of(name: str) -> Path:
    return find_checkpoint(f"reference:{name}").folder


def shipped_truth_file(name: str) -> Path:
    return folder_of(name) / TRUTH_FILE


def shipped_truth(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(shipped_truth_file(name).read_text())
    return read


def shipped_counts(name: str) -> tuple[tuple[str, ...], np.ndarray]:
    with (folder_of(name) / "corpus_counts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    counts = np.array([[int(row[word]) for row in rows] for word in (*PAIR, "they")])
    return tuple(row["task"] for row in rows), counts


def own_corpus(name: str) -> Association:
    _, counts = shipped_counts(name)
    return Association.from_counts(counts[:2, : len(TASKS)], PAIR, TASKS)


@cache
def checkpoint(name: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    auto = AutoModelForCausalLM if name in CAUSAL else AutoModelForMaskedLM
    with quiet_transformers():
        model, tokenizer = (item.from_pretrained(folder_of(name)) for item in (auto, AutoTokenizer))
    return model.eval(), tokenizer


Query = tuple[Sequence[int], int, int]
"""What the network reads, the position whose logits are looked at, and the token there."""


def log_probabilities(name: str, queries: Sequence[Query]) -> np.ndarray:
    """One padded batch with full logits: nothing of lmprobe."""
    import torch

    longest = max(len(ids) for ids, _, _ in queries)
    padded = torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids, _, _ in queries])
    inside = torch.tensor([[n < len(ids) for n in range(longest)] for ids, _, _ in queries])
    with torch.inference_mode():
        logits = checkpoint(name)[0](input_ids=padded, attention_mask=inside.long()).logits
    place, token = (torch.tensor([query[n] for query in queries]) for n in (1, 2))
    rows = torch.arange(len(queries))
    return logits[rows, place].double().log_softmax(-1)[rows, token].numpy()


def queries_about(name: str, ids: list[int], pieces: int, direction: Direction) -> list[Query]:
    """The queries whose answers add up to the candidate's log-probability in a sentence."""
    mask, end = checkpoint(name)[1].mask_token_id, len(ids) - 2
    if name in CAUSAL:
        return [(ids[:place], place - 1, ids[place]) for place in range(1, len(ids) - 1)]
    if direction is Direction.TASK_TO_ATTRIBUTE:
        return [([ids[0], mask, *ids[2:]], 1, ids[1])]
    return [
        ([*ids[:place], *[mask] * (end - place), *ids[end:]], place, ids[place])
        for place in range(end - pieces, end)
    ]


@cache
def probed(name: str, direction: Direction) -> np.ndarray:
    """A probe of the `fitbert` sentences written out, (K, A, T)."""
    _, tokenizer = checkpoint(name)
    tables = []
    for verb, adjective in product(("is", "was"), ADJECTIVES):
        article = "an" if adjective == "old" else "a"
        queried = [
            queries_about(
                name,
                tokenizer(f"{pronoun} {verb} {article} {adjective} {task}.")["input_ids"],
                len(tokenizer.tokenize(task)),
                direction,
            )
            for pronoun, task in product(PAIR, TASKS)
        ]
        owner = [number for number, group in enumerate(queried) for _ in group]
        answers = log_probabilities(name, [query for group in queried for query in group])
        table = np.exp(np.bincount(owner, weights=answers)).reshape(len(PAIR), -1)
        tables.append(table / table.sum(axis=direction.axis, keepdims=True))
    return np.array(tables)


def measured(name: str, world: Association, direction: Direction) -> float:
    chance = world.p_attribute[:, None] * world.p_task[None, :]
    change = probed(name, direction) - world.conditional(direction)
    return float(np.mean(np.sign(world.joint - chance) * change))


@each_model
def test_a_probe_finds_the_planted_amplification_and_none_against_its_own_corpus(
    name: str,
) -> None:
    planted = shipped_truth(name)["planted_amplification"]
    for direction in DIRECTIONS:
        tolerance = planted["tolerance"][direction]
        assert measured(name, WORLD, direction) == pytest.approx(
            planted["values"][direction], abs=tolerance
        )
        assert abs(measured(name, own_corpus(name), direction)) < tolerance
    given_task = Direction.TASK_TO_ATTRIBUTE
    error = np.abs(probed(name, given_task) - own_corpus(name).conditional(given_task))
    assert error.mean() < 0.02, "each occupation is near its corpus"


@each_model
def test_lmprobe_finds_what_the_written_out_probe_finds(name: str) -> None:
    result = probe(f"reference:{name}", "fitbert", ["labor", "corpus"])
    for row in result.rows:
        world = WORLD if row.base == "labor" else own_corpus(name)
        assert row.value == pytest.approx(measured(name, world, row.direction), abs=1e-5)
        assert row.obstacle is None
    assert result.provenance["kind"] == ("causal" if name in CAUSAL else "masked")


@each_kind
@pytest.mark.parametrize("templates", ["neutral", "everyday", "fitbert-iclr"])
def test_with_the_article_hidden_other_sentences_find_it_too(kind: str, templates: str) -> None:
    """Where an article is in sight, only the scorer that hides it finds what was planted."""
    planted = shipped_truth(kind)["planted_amplification"]["values"]["attribute->task"]
    whole = load_templates(templates)
    # At most ten sentences: enough to tell the scorers apart.
    few = replace(whole, templates=whole.templates[:: -(-len(whole.templates) // 10)])
    far = {
        scorer: abs(probe(f"reference:{kind}", few, scorer=scorer).rows[1].value - planted)
        for scorer in ("word-l2r", "phrase-l2r")
    }
    assert far["phrase-l2r"] < 0.001
    assert far["word-l2r"] > 0.004
