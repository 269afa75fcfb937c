"""The corpora of the reference models say what is planted, and are made again bit for bit."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from lmprobe.metrics.association import lean
from lmprobe.metrics.direction import DIRECTIONS
from tests.models.test_reference_models import (
    PAIR,
    WORLD,
    each_kind,
    folder_of,
    own_corpus,
    shipped_counts,
    shipped_truth,
)
from tools.reference.corpus import THEY_SHARE, Kind, generate, planted
from tools.reference.grammar import Line
from tools.reference.truth import descriptions

# One worker, which makes each corpus once.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("reference corpus")]


@cache
def lines_of(kind: Kind) -> list[Line]:
    return generate(planted(kind), shipped_truth(kind)["seed"])


@each_kind
@pytest.mark.parametrize("causal", [False, True])
def test_the_files_beside_the_weights_are_made_again_bit_for_bit(kind: Kind, causal: bool) -> None:
    made = descriptions(kind, 0, lines_of(kind), planted(kind).occupations, causal=causal)
    folder = folder_of(f"causal-{kind}" if causal else kind)
    for name, text in made.items():
        assert text == (folder / name).read_text(encoding="utf-8")


def test_the_words_around_a_pair_do_not_depend_on_it() -> None:
    """Whatever is said of a person is said of he and she alike, in every occupation."""
    women: dict[bool, list[bool]] = {True: [], False: []}
    for line in lines_of("faithful"):
        if line.pronoun in PAIR and line.occupation is not None:
            assert line.pronoun_span is not None
            assert line.occupation_span is not None
            assert line.text[slice(*line.occupation_span)] == line.occupation
            job = line.occupation in ("nurse", "secretary", "cleaner", "hairdresser")
            women[" old " in line.text].append(job)
    noise = np.sqrt(0.25 / len(women[True]))
    assert abs(np.mean(women[True]) - np.mean(women[False])) < 5 * noise


def test_the_counts_are_the_labour_table_or_its_odds_ratios_squared() -> None:
    """To the nearest sentence; "they" has a tenth of every occupation."""
    np.testing.assert_allclose(own_corpus("faithful").joint, WORLD.joint, atol=1e-5)
    overall = WORLD.p_attribute[1] / WORLD.p_attribute[0]
    odds = overall * (WORLD.joint[1] / WORLD.joint[0] / overall) ** 2
    amplified = own_corpus("amplified").attribute_given_task[1]
    np.testing.assert_allclose(amplified, odds / (1 + odds), atol=0.005)
    _, counts = shipped_counts("amplified")
    assert np.abs(counts[2] - THEY_SHARE * counts.sum(axis=0)).max() <= 1


@each_kind
def test_the_planted_value_is_the_metric_of_the_counts(kind: Kind) -> None:
    """Directional amplification by the library, from the shipped counts and table alone."""
    stored = shipped_truth(kind)["planted_amplification"]["values"]
    for direction in DIRECTIONS:
        change = own_corpus(kind).conditional(direction) - WORLD.conditional(direction)
        assert stored[direction] == pytest.approx(np.mean(lean(WORLD, direction) * change))
