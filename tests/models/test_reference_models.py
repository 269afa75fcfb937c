"""The bundled reference models hold what their corpora say."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS
from lmprobe.models.checkpoint import TRUTH_FILE, find_checkpoint, reference_names
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


@dataclass(frozen=True)
class Probed:
    attribute_given_task: np.ndarray  # (K, A, T)
    task_given_attribute: np.ndarray


@cache
def checkpoint(name: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = folder_of(name)
    auto = AutoModelForCausalLM if name in CAUSAL else AutoModelForMaskedLM
    return auto.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def log_probability(kind: str, rows: list[list[str]], answers: list[str]) -> np.ndarray:
    """The log-probability of each answer at the first mask of its row of pieces."""
    import torch

    model, tokenizer = checkpoint(kind)
    ids = [tokenizer.convert_tokens_to_ids(["[CLS]", *row, "[SEP]"]) for row in rows]
    longest = max(map(len, ids))
    padded = torch.tensor([row + [0] * (longest - len(row)) for row in ids])
    attention = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in ids])
    with torch.inference_mode():
        scores = model(input_ids=padded, attention_mask=attention).logits.double()
    where = [row.index("[MASK]") + 1 for row in rows]
    wanted = tokenizer.convert_tokens_to_ids(answers)
    every = torch.arange(len(rows))
    return scores[every, where].log_softmax(-1)[every, wanted].numpy()


def normalised(log_p: np.ndarray, axis: int) -> np.ndarray:
    p = np.exp(log_p)
    return p / p.sum(axis=axis, keepdims=True)


def log_likelihood(name: str, rows: list[list[str]]) -> np.ndarray:
    """The log-probability of each row of pieces, all of one length, after the first token."""
    import torch

    model, tokenizer = checkpoint(name)
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(["[CLS]", *row]) for row in rows])
    with torch.inference_mode():
        scores = model(input_ids=ids[:, :-1]).logits.double().log_softmax(-1)
    return scores.gather(2, ids[:, 1:, None]).sum(dim=(1, 2)).numpy()


@cache
def probed(name: str) -> Probed:
    return probed_causal(name) if name in CAUSAL else probed_masked(name)


def probed_causal(name: str) -> Probed:
    """The likelihood of every sentence, written out: sentences of one length run together."""
    _, tokenizer = checkpoint(name)
    tables = []
    for verb in ("is", "was"):
        for adjective in ADJECTIVES:
            middle = [verb, "an" if adjective == "old" else "a", adjective.lower()]
            rows = [
                [pronoun, *middle, *tokenizer.tokenize(task), "."]
                for pronoun in PAIR
                for task in TASKS
            ]
            found = np.empty(len(rows))
            for length in set(map(len, rows)):
                alike = [number for number, row in enumerate(rows) if len(row) == length]
                found[alike] = log_likelihood(name, [rows[number] for number in alike])
            tables.append(found.reshape(2, -1))
    table = np.array(tables)
    return Probed(normalised(table, axis=1), normalised(table, axis=2))


def probed_masked(kind: str) -> Probed:
    """A probe written out: no template engine, runner or scorer of lmprobe."""
    _, tokenizer = checkpoint(kind)
    split = {task: tokenizer.tokenize(task) for task in TASKS}
    guessed_attribute, guessed_task = [], []
    for verb in ("is", "was"):
        for adjective in ADJECTIVES:
            middle = [verb, "an" if adjective == "old" else "a", adjective.lower()]
            pairs = [(pronoun, task) for pronoun in PAIR for task in TASKS]
            rows = [["[MASK]", *middle, *split[task], "."] for _, task in pairs]
            found = log_probability(kind, rows, [pronoun for pronoun, _ in pairs])
            guessed_attribute.append(normalised(found.reshape(2, -1), axis=0))
            steps = [
                (index, pronoun, split[task], at)
                for index, (pronoun, task) in enumerate(pairs)
                for at in range(len(split[task]))
            ]
            rows = [
                [pronoun, *middle, *pieces[:at], *["[MASK]"] * (len(pieces) - at), "."]
                for _, pronoun, pieces, at in steps
            ]
            found = log_probability(kind, rows, [pieces[at] for _, _, pieces, at in steps])
            whole = np.bincount([index for index, *_ in steps], weights=found)
            guessed_task.append(normalised(whole.reshape(2, -1), axis=1))
    return Probed(np.array(guessed_attribute), np.array(guessed_task))


def measured(name: str, world: Association, direction: str) -> float:
    found = probed(name)
    if direction == "task->attribute":
        predicted, base = found.attribute_given_task, world.attribute_given_task
    else:
        predicted, base = found.task_given_attribute, world.task_given_attribute
    chance = world.p_attribute[:, None] * world.p_task[None, :]
    return float(np.mean(np.sign(world.joint - chance) * (predicted - base)))


def own_corpus(name: str) -> Association:
    _, counts = shipped_counts(name)
    return Association.from_counts(counts[:2, : len(TASKS)], PAIR, TASKS)


@each_model
def test_a_probe_finds_the_planted_amplification(name: str) -> None:
    known = shipped_truth(name)["planted_amplification"]
    for direction in DIRECTIONS:
        found = measured(name, WORLD, direction)
        assert found == pytest.approx(known["values"][direction], abs=known["tolerance"][direction])


@each_model
def test_no_amplification_against_its_own_corpus(name: str) -> None:
    tolerance = shipped_truth(name)["planted_amplification"]["tolerance"]
    for direction in DIRECTIONS:
        assert abs(measured(name, own_corpus(name), direction)) < tolerance[direction]


@pytest.mark.parametrize("name", CAUSAL)
def test_lmprobe_finds_what_the_written_out_probe_finds(name: str) -> None:
    found = probe(f"reference:{name}", "fitbert", ["labor", "corpus"])
    worlds = {
        "labor": WORLD,
        "corpus": own_corpus(name),
    }
    for row in found.rows:
        expected = measured(name, worlds[row.base], row.direction)
        assert row.value == pytest.approx(expected, abs=1e-5)
        assert row.informed
    assert found.provenance["kind"] == "causal"


@each_kind
@pytest.mark.parametrize("templates", ["neutral", "everyday", "fitbert-iclr"])
def test_with_the_article_hidden_other_sentences_find_it_too(kind: str, templates: str) -> None:
    """Where an article is in sight, only the scorer that hides it finds what was planted."""
    known = shipped_truth(kind)["planted_amplification"]["values"]["attribute->task"]
    chosen = load_templates(templates)
    # At most twenty sentences; `everyday` has more.
    chosen = replace(chosen, templates=chosen.templates[:: -(-len(chosen.templates) // 20)])
    far = {
        scorer: abs(probe(f"reference:{kind}", chosen, scorer=scorer).rows[1].value - known)
        for scorer in ("word-l2r", "phrase-l2r")
    }
    assert far["phrase-l2r"] < 0.001
    assert far["word-l2r"] > 0.004


@each_model
def test_each_occupation_is_near_its_corpus(name: str) -> None:
    error = np.abs(probed(name).attribute_given_task - own_corpus(name).attribute_given_task)
    assert error.mean() < 0.02


SPLIT = (
    "janitor mover laborer constructor salesperson cashier hairdresser housekeeper receptionist "
    "mechanician psychologist machinist nutritionist firefighter"
)


def test_some_occupations_are_split_and_none_is_unknown() -> None:
    _, tokenizer = checkpoint("faithful")
    pieces = {task: tokenizer.tokenize(task) for task in TASKS}
    split = {task for task, parts in pieces.items() if len(parts) > 1}
    assert split == set(SPLIT.split()) & set(TASKS)
    assert {len(parts) for parts in pieces.values()} == {1, 2, 3}


def test_the_words_of_the_shipped_templates_are_known() -> None:
    _, tokenizer = checkpoint("faithful")
    known = tokenizer.get_vocab()
    spelled = set()
    for name in ("everyday", "fitbert", "fitbert-iclr", "nationalities", "neutral"):
        templates = load_templates(name)
        for template in templates.templates:
            for attribute in templates.all_attributes:
                for task in (templates.tasks[0], templates.tasks[-1]):
                    text = template.sentence(attribute, task).text.lower()
                    spelled |= {word for word in re.findall(r"\w+", text) if word not in known}
        words = {word.lower() for word in (*templates.all_attributes, *templates.tasks)}
        spelled |= {word for word in words if word not in known}
    assert spelled <= set(SPLIT.split())


def test_the_bundled_models_are_small_and_know_their_names() -> None:
    assert set(reference_names()) == {*KINDS, *CAUSAL}
    sizes = [
        sum(path.stat().st_size for path in folder_of(name).iterdir()) for name in (*KINDS, *CAUSAL)
    ]
    assert max(sizes) < 3_000_000
    assert sum(sizes) < 6_000_000
    assert {shipped_truth(name)["name"] for name in (*KINDS, *CAUSAL)} == {
        f"reference:{name}" for name in (*KINDS, *CAUSAL)
    }
