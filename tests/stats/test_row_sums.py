"""The sums of labelled rows: their layout, what they add up to, and how units are drawn again."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.metrics.directional import directional_amplification
from lmprobe.stats.row_sums import RowSums, Sums, added_by, features
from tests.stats.labelled_rows import kinds_of, people, sums_of

A_TO_T, T_TO_A = Direction.ATTRIBUTE_TO_TASK, Direction.TASK_TO_ATTRIBUTE


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_every_column_is_the_product_that_it_is_called() -> None:
    """Two attributes, three tasks, four rows with weights; some cells are zero."""
    group = np.array([[1, 0], [0, 1], [0.5, 0.5], [0, 0]])
    task = np.array([[1, 0, 1], [0, 0, 0], [0.25, 1, 0], [1, 1, 1]])
    said = np.array([[0, 1], [1, 0], [0.2, 0.8], [1, 1]])
    guess = np.array([[0, 1, 0.5], [1, 0, 0], [0, 0, 1], [0.5, 0, 0]])
    weight = np.array([1.0, 2.0, 0.5, 3.0])
    amounts = [sparse.csr_array(table * weight[:, None]) for table in (task, guess)]
    guesses = [(T_TO_A, sparse.csr_array(said)), (A_TO_T, amounts[1])]
    result = features(sparse.csr_array(group), amounts[0], weight, guesses)
    expected = []
    for w, g, t, s, p in zip(weight, group, task, said, guess, strict=True):
        pairs = [(g, t), (s, t), (g, p)]
        products = [w * a * b for pair in pairs for a, b in itertools.product(*pair)]
        expected.append([w, *(w * g), *(w * t), *products, *(w * s)])
    np.testing.assert_allclose(result.toarray(), expected, rtol=1e-14)
    one_way = features(sparse.csr_array(group), amounts[0], weight, guesses[1:])
    np.testing.assert_allclose(
        one_way.toarray(), np.delete(expected, [*range(12, 18), 24, 25], axis=1)
    )
    lines = result.toarray()
    units = added_by(np.array([2, 0, 2, 2]), 3, result).toarray()
    np.testing.assert_allclose(units, [lines[1], 0 * lines[0], lines[0] + lines[2] + lines[3]])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directions", [DIRECTIONS, (A_TO_T,), (T_TO_A,)])
def test_all_rows_add_up_to_the_metric(weighted: bool, directions: tuple[Direction, ...]) -> None:
    rows = people()
    if A_TO_T not in directions:
        del rows["task_predictions"]
    if T_TO_A not in directions:
        del rows["attribute_predictions"]
    weight = rng(3).random(400) if weighted else None
    total = sums_of(**rows, weight=weight).total
    expected = directional_amplification(**rows, sample_weight=weight)
    lean = total.lean()
    assert {item.direction for item in expected.directions} == set(directions)
    for element in expected.directions:
        assert total.value(element.direction, lean)[0] == pytest.approx(element.value, abs=1e-12)
        np.testing.assert_allclose(total.pairs(element.direction, lean)[0], element.by_pair)
    tallies = sums_of(**rows, weight=weight).tallies()
    group, task = np.eye(2)[rows["attribute_labels"]], rows["task_labels"].astype(float)
    share = np.ones(400) if weight is None else weight
    assert tallies.labels.total == pytest.approx(share.sum())
    np.testing.assert_allclose(tallies.labels.joint, (group * share[:, None]).T @ task)
    assert set(tallies.predicted) == set(directions)


def test_a_pair_is_undefined_where_its_condition_never_occurs() -> None:
    # One attribute of two occurs, one task of two; the prediction says both.
    columns = [[4.0, 4, 0, 3, 0, 3, 0, 0, 0, 2, 1, 0, 0, 1, 0, 2, 0]]
    sums = Sums(np.array(columns), 2, 2, (T_TO_A, A_TO_T))
    ones = np.ones((1, 2, 2))
    assert np.isnan(sums.pairs(A_TO_T, ones)[0]).tolist() == [[False, False], [True, True]]
    assert np.isnan(sums.pairs(T_TO_A, ones)[0]).tolist() == [[False, True], [False, True]]
    assert sums.value(A_TO_T, ones)[0] == pytest.approx(((1 - 3) / 4 + 0) / 2)
    assert sums.value(T_TO_A, ones)[0] == pytest.approx(((2 - 3) / 3 + 0) / 2)


def lean(total: float, attribute: Any, task: Any, both: Any, **options: bool) -> Any:
    columns = [total, *attribute, *task, *np.ravel(both)]
    return Sums(np.array([columns], dtype=float), 2, 2, ()).lean(**options)[0]


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_lean_is_the_sign_of_the_excess_over_independence(scale: float) -> None:
    # 10 rows; expected 6 x 5 / 10 = 3 of the first pair, and 4 x 5 / 10 = 2 of the third.
    parts = [6, 4], [5, 5], [[4, 2], [2, 2]]
    result = lean(10 * scale, *(np.array(part) * scale for part in parts))
    assert result.tolist() == [[1, -1], [0, 0]]


def test_a_label_that_never_occurs_has_no_lean() -> None:
    for attribute, task in (([4, 0], [2, 2]), ([2, 2], [4, 0])):
        both = np.outer(attribute, task) / 4 + np.diag([1, 0])
        unseen = np.outer(attribute, task) == 0
        assert (np.isnan(lean(4, attribute, task, both)) == unseen).all()
        retained = lean(4, attribute, task, both, keep_unseen=True)
        assert (retained[unseen] == 0).all()
        assert retained[0, 0] == 1
    assert np.isnan(lean(0, [0, 0], [0, 0], np.zeros(4))).all()


def drawn(times: np.ndarray, replicates: int) -> np.ndarray:
    """Return how often each unit is drawn: units whose only column is their own."""
    kinds = len(times)
    sums = RowSums(sparse.csr_array(sparse.identity(kinds)), times, ("a",), ("t",), (A_TO_T,))
    return sums.resampled(replicates, rng()).columns


@pytest.mark.parametrize(
    ("kinds", "times", "exact"),
    [(500, 1, True), (501, 1, False), (501, 2, True), (5000, 2, True), (5001, 2, False)],
)
def test_few_kinds_are_drawn_exactly_as_often_as_there_are_units(
    kinds: int, times: int, exact: bool
) -> None:
    totals = drawn(np.full(kinds, times), 8).sum(axis=1)
    assert (totals == kinds * times).all() == exact
    # The standard error of the sum of independent weights is its root.
    assert (abs(totals - kinds * times) < 4 * math.sqrt(kinds * times)).all()


@pytest.mark.parametrize("kinds", [10, 6000])
def test_a_kind_is_drawn_in_proportion_to_its_units(kinds: int) -> None:
    times = np.tile([1, 3, 6, 2, 8], kinds // 5)
    result = drawn(times, 300)
    for number in (1, 3, 6, 2, 8):
        selected = result[:, times == number]
        error = math.sqrt(number / selected.size)
        assert selected.mean() == pytest.approx(number, abs=5 * error)
        share = number / times.sum()
        assert selected.var() == pytest.approx(number * (1 - share), rel=0.25)


def test_a_resample_is_the_sum_of_what_is_drawn() -> None:
    sums = kinds_of(**people(60))
    times = rng().multinomial(60, sums.times / 60, size=5)
    result = sums.resampled(5, rng())
    np.testing.assert_allclose(result.columns, times @ sums.features.toarray())
    assert (result.attributes, result.tasks, result.directions) == (2, 3, (T_TO_A, A_TO_T))


@pytest.mark.parametrize("units", [1, 63, 64, 200, 8192, 8200, 16_500])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.6])
def test_samples_are_the_products_of_numbers_and_features(units: int, share: float) -> None:
    draw = rng(units)
    table = draw.random((units, 30)) * (draw.random((units, 30)) < share)
    # A group of the first units alone, whose labels are all predicted right.
    table[:, :3], table[units // 3 :, 3], table[:, 4] = table[:, 5:8], 0, table[:, 5]
    sums = RowSums(sparse.csr_array(table), np.ones(units, dtype=int), ("a",), ("t",), ())
    for times in (draw.integers(0, 3, (70, units)), np.ones((1, units), dtype=np.uint8)):
        columns = sums.samples(times).columns
        np.testing.assert_allclose(columns, times @ table, rtol=1e-12)
        assert np.array_equal(columns[:, :3], columns[:, 5:8])
        assert np.array_equal(columns[:, 4], columns[:, 5])
    np.testing.assert_allclose(sums.total.columns, [table.sum(axis=0)], rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((1, 3), 10_000), ((5000, 3), 10_000), ((14_041, 3), 3560), ((60_000, 3), 1000),
     ((7, 10_000), 5000)],
)  # fmt: skip
def test_very_many_units_are_drawn_fewer_times(shape: tuple[int, int], expected: int) -> None:
    """50 million numbers are drawn, at least 1,000 times and at most 10,000."""
    sums = RowSums(sparse.csr_array(shape), np.ones(shape[0], dtype=int), ("a",), ("t",), ())
    assert sums.replicates == expected
