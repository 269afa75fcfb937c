"""The sums of labelled rows: their layout, what they add up to, and how units are drawn again."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from lmprobe.core.direction import Direction
from lmprobe.intervals import row_sums as module
from lmprobe.intervals.row_sums import RowSums, Sums, added_by, features
from lmprobe.io.table_source import TableSource
from lmprobe.metrics.directional import directional_amplification
from lmprobe.tabular.columns import Columns, Layout
from lmprobe.tabular.counting import counted
from lmprobe.tabular.engine import count_lines
from tests.intervals.labelled_rows import kinds_of, people, sums_of

A_TO_T, T_TO_A = Direction.ATTRIBUTE_TO_TASK, Direction.TASK_TO_ATTRIBUTE


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def shaped(kinds: int, columns: int = 3, times: int = 1) -> RowSums:
    """Units without content, to see how they are drawn."""
    return RowSums(
        sparse.csr_array((kinds, columns)), np.full(kinds, times), ("a",), ("t",), (A_TO_T,)
    )


class TestFeatures:
    """Two attributes, three tasks, four rows with weights; some cells are zero."""

    group = np.array([[1, 0], [0, 1], [0.5, 0.5], [0, 0]])
    task = np.array([[1, 0, 1], [0, 0, 0], [0.25, 1, 0], [1, 1, 1]])
    said = np.array([[0, 1], [1, 0], [0.2, 0.8], [1, 1]])
    guess = np.array([[0, 1, 0.5], [1, 0, 0], [0, 0, 1], [0.5, 0, 0]])
    weight = np.array([1.0, 2.0, 0.5, 3.0])

    def found(self, *directions: Direction) -> Any:
        amount = self.weight[:, None]
        guesses = {T_TO_A: self.said, A_TO_T: self.guess * amount}
        return features(
            sparse.csr_array(self.group),
            sparse.csr_array(self.task * amount),
            self.weight,
            [(one, sparse.csr_array(guesses[one])) for one in directions],
        )

    def test_every_column_is_the_product_that_it_is_called(self) -> None:
        found = self.found(T_TO_A, A_TO_T)
        expected = []
        for row, w in enumerate(self.weight):
            g, t, s, p = (x[row] for x in (self.group, self.task, self.said, self.guess))
            line = [w, *(w * g), *(w * t)]
            line += [w * a * b for a, b in itertools.product(g, t)]
            line += [w * a * b for a, b in itertools.product(s, t)]
            line += [w * a * b for a, b in itertools.product(g, p)]
            expected.append(line)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)

    def test_only_what_is_predicted_has_columns(self) -> None:
        assert self.found().shape == (4, 12)
        both = self.found(T_TO_A, A_TO_T).toarray()
        np.testing.assert_array_equal(self.found(A_TO_T).toarray()[:, 12:], both[:, 18:])

    def test_units_add_up_their_lines(self) -> None:
        lines = self.found(A_TO_T)
        found = added_by(np.array([2, 0, 2, 2]), 3, lines).toarray()
        rows = lines.toarray()
        np.testing.assert_allclose(found, [rows[1], 0 * rows[0], rows[0] + rows[2] + rows[3]])


def some_sums() -> Sums:
    """Two samples of 2 attributes x 3 tasks with both directions: any numbers will do."""
    return Sums(np.arange(1.0, 49.0).reshape(2, 24), 2, 3, (T_TO_A, A_TO_T))


def test_the_columns_are_total_attributes_tasks_both_and_predictions() -> None:
    sums = some_sums()
    total, attribute, task, both = (part[1].tolist() for part in sums.marginals)
    assert (total, attribute, task) == ([25], [26, 27], [28, 29, 30])
    assert both == [[31, 32, 33], [34, 35, 36]]
    assert sums.predicted(T_TO_A)[1].tolist() == [[37, 38, 39], [40, 41, 42]]
    assert sums.predicted(A_TO_T)[1].tolist() == [[43, 44, 45], [46, 47, 48]]
    assert [part.shape for part in sums.marginals] == [(2, 1), (2, 2), (2, 3), (2, 2, 3)]


def test_pairs_are_the_lean_times_the_change_of_the_rate() -> None:
    sums = some_sums()
    lean = np.array([[[1, -1, 0], [1, 1, -1.0]], [[-1, 1, 1], [0, 0, 1]]])
    _, attribute, task, both = sums.marginals
    for direction in (T_TO_A, A_TO_T):
        found, predicted = sums.pairs(direction, lean), sums.predicted(direction)
        for r, a, t in np.ndindex(2, 2, 3):
            given = task[r, t] if direction == T_TO_A else attribute[r, a]
            change = (predicted[r, a, t] - both[r, a, t]) / given
            assert found[r, a, t] == pytest.approx(lean[r, a, t] * change)
        assert sums.value(direction, lean).tolist() == pytest.approx(found.mean(axis=(1, 2)))


def test_pairs_do_not_depend_on_the_scale_of_the_weights() -> None:
    plain, lean = some_sums(), np.ones((2, 2, 3))
    small = Sums(plain.columns * 1e-3, 2, 3, plain.directions)
    for direction in (T_TO_A, A_TO_T):
        np.testing.assert_allclose(small.pairs(direction, lean), plain.pairs(direction, lean))


def test_a_pair_is_undefined_where_its_condition_never_occurs() -> None:
    # One attribute of two occurs, one task of two; the prediction says both.
    columns = [[4.0, 4, 0, 3, 0, 3, 0, 0, 0, 2, 1, 0, 0, 1, 0, 2, 0]]
    sums = Sums(np.array(columns), 2, 2, (T_TO_A, A_TO_T))
    ones = np.ones((1, 2, 2))
    assert np.isnan(sums.pairs(A_TO_T, ones)[0]).tolist() == [[False, False], [True, True]]
    assert np.isnan(sums.pairs(T_TO_A, ones)[0]).tolist() == [[False, True], [False, True]]
    assert sums.value(A_TO_T, ones)[0] == pytest.approx(((1 - 3) / 4 + 0) / 2)
    assert sums.value(T_TO_A, ones)[0] == pytest.approx(((2 - 3) / 3 + 0) / 2)


class TestLean:
    def lean(self, total: float, attribute: Any, task: Any, both: Any, **options: bool) -> Any:
        columns = [total, *attribute, *task, *np.ravel(both)]
        return Sums(np.array([columns], dtype=float), 2, 2, ()).lean(**options)[0]

    def test_it_is_the_sign_of_the_excess_over_independence(self) -> None:
        # 10 rows; expected 6 x 5 / 10 = 3 of the first pair, and 4 x 5 / 10 = 2 of the third.
        found = self.lean(10, [6, 4], [5, 5], [[4, 2], [2, 2]])
        assert found.tolist() == [[1, -1], [0, 0]]

    def test_a_label_that_never_occurs_has_none(self) -> None:
        for attribute, task in (([4, 0], [2, 2]), ([2, 2], [4, 0])):
            both = np.outer(attribute, task) / 4 + np.diag([1, 0])
            found = self.lean(4, attribute, task, both)
            unseen = np.outer(attribute, task) == 0
            assert (np.isnan(found) == unseen).all()
            kept = self.lean(4, attribute, task, both, keep_unseen=True)
            assert (kept[unseen] == 0).all()
            assert kept[0, 0] == found[0, 0] == 1

    def test_a_sample_without_rows_leans_nowhere(self) -> None:
        assert np.isnan(self.lean(0, [0, 0], [0, 0], np.zeros(4))).all()
        assert (self.lean(0, [0, 0], [0, 0], np.zeros(4), keep_unseen=True) == 0).all()

    @pytest.mark.parametrize("scale", [1e-200, 0.1, 1e200])
    def test_weights_may_have_any_scale(self, scale: float) -> None:
        parts = [6, 4], [5, 5], [[4, 2], [2, 2]]
        found = self.lean(10 * scale, *(np.array(one) * scale for one in parts))
        assert found.tolist() == [[1, -1], [0, 0]]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_value_of_all_rows_is_the_metric(weighted: bool) -> None:
    rows = people()
    weight = rng(3).random(400) if weighted else None
    sums = sums_of(**rows, weight=weight)
    expected = directional_amplification(**rows, sample_weight=weight)
    lean = sums.total.lean()
    for one in expected.directions:
        assert sums.total.value(one.direction, lean)[0] == pytest.approx(one.value, abs=1e-12)
        np.testing.assert_allclose(sums.total.pairs(one.direction, lean)[0], one.by_pair)


@pytest.mark.parametrize("direction", [A_TO_T, T_TO_A])
def test_tallies_hold_what_was_predicted(direction: Direction) -> None:
    rows = people(60)
    weight = rng(3).random(60)
    name = "task_predictions" if direction == A_TO_T else "attribute_predictions"
    labels = rows["attribute_labels"], rows["task_labels"]
    found = sums_of(*labels, **{name: rows[name]}, weight=weight).tallies()
    group, task = np.eye(2)[labels[0]], labels[1].astype(float)
    assert found.labels.total == pytest.approx(weight.sum())
    np.testing.assert_allclose(found.labels.attribute, weight @ group)
    np.testing.assert_allclose(found.labels.task, weight @ task)
    np.testing.assert_allclose(found.labels.joint, (group * weight[:, None]).T @ task)
    if direction == A_TO_T:
        said, other = found.predicted_task, found.predicted_attribute
        expected = (group * weight[:, None]).T @ rows[name]
    else:
        said, other = found.predicted_attribute, found.predicted_task
        expected = (np.eye(2)[rows[name]] * weight[:, None]).T @ task
    assert other is None
    assert said is not None
    np.testing.assert_allclose(said.joint, expected)
    np.testing.assert_allclose(said.attribute, weight @ group)
    np.testing.assert_allclose(said.task, weight @ task)
    assert said.total == pytest.approx(weight.sum())


def test_kinds_count_as_often_as_they_occur() -> None:
    kinds, rows = kinds_of(**people()), sums_of(**people())
    assert kinds.units == rows.units == 400
    assert len(kinds.times) < 200
    np.testing.assert_allclose(kinds.total.columns, rows.total.columns)


@pytest.mark.parametrize("rows", [100_000, 100_001])
def test_more_than_100_000_kinds_of_rows_are_put_into_1024_bins(rows: int) -> None:
    frame = pd.DataFrame({"a": "all", "t": 1, "p": np.arange(rows) / rows})
    layout = Layout(Columns(("a",), ("t",), (), ("p",)), binary=True)
    with TableSource(frame) as source:
        lines = count_lines(source, layout)
    assert lines.added == (rows > 100_000)
    if lines.added:
        sums = counted(lines, layout, "table").row_sums(("all",), ("t",))
        assert sums.units == 1024
        assert sums.total.marginals[0][0, 0] == rows


class TestReplicates:
    """10,000, fewer of very many units: 50 million numbers are drawn, at least 1,000 times."""

    @pytest.mark.parametrize(
        ("kinds", "expected"),
        [(1, 10_000), (5000, 10_000), (5001, 9998), (14_041, 3560), (49_999, 1000), (60_000, 1000)],
    )
    def test_they_depend_on_the_units(self, kinds: int, expected: int) -> None:
        assert shaped(kinds).replicates == expected

    def test_wide_sums_count_by_their_width(self) -> None:
        assert shaped(7, columns=10_000).replicates == 5000

    def test_blocks_hold_as_many_numbers_as_fit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_HELD", 65)
        assert shaped(20).blocks(10) == [3, 3, 3, 1]
        assert shaped(20).blocks(9) == [3, 3, 3]
        assert shaped(2, columns=20).blocks(9) == [3, 3, 3]
        assert shaped(100).blocks(3) == [1, 1, 1]


class TestDrawing:
    @pytest.mark.parametrize(
        ("kinds", "times", "exact"),
        [(500, 1, True), (501, 1, False), (501, 2, True), (5000, 2, True), (5001, 2, False)],
    )
    def test_few_kinds_are_drawn_exactly_as_often_as_there_are_units(
        self, kinds: int, times: int, exact: bool
    ) -> None:
        drawn = shaped(kinds, times=times)._drawn(8, rng())
        assert drawn.shape == (8, kinds)
        assert (drawn.sum(axis=1) == kinds * times).all() == exact
        # The standard error of the sum of independent weights is its root.
        assert (abs(drawn.sum(axis=1) - kinds * times) < 4 * math.sqrt(kinds * times)).all()

    @pytest.mark.parametrize("multinomial", [0, 5000])
    def test_a_kind_is_drawn_in_proportion_to_its_units(
        self, multinomial: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_MULTINOMIAL", multinomial)
        sums = RowSums(sparse.csr_array((3, 2)), np.array([1, 3, 6]), ("a",), ("t",), ())
        drawn = sums._drawn(4000, rng())
        assert drawn.mean(axis=0) == pytest.approx([1, 3, 6], rel=0.06)
        spread = np.array([1, 3, 6]) * (1 - np.array([0.1, 0.3, 0.6]) * (multinomial > 0))
        assert drawn.var(axis=0) == pytest.approx(spread, rel=0.1)

    @pytest.mark.parametrize("share", [0.0, 1.0])
    def test_a_resample_is_the_sum_of_what_is_drawn(
        self, share: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_DENSE", share)
        sums = kinds_of(**people(60))
        expected = sums._drawn(5, rng()) @ sums.features.toarray()
        found = sums.resampled(5, rng())
        np.testing.assert_allclose(found.columns, expected)
        assert (found.attributes, found.tasks, found.directions) == (2, 3, (T_TO_A, A_TO_T))
