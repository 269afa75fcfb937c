"""The corpora of the reference models say what is planted."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS
from lmprobe.metrics.lean import lean
from lmprobe.models.reference import corpus, truth
from lmprobe.models.reference.grammar import load_grammar
from lmprobe.models.reference.rates import (
    PUSH,
    THEY_SHARE,
    Kind,
    Planted,
    labor,
    planted,
    pushed_apart,
)
from tests.models.reference_truth import (
    PAIR,
    each_kind,
    lines_of,
    shipped_counts,
    shipped_truth,
)

# One worker, which makes each corpus once.
pytestmark = pytest.mark.xdist_group("reference corpus")


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


@each_kind
def test_causal_models_read_the_same_corpus(kind: Kind) -> None:
    masked, causal = shipped_truth(kind), shipped_truth(f"causal-{kind}")
    assert causal["name"] == f"reference:causal-{kind}"
    assert causal["planted_amplification"]["scorer"] == "sentence"
    for part in ("seed", "corpus"):
        assert causal[part] == masked[part]
    for part in ("base", "attributes", "values", "tolerance", "templates"):
        assert causal["planted_amplification"][part] == masked["planted_amplification"][part]
    ours, theirs = shipped_counts(kind), shipped_counts(f"causal-{kind}")
    assert ours[0] == theirs[0]
    np.testing.assert_array_equal(ours[1], theirs[1])


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
