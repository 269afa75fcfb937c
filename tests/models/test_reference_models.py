"""The bundled reference models hold what their corpora say."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS
from lmprobe.models.checkpoint import reference_names
from lmprobe.models.reference import vocabulary
from lmprobe.models.reference.grammar import article_of
from lmprobe.models.reference.rates import (
    KINDS,
    Kind,
    labor,
)
from lmprobe.models.reference.train import NAMES
from lmprobe.probing.probe import probe
from lmprobe.templates import load_templates
from tests.models.reference_truth import (
    BUNDLED,
    CAUSAL,
    PAIR,
    each_kind,
    each_model,
    shipped_counts,
    shipped_truth,
)

ADJECTIVES = ("new", "known", "single", "large", "small", "major", "French", "old", "short", "good")


@dataclass(frozen=True)
class Probed:
    attribute_given_task: np.ndarray  # (K, A, T)
    task_given_attribute: np.ndarray


@cache
def checkpoint(name: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = BUNDLED / name
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
    tasks, _ = labor()
    tables = []
    for verb in ("is", "was"):
        for adjective in ADJECTIVES:
            middle = [verb, article_of(adjective), adjective.lower()]
            rows = [
                [pronoun, *middle, *tokenizer.tokenize(task), "."]
                for pronoun in PAIR
                for task in tasks
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
    tasks, _ = labor()
    split = {task: tokenizer.tokenize(task) for task in tasks}
    guessed_attribute, guessed_task = [], []
    for verb in ("is", "was"):
        for adjective in ADJECTIVES:
            middle = [verb, article_of(adjective), adjective.lower()]
            pairs = [(pronoun, task) for pronoun in PAIR for task in tasks]
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
    tasks, _ = labor()
    _, counts = shipped_counts(name)
    return Association.from_counts(counts[:2, : len(tasks)], PAIR, tasks)


@each_model
def test_a_probe_finds_the_planted_amplification(name: str) -> None:
    tasks, people = labor()
    world = Association.from_counts(people, PAIR, tasks)
    known = shipped_truth(name)["planted_amplification"]
    for direction in DIRECTIONS:
        found = measured(name, world, direction)
        assert found == pytest.approx(known["values"][direction], abs=known["tolerance"][direction])


@each_model
def test_no_amplification_against_its_own_corpus(name: str) -> None:
    tolerance = shipped_truth(name)["planted_amplification"]["tolerance"]
    for direction in DIRECTIONS:
        assert abs(measured(name, own_corpus(name), direction)) < tolerance[direction]


@pytest.mark.parametrize("name", CAUSAL)
def test_lmprobe_finds_what_the_written_out_probe_finds(name: str) -> None:
    found = probe(f"reference:{name}", "fitbert", ["labor", "corpus"])
    tasks, people = labor()
    worlds = {
        "labor": Association.from_counts(people, PAIR, tasks),
        "corpus": own_corpus(name),
    }
    for row in found.rows:
        expected = measured(name, worlds[row.base], row.direction)
        assert row.value == pytest.approx(expected, abs=1e-5)
        assert row.informed
    assert found.provenance["kind"] == "causal"


@each_kind
@pytest.mark.parametrize("templates", ["neutral", "everyday", "fitbert-iclr"])
def test_with_the_article_hidden_other_sentences_find_it_too(kind: Kind, templates: str) -> None:
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


@each_kind
def test_some_occupations_are_split_and_none_is_unknown(kind: Kind) -> None:
    _, tokenizer = checkpoint(kind)
    pieces = {task: tokenizer.tokenize(task) for task in labor()[0]}
    split = {task for task, parts in pieces.items() if len(parts) > 1}
    assert split == {task for task in vocabulary.SPLIT if task in pieces}
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
    assert spelled <= set(vocabulary.SPLIT)


def test_every_model_that_can_be_trained_again_is_bundled() -> None:
    assert set(reference_names()) == set(NAMES) == {*KINDS, *CAUSAL}


def test_the_checkpoints_are_small() -> None:
    sizes = [
        sum(path.stat().st_size for path in (BUNDLED / name).rglob("*"))
        for name in (*KINDS, *CAUSAL)
    ]
    assert max(sizes) < 3_000_000
    assert sum(sizes) < 6_000_000
