"""The crossed bootstrap of a probe against a plain loop, and what is said about it."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lmprobe.errors import InputError
from lmprobe.intervals.method import Sample, Traits, declare
from lmprobe.intervals.probe import (
    CellTable,
    probe_interval,
    probe_sample,
    robustness,
)
from lmprobe.intervals.weights import draws, poisson_table
from lmprobe.metrics.directional import defined_mean
from lmprobe.results import Interval, NoteKind, Verdict, decide


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def value_by_loop(cells: np.ndarray, templates: list[int], tasks: list[int]) -> float:
    """The definition: mean over defined pairs of each drawn template, then over templates."""
    each = []
    for template in templates:
        pairs = [
            cells[template, attribute, task]
            for attribute in range(cells.shape[1])
            for task in tasks
            if not math.isnan(cells[template, attribute, task])
        ]
        if pairs:
            each.append(sum(pairs) / len(pairs))
    return sum(each) / len(each) if each else math.nan


CELLS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 5)),
    elements=st.one_of(st.floats(-1, 1), st.just(math.nan)),
).filter(lambda cells: not np.isnan(cells).all())


@settings(deadline=None)
@given(cells=CELLS, seed=st.integers(0, 99))
def test_weights_are_repeated_templates_and_tasks(cells: np.ndarray, seed: int) -> None:
    kept = cells[~np.isnan(cells).all(axis=(1, 2))]
    templates, tasks = draws(1, len(kept), rng(seed)), draws(1, cells.shape[2], rng(seed + 1))
    found = CellTable.of(cells, None).values(templates, tasks)[0]
    expected = value_by_loop(
        kept,
        np.repeat(np.arange(len(kept)), templates[0].astype(int)).tolist(),
        np.repeat(np.arange(cells.shape[2]), tasks[0].astype(int)).tolist(),
    )
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@settings(deadline=None)
@given(cells=CELLS)
def test_the_value_is_that_of_the_metric(cells: np.ndarray) -> None:
    sample = probe_sample(CellTable.of(cells, None), "both")
    expected = defined_mean(np.asarray(defined_mean(cells, axis=(1, 2))))
    assert sample.value == pytest.approx(float(expected), abs=1e-12)
    assert sample.observations is not None
    assert sample.observations.mean() == pytest.approx(sample.value, abs=1e-12)


@settings(deadline=None)
@given(cells=CELLS, names=st.lists(st.sampled_from("abc"), min_size=5, max_size=5))
def test_families_keep_the_mean_of_the_observations(cells: np.ndarray, names: list[str]) -> None:
    sample = probe_sample(CellTable.of(cells, names[: len(cells)]), "both")
    assert sample.observations is not None
    assert sample.observations.mean() == pytest.approx(sample.value, abs=1e-12)
    low, high = sample.bounds
    assert high - low >= 2 - 1e-12


def test_families_are_drawn_whole() -> None:
    # Two families that disagree: the value of a draw is one of three, never in between.
    cells = np.concatenate([np.zeros((3, 1, 2)), np.ones((3, 1, 2))])
    sample = probe_sample(CellTable.of(cells, list("aaabbb")), "templates")
    assert sample.resampled is not None
    assert set(np.round(sample.resampled(200, rng()), 9)) == {0.0, 0.5, 1.0}
    alone = probe_sample(CellTable.of(cells, None), "templates")
    assert alone.resampled is not None
    assert len(set(np.round(alone.resampled(200, rng()), 9))) > 3


def test_crossing_is_wider_than_either_axis() -> None:
    draw = rng(3)
    cells = 0.1 * draw.normal(size=(20, 1, 1)) + 0.1 * draw.normal(size=(1, 1, 20))
    cells = cells + 0.01 * draw.normal(size=(20, 2, 20))
    widths = {
        way: probe_interval(cells, rng=rng(), resample=way)[0].width
        for way in ("both", "templates", "tasks")
    }
    assert widths["both"] > max(widths["templates"], widths["tasks"])


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = rng(1).normal(size=(6, 2, 7))
    whole = probe_sample(CellTable.of(cells, None), "templates")
    assert whole.resampled is not None
    one = whole.resampled(50, rng())
    monkeypatch.setattr("lmprobe.intervals.probe._BLOCK", 13 * 7)
    assert np.array_equal(one, whole.resampled(50, rng()))


def test_leaving_out_is_the_value_without() -> None:
    cells = rng(2).normal(size=(4, 2, 5))
    cells[1, 0, 2] = math.nan
    sample = probe_sample(CellTable.of(cells, None), "both")
    assert sample.left_out is not None
    templates, tasks = sample.left_out()
    for number in range(4):
        rest = [other for other in range(4) if other != number]
        assert templates[number] == pytest.approx(value_by_loop(cells, rest, list(range(5))))
    for number in range(5):
        rest = [other for other in range(5) if other != number]
        assert tasks[number] == pytest.approx(value_by_loop(cells, list(range(4)), rest))


def test_ten_thousand_replicates_take_well_under_a_second() -> None:
    cells = rng().normal(size=(20, 2, 32))
    probe_interval(cells, rng=rng())
    start = time.perf_counter()
    probe_interval(cells, rng=rng())
    assert time.perf_counter() - start < 0.9


class TestNotes:
    def test_what_it_assumes_is_always_said(self) -> None:
        _, notes = probe_interval(rng().normal(size=(12, 2, 12)), rng=rng())
        assert len(notes) == 1
        assert "12 templates crossed with 12 tasks" in notes[0].text
        assert "neither people nor" in notes[0].text

    def test_few_families_are_a_warning(self) -> None:
        cells = rng().normal(size=(12, 2, 12))
        _, notes = probe_interval(cells, rng=rng(), families=list("aabbccddeeff"))
        assert any("only 6 paraphrase families" in note.text for note in notes)
        assert not any("t-crossed" in note.text for note in notes)

    def test_where_no_resample_is_far_enough_another_method_is_named(self) -> None:
        cells = rng().normal(size=(3, 2, 12))
        _, notes = probe_interval(cells, rng=rng())
        assert any("beyond the extreme template; use t-crossed" in note.text for note in notes)

    def test_one_template_has_no_interval(self) -> None:
        found, notes = probe_interval(rng().normal(size=(1, 2, 12)), rng=rng())
        assert (found.low, found.high) == (-math.inf, math.inf)
        assert any("with one template the spread" in note.text for note in notes)
        tasks, _ = probe_interval(rng().normal(size=(1, 2, 12)), rng=rng(), resample="tasks")
        assert math.isfinite(tasks.width)

    def test_no_spread_has_no_interval(self) -> None:
        found, notes = probe_interval(np.full((12, 2, 12), 0.1), rng=rng())
        assert math.isnan(found.low)
        assert "no interval" in notes[-1].text
        assert decide(found) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (np.zeros((3, 2)), "axes"),
        (np.zeros((3, 0, 2)), "axes"),
        (np.full((3, 2, 2), math.nan), "no template has a defined pair"),
    ],
)
def test_mistakes(cells: np.ndarray, word: str) -> None:
    with pytest.raises(InputError, match=word):
        probe_interval(cells, rng=rng())


def test_mistaken_options() -> None:
    cells = np.zeros((3, 2, 2))
    with pytest.raises(InputError, match="3 templates need as many families"):
        probe_interval(cells, rng=rng(), families=["a"])
    with pytest.raises(InputError, match='did you mean "templates"'):
        probe_interval(cells, rng=rng(), resample="template")


class TestRobustness:
    def test_by_hand(self) -> None:
        cells = np.array([0.1, 0.3, -0.1])[:, None, None] * np.ones((3, 2, 4))
        found = robustness(cells, ["a", "a", "b"])
        assert found.template_sd == pytest.approx(np.std([0.1, 0.3, -0.1]))
        assert found.leave_one_out == pytest.approx((0.0, 0.2))
        assert found.sign_flip_templates == pytest.approx(1 / 3)
        assert found.sign_flip_families == pytest.approx(1 / 2)

    def test_one_template(self) -> None:
        found = robustness(np.ones((1, 1, 1)))
        assert found.to_dict()["leave_one_out"] == [None, None]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.01, 0.2, "amplifies"),
        (-0.2, -0.01, "reduces"),
        (-0.1, 0.1, "undecided"),
        (0.0, 0.1, "undecided"),
        (math.nan, math.nan, "undecided"),
        (-math.inf, math.inf, "undecided"),
    ],
)
def test_verdict_follows_the_interval(low: float, high: float, expected: str) -> None:
    assert decide(Interval(low, high, 0.95, "t")) == expected


def test_poisson_weights_have_mean_and_variance_one() -> None:
    table = poisson_table().astype(np.float64)
    assert len(table) == 65536
    assert table.mean() == 1
    assert table.var() == pytest.approx(1, abs=1e-3)
    assert np.mean(table == 0) == pytest.approx(math.exp(-1), abs=1e-4)


def test_a_plug_in_method_gets_true_notes() -> None:
    """What a note says follows from what the method declares, not from what it is called."""

    @declare(Traits(resamples=True, approximate=True, caveat="seen once"))
    def mine(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
        return Interval(sample.value - 1, sample.value + 1, confidence, "mine")

    cells = rng().normal(size=(5, 2, 12))
    _, notes = probe_interval(cells, method=mine, rng=rng())
    kinds = {note.kind: note.text for note in notes}
    assert "5 templates crossed with 12 tasks" in kinds[NoteKind.ASSUMPTION]
    assert "only 5 templates" in kinds[NoteKind.FEW_UNITS]
    assert kinds[NoteKind.METHOD] == "seen once"

    def plain(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
        return Interval(sample.value - 1, sample.value + 1, confidence, "bootstrap-like")

    _, notes = probe_interval(cells, method=plain, rng=rng())
    assert [note.kind for note in notes] == [NoteKind.ASSUMPTION]
    assert "the tasks are taken as fixed" in notes[0].text
