"""The numbers of a row: against loops, against tables with tasks repeated, and planted links."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.stats.row_tables import PARTS, STRENGTH, RowTables
from lmprobe.stats.verdicts import IntervalSettings
from tests.stats.tables import conditional, random_tables, row_tables

NAN = math.nan
FORWARD, BACKWARD = DIRECTIONS
SEEDS = st.integers(0, 10**6)


def numbers(tables: RowTables, times: Any = None) -> dict[str, Any]:
    """Return the claimed numbers, or those under weights (R, T) of the tasks, (R,)."""
    if times is None:
        return {
            part: number.value for part, number in IntervalSettings().numbers_of(tables).items()
        }
    result = tables.numbers(np.asarray(times, dtype=float))
    return {part: np.nanmean(values, axis=1) for part, values in result.items()}


def looped_lean(base: np.ndarray, direction: Direction, weighting: str) -> np.ndarray:
    """+1 where a pair is more frequent than expected, -1 where less, pair by pair."""
    lean, total = np.zeros(base.shape), base.sum()
    rate = conditional(base, direction)
    for a, t in np.ndindex(base.shape):
        if weighting == "joint":
            excess = base[a, t] / total - base[a].sum() / total * (base[:, t].sum() / total)
        else:
            excess = rate[a, t] - np.nanmean(rate[a] if direction is FORWARD else rate[:, t])
        lean[a, t] = 0.0 if abs(excess) < 1e-12 or math.isnan(excess) else math.copysign(1, excess)
    return lean


def looped_mean(table: np.ndarray, base: np.ndarray, lean: np.ndarray, to: Direction) -> float:
    """The mean over pairs of the lean times what the model's conditional has more."""
    model, rate = conditional(table, to), conditional(base, to)
    cells = [
        lean[place] * (model[place] - rate[place])
        for place in np.ndindex(base.shape)
        if not math.isnan(lean[place] * rate[place])
    ]
    return sum(cells) / len(cells)


