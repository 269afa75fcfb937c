"""The bootstrap over labelled rows against a plain loop over replicates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lmprobe.core.axis import read_axis
from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.intervals import rows as rows_module
from lmprobe.intervals.row_sums import RowSums, bin_of
from lmprobe.intervals.rows import _codes, amplification_interval, row_sums
from lmprobe.metrics.directional import directional_amplification

A_TO_T: Direction = "attribute->task"
T_TO_A: Direction = "task->attribute"


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def people(n: int = 400, seed: int = 1) -> dict[str, Any]:
    """Two groups, three tasks of which any may occur together, and predictions of both."""
    draw = rng(seed)
    group = draw.integers(0, 2, n)
    task = (draw.random((n, 3)) < 0.3 + 0.2 * group[:, None]).astype(np.uint8)
    guess = (draw.random((n, 3)) < 0.25 + 0.35 * group[:, None]).astype(np.uint8)
    said = np.where(draw.random(n) < 0.8, group, 1 - group)
    return {
        "attribute_labels": group,
        "task_labels": task,
        "attribute_predictions": said,
        "task_predictions": guess,
    }


def both(found: Any) -> dict[Direction, float]:
    return {A_TO_T: found.attribute_to_task.value, T_TO_A: found.task_to_attribute.value}


def loop(rows: dict[str, Any], replicates: int, clusters: np.ndarray | None = None) -> Any:
    """Draw rows (or clusters) one replicate at a time; the lean is that of all rows."""
    n = len(rows["attribute_labels"])
    units = [[row] for row in range(n)]
    if clusters is not None:
        units = [list(np.flatnonzero(clusters == one)) for one in np.unique(clusters)]
    draw = rng(5)
    found: dict[Direction, list[float]] = {A_TO_T: [], T_TO_A: []}
    for _ in range(replicates):
        chosen = [row for one in draw.integers(len(units), size=len(units)) for row in units[one]]
        sub = {name: column[chosen] for name, column in rows.items()}
        result = directional_amplification(
            **sub,
            train_attribute_labels=rows["attribute_labels"],
            train_task_labels=rows["task_labels"],
        )
        for direction, value in both(result).items():
            found[direction].append(value)
    return found


@pytest.mark.parametrize("way", ["distinct rows", "poisson", "bins"])
def test_it_agrees_with_a_loop(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "poisson":
        monkeypatch.setattr("lmprobe.intervals.row_sums._MULTINOMIAL", 0)
    if way == "bins":
        monkeypatch.setattr(rows_module, "PATTERNS", 1)
    rows = people()
    expected = loop(rows, 300)
    found = amplification_interval(**rows, rng=rng(), replicates=2000)
    for direction, values in expected.items():
        spread = np.std(values)
        ends = np.quantile(values, [0.025, 0.975])
        assert found[direction].low == pytest.approx(ends[0], abs=0.45 * spread)
        assert found[direction].high == pytest.approx(ends[1], abs=0.45 * spread)


def test_clusters_are_drawn_whole() -> None:
    rows = people(150)
    twice = {name: np.repeat(column, 4, axis=0) for name, column in rows.items()}
    clusters = np.repeat([f"person {number}" for number in range(150)], 4)
    alone = amplification_interval(**rows, rng=rng())
    together = amplification_interval(**twice, clusters=clusters, rng=rng())
    naive = amplification_interval(**twice, rng=rng())
    for direction in (A_TO_T, T_TO_A):
        assert together[direction].width == pytest.approx(alone[direction].width, rel=0.15)
        assert naive[direction].width < 0.7 * together[direction].width


def counted(rows: dict[str, Any], weight: Any = None, clusters: Any = None) -> RowSums:
    groups = read_axis("attribute", rows["attribute_labels"], rows["attribute_predictions"])
    tasks = read_axis("task", rows["task_labels"], rows["task_predictions"])
    return row_sums(groups, tasks, weight, clusters)


def test_blocks_lose_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = people(100)
    plain = counted(rows).total.columns
    monkeypatch.setattr(rows_module, "_ROWS", 7)
    cut = counted(rows, clusters=rng().integers(0, 13, 100))
    assert np.allclose(cut.total.columns, plain)
    assert cut.units == 13
    monkeypatch.setattr(rows_module, "PATTERNS", 1)
    binned = counted(rows)
    assert np.allclose(binned.total.columns, plain)
    assert 90 < binned.units <= 100


@pytest.mark.parametrize("weighted", [False, True])
def test_the_value_of_all_rows_is_the_metric(weighted: bool) -> None:
    rows = people()
    weight = rng(3).random(400) if weighted else None
    sums = counted(rows, weight)
    expected = both(directional_amplification(**rows, sample_weight=weight))
    for direction, value in expected.items():
        assert sums.total.value(direction, sums.total.lean())[0] == pytest.approx(value, abs=1e-12)
    tallies = sums.tallies()
    assert tallies.labels.total == pytest.approx(400 if weight is None else weight.sum())


def test_attributes_may_overlap_and_be_fractions() -> None:
    draw = rng(2)
    group, task = draw.random((30, 3)), draw.integers(0, 2, (30, 4))
    guess = draw.random((30, 4))
    inputs = {"attribute_labels": group, "task_labels": task, "task_predictions": guess}
    axes = read_axis("attribute", group), read_axis("task", task, guess)
    sums = row_sums(*axes).total
    expected = directional_amplification(**inputs).attribute_to_task
    assert sums.value(A_TO_T, sums.lean())[0] == pytest.approx(expected.value, abs=1e-12)
    assert np.allclose(sums.pairs(A_TO_T, sums.lean())[0], expected.by_pair)


def test_bins_are_scattered_and_even() -> None:
    bins = bin_of(np.arange(102_400), 1024)
    sizes = np.bincount(bins, minlength=1024)
    assert sizes.std() == pytest.approx(10, abs=1.0)  # as of independent draws
    assert abs(np.corrcoef(bins[:-1], bins[1:])[0, 1]) < 0.02


@pytest.mark.slow
def test_bins_cover_as_rows_do() -> None:
    """Ten thousand fractional predictions in 1,024 bins; the true value is known."""
    hits, truth = 0, 0.25 * 0.5
    for seed in range(300):
        draw = rng(1000 + seed)
        group = draw.integers(0, 2, 10_000)
        task = (draw.random(10_000) < 0.25 + 0.5 * group).astype(int)
        guess = np.clip(0.125 + 0.75 * group + draw.uniform(-0.1, 0.1, 10_000), 0, 1)
        axes = read_axis("attribute", group), read_axis("task", task, guess)
        rows = rows_module._Rows(
            axes[0].truth, axes[1].truth, ((A_TO_T, axes[1].predicted),), None
        ).by_unit(bin_of(np.arange(10_000)), 1024)
        found = rows_module.bootstrap_interval(rows, rng=draw, replicates=400)[A_TO_T]
        hits += truth in found
    # 0.95 within three standard errors of 300 simulations.
    assert 0.912 <= hits / 300 <= 0.988


class TestLean:
    def test_fixed_comes_from_the_train_set(self) -> None:
        rows = people()
        train = {
            "train_attribute_labels": 1 - rows["attribute_labels"],
            "train_task_labels": rows["task_labels"],
        }
        own = amplification_interval(**rows, rng=rng())[A_TO_T]
        turned = amplification_interval(**rows, **train, rng=rng())[A_TO_T]
        assert (turned.low, turned.high) == pytest.approx((-own.high, -own.low), abs=1e-12)

    def test_weights_of_train_rows_turn_the_lean(self) -> None:
        rows = people()
        train = {
            "train_attribute_labels": [0, 1, 0, 1],
            "train_task_labels": np.repeat([[1], [0], [0], [1]], 3, axis=1),
        }
        one, other = (
            amplification_interval(**rows, **train, train_sample_weight=weight, rng=rng())[A_TO_T]
            for weight in ([8, 8, 1, 1], [1, 1, 8, 8])
        )
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)

    def test_resampling_matters_where_the_lean_is_in_doubt(self) -> None:
        draw = rng(8)
        group, task = draw.integers(0, 2, 150), draw.integers(0, 2, 150)
        guess = (draw.random(150) < 0.3 + 0.4 * group).astype(int)
        widths = {
            lean: amplification_interval(group, task, task_predictions=guess, lean=lean, rng=rng())[
                A_TO_T
            ].width
            for lean in ("fixed", "resampled")
        }
        assert widths["resampled"] > 1.3 * widths["fixed"]

    def test_a_train_set_is_resampled_too(self) -> None:
        rows = people()
        train = people(5000, seed=9)
        found = amplification_interval(
            **rows,
            train_attribute_labels=train["attribute_labels"],
            train_task_labels=train["task_labels"],
            lean="resampled",
            rng=rng(),
        )
        # Five thousand rows leave no doubt about the lean.
        fixed = amplification_interval(**rows, rng=rng())
        assert found[A_TO_T].width == pytest.approx(fixed[A_TO_T].width, rel=0.1)


def test_one_row_has_no_interval() -> None:
    found = amplification_interval(["a"], ["x"], task_predictions=["x"], rng=rng())
    assert found[A_TO_T].width == math.inf


@pytest.mark.parametrize("kind", ["plain", "weighted", "fractions"])
def test_perfect_predictions_have_no_spread(kind: str) -> None:
    rows = people()
    draw = rng(4)
    task = draw.random((400, 3)) if kind == "fractions" else rows["task_labels"]
    weight = draw.random(400) if kind == "weighted" else None
    found = amplification_interval(
        rows["attribute_labels"], task, task_predictions=task, sample_weight=weight, rng=rng()
    )
    assert math.isnan(found[A_TO_T].low)


@pytest.mark.parametrize("weight", [None, 0.1, 1 / 3])
def test_a_tie_leans_nowhere_in_any_replicate(weight: float | None) -> None:
    # 15 rows, 5 in the group, 9 with the task, 3 with both: independent.
    group, task = np.repeat([1, 0], [5, 10]), np.repeat([1, 0, 1, 0], [3, 2, 6, 4])
    weights = None if weight is None else np.full(15, weight)
    rows = {"task_predictions": group, "sample_weight": weights}
    found = amplification_interval(group, task, **rows, rng=rng())
    assert directional_amplification(group, task, **rows).attribute_to_task.value == 0
    assert math.isnan(found[A_TO_T].low)


def test_probabilities_are_rows_of_their_own() -> None:
    rows = people()
    soft = np.clip(rows["task_predictions"] * 0.8 + 0.1, 0, 1)
    found = amplification_interval(
        rows["attribute_labels"], rows["task_labels"], task_predictions=soft, rng=rng()
    )
    assert math.isfinite(found[A_TO_T].width)


def test_codes_tell_rows_apart() -> None:
    table = rng().integers(0, 2, (500, 70)).astype(np.uint8)
    table[250:] = table[:250]
    codes = _codes(table)
    assert np.array_equal(codes[:250], codes[250:])
    assert len(np.unique(codes)) == len(np.unique(table, axis=0))


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"lean": "free"}, "no lean"),
        ({"confidence": 1.0}, "confidence"),
        ({"replicates": 1}, "replicates"),
        ({"clusters": [1, 2]}, "clusters"),
        ({"train_task_labels": [0, 1]}, "go together"),
    ],
)
def test_mistakes(more: dict[str, Any], word: str) -> None:
    rows = people(20)
    rows["task_labels"] = rows["task_labels"][:, 0]
    rows["task_predictions"] = rows["task_predictions"][:, 0]
    with pytest.raises(InputError, match=word):
        amplification_interval(**rows, **more, rng=rng())
