"""The bundled reference models hold what their corpora say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from reference_truth import (
    BUNDLED,
    PAIR,
    each_kind,
    shipped_counts,
    shipped_truth,
)

from lmprobe.association import DIRECTIONS, Association
from lmprobe.models.reference import vocabulary
from lmprobe.models.reference.grammar import article_of
from lmprobe.models.reference.rates import (
    KINDS,
    Kind,
    labor,
)
from lmprobe.probe import probe
from lmprobe.templates import load_templates, template_names

ADJECTIVES = ("new", "known", "single", "large", "small", "major", "French", "old", "short", "good")


@dataclass(frozen=True)
class Probed:
    attribute_given_task: np.ndarray  # (K, A, T)
    task_given_attribute: np.ndarray


@cache
def checkpoint(kind: str) -> tuple[Any, Any]:
    from transformers import AutoModelForMaskedLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = BUNDLED / kind
    return (
        AutoModelForMaskedLM.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
    )


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


@cache
def probed(kind: Kind) -> Probed:
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


def measured(kind: Kind, world: Association, direction: str) -> float:
    found = probed(kind)
    if direction == "task->attribute":
        predicted, base = found.attribute_given_task, world.attribute_given_task
    else:
        predicted, base = found.task_given_attribute, world.task_given_attribute
    chance = world.p_attribute[:, None] * world.p_task[None, :]
    return float(np.mean(np.sign(world.joint - chance) * (predicted - base)))


def own_corpus(kind: Kind) -> Association:
    tasks, _ = labor()
    _, counts = shipped_counts(kind)
    return Association.from_counts(counts[:2, : len(tasks)], PAIR, tasks)


@each_kind
def test_a_probe_finds_the_planted_amplification(kind: Kind) -> None:
    tasks, people = labor()
    world = Association.from_counts(people, PAIR, tasks)
    known = shipped_truth(kind)["planted_amplification"]
    for direction in DIRECTIONS:
        found = measured(kind, world, direction)
        assert found == pytest.approx(known["values"][direction], abs=known["tolerance"][direction])


@each_kind
def test_no_amplification_against_its_own_corpus(kind: Kind) -> None:
    tolerance = shipped_truth(kind)["planted_amplification"]["tolerance"]
    for direction in DIRECTIONS:
        assert abs(measured(kind, own_corpus(kind), direction)) < tolerance[direction]


@each_kind
@pytest.mark.parametrize("templates", ["neutral", "everyday", "fitbert-iclr"])
def test_with_the_article_hidden_other_sentences_find_it_too(kind: Kind, templates: str) -> None:
    """Where an article is in sight, only the scorer that hides it finds what was planted."""
    known = shipped_truth(kind)["planted_amplification"]["values"]["attribute->task"]
    far = {
        scorer: abs(probe(f"reference:{kind}", templates, scorer=scorer).rows[1].value - known)
        for scorer in ("word-l2r", "phrase-l2r")
    }
    assert far["phrase-l2r"] < 0.001
    assert far["word-l2r"] > 0.004


@each_kind
def test_each_occupation_is_near_its_corpus(kind: Kind) -> None:
    error = np.abs(probed(kind).attribute_given_task - own_corpus(kind).attribute_given_task)
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
    for name in template_names():
        templates = load_templates(name)
        for template in templates.templates:
            for attribute in templates.all_attributes:
                for task in (templates.tasks[0], templates.tasks[-1]):
                    text = template.sentence(attribute, task).text.lower()
                    spelled |= {word for word in re.findall(r"\w+", text) if word not in known}
        words = {word.lower() for word in (*templates.all_attributes, *templates.tasks)}
        spelled |= {word for word in words if word not in known}
    assert spelled <= set(vocabulary.SPLIT)


def test_the_two_checkpoints_are_small() -> None:
    files = [path for kind in KINDS for path in (BUNDLED / kind).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 5_000_000
