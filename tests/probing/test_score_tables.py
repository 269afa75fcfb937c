"""Tables of scores: logarithms, words behind labels, groups and crossed attributes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.probing.baseline import baseline
from lmprobe.probing.groups import group_notes, grouped_words, margins
from lmprobe.probing.scores import Scores
from lmprobe.sources.table import table_of

FORWARD, BACKWARD = DIRECTIONS
LOGS = np.log(np.random.default_rng(2).uniform(0.01, 0.3, (4, 3, 5)))
WORDS = {"men": ("he", "him"), "women": ("she",)}
JOBS = {"care": ("nurse", "carer"), "law": ("lawyer", "judge"), "cook": ("cook",)}


def plain(direction: Direction) -> Scores:
    labels = ("he", "she", "they"), tuple("abcde")
    return Scores(direction, tuple("klmn"), *labels, LOGS, None, {}, "x", False)


def grouped(direction: Direction) -> Scores:
    """Return scores of two groups of words by three of jobs."""
    words = tuple(word for group in WORDS.values() for word in group)
    jobs = tuple(job for group in JOBS.values() for job in group)
    return replace(
        plain(direction), attributes=tuple(WORDS), tasks=tuple(JOBS),
        attribute_of=("men", "men", "women"), task_of=("care", "care", "law", "law", "cook"),
        attribute_words=words, task_words=jobs,
    )  # fmt: skip


SET: Any = SimpleNamespace(attribute_words=WORDS, task_words=JOBS)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_logarithms_of_words_are_those_of_the_scorer(direction: Direction) -> None:
    """They stay finite where a probability is too small for a number."""
    scores = replace(plain(direction), log_probability=LOGS - 5000)
    found = scores.log_table(("they", "he"), ("b", "a"))
    np.testing.assert_array_equal(found, (LOGS - 5000)[:, [2, 0]][:, :, [1, 0]])
    with_prior = replace(scores, log_prior=2 * LOGS)
    np.testing.assert_allclose(
        with_prior.log_table(scores.attributes, scores.tasks), -LOGS - 5000, rtol=1e-12
    )


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_logarithms_of_groups_are_those_of_their_probabilities(direction: Direction) -> None:
    scores = grouped(direction)
    found = scores.log_table(scores.attributes, scores.tasks)
    assert found.shape == (4, 2, 3)
    np.testing.assert_allclose(np.exp(found), scores.probabilities())
    impossible = LOGS.copy()
    impossible[:, 2] = -5000
    impossible[:, :, 4] = -5000
    scores = replace(scores, log_probability=impossible)
    assert np.isfinite(scores.log_table(scores.attributes, scores.tasks)).all()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_probabilities_of_groups_by_a_loop(direction: Direction) -> None:
    """Guessed, a group has the sum over its words; given, the mean."""
    found = grouped(direction).probabilities()
    rows, columns = [[0, 1], [2]], [[0, 1], [2, 3], [4]]
    shares = np.exp(LOGS)
    for k in range(4):
        for a, words in enumerate(rows):
            for t, jobs in enumerate(columns):
                total = 0.0
                for word in words:
                    for job in jobs:
                        rest = shares[k, :, job] if direction is FORWARD else shares[k, word]
                        total += shares[k, word, job] / rest.sum()
                given = len(jobs) if direction is FORWARD else len(words)
                assert found[k, a, t] == pytest.approx(total / given)


def test_the_words_are_the_labels_unless_they_are_named() -> None:
    words = plain(FORWARD).words
    assert (words.attributes, words.tasks) == (("he", "she", "they"), tuple("abcde"))
    words = grouped(FORWARD).words
    assert words.attributes == ("he", "him", "she")
    assert words.tasks == ("nurse", "carer", "lawyer", "judge", "cook")


def test_the_words_of_groups_carry_their_share_of_the_group() -> None:
    """When the group is guessed: the mean over templates and what is given."""
    found = grouped_words({one: grouped(one) for one in DIRECTIONS}, SET)
    assert [(one.axis, one.group, one.word) for one in found] == [
        ("attribute", "men", "he"),
        ("attribute", "men", "him"),
        ("attribute", "women", "she"),
        ("task", "care", "nurse"),
        ("task", "care", "carer"),
        ("task", "law", "lawyer"),
        ("task", "law", "judge"),
        ("task", "cook", "cook"),
    ]
    each = np.exp(LOGS)
    places = [(0, 1), (0, 1), (2,), (0, 1), (0, 1), (2, 3), (2, 3), (4,)]
    own = [0, 1, 2, 0, 1, 2, 3, 4]
    for word, members, place in zip(found, places, own, strict=True):
        shares = []
        for k in range(4):
            for given in range(5 if word.axis == "attribute" else 3):
                table = each[k, :, given] if word.axis == "attribute" else each[k, given]
                shares.append(table[place] / sum(table[one] for one in members))
        assert word.share == pytest.approx(np.mean(shares))


def test_labels_that_are_their_own_words_are_not_listed() -> None:
    own: Any = SimpleNamespace(
        attribute_words={one: (one,) for one in ("he", "she", "they")},
        task_words={one: (one,) for one in "abcde"},
    )
    assert grouped_words({one: plain(one) for one in DIRECTIONS}, own) == ()
    # A key stands for its word: that is listed, for the axis that has it.
    keyed: Any = SimpleNamespace(
        attribute_words=own.attribute_words, task_words=own.task_words | {"a": ("infirmière",)}
    )
    found = grouped_words({one: plain(one) for one in DIRECTIONS}, keyed)
    assert [one.axis for one in found] == ["task"] * 5
    assert found[0].word == "infirmière"
    assert found[0].share == pytest.approx(1.0)


def test_groups_of_different_sizes_are_told() -> None:
    (first, second) = group_notes(grouped(FORWARD), SET)
    assert first.text.startswith("the groups have different numbers of words")
    assert first.text.endswith(": men 2, women 1")
    assert second.text.endswith(": care 2, law 2, cook 1")
    even: Any = SimpleNamespace(
        attribute_words={"men": ("he", "him"), "women": ("she", "her")},
        task_words={one: (one,) for one in JOBS},
    )
    assert group_notes(grouped(FORWARD), even) == ()


CROSSED = {
    "Black & male": ("Black", "male"),
    "Black & female": ("Black", "female"),
    "White & male": ("White", "male"),
}


def crossed_scores() -> dict[Direction, Scores]:
    return {
        one: replace(plain(one), attributes=tuple(CROSSED), attribute_of=tuple(CROSSED))
        for one in DIRECTIONS
    }


def test_each_crossed_attribute_has_its_values_alone() -> None:
    templates: Any = SimpleNamespace(crossed=("race", "gender"), attribute_values=CROSSED)
    counts = np.arange(15.0).reshape(3, 5)
    base = baseline(
        table_of("all", counts, tuple(CROSSED), tuple("abcde")), tuple(CROSSED), "abcde"
    )
    # This one knows Black people alone: it says nothing of race, and something of gender.
    part = table_of("part", counts[:2], tuple(CROSSED)[:2], tuple("abcde"))
    some = baseline(part, tuple(CROSSED)[:2], "abcde")
    race, gender = margins([base, some], crossed_scores(), templates)
    assert (race[0], gender[0]) == ("race", "gender")
    assert [one.name for one in race[1]] == ["all"]
    assert [one.name for one in gender[1]] == ["all", "part"]
    merged = race[1][0].rates.association
    assert merged.attributes == ("Black", "White")
    np.testing.assert_array_equal(merged.counts, [counts[0] + counts[1], counts[2]])
    for direction in DIRECTIONS:
        scores = gender[2][direction]
        assert scores.attributes == ("male", "female")
        assert scores.attribute_of == ("male", "female", "male")


@pytest.mark.parametrize("crossed", [(), ("race",)])
def test_one_attribute_is_not_crossed(crossed: tuple[str, ...]) -> None:
    templates: Any = SimpleNamespace(crossed=crossed, attribute_values=CROSSED)
    assert list(margins([], crossed_scores(), templates)) == []
