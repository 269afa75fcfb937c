"""What every interval method promises, whatever its formula; and which names were removed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe import amplify, group_disparity, sample_size
from lmprobe.errors import InputError
from lmprobe.results import Interval
from lmprobe.stats import REMOVED
from lmprobe.stats.method import (
    Sample,
    Traits,
    declare,
    groups_sample,
    interval,
    intervals,
    traits_of,
)
from lmprobe.stats.resampling import is_constant
from lmprobe.stats.verdicts import IntervalSettings
from tests.stats.tables import moved_tables

TWO_GROUPS = ("score", "exact", "betting")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def two_groups(n: int = 200) -> Sample:
    draw = rng(1)
    costs = (draw.random(n) < 0.4).astype(float), (draw.random(n) < 0.3).astype(float)
    return groups_sample(*costs, cost_bound=1.0, group_share=0.5)


def probed(n: int = 30) -> Sample:
    """The means of templates as observations, and their spread with that of tasks."""
    return sample_of(rng(2).normal(0.1, 0.05, (n, 30)))


def sample_of(moved: np.ndarray, resample: str = "both") -> Sample:
    tables = moved_tables(moved)
    number = IntervalSettings().numbers_of(tables)["value"]
    by_template = number.by_template
    spread = number.spread(resample)
    return Sample(number.value, by_template, units=len(by_template), spread=spread)


MakeSample = Callable[..., Sample]
SAMPLES = [
    (name, make)
    for name in intervals.names()
    for make in (two_groups, probed)
    if make is two_groups or name not in TWO_GROUPS
]


@pytest.mark.parametrize(("name", "make"), SAMPLES)
def test_every_interval_has_the_estimate_its_name_and_its_seed(name: str, make: MakeSample) -> None:
    first, second = (interval(make(), method=name, rng=rng()) for _ in range(2))
    assert make().value in first
    assert (first.method, first.confidence) == (name, 0.95)
    assert first == second


@pytest.mark.parametrize(("name", "make"), SAMPLES)
def test_more_confidence_is_wider_and_more_data_narrower(name: str, make: MakeSample) -> None:
    widths = [
        interval(make(80), method=name, confidence=level, rng=rng()).width
        for level in (0.5, 0.8, 0.95, 0.99)
    ]
    assert widths == sorted(widths)
    assert 0 < widths[0] < widths[-1]
    few, many = (interval(make(n), method=name, rng=rng()).width for n in (20, 320))
    assert many < few


@pytest.mark.parametrize(("name", "make"), SAMPLES)
def test_a_confidence_is_a_probability(name: str, make: MakeSample) -> None:
    for confidence in (0, 1, -0.1, 1.5, math.nan):
        with pytest.raises(InputError, match="`confidence` must lie between 0 and 1"):
            interval(make(), method=name, confidence=confidence, rng=rng())


@pytest.mark.parametrize("name", intervals.names())
def test_no_interval_has_zero_width(name: str) -> None:
    samples = []
    if name not in TWO_GROUPS:
        pair = np.repeat([[0.1], [0.2]], 9, axis=1)
        samples += [sample_of(np.full((12, 9), 0.1)), sample_of(pair, "templates")]
        alone = sample_of(np.full((1, 9), 0.1))
        assert interval(alone, method=name, rng=rng()).status == "too_few_units"
    for cost in (0.0, 1.0):
        costs = np.full(40, cost)
        samples.append(groups_sample(costs, costs, cost_bound=1.0, group_share=0.5))
    for sample in samples:
        result = interval(sample, method=name, confidence=0.4, rng=rng())
        assert math.isnan(result.low) or result.width > 0


@pytest.mark.parametrize("name", ["bernstein", "exact", "score", "betting"])
def test_costs_may_be_told_as_accuracy_and_have_any_unit(name: str) -> None:
    loss = np.repeat([1.0, 0.0], [8, 42]), np.repeat([1.0, 0.0], [5, 55])
    plain, turned, scaled = (
        interval(groups_sample(*costs, cost_bound=bound, group_share=0.4), method=name, rng=rng())
        for costs, bound in (
            (loss, 1.0),
            ((1 - loss[0], 1 - loss[1]), 1.0),
            ((4 * loss[0], 4 * loss[1]), 4.0),
        )
    )
    assert (turned.low, turned.high) == pytest.approx((-plain.high, -plain.low), abs=1e-9)
    assert (scaled.low, scaled.high) == pytest.approx((4 * plain.low, 4 * plain.high))


COSTS: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "beta": (lambda draw, n: draw.beta(2, 6, n), 0.25),
    "rare": (lambda draw, n: (draw.random(n) < 0.1).astype(float), 0.1),
    "common": (lambda draw, n: (draw.random(n) < 0.6).astype(float), 0.6),
}


@pytest.mark.parametrize(
    ("name", "first", "second", "sizes", "promise"),
    [
        ("exact", "rare", "common", (12, 20), 0.9),
        ("betting", "beta", "common", (20, 30), 0.9),
        ("betting", "rare", "beta", (25, 60), 0.9),
        ("score", "common", "rare", (30, 40), 0.87),
        ("bernstein", "beta", "common", (40, 60), 0.9),
        ("bootstrap", "beta", "common", (30, 40), 0.87),
    ],
)
def test_differences_are_covered_as_often_as_promised(
    name: str, first: str, second: str, sizes: tuple[int, int], promise: float
) -> None:
    """Guaranteed methods at least; the approximate ones nearly (0.87 of 0.9)."""
    draw, truth = rng(3), COSTS[first][1] - COSTS[second][1]
    covered, runs = 0, 100
    for _ in range(runs):
        costs = COSTS[first][0](draw, sizes[0]), COSTS[second][0](draw, sizes[1])
        sample = groups_sample(*costs, cost_bound=1.0, group_share=0.4)
        covered += truth in interval(sample, method=name, confidence=0.9, rng=draw)
    assert stats.binomtest(covered, runs, promise, alternative="less").pvalue > 1e-3


def test_probes_are_covered_as_often_as_promised() -> None:
    draw, covered, runs = rng(4), 0, 100
    for _ in range(runs):
        effects = draw.normal(0, 0.02, (8, 1)) + draw.normal(0, 0.04, (1, 12))
        sample = sample_of(0.05 + effects + draw.normal(0, 0.02, (8, 12)))
        covered += 0.05 in interval(sample, method="bootstrap", confidence=0.9, rng=draw)
    assert stats.binomtest(covered, runs, 0.87, alternative="less").pvalue > 1e-3


def test_every_method_describes_itself_in_one_line() -> None:
    for name in intervals.names():
        assert 20 < len(intervals.description(name)) < 90, name


@pytest.mark.parametrize("name", TWO_GROUPS)
def test_two_group_methods_refuse_a_probe(name: str) -> None:
    with pytest.raises(InputError, match=f'"{name}" is for the difference between two groups'):
        interval(probed(), method=name, rng=rng())


def test_a_method_says_what_it_lacks() -> None:
    for name, words in (
        ("t", "needs a mean of independent observations"),
        ("bernstein", "needs a mean of independent observations"),
    ):
        with pytest.raises(InputError, match=words):
            interval(Sample(0.0), method=name, rng=rng())
    with pytest.raises(InputError, match="can be resampled"):
        interval(Sample(0.0, units=3), method="bootstrap", rng=rng())
    with pytest.raises(InputError, match='did you mean "bernstein"'):
        interval(probed(), method="bernstien", rng=rng())
    with pytest.raises(InputError, match="must be a function or a name: found 3"):
        interval(probed(), method=3, rng=rng())  # type: ignore[arg-type]


def test_a_method_may_be_a_function_with_traits() -> None:
    @declare(Traits(approximate=True, caveat="mind this"))
    def mine(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
        return Interval(sample.value, float(rng.random()), confidence, "mine")

    assert interval(Sample(-1.0), method=mine, rng=rng(3)) == Interval(
        -1.0, rng(3).random(), 0.95, "mine"
    )
    assert traits_of(mine) == Traits(approximate=True, caveat="mind this")
    assert {name for name in intervals.names() if traits_of(name).resamples} == {"bootstrap"}
    assert {name for name in intervals.names() if traits_of(name).approximate} == {"bootstrap", "t"}


@pytest.mark.parametrize("size", [0.0, 0.5, 1e3])
def test_values_are_alike_if_they_differ_by_rounding(size: float) -> None:
    least = 1e-12 * max(1.0, size)
    for sign in (1, -1):
        assert is_constant(sign * np.array([size, size - 0.9 * least, size]))
        assert not is_constant(sign * np.array([size, size - 1.2 * least, size]))


@pytest.mark.parametrize("name", REMOVED)
def test_a_removed_name_gives_one_line_with_its_replacement(
    name: str, command: Callable[..., Any]
) -> None:
    line = f'the interval "{name}" was removed; use {REMOVED[name]}'
    groups: dict[str, Any] = {"sensitive_features": ["a", "b"] * 4, "protected": "a"}
    table = {"group": ["a", "b"] * 4, "task": [0, 1] * 4, "guess": [1, 1] * 4}
    columns: dict[str, Any] = {"attribute": "group", "task": "task", "task_prediction": "guess"}
    for call in (
        lambda: IntervalSettings(interval=name).drawn,
        lambda: group_disparity(None, [0, 1] * 4, method=name, **groups),
        lambda: sample_size(0.05, method=name),
        lambda: amplify(table, interval=name, **columns),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert str(error.value) == line
    code, _, problem = command("plan")("--effect", "0.05", "--method", name)
    assert (code, problem.strip()) == (2, f"lmprobe: {line}")
