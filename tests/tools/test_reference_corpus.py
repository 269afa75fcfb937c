"""The corpora of the reference models say what is planted, and are made again bit for bit."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS
from lmprobe.metrics.lean import lean
from tests.models.test_reference_models import PAIR, each_kind, shipped_counts, shipped_truth
from tools.reference.corpus import (
    PUSH,
    THEY_SHARE,
    Kind,
    Planted,
    generate,
    labor,
    planted,
    pushed_apart,
)
from tools.reference.grammar import Line, load_grammar
from tools.reference.truth import descriptions

# One worker, which makes each corpus once.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("reference corpus")]


@cache
def lines_of(kind: Kind) -> list[Line]:
    return generate(planted(kind), shipped_truth(kind)["seed"])


def test_a_filled_frame_agrees_and_knows_its_spans() -> None:
    filled = load_grammar().fill(
        "my aunt says that {he} {is} {a:occupation}.",
        np.random.default_rng(0),
        count=2,
        pronouns=("they", "she"),
        occupations=("auditor", "nurse"),
    )
    lines = list(filled)
    assert [line.text for line in lines] == [
        "My aunt says that they are an auditor.",
        "My aunt says that she is a nurse.",
    ]
    for line in (*lines, lines[0].shifted("It rained.", ""), lines[1].shifted("", "It rained.")):
        assert line.pronoun_span is not None
        assert line.occupation_span is not None
        assert line.text[slice(*line.pronoun_span)] == line.pronoun
        assert line.text[slice(*line.occupation_span)] == line.occupation


def test_the_same_seed_gives_the_same_corpus() -> None:
    whole = planted("faithful")
    few = Planted(whole.occupations, np.ceil(whole.counts / 500).astype(int))
    first, again, other = (generate(few, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_words_around_a_pair_do_not_depend_on_it() -> None:
    """Whatever is said of a person is said of he and she alike, in every occupation."""
    women: dict[bool, list[bool]] = {True: [], False: []}
    for line in lines_of("faithful"):
        if line.pronoun in PAIR and line.occupation is not None:
            job = line.occupation in ("nurse", "secretary", "cleaner", "hairdresser")
            women[" old " in line.text].append(job)
    noise = np.sqrt(0.25 / len(women[True]))
    assert abs(np.mean(women[True]) - np.mean(women[False])) < 5 * noise


@each_kind
@pytest.mark.parametrize("causal", [False, True])
def test_the_files_beside_the_weights_are_made_again_bit_for_bit(kind: Kind, causal: bool) -> None:
    from lmprobe.models.checkpoint import find_checkpoint

    folder = find_checkpoint(f"reference:{'causal-' if causal else ''}{kind}").folder
    made = descriptions(kind, 0, lines_of(kind), planted(kind).occupations, causal=causal)
    for name, text in made.items():
        assert text == (folder / name).read_text(encoding="utf-8")


def test_the_counts_are_the_labour_table_to_the_nearest_sentence_and_a_tenth_of_they() -> None:
    tasks, people = labor()
    occupations, counts = shipped_counts("faithful")
    assert occupations[: len(tasks)] == tasks
    text = counts[:2, : len(tasks)]
    assert np.abs(text / text.sum() - people / people.sum()).max() < 1 / text.sum()
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