def fitted(table: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Iterative proportional fitting to the margins of the base."""
    counted = base.sum(axis=0) > 0
    table, base = np.where(counted, table, 0.0), base.astype(float)
    for _ in range(3000):
        table = table * (base.sum(axis=1) / table.sum(axis=1))[:, None]
        table = table * (base.sum(axis=0) / np.where(counted, table.sum(axis=0), 1.0))
    return table


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("weighting", ["joint", "paper"])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("case", ["own", "declared", "undefined"])
def test_published_numbers_are_those_of_the_formulas(
    direction: Direction, weighting: Any, groups: int, case: str
) -> None:
    tables = random_tables(direction, seed=groups, groups=groups, weighting=weighting)
    base, declared = tables.base.copy(), None
    if case == "declared":
        declared = np.random.default_rng(1).choice([-1.0, 0.0, 1.0, NAN], base.shape)
    if case == "undefined":
        base[:, 2] = 0.0
    tables = row_tables(tables.predicted, base, direction, weighting=weighting, declared=declared)
    lean = looped_lean(base, direction, weighting) if declared is None else declared
    result = tables.published()
    for k, table in enumerate(tables.predicted):
        value = looped_mean(table, base, lean, direction)
        association = looped_mean(fitted(table, base), base, lean, direction)
        expected = dict(zip(PARTS, (value, association, value - association), strict=True))
        assert {part: result[part][k] for part in PARTS} == pytest.approx(expected, abs=1e-11)
    claimed = numbers(tables)
    for part in PARTS:
        assert claimed[part] == pytest.approx(result[part].mean(), abs=1e-12), "an exact base"


def slope(logs: np.ndarray, base: np.ndarray) -> float:
    """The coefficient of the base beside a constant of every row and column, least squares."""
    cells = [(a, t) for a, t in np.ndindex(base.shape) if base[a, t] > 0]
    rows, columns = base.shape
    design = np.zeros((len(cells), rows + columns + 1))
    for number, (a, t) in enumerate(cells):
        design[number, [a, rows + t]] = 1.0
        design[number, -1] = math.log(base[a, t])
    return float(np.linalg.lstsq(design, np.array([logs[cell] for cell in cells]))[0][-1])


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(
    seed=SEEDS,
    groups=st.integers(2, 3),
    weighting=st.sampled_from(["joint", "paper"]),
    foreign=st.booleans(),
    times=st.lists(st.integers(0, 3), min_size=5, max_size=5).filter(
        lambda times: sum(number > 0 for number in times) > 2
    ),
)
def test_weights_are_tasks_repeated_or_left_out(
    direction: Direction,
    seed: int,
    groups: int,
    weighting: Any,
    foreign: bool,
    times: list[int],
) -> None:
    sizes: dict[str, Any] = {"seed": seed, "groups": groups, "tasks": 5, "templates": 2}
    tables = random_tables(direction, **sizes, weighting=weighting)
    lean = np.sign(np.random.default_rng(seed).normal(size=tables.base.shape)) if foreign else None
    tables = row_tables(
        tables.predicted, tables.base, direction, weighting=weighting, declared=lean
    )
    selected = np.repeat(np.arange(5), times)
    literal = row_tables(
        tables.predicted[:, :, selected],
        tables.base[:, selected],
        direction,
        weighting=weighting,
        declared=None if lean is None else lean[:, selected],
    )
    weighted = {part: values[0] for part, values in numbers(tables, [times]).items()}
    expected = {part: float(values.mean()) for part, values in literal.published().items()}
    expected[STRENGTH] = np.mean([slope(logs, literal.base) for logs in literal.logs])
    assert weighted == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_without_a_unit_is_without_all_of_its_tasks(direction: Direction) -> None:
    units = ("b", "a", "b", "c", "a", "d")
    tables = random_tables(direction, seed=3, units=units)
    result = IntervalSettings().numbers_of(tables)
    for place, unit in enumerate("abcd"):
        left = [number for number in range(6) if units[number] != unit]
        rest = row_tables(tables.predicted[:, :, left], tables.base[:, left], direction)
        for part, value in numbers(rest).items():
            change = result[part].without[place]
            assert result[part].value + change == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(seed=SEEDS, groups=st.integers(2, 3), size=st.floats(0, 6))
def test_factors_of_rows_and_columns_change_neither_association_nor_strength(
    direction: Direction, seed: int, groups: int, size: float
) -> None:
    plain = random_tables(direction, seed=seed, groups=groups, templates=2)
    rng = np.random.default_rng(seed + 1)
    rows, columns = (rng.normal(0, size, shape) for shape in ((groups, 1), (1, 6)))
    changed = row_tables(plain.predicted * np.exp(rows + columns), plain.base, direction)
    before, after = numbers(plain), numbers(changed)
    for part in ("association", STRENGTH):
        assert after[part] == pytest.approx(before[part], abs=1e-9)
    assert after["preference"] == pytest.approx(after["value"] - before["association"], abs=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("missing", [0, 3])
def test_the_strength_is_the_planted_power(
    direction: Direction, power: float, groups: int, missing: int
) -> None:
    """Whatever the factors of rows and columns, in every resample; a cell of 0 has no link."""
    rng = np.random.default_rng(groups)
    base = rng.integers(1, 500, (groups, 9)).astype(float)
    links = power * np.log(base)
    base[rng.permutation(groups).repeat(3)[:missing], :missing] = 0.0
    factors = rng.normal(0, 2, (3, groups, 1)) + rng.normal(0, 2, (3, 1, 9))
    tables = row_tables(np.exp(links + factors), base, direction)
    result = numbers(tables, rng.integers(1, 4, (5, 9)))
    np.testing.assert_allclose(result[STRENGTH], power, atol=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_base_without_links_and_a_single_task_have_no_strength(direction: Direction) -> None:
    model = random_tables(direction).predicted
    lean = np.ones((2, 6))
    even = row_tables(model, np.outer([3, 5], [1, 2, 3, 4, 5, 6]), direction, declared=lean)
    assert math.isnan(numbers(even)[STRENGTH])
    alone = row_tables(model[:, :, :1], [[3], [5]], direction, declared=lean[:, :1])
    assert math.isnan(numbers(alone)[STRENGTH])


def counted(rng: np.random.Generator, sentences: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the truth (A, T), and as many sentences drawn from it."""
    rate = 1 / (1 + np.exp(-rng.normal(0, 1, 15)))
    truth = np.stack([rate, 1 - rate]) * rng.dirichlet(np.full(15, 5.0))
    drawn = rng.multinomial(sentences, truth.ravel()).reshape(truth.shape).astype(float)
    seen = drawn.sum(axis=0) > 0
    return truth[:, seen], drawn[:, seen]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_truthful_model_is_claimed_to_amplify_nothing(direction: Direction) -> None:
    """Its published value is far below zero: lean and rates share the noise of the counts."""
    rng = np.random.default_rng(11)
    pairs = [counted(rng, 300) for _ in range(20)]
    complete = [row_tables(truth[None], counts, direction, counted=True) for truth, counts in pairs]
    claimed = [tables.claimed_cells().mean() for tables in complete]
    published = [tables.published()["value"][0] for tables in complete]
    assert abs(np.mean(claimed)) < 3 * error_of_mean(claimed)
    bias = np.subtract(published, claimed)
    assert bias.mean() < -5 * error_of_mean(bias)


def error_of_mean(values: Any) -> float:
    """Return the standard error of a mean."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_of_very_many_sentences_or_without_errors_the_claimed_numbers_are_the_published(
    direction: Direction,
) -> None:
    exact = random_tables(direction, seed=5)
    expected = {part: float(values.mean()) for part, values in exact.published().items()}
    expected[STRENGTH] = numbers(exact)[STRENGTH]
    for base, options in (
        (exact.base * 1e6, {"counted": True}),
        (exact.base, {"standard_errors": np.full(exact.base.shape, 1e-7)}),
    ):
        result = numbers(row_tables(exact.predicted, base, direction, **options))
        assert result == pytest.approx(expected, abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", ["counts", "survey"])
def test_association_and_strength_of_a_truthful_model(direction: Direction, kind: str) -> None:
    """Zero and one on average over 60 bases, as far as 60 bases tell."""
    rng = np.random.default_rng(12)
    actual = []
    for _ in range(60):
        truth, base = counted(rng, 2000)
        options: dict[str, Any] = {"counted": True}
        if kind == "survey":
            errors = 0.1 * truth
            base = np.maximum(truth + errors * rng.normal(size=truth.shape), 1e-6)
            options = {"standard_errors": errors}
        actual.append(numbers(row_tables(truth[None], base, direction, **options)))
    for part, expected in (("association", 0.0), ("preference", 0.0), (STRENGTH, 1.0)):
        values = [number[part] for number in actual if not math.isnan(number[part])]
        assert len(values) > 30
        assert abs(np.mean(values) - expected) < 3 * error_of_mean(values)


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(seed=SEEDS, groups=st.integers(2, 4), tasks=st.integers(1, 6))
def test_no_value_is_beyond_its_bound(
    direction: Direction, seed: int, groups: int, tasks: int
) -> None:
    """Not of a model that is as sure as can be either."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 4, (groups, tasks)) + 1e-3
    sure = np.where(rng.random((3, groups, tasks)) < 0.3, 1.0, 1e-9)
    lean = rng.choice([-1.0, 1.0], base.shape)
    for options in ({}, {"declared": lean}):
        tables = row_tables(sure, base, direction, **options)
        result = tables.published()
        assert 0 < tables.bound <= 1
        for part in ("value", "association"):
            assert (np.abs(result[part][~np.isnan(result[part])]) <= tables.bound + 1e-9).all()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_bound_is_reached(direction: Direction) -> None:
    """The base gives every pair of a condition the same, the model all to those that lean up."""
    lean = np.array([[1.0, -1.0], [-1.0, 1.0]])
    tables = row_tables(
        np.where(lean > 0, 1.0, 1e-12)[None], np.where(lean > 0, 1e-12, 1.0), direction,
        declared=lean,
    )  # fmt: skip
    assert tables.published()["value"] == pytest.approx(tables.bound)
