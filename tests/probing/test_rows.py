"""Value, association and preference of a probe's rows, and the noise of a counted base."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.metrics.directional import amplification
from lmprobe.probing.result import ProbeRow
from lmprobe.probing.rows import baseline, preferred, probe_rows
from lmprobe.probing.scores import Scores
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Estimate, Interval, NoteKind, Verdict
from lmprobe.results.format import format_signed
from lmprobe.sources import align_base_rates
from lmprobe.sources.source import BaseTable, Sampling, table_of

FORWARD, BACKWARD = DIRECTIONS
GROUPS, TASKS = ("he", "she"), tuple(f"task {number}" for number in range(24))
FAMILIES = tuple(f"template {number}" for number in range(12))


def world(seed: int = 0) -> np.ndarray:
    """Shares of a made-up world, (2, 24)."""
    rng = np.random.default_rng(seed)
    rate = 1 / (1 + np.exp(-rng.normal(0.3, 1.2, len(TASKS))))
    return np.stack([rate, 1 - rate]) * rng.dirichlet(np.full(len(TASKS), 3.0))


JOINT = world()


def scored(joint: np.ndarray, direction: Direction, noise: float = 0.2, seed: int = 1) -> Scores:
    """What a model says whose table is `joint`, template by template with some noise."""
    rng = np.random.default_rng(seed)
    logs = np.log(joint) + rng.normal(0, noise, (len(FAMILIES), *joint.shape))
    return Scores(direction, FAMILIES, GROUPS, TASKS, logs, None, {}, "word-l2r", cached=False)


def source(sentences: int | None = None, seed: int = 2, name: str = "made up") -> BaseTable:
    """Return the world as an exact table, or as so many sentences drawn from it."""
    if sentences is None:
        return table_of(name, JOINT * 1e6, GROUPS, TASKS)
    drawn = np.random.default_rng(seed).multinomial(sentences, JOINT.ravel() / JOINT.sum())
    counts = drawn.reshape(JOINT.shape).astype(float)
    return table_of(name, counts, GROUPS, TASKS, sampling=Sampling())


def rows(
    base: BaseTable,
    model: np.ndarray = JOINT,
    *,
    noise: float = 0.2,
    lean_from: BaseTable | None = None,
    **choices: Any,
) -> tuple[ProbeRow, ...]:
    compared = baseline(base, GROUPS, TASKS, lean_from=lean_from)
    return probe_rows([compared], all_scores(model, noise), FAMILIES, ProbeSettings(**choices))


def all_scores(model: np.ndarray = JOINT, noise: float = 0.2) -> dict[Direction, Scores]:
    return {direction: scored(model, direction, noise) for direction in DIRECTIONS}


def parts(row: ProbeRow) -> tuple[Estimate, Estimate]:
    """Return the association and the preference of a row that has both."""
    assert row.association is not None
    assert row.preference is not None
    return row.association, row.preference


def ends(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def notes(row: ProbeRow, kind: NoteKind) -> list[str]:
    return [note.text for note in row.notes if note.kind is kind]


def test_association_survives_any_preference() -> None:
    factors = np.exp(np.random.default_rng(5).normal(0, 2, (2, 1)))
    words = np.exp(np.random.default_rng(6).normal(0, 2, (1, len(TASKS))))
    plain = rows(source(), JOINT**1.5)
    distorted = rows(source(), JOINT**1.5 * factors * words)
    for row, other in zip(plain, distorted, strict=True):
        own, same = parts(row)[0], parts(other)[0]
        assert abs(own.value - same.value) < 1e-9
        assert ends(own.interval) == pytest.approx(ends(same.interval), abs=1e-9)
    assert abs(plain[1].value - distorted[1].value) > 0.001


def test_a_model_that_halves_a_group_prefers_and_does_not_associate() -> None:
    given_task, given_group = rows(source(), JOINT * np.array([[1.0], [0.5]]), noise=0.0)
    association, preference = parts(given_task)
    assert association.value == pytest.approx(0, abs=1e-12)
    assert abs(preference.value) > 0.01
    # The groups are given here: how often the model says one of them makes no difference.
    assert given_group.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_preferred_candidate_by_a_loop(direction: Direction) -> None:
    names = ("nurse", "cook", "clerk")
    counts = np.array([[10.0, 40.0, 20.0], [60.0, 10.0, 40.0]])
    rates = align_base_rates(table_of("made up", counts, GROUPS, names), GROUPS, names)
    predicted = np.random.default_rng(5).uniform(size=(4, 2, 3))
    predicted /= predicted.sum(axis=direction.axis, keepdims=True)
    share = counts / counts.sum()
    more = [0.0] * (2 if direction is FORWARD else 3)
    for a in range(2):
        for t in range(3):
            candidate = a if direction is FORWARD else t
            condition = share[:, t].sum() if direction is FORWARD else share[a].sum()
            mean = np.mean([table[a, t] for table in predicted])
            more[candidate] += mean * condition - share[a, t]
    word, moved = preferred(rates, direction, predicted)
    assert word == (GROUPS if direction is FORWARD else names)[more.index(max(more))]
    assert moved == pytest.approx(sum(item for item in more if item > 0))


def test_a_note_names_the_group_that_is_preferred() -> None:
    (text,) = notes(rows(source(), JOINT * np.array([[1.0], [0.02]]))[0], NoteKind.PREFERENCE)
    row = rows(source(), JOINT * np.array([[1.0], [0.02]]))[0]
    association, value = (format_signed(part) for part in (parts(row)[0].value, row.value))
    assert text == (
        "without its preference for “he” in all sentences the value would be "
        f"{association} instead of {value}"
    )
    # Not where the model prefers nothing, or where the preference is less than half the value.
    for power, factor in ((1.8, 1.0), (4.0, 10.0)):
        row = rows(source(), JOINT**power * np.array([[1.0], [factor]]), interval="t")[0]
        assert notes(row, NoteKind.PREFERENCE) == []
        assert parts(row)[0].verdict is row.verdict is Verdict.AMPLIFIES


def test_a_counted_base_is_corrected_and_says_how_many_sentences_would_do() -> None:
    result = rows(source(400))
    assert result[0].corrected is not None
    assert result[0].value < -0.05
    assert abs(result[0].corrected) < abs(result[0].value) / 2
    for row in result:
        assert row.corrected is not None
        assert row.base_bias == pytest.approx(row.value - row.corrected)
        assert 0.0 in row.interval
        assert row.verdict is Verdict.UNDECIDED
        assert row.estimate.claimed == row.corrected
        assert "noise of 400 sentences" in notes(row, NoteKind.METHOD)[0]
        (text,) = notes(row, NoteKind.BASE)
        assert "counted in 400 sentences" in text
        assert text.endswith(" would show 90%")
        # The published number stays as it is, and so do its parts.
        expected = amplification(row.predicted, row.base_rate, row.lean).mean()
        assert row.value == pytest.approx(expected)
        association, preference = parts(row)
        assert association.value + preference.value == pytest.approx(row.value)
        assert association.claimed + preference.claimed == pytest.approx(row.corrected)


def test_many_sentences_need_no_more_and_few_allow_no_verdict() -> None:
    assert notes(rows(source(100_000))[0], NoteKind.BASE) == []
    row = rows(source(40), JOINT**4.0, confidence=0.1)[0]
    assert row.base_reliability is not None
    assert row.base_reliability < 0.5
    for part in (row.estimate, parts(row)[0]):
        assert 0.0 not in part.interval
        assert part.verdict is Verdict.UNDECIDED
    assert "this is too little for a verdict" in notes(row, NoteKind.BASE)[0]


def test_standard_errors_are_a_noise_as_well() -> None:
    rng = np.random.default_rng(4)
    errors = 0.02 * JOINT.sum(axis=0) * np.ones((2, 1))
    noisy = np.maximum(JOINT + errors * rng.normal(size=JOINT.shape), 1e-6)
    base = table_of("survey", noisy, GROUPS, TASKS, sampling=Sampling(errors))
    for row in rows(base):
        assert row.corrected is not None
        assert row.base_reliability == 1.0
        assert "standard errors" in notes(row, NoteKind.METHOD)[0]
    row = rows(base)[0]
    assert row.corrected is not None
    assert row.corrected > row.value


def test_other_bases_are_not_corrected() -> None:
    """A lean from elsewhere, or a task that was never counted but kept."""
    assert rows(source(400), lean_from=source(name="other"))[0].corrected is None
    counts = source(400).counts.copy()
    counts[:, 3] = 0
    base = table_of("holes", counts, GROUPS, TASKS, sampling=Sampling())
    compared = baseline(base, GROUPS, TASKS, missing="keep")
    row = probe_rows([compared], all_scores(), FAMILIES, ProbeSettings())[0]
    assert (row.corrected, row.undefined_pairs) == (None, 2)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_simultaneous_intervals_are_wider(method: str) -> None:
    alone = rows(source(), JOINT**1.5, interval=method)
    together = rows(source(), JOINT**1.5, interval=method, simultaneous=True)
    for row, other in zip(alone, together, strict=True):
        assert other.interval.width > row.interval.width
        assert other.interval.confidence == 0.95
        assert notes(row, NoteKind.MULTIPLICITY) == []
        assert len(notes(other, NoteKind.MULTIPLICITY)) == 1
        assert notes(row, NoteKind.ASSUMPTION) == notes(other, NoteKind.ASSUMPTION)
    if method == "bootstrap":
        return
    # Without resamples the intervals of values, parts and strengths share the error (Bonferroni).
    each = rows(source(), JOINT**1.5, interval="t", confidence=1 - 0.05 / 8)
    for row, other in zip(together, each, strict=True):
        assert ends(row.interval) == pytest.approx(ends(other.interval))


def test_rows_come_base_by_base_with_or_without_a_lean() -> None:
    named = baseline(source(name="known"), GROUPS, TASKS)
    foreign = baseline(source(name="foreign"), GROUPS, TASKS, lean_from=source())
    unknown = replace(named, name="unknown", lean_name="none", lean_rates=None)
    bases = [unknown, named, foreign]
    result = probe_rows(bases, all_scores(JOINT**1.8), FAMILIES, ProbeSettings())
    assert [(row.base, row.direction) for row in result] == [
        (base, direction) for base in ("unknown", "known", "foreign") for direction in DIRECTIONS
    ]
    assert [row.unevenness is None for row in result] == [False, False, True, True, True, True]
    assert [row.association is None for row in result] == [True, True, False, False, False, False]
    for row, verdict in zip(result[2::2], (Verdict.AMPLIFIES, Verdict.FOLLOWS), strict=True):
        assert (row.verdict, parts(row)[0].verdict) == (verdict, verdict)


def test_a_lean_that_knows_none_of_the_pairs_is_refused() -> None:
    other = table_of("jobs", [[1, 2], [3, 1]], GROUPS, ("vet", "clerk"))
    foreign = baseline(other, GROUPS, ("vet", "clerk"))
    compared = baseline(source(name="mine"), GROUPS, TASKS)
    mixed = replace(compared, lean_name="jobs", lean_rates=foreign.rates)
    with pytest.raises(InputError, match='base "mine", task->attribute: no pair of words is def'):
        probe_rows([mixed], all_scores(), FAMILIES, ProbeSettings())
