"""The interval of a probe against plain loops over its cells, and what is said about it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lmprobe.errors import InputError
from lmprobe.metrics.directional import defined_mean
from lmprobe.results import Interval, NoteKind
from lmprobe.stats.method import IntervalMethod, Sample, Traits, declare
from lmprobe.stats.probe import (
    CellTable,
    draws_tasks,
    probe_interval,
    probe_sample,
    robustness,
)
from lmprobe.stats.weights import draws

NAN = math.nan
# Four templates, two attributes, three tasks. The last task has no pair at all in the third
# template, and the first template lacks one pair of its first task.
CELLS = np.array(
    [
        [[0.1, 0.2, 0.3], [NAN, 0.4, -0.2]],
        [[0.5, -0.1, 0.0], [0.3, 0.2, 0.1]],
        [[-0.3, 0.2, NAN], [0.1, 0.6, NAN]],
        [[0.2, 0.2, -0.4], [0.7, 0.1, 0.1]],
    ]
)
FAMILIES = ["b", "a", "b", "b"]
ANY_CELLS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 5)),
    elements=st.one_of(st.floats(-1, 1), st.just(NAN)),
).filter(lambda cells: not np.isnan(cells).all())


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def weighted_value(cells: np.ndarray, templates: np.ndarray, tasks: np.ndarray) -> float:
    """The value where each template and each task counts so many times."""
    top = bottom = 0.0
    for template, times in zip(cells, templates, strict=True):
        pairs = [
            (tasks[t], template[a, t])
            for a, t in np.ndindex(template.shape)
            if not math.isnan(template[a, t])
        ]
        weight = sum(weight for weight, _ in pairs)
        if weight > 0:
            top += times * sum(weight * pair for weight, pair in pairs) / weight
            bottom += times
    return top / bottom if bottom else NAN


@settings(deadline=None)
@given(cells=ANY_CELLS, seed=st.integers(0, 99))
def test_the_value_and_its_resamples_are_those_of_the_definition(
    cells: np.ndarray, seed: int
) -> None:
    table = CellTable.of(cells, None)
    sample = probe_sample(table, "both")
    by_template = np.asarray(defined_mean(cells, axis=(1, 2)))
    assert sample.value == pytest.approx(float(defined_mean(by_template)), abs=1e-12)
    defined = cells[~np.isnan(cells).all(axis=(1, 2))]
    templates = draws(4, len(defined), rng(seed))
    tasks = draws(4, cells.shape[2], rng(seed + 1))
    expected = [weighted_value(defined, *drawn) for drawn in zip(templates, tasks, strict=True)]
    assert table.values(templates, tasks) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@settings(deadline=None)
@given(cells=ANY_CELLS, names=st.lists(st.sampled_from("abc"), min_size=5, max_size=5))
def test_observations_and_the_crossed_table_have_the_value_as_their_mean(
    cells: np.ndarray, names: list[str]
) -> None:
    sample = probe_sample(CellTable.of(cells, names[: len(cells)]), "both")
    assert sample.observations is not None
    assert sample.observations.mean() == pytest.approx(sample.value, abs=1e-12)
    assert sample.crossed is not None
    assert sample.crossed.mean() == pytest.approx(sample.value, abs=1e-12)
    low, high = sample.bounds
    assert high - low >= 2 - 1e-12


@pytest.mark.parametrize("families", [None, FAMILIES])
def test_numbers_by_family_and_task(families: list[str] | None) -> None:
    """Each pair has the share of its template; sums of shares are turned into means of T x F."""
    cells = np.concatenate([CELLS, np.full((4, 2, 1), NAN)], axis=2)
    names = families or list("abcd")
    value = float(np.mean([np.nanmean(template) for template in CELLS]))
    units = sorted(set(names))
    expected = np.full((len(units), 3), value)
    for k, a, t in np.ndindex(CELLS.shape):
        if not math.isnan(CELLS[k, a, t]):
            share = 3 * len(units) / (4 * (~np.isnan(CELLS[k])).sum())
            expected[units.index(names[k]), t] += share * (CELLS[k, a, t] - value)
    sample = probe_sample(CellTable.of(cells, families), "both")
    assert sample.crossed == pytest.approx(expected)


def test_observations_are_families_by_their_size() -> None:
    sample = probe_sample(CellTable.of(CELLS, FAMILIES), "both")
    first, second, third, fourth = (np.nanmean(template) for template in CELLS)
    value = (first + second + third + fourth) / 4
    # One of four templates, and three of them, in two families.
    rest = (first + third + fourth) / 3
    expected = [value + 0.5 * (second - value), value + 1.5 * (rest - value)]
    assert sample.observations == pytest.approx(expected)
    assert sample.bounds == (-1.5, 1.5)


@pytest.mark.parametrize(("resample", "units"), [("both", 2), ("templates", 2), ("tasks", 3)])
def test_resamples_draw_families_whole_and_then_tasks(resample: str, units: int) -> None:
    sample = probe_sample(CellTable.of(CELLS, FAMILIES), resample)
    assert sample.units == units
    assert sample.resampled is not None
    drawn, generator = sample.resampled(30, rng(1)), rng(1)
    families, tasks = np.ones((30, 2)), np.ones((30, 3))
    if resample != "tasks":
        families = draws(30, 2, generator)
    if resample != "templates":
        tasks = draws(30, 3, generator)
    expected = [
        weighted_value(CELLS, family[[1, 0, 1, 1]], task)
        for family, task in zip(families, tasks, strict=True)
    ]
    assert drawn == pytest.approx(expected, nan_ok=True)


def test_a_template_without_a_pair_is_left_out_with_its_family() -> None:
    cells = np.concatenate([np.full((1, 2, 3), NAN), CELLS])
    with_empty = probe_interval(cells, rng=rng(), families=["alone", *FAMILIES])
    assert with_empty == probe_interval(CELLS, rng=rng(), families=FAMILIES)


@pytest.mark.parametrize(
    ("cells", "options", "word"),
    [
        (np.zeros((3, 2)), {}, "must have the axes"),
        (np.zeros((3, 0, 2)), {}, "must have the axes"),
        (np.full((3, 2, 2), NAN), {}, "no template has a defined pair"),
        (np.zeros((3, 2, 2)), {"families": ["a"]}, "3 templates need as many families"),
        (np.zeros((3, 2, 2)), {"resample": "template"}, 'did you mean "templates"'),
    ],
)
def test_mistakes(cells: np.ndarray, options: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        probe_interval(cells, rng=rng(), **options)  # type: ignore[arg-type]


def method(traits: Traits) -> IntervalMethod:
    """A method with these traits that takes no time."""

    @declare(traits)
    def made_up(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
        return Interval(sample.value - 1, sample.value + 1, confidence, "made up")

    return made_up


RESAMPLING = method(Traits(resamples=True, approximate=True))
APPROXIMATE = method(Traits(approximate=True))
CROSSED = method(Traits(crossed=True))
CERTAIN = method(Traits())


def notes(
    templates: int, tasks: int, chosen: IntervalMethod = RESAMPLING, **options: object
) -> list[tuple[NoteKind, str]]:
    cells = rng().normal(size=(templates, 2, tasks))
    _, said = probe_interval(cells, method=chosen, rng=rng(), **options)  # type: ignore[arg-type]
    return [(note.kind, note.text) for note in said]


@pytest.mark.parametrize(
    ("chosen", "resample", "expected"),
    [
        (RESAMPLING, "both", "12 templates crossed with 11 tasks"),
        (RESAMPLING, "templates", "12 templates, the tasks are taken as fixed"),
        (RESAMPLING, "tasks", "11 tasks, the templates are taken as fixed"),
        # What does not resample takes no notice of what would be drawn.
        (CROSSED, "templates", "12 templates crossed with 11 tasks"),
        (CROSSED, "tasks", "12 templates crossed with 11 tasks"),
        (CERTAIN, "tasks", "12 templates, the tasks are taken as fixed"),
    ],
)
def test_what_the_sample_is(chosen: IntervalMethod, resample: str, expected: str) -> None:
    text = (
        f"made up: the sample is {expected}; the interval describes templates and tasks like "
        "these; it covers neither people nor other training runs of the model"
    )
    assert notes(12, 11, chosen, resample=resample) == [(NoteKind.ASSUMPTION, text)]
    fixed = "tasks are taken as fixed" in expected
    assert draws_tasks(chosen, resample) is not fixed


def few(templates: int, tasks: int, chosen: IntervalMethod = RESAMPLING, **options: object) -> str:
    said = notes(templates, tasks, chosen, **options)
    return "; ".join(text for kind, text in said if kind == "few_units")


def test_fewer_than_ten_are_few() -> None:
    assert few(10, 10) == few(2, 2, CROSSED) == few(2, 2, CERTAIN) == ""
    assert few(9, 10) == "only 9 templates: the interval may cover the truth less often than 95%"
    assert few(10, 9, confidence=0.8).startswith("only 9 tasks: ")
    assert few(10, 9, confidence=0.8).endswith("less often than 80%")
    assert few(9, 9, resample="tasks").startswith("only 9 tasks: ")
    # What is fixed may be few.
    assert few(9, 10, resample="tasks") == few(10, 9, resample="templates") == ""
    assert few(10, 9, APPROXIMATE) == ""
    assert few(9, 10, APPROXIMATE) != ""


def test_with_fewer_than_five_no_resample_is_far_enough() -> None:
    end = ", as no resample is beyond the extreme"
    assert end not in few(5, 5)
    assert few(4, 10).endswith(f"than 95%{end} template; use t-crossed")
    assert few(10, 4).endswith(f"than 95%{end} task; use t-crossed")
    # A method that draws one axis, or none, would gain nothing.
    assert end not in few(4, 10, resample="templates") + few(4, 10, APPROXIMATE)
    families = few(12, 12, families=list("aaaabbbbcccc"))
    assert families.startswith("only 3 paraphrase families:")
    assert families.endswith("beyond the extreme paraphrase family; use t-crossed")


def test_one_unit_or_no_spread_has_no_interval() -> None:
    expected = (NoteKind.NO_INTERVAL, "no interval: with one {} the spread cannot be estimated")
    for sizes, name in (((1, 12), "template"), ((12, 1), "task")):
        assert notes(*sizes)[1:] == [(expected[0], expected[1].format(name))]
    assert len(notes(12, 1, CERTAIN)) == 1
    alone = notes(12, 12, families=["a"] * 12)
    assert "1 paraphrase family crossed with 12 tasks" in alone[0][1]
    flat, said = probe_interval(np.full((12, 2, 12), 0.1), rng=rng())
    assert flat.status == "undefined"
    assert said[-1].text.startswith("no interval: every resample gives the same value")


def test_a_caveat_is_said_last() -> None:
    assert notes(12, 12, method(Traits(caveat="mind this")))[1:] == [(NoteKind.METHOD, "mind this")]


@pytest.mark.parametrize(
    ("values", "families", "flips"),
    [
        ([0.1, 0.3, -0.1], ["a", "a", "b"], (1 / 3, 1 / 2)),
        ([0.5, -0.1, -0.3, 0.2], ["a", "b", "c", "c"], (1 / 2, 2 / 3)),
        # Zero has no opposite sign.
        ([0.0, 0.3, 0.3, -0.1], None, (1 / 4, 1 / 4)),
        ([0.2, -0.2], None, (0, 0)),
    ],
)
def test_robustness(
    values: list[float], families: list[str] | None, flips: tuple[float, float]
) -> None:
    cells = np.array(values)[:, None, None] * np.ones((len(values), 2, 4))
    found = robustness(cells, families)
    without = [np.mean(np.delete(values, number)) for number in range(len(values))]
    assert found.to_dict() == {
        "template_sd": pytest.approx(np.std(values)),
        "leave_one_out": pytest.approx([min(without), max(without)]),
        "sign_flip_templates": pytest.approx(flips[0]),
        "sign_flip_families": pytest.approx(flips[1]),
    }
    assert robustness(np.ones((1, 1, 1))).to_dict()["leave_one_out"] == [None, None]
