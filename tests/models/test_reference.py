"""The bundled reference models hold what their corpus says, and their corpus what is planted."""

from __future__ import annotations

import csv
import itertools
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe.association import DIRECTIONS, Association
from lmprobe.metrics.lean import lean
from lmprobe.models.reference import corpus, masking, truth, vocabulary
from lmprobe.models.reference.grammar import Line, article_of, load_grammar
from lmprobe.models.reference.rates import (
    KINDS,
    PRONOUNS,
    PUSH,
    THEY_SHARE,
    Kind,
    Planted,
    labor,
    planted,
    pushed_apart,
)
from lmprobe.models.reference.train import Recipe, build_model, fit, scores_at
from lmprobe.templates import load_templates, template_names

BUNDLED = Path(truth.__file__).parent
PAIR = PRONOUNS[:2]
ADJECTIVES = ("new", "known", "single", "large", "small", "major", "French", "old", "short", "good")
each_kind = pytest.mark.parametrize("kind", KINDS)


def shipped_counts(kind: str) -> tuple[tuple[str, ...], np.ndarray]:
    with (BUNDLED / kind / truth.COUNTS_FILE).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    counts = np.array([[int(row[pronoun]) for row in rows] for pronoun in PRONOUNS])
    return tuple(row["task"] for row in rows), counts


def shipped_truth(kind: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((BUNDLED / kind / truth.TRUTH_FILE).read_text())
    return read


@cache
def lines_of(kind: Kind) -> list[Line]:
    return corpus.generate(planted(kind), shipped_truth(kind)["seed"])


@cache
def small_corpus() -> list[Line]:
    whole = planted("faithful")
    return corpus.generate(Planted(whole.occupations, np.ceil(whole.counts / 100).astype(int)), 3)


# The grammar and the corpus.


def test_every_frame_has_the_slots_of_its_kind() -> None:
    grammar = load_grammar()
    wanted = {"link": (1, 1), "occupation": (0, 1), "pronoun": (1, 0), "other": (0, 0)}
    known = {*grammar.words, *grammar.agreement, "he", "him", "his", "occupation"}
    for kind, frames in grammar.frames.items():
        for frame in frames:
            slots = re.findall(r"\{(?:a:)?(\w+)\}", frame)
            assert set(slots) <= known, frame
            found = (sum(slot in ("he", "him", "his") for slot in slots), slots.count("occupation"))
            assert found == wanted[kind], frame


def test_a_filled_frame_agrees_and_knows_its_spans() -> None:
    frame = "my aunt says that {he} {is} {a:occupation}."
    filled = load_grammar().fill(
        frame,
        np.random.default_rng(0),
        count=2,
        pronouns=("they", "she"),
        occupations=("auditor", "nurse"),
    )
    texts = list(filled)
    assert [line.text for line in texts] == [
        "My aunt says that they are an auditor.",
        "My aunt says that she is a nurse.",
    ]
    for line in (*texts, texts[0].shifted("It rained.", ""), texts[1].shifted("", "It rained.")):
        assert line.pronoun_span is not None
        assert line.occupation_span is not None
        assert line.text[slice(*line.pronoun_span)] == line.pronoun
        assert line.text[slice(*line.occupation_span)] == line.occupation


def test_the_same_seed_gives_the_same_corpus() -> None:
    whole = planted("faithful")
    few = Planted(whole.occupations, np.ceil(whole.counts / 500).astype(int))
    first, again, other = (corpus.generate(few, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_words_round_a_pair_do_not_depend_on_it() -> None:
    """Whatever is said of a person is said of he and she alike, in every occupation."""
    told: dict[str, list[int]] = {}
    for line in lines_of("faithful"):
        if line.pronoun in PAIR and line.occupation is not None:
            women = line.occupation in ("nurse", "secretary", "cleaner", "hairdresser")
            told.setdefault("old" if " old " in line.text else "other", []).append(women)
    shares = [np.mean(told[word]) for word in ("old", "other")]
    noise = np.sqrt(0.25 / len(told["old"]))
    assert abs(shares[0] - shares[1]) < 5 * noise


@each_kind
def test_the_corpus_is_made_again_bit_for_bit(kind: Kind) -> None:
    occupations, counts = shipped_counts(kind)
    known = shipped_truth(kind)["corpus"]
    lines = lines_of(kind)
    np.testing.assert_array_equal(corpus.count(lines, occupations), counts)
    assert truth.digest(lines) == known["sha256"]
    assert (len(lines), counts.sum()) == (known["lines"], known["counted"])


def test_faithful_counts_are_the_labour_table_to_the_nearest_sentence() -> None:
    tasks, people = labor()
    occupations, counts = shipped_counts("faithful")
    assert occupations[: len(tasks)] == tasks
    text = counts[:2, : len(tasks)]
    assert np.abs(text / text.sum() - people / people.sum()).max() < 1 / text.sum()


def test_they_have_the_same_share_in_every_occupation() -> None:
    _, counts = shipped_counts("amplified")
    assert np.abs(counts[2] - THEY_SHARE * counts.sum(axis=0)).max() <= 1


def test_pushing_apart_squares_the_odds_ratio_and_keeps_the_occupations() -> None:
    _, people = labor()
    pushed = pushed_apart(people, PUSH)
    overall = people[1].sum() / people[0].sum()
    np.testing.assert_allclose(pushed.sum(axis=0), people.sum(axis=0))
    np.testing.assert_allclose(
        pushed[1] / pushed[0] / overall, (people[1] / people[0] / overall) ** 2
    )


@each_kind
def test_the_planted_value_is_the_metric_of_the_counts(kind: Kind) -> None:
    """Directional amplification by the library, from the shipped counts and table alone."""
    occupations, counts = shipped_counts(kind)
    tasks, people = labor()
    world = Association.from_counts(people, PAIR, tasks)
    text = Association.from_counts(counts[:2, : len(tasks)], PAIR, occupations[: len(tasks)])
    stored = shipped_truth(kind)["planted_amplification"]["values"]
    for direction in DIRECTIONS:
        change = text.conditional(direction) - world.conditional(direction)
        assert stored[direction] == pytest.approx(np.mean(lean(world, direction) * change))
    if kind == "faithful":
        assert max(map(abs, stored.values())) < 1e-4
    else:
        assert stored["task->attribute"] > 0.05
        assert stored["attribute->task"] > 0.004


# Masking and training.


def masked_lines(lines: list[Line], what: np.ndarray | None = None) -> tuple[Any, masking.Masked]:
    """Hide something in each line; by default each of the ways in turn."""
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in small_corpus()))
    rng = np.random.default_rng(0)
    data = masking.encode(tokenizer, lines)
    if what is None:
        rows, what = masking.epoch(data, rng)
        data = data.rows(rows)
    return tokenizer, masking.hide(data, what, tokenizer.mask_token_id, rng)


def test_an_epoch_asks_every_line_for_both_words() -> None:
    lines = small_corpus()
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in lines))
    rows, what = masking.epoch(masking.encode(tokenizer, lines), np.random.default_rng(0))
    link = [row for row, line in enumerate(lines) if line.pronoun and line.occupation]
    asked = set(rows[what == masking.PRONOUN].tolist())
    assert asked.issuperset(link)
    np.testing.assert_array_equal(
        np.intersect1d(rows[what == masking.OCCUPATION], link, assume_unique=True), link
    )
    # A rare occupation comes more often, but all its lines equally often.
    for occupation in ("sewer", "driver"):
        of_it = [row for row in link if lines[row].occupation == occupation]
        times = np.bincount(rows[what == masking.PRONOUN], minlength=len(lines))[of_it]
        assert len(set(times.tolist())) == 1
        assert times[0] > 1 if occupation == "sewer" else times[0] == 1


