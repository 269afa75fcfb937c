"""Association, preference and the noise of a counted base, in the rows of a probe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.intervals.base_uncertainty import BaseCorrection, Reliability
from lmprobe.intervals.cross_fit import CrossFittedLean
from lmprobe.metrics.directional import amplification
from lmprobe.probing.baseline import Baseline, baseline
from lmprobe.probing.explanations import base_notes
from lmprobe.probing.rows import probe_rows
from lmprobe.probing.scores import Scores
from lmprobe.probing.settings import ProbeSettings
from lmprobe.probing.tables import pair_table
from lmprobe.results import NoteKind, Verdict
from lmprobe.sources import load_base_rates
from lmprobe.sources.table import Sampling, Table, table_of
from tests.conftest import Made

GROUPS, TASKS = ("he", "she"), tuple(f"task {number}" for number in range(24))
FAMILIES = tuple(f"template {number}" for number in range(12))


def world(seed: int = 0) -> np.ndarray:
    """Shares of a made-up world, (2, 24)."""
    rng = np.random.default_rng(seed)
    rate = 1 / (1 + np.exp(-rng.normal(0.3, 1.2, len(TASKS))))
    return np.stack([rate, 1 - rate]) * rng.dirichlet(np.full(len(TASKS), 3.0))


def scored(joint: np.ndarray, direction: Direction, noise: float = 0.2, seed: int = 1) -> Scores:
    """What a model says whose table is `joint`, template by template with some noise."""
    rng = np.random.default_rng(seed)
    logs = np.log(joint) + rng.normal(0, noise, (len(FAMILIES), *joint.shape))
    return Scores(direction, FAMILIES, GROUPS, TASKS, logs, None, {}, "word-l2r", cached=False)


def source(joint: np.ndarray, sentences: int | None = None, seed: int = 2) -> Table:
    if sentences is None:
        return table_of("made up", joint * 1e6, GROUPS, TASKS)
    drawn = np.random.default_rng(seed).multinomial(sentences, joint.ravel() / joint.sum())
    counts = drawn.reshape(joint.shape).astype(float)
    return table_of("made up", counts, GROUPS, TASKS, sampling=Sampling())


def rows(base: Table, model: np.ndarray, **choices: object):  # type: ignore[no-untyped-def]
    against: Baseline = baseline(base, GROUPS, TASKS)
    scores = {direction: scored(model, direction) for direction in DIRECTIONS}
    return probe_rows([against], scores, FAMILIES, ProbeSettings(**choices))  # type: ignore[arg-type]


def test_value_is_association_plus_preference() -> None:
    joint = world()
    for row in rows(source(joint), joint**1.5 * np.array([[1.0], [0.3]])):
        assert row.association.value + row.preference.value == pytest.approx(row.value)
        assert row.corrected is None
        assert row.association.corrected is None


def test_a_model_that_halves_a_group_prefers_and_does_not_associate() -> None:
    joint = world()
    halved = joint * np.array([[1.0], [0.5]])
    base = source(joint)
    scores = {one: scored(halved, one, noise=0.0) for one in DIRECTIONS}
    found = probe_rows([baseline(base, GROUPS, TASKS)], scores, FAMILIES, ProbeSettings())
    given_task, given_group = found
    assert given_task.association.value == pytest.approx(0, abs=1e-12)
    assert abs(given_task.preference.value) > 0.01
    # The groups are given here: how often the model says one of them makes no difference.
    assert given_group.value == pytest.approx(0, abs=1e-12)


def test_the_parts_are_resampled_with_the_draws_of_the_value() -> None:
    """Halving a group in a noisy model: the preference varies less than either part."""
    joint = world()
    row = rows(source(joint), joint * np.array([[1.0], [0.5]]))[0]
    widths = row.interval.width, row.association.interval.width, row.preference.interval.width
    assert widths[2] < np.hypot(*widths[:2])


def test_the_sentence_names_the_group_that_is_preferred() -> None:
    joint = world()
    row = rows(source(joint), joint * np.array([[1.0], [0.02]]))[0]
    (note,) = [note for note in row.notes if note.kind is NoteKind.PREFERENCE]
    assert "prefers “he” in all sentences" in note.text
    plain = rows(source(joint), joint**1.8)[0]
    assert not [note for note in plain.notes if note.kind is NoteKind.PREFERENCE]
    assert plain.association.verdict is Verdict.AMPLIFIES


def test_an_article_in_sight_is_said_of_scorers_that_do_not_hide_it() -> None:
    joint = world()
    against = baseline(source(joint), GROUPS, TASKS)
    plain = {direction: scored(joint, direction) for direction in DIRECTIONS}
    for scorer, articles, count in (
        ("word-l2r", ("a", "an"), 1),
        ("word-l2r", (), 0),
        ("difference-l2r", ("a", "an"), 0),
    ):
        scores = {
            direction: replace(one, scorer=scorer, articles=articles)
            for direction, one in plain.items()
        }
        found = probe_rows([against], scores, FAMILIES, ProbeSettings())
        notes = [note for note in found[0].notes if note.kind is NoteKind.ARTICLE]
        assert len(notes) == count


def test_pairs_are_listed_by_size_and_undefined_ones_last(made: Made) -> None:
    table = pair_table(made(bases=("wikipedia", "labor"), templates=("a", "b")).rows)
    sizes = [abs(float(cells[4])) for cells in table.rows]
    defined = [size for size in sizes if not np.isnan(size)]
    assert 0 < len(defined) < len(sizes)
    assert sizes[: len(defined)] == sorted(defined, reverse=True)


def test_a_counted_base_is_corrected_and_says_how_many_sentences_would_do() -> None:
    joint = world()
    found = rows(source(joint, 400), joint)
    assert found[0].value < -0.05
    assert abs(found[0].corrected) < abs(found[0].value) / 2
    for row in found:
        assert row.corrected is not None
        assert row.base_bias == pytest.approx(row.value - row.corrected)
        assert 0.0 in row.interval
        assert row.verdict is Verdict.UNDECIDED
        assert row.estimate.claimed == row.corrected
        (note,) = [note for note in row.notes if note.kind is NoteKind.BASE]
        assert "400 sentences" in note.text
        assert "would show 90%" in note.text
        # The published number stays as it is.
        labels = (row.base_rate, row.lean)
        assert row.value == pytest.approx(amplification(row.predicted, *labels).mean())


def test_a_table_without_counts_is_taken_as_exact_and_said_so() -> None:
    joint = world()
    exact = rows(source(joint), joint)[0]
    assert any("taken as exact" in note.text for note in exact.notes)
    counted = rows(source(joint, 10_000), joint)[0]
    assert not any("taken as exact" in note.text for note in counted.notes)
    even = baseline(load_base_rates("uniform"), GROUPS, ("nurse", "cook"))
    assert not any(note.kind is NoteKind.BASE for note in even.notes)


def test_too_few_sentences_allow_no_verdict() -> None:
    joint = world()
    row = rows(source(joint, 40), joint**4.0)[0]
    assert row.base_reliability is not None
    assert row.base_reliability < 0.5
    assert row.verdict is Verdict.UNDECIDED
    assert any("too little for a verdict" in note.text for note in row.notes)


def test_a_verdict_that_the_association_forbids_is_explained() -> None:
    joint = world()
    row = rows(source(joint, 400), joint)[0]
    shown = [Reliability(0.6, 0.6), Reliability(0.4, 0.4)]
    nothing = CrossFittedLean(row.lean, row.lean)
    value, association = (BaseCorrection(nothing, one, 400, nothing) for one in shown)
    counts = np.rint(400 * joint)
    (note,) = base_notes(row.estimate, (value, association), counts, row.direction)
    assert "shows 60% of an amplification, but only 40% of the association" in note.text
    assert "too little for a verdict" in note.text
    (note,) = base_notes(row.estimate, (value, value), counts, row.direction)
    assert "too little" not in note.text


def test_standard_errors_are_a_noise_as_well() -> None:
    joint = world()
    rng = np.random.default_rng(4)
    errors = 0.02 * joint.sum(axis=0) * np.ones((2, 1))
    noisy = np.maximum(joint + errors * rng.normal(size=joint.shape), 1e-6)
    base = table_of("survey", noisy, GROUPS, TASKS, sampling=Sampling(errors))
    row = rows(base, joint)[0]
    assert row.corrected is not None
    assert row.base_reliability == 1.0
    assert row.corrected > row.value
    assert any("standard errors" in note.text for note in row.notes)


def test_methods_that_take_the_tasks_as_given_still_see_the_noise_of_the_base() -> None:
    joint = world()
    exact, counted = (
        rows(base, joint, interval="t")[0] for base in (source(joint), source(joint, 400))
    )
    assert counted.interval.width > 1.5 * exact.interval.width


@pytest.mark.parametrize("method", ["bootstrap", "t-crossed", "t"])
def test_simultaneous_intervals_are_wider(method: str) -> None:
    joint = world()
    alone = rows(source(joint), joint**1.5, interval=method)
    together = rows(source(joint), joint**1.5, interval=method, simultaneous=True)
    for one, other in zip(alone, together, strict=True):
        assert other.interval.width > one.interval.width
        assert other.interval.confidence == 0.95
        assert any(note.kind is NoteKind.MULTIPLICITY for note in other.notes)


def test_association_survives_any_preference(tmp_path: Path) -> None:
    joint = world()
    factors = np.exp(np.random.default_rng(5).normal(0, 2, (2, 1)))
    words = np.exp(np.random.default_rng(6).normal(0, 2, (1, len(TASKS))))
    plain = rows(source(joint), joint**1.5)
    distorted = rows(source(joint), joint**1.5 * factors * words)
    for one, other in zip(plain, distorted, strict=True):
        assert one.association.value == pytest.approx(other.association.value, abs=1e-9)
        assert one.association.interval.low == pytest.approx(
            other.association.interval.low, abs=1e-9
        )
    assert abs(plain[1].value - distorted[1].value) > 0.001


def test_margins_are_those_of_the_base() -> None:
    joint = world()
    base = Association.from_counts(joint * 1e6, GROUPS, TASKS)
    row = rows(source(joint), joint)[1]
    np.testing.assert_allclose(row.base_rate, base.task_given_attribute)
