"""The bootstrap over labelled rows against a plain loop over replicates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.intervals.methods.bootstrap import of_replicates
from lmprobe.intervals.rows import bootstrap_interval
from lmprobe.io.table_source import TableSource
from lmprobe.metrics.directional import directional_amplification
from lmprobe.tabular.columns import Columns, Layout
from lmprobe.tabular.counting import counted
from lmprobe.tabular.engine import count_lines
from tests.intervals.labelled_rows import kinds_of, people, sums_of

A_TO_T, T_TO_A = Direction.ATTRIBUTE_TO_TASK, Direction.TASK_TO_ATTRIBUTE


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def replicates() -> dict[Direction, list[float]]:
    """Rows drawn one replicate at a time; the lean is that of all rows."""
    rows = people()
    draw = rng(5)
    found: dict[Direction, list[float]] = {A_TO_T: [], T_TO_A: []}
    for _ in range(200):
        chosen = draw.integers(400, size=400)
        result = directional_amplification(
            **{name: column[chosen] for name, column in rows.items()},
            train_attribute_labels=rows["attribute_labels"],
            train_task_labels=rows["task_labels"],
        )
        for one in result.directions:
            found[one.direction].append(one.value)
    return found


@pytest.mark.parametrize("way", ["rows", "kinds", "weights of rows", "weights of kinds"])
def test_it_agrees_with_a_loop(
    way: str, replicates: dict[Direction, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "weights of rows":
        monkeypatch.setattr("lmprobe.intervals.row_sums._FEW", 0)
    if way == "weights of kinds":
        monkeypatch.setattr("lmprobe.intervals.row_sums._MULTINOMIAL", 0)
    sums = kinds_of(**people()) if "kinds" in way else sums_of(**people())
    found = bootstrap_interval(sums, rng=rng(), replicates=2000)
    for direction, values in replicates.items():
        spread = np.std(values)
        ends = np.quantile(values, [0.025, 0.975])
        assert found[direction].low == pytest.approx(ends[0], abs=0.45 * spread)
        assert found[direction].high == pytest.approx(ends[1], abs=0.45 * spread)


def test_clusters_are_drawn_whole() -> None:
    rows = people(150)
    often = {name: np.repeat(column, 4, axis=0) for name, column in rows.items()}
    alone = bootstrap_interval(sums_of(**rows), rng=rng(), replicates=2000)
    unit = np.repeat(np.arange(150), 4)
    together = bootstrap_interval(sums_of(**often, unit=unit), rng=rng(), replicates=2000)
    naive = bootstrap_interval(sums_of(**often), rng=rng(), replicates=2000)
    for direction in (A_TO_T, T_TO_A):
        assert together[direction].width == pytest.approx(alone[direction].width, rel=0.15)
        assert naive[direction].width < 0.7 * together[direction].width


@pytest.mark.slow
def test_bins_cover_as_rows_do() -> None:
    """Ten thousand fractional predictions in 1,024 bins; the true value is known."""
    hits, truth = 0, 0.25 * 0.5
    layout = Layout(Columns(("group",), ("task",), (), ("guess",)), binary=True)
    for seed in range(300):
        draw = rng(1000 + seed)
        group = draw.integers(0, 2, 10_000)
        task = (draw.random(10_000) < 0.25 + 0.5 * group).astype(int)
        guess = np.clip(0.125 + 0.75 * group + draw.uniform(-0.1, 0.1, 10_000), 0, 1)
        with TableSource(pd.DataFrame({"group": group, "task": task, "guess": guess})) as source:
            lines = count_lines(source, layout, binned=True)
        rows = counted(lines, layout, "table").row_sums(("0", "1"), ("task",))
        hits += truth in bootstrap_interval(rows, rng=draw, replicates=400)[A_TO_T]
    # 0.95 within three standard errors of 300 simulations.
    assert 0.912 <= hits / 300 <= 0.988


class TestLean:
    def test_it_comes_from_the_train_set(self) -> None:
        rows = people()
        train = sums_of(1 - rows["attribute_labels"], rows["task_labels"])
        sums = kinds_of(**rows)
        own = bootstrap_interval(sums, rng=rng(), replicates=500)[A_TO_T]
        turned = bootstrap_interval(sums, train=train, rng=rng(), replicates=500)[A_TO_T]
        assert (turned.low, turned.high) == pytest.approx((-own.high, -own.low), abs=1e-12)

    def test_weights_of_train_rows_turn_it(self) -> None:
        rows = kinds_of(**people())
        labels = [0, 1, 0, 1], np.repeat([[1], [0], [0], [1]], 3, axis=1)
        trains = [sums_of(*labels, weight=weight) for weight in ([8, 8, 1, 1], [1, 1, 8, 8])]
        one, other = (
            bootstrap_interval(rows, train=train, rng=rng(), replicates=500)[A_TO_T]
            for train in trains
        )
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)

    def test_pairs_of_a_label_that_never_occurs_count_only_on_request(self) -> None:
        """The third task is predicted but never true: a third of all pairs, all of them 0."""
        rows = people()
        rows["task_labels"] = rows["task_labels"] * np.array([1, 1, 0], dtype=np.uint8)
        sums = kinds_of(**rows)
        plain = bootstrap_interval(sums, rng=rng(), replicates=500)[A_TO_T]
        kept = bootstrap_interval(sums, keep_unseen=True, rng=rng(), replicates=500)[A_TO_T]
        assert (kept.low, kept.high) == pytest.approx((plain.low * 2 / 3, plain.high * 2 / 3))


def test_one_unit_has_no_interval_and_two_have_one() -> None:
    one = sums_of(["a"], [1], task_predictions=[0])
    found = bootstrap_interval(one, rng=rng())[A_TO_T]
    assert (found.width, found.status, found.method) == (math.inf, "too_few_units", "bootstrap")
    two = sums_of(["a", "b"], [1, 0], task_predictions=[0, 0.5])
    assert math.isfinite(bootstrap_interval(two, rng=rng())[A_TO_T].width)


def test_the_ends_are_those_of_the_replicates_that_are_defined() -> None:
    """The task of one row of five: about a third of the replicates lack it, and say nothing."""
    sums = sums_of(
        ["a", "a", "b", "b", "b"], [1, 0, 0, 0, 0], attribute_predictions=["a", "a", "b", "b", "a"]
    )
    drawn = sums.resampled(200, rng())
    values = drawn.value(T_TO_A, sums.total.lean())
    known = values[~np.isnan(values)]
    assert 100 < len(known) < 160
    for method in ("bootstrap", "bootstrap-percentile"):
        found = bootstrap_interval(sums, confidence=0.8, method=method, rng=rng(), replicates=200)
        expected = of_replicates(known, units=5, confidence=0.8, method=method)
        assert str(found[T_TO_A]) == str(expected)


def test_the_confidence_is_95_percent_unless_told() -> None:
    found = bootstrap_interval(sums_of(**people(50)), rng=rng(), replicates=100)
    assert {one.confidence for one in found.values()} == {0.95}
    assert {one.method for one in found.values()} == {"bootstrap"}


def test_very_many_replicates_are_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = kinds_of(**people())
    whole = bootstrap_interval(sums, rng=rng(), replicates=500)
    monkeypatch.setattr("lmprobe.intervals.row_sums._HELD", 7 * max(sums.features.shape))
    cut = bootstrap_interval(sums, rng=rng(), replicates=500)
    for direction, one in whole.items():
        assert (cut[direction].low, cut[direction].high) == pytest.approx((one.low, one.high))


@pytest.mark.parametrize("kind", ["plain", "weighted", "fractions"])
def test_perfect_predictions_have_no_spread(kind: str) -> None:
    rows = people()
    draw = rng(4)
    task = draw.random((400, 3)) if kind == "fractions" else rows["task_labels"]
    weight = draw.random(400) if kind == "weighted" else None
    sums = sums_of(rows["attribute_labels"], task, task_predictions=task, weight=weight)
    assert math.isnan(bootstrap_interval(sums, rng=rng(), replicates=1000)[A_TO_T].low)


@pytest.mark.parametrize("weight", [None, 0.1, 1 / 3])
def test_a_tie_leans_nowhere_in_any_replicate(weight: float | None) -> None:
    # 15 rows, 5 in the group, 9 with the task, 3 with both: independent.
    group, task = np.repeat([1, 0], [5, 10]), np.repeat([1, 0, 1, 0], [3, 2, 6, 4])
    weights = None if weight is None else np.full(15, weight)
    sums = sums_of(group, task, task_predictions=group, weight=weights)
    found = directional_amplification(group, task, task_predictions=group, sample_weight=weights)
    assert found.attribute_to_task is not None
    assert found.attribute_to_task.value == 0
    assert math.isnan(bootstrap_interval(sums, rng=rng(), replicates=1000)[A_TO_T].low)


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_a_confidence_is_strictly_between_0_and_1(confidence: float) -> None:
    with pytest.raises(InputError, match="confidence"):
        bootstrap_interval(sums_of(**people(20)), confidence=confidence, rng=rng())


def test_the_number_of_replicates_is_that_of_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    sums = kinds_of(**people(50))

    def noted(values: Any, **_: Any) -> Any:
        made.append(len(values))

    monkeypatch.setattr("lmprobe.intervals.rows.of_replicates", noted)
    bootstrap_interval(sums, rng=rng())
    bootstrap_interval(sums, rng=rng(), replicates=30)
    assert made == [10_000, 10_000, 30, 30]