def test_the_number_of_masks_tells_nothing_about_a_hidden_occupation() -> None:
    lines = [line for line in small_corpus() if line.occupation in ("hairdresser", "nurse")] * 9
    tokenizer, masked = masked_lines(lines, np.full(len(lines), masking.OCCUPATION))
    masks = (masked.ids == tokenizer.mask_token_id).sum(axis=1)
    first = masked.answer[np.arange(len(lines)), masked.guess.argmax(axis=1)]
    for word, piece in (("hairdresser", "hair"), ("nurse", "nurse")):
        of_it = np.array([line.occupation == word for line in lines])
        assert set(tokenizer.convert_ids_to_tokens(first[of_it].tolist())) == {piece}
        shares = np.bincount(masks[of_it], minlength=4) / of_it.sum()
        np.testing.assert_allclose(shares, [0, 1 / 3, 1 / 3, 1 / 3], atol=0.1)


def test_masking_changes_nothing_but_what_is_hidden() -> None:
    lines = small_corpus()[:300]
    for hidden in (masking.WORDS, masking.PRONOUN, masking.OCCUPATION, masking.BOTH):
        needed = {masking.PRONOUN: "pronoun", masking.OCCUPATION: "occupation"}.get(hidden)
        chosen = [line for line in lines if needed is None or getattr(line, needed)]
        if hidden == masking.BOTH:
            chosen = [line for line in lines if line.pronoun and line.occupation]
        tokenizer, masked = masked_lines(chosen, np.full(len(chosen), hidden))
        assert masked.guess.any(axis=1).all()
        for row, line in enumerate(chosen):
            shown = tokenizer.decode(masked.ids[row][: masked.length[row]].tolist())
            shown = shown.removeprefix("[CLS]").removesuffix("[SEP]")
            parts = re.split(r"(?:\s*\[MASK\]\s*)+", shown)
            pattern = ".*".join(re.escape(part.replace(" ", "")) for part in parts)
            assert re.fullmatch(pattern, line.text.lower().replace(" ", "")), (shown, line.text)


def test_the_shortened_pass_gives_the_scores_of_the_model() -> None:
    import torch

    tokenizer, masked = masked_lines(small_corpus()[:100])
    model = build_model(Recipe(hidden=32, intermediate=64), len(tokenizer), seed=0).eval()
    visible = np.arange(masked.ids.shape[1])[None, :] < masked.length[:, None]
    with torch.inference_mode():
        whole = model(
            input_ids=torch.from_numpy(masked.ids), attention_mask=torch.from_numpy(visible * 1)
        ).logits
        found = scores_at(model, masked)
    np.testing.assert_allclose(found, whole[torch.from_numpy(masked.guess)], atol=1e-5)


@pytest.mark.slow
def test_training_lowers_the_loss_and_repeats_itself() -> None:
    lines = small_corpus()
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in lines))
    recipe = Recipe(hidden=32, intermediate=64, batch=32, steps=80)
    weights = []
    for _ in range(2):
        model = build_model(recipe, len(tokenizer), seed=0)
        losses = fit(
            model,
            itertools.repeat(masking.encode(tokenizer, lines)),
            tokenizer.mask_token_id,
            recipe=recipe,
            rng=np.random.default_rng(0),
        )
        weights.append([weight.detach().numpy() for weight in model.parameters()])
        assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 1
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)


# The checkpoints.


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
