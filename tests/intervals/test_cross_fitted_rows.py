"""Cross-fitted amplification of rows: against a loop over ways to hold out, and known truths."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.intervals import cross_fitted_rows as module
from lmprobe.intervals.cross_fitted_rows import close_pairs, cross_fitted_amplification
from tests.intervals.labelled_rows import kinds_of, people, sums_of

A_TO_T, T_TO_A = Direction.ATTRIBUTE_TO_TASK, Direction.TASK_TO_ATTRIBUTE


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def one_way(
    rows: dict[str, Any], times: np.ndarray, held: np.ndarray, keep_unseen: bool
) -> dict[Direction, float]:
    """Return lean * (predicted - true) / (a fifth of the condition), pair by pair."""
    group = np.eye(2)[rows["attribute_labels"]]
    said = np.eye(2)[rows["attribute_predictions"]]
    task, guess = rows["task_labels"].astype(float), rows["task_predictions"].astype(float)
    kept = times - held
    found: dict[Direction, list[float]] = {A_TO_T: [], T_TO_A: []}
    for a, t in np.ndindex(group.shape[1], task.shape[1]):
        pair = group[:, a] * task[:, t]
        in_group, in_task = times @ group[:, a], times @ task[:, t]
        excess = (kept @ pair) * kept.sum() - (kept @ group[:, a]) * (kept @ task[:, t])
        for direction, predicted, given in (
            (A_TO_T, group[:, a] * guess[:, t], in_group),
            (T_TO_A, said[:, a] * task[:, t], in_task),
        ):
            if given > 0 if keep_unseen else in_group > 0 and in_task > 0:
                change = held @ (predicted - pair)
                found[direction].append(np.sign(excess) * change / (0.2 * given))
    return {one: float(np.mean(values)) for one, values in found.items()}


@pytest.mark.parametrize("keep_unseen", [False, True])
@pytest.mark.parametrize("unseen", [None, "task", "group", "rare task", "rare group"])
def test_the_estimates_are_those_of_a_loop(
    unseen: str | None, keep_unseen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = people(30)
    if unseen in ("task", "rare task"):
        rows["task_labels"][:, 2] = 0
    if unseen in ("group", "rare group"):
        rows["attribute_labels"][:] = 0
    times = rng(1).integers(0, 4, (3, 30))
    if unseen is not None and "rare" in unseen:
        # One unit alone has the label; where it is held out, the others do not lean.
        times[:, 0] = 1
        rows["task_labels" if "task" in unseen else "attribute_labels"][0] = 1
    sums = sums_of(**rows)
    found = module._estimates(sums, times, 4, keep_unseen, rng())
    held = rng().binomial(np.repeat(times, 4, axis=0), 0.2)
    if unseen is not None and "rare" in unseen:
        assert 0 < held[:, 0].sum() < 12
    for number, one in enumerate(held):
        expected = one_way(rows, times[number // 4], one, keep_unseen)
        for direction, value in expected.items():
            assert found[direction].shape == (3, 4)
            assert found[direction][number // 4, number % 4] == pytest.approx(value, abs=1e-12)
    # As many at a time as fit into memory: one, or a few, or all.
    for held_numbers in (1, 5 * 30):
        monkeypatch.setattr(module, "_HELD", held_numbers)
        again = module._estimates(sums, times, 4, keep_unseen, rng())
        for direction, values in found.items():
            np.testing.assert_allclose(again[direction], values, atol=1e-12)


def test_the_value_is_the_mean_of_500_ways_to_hold_out() -> None:
    sums = kinds_of(**people(60))
    found = cross_fitted_amplification(sums, rng=rng())
    expected = module._estimates(sums, sums.times[None, :], 500, False, rng())
    for direction, one in found.items():
        assert one.value == pytest.approx(expected[direction].mean())
        assert one.interval.confidence == 0.95
        assert one.value == pytest.approx((one.interval.low + one.interval.high) / 2)


def test_pairs_of_a_label_that_never_occurs_count_only_on_request() -> None:
    """The third task is predicted but never true: a third of all pairs, all of them 0."""
    rows = people(60)
    rows["task_labels"][:, 2] = 0
    sums = kinds_of(**rows)
    plain = cross_fitted_amplification(sums, rng=rng())[A_TO_T]
    kept = cross_fitted_amplification(sums, keep_unseen=True, rng=rng())[A_TO_T]
    assert kept.value == pytest.approx(plain.value * 2 / 3)
    assert kept.interval.width == pytest.approx(plain.interval.width * 2 / 3)


def test_the_interval_is_students_around_the_value() -> None:
    found = module._interval(0.3, 0.1, 10, 0.9)
    half = 0.1 * stats.t.ppf(0.95, 9)
    assert (found.low, found.high) == pytest.approx((0.3 - half, 0.3 + half))
    assert (found.confidence, found.method, found.status) == (0.9, "cross-fitted", "ok")


@pytest.mark.parametrize("spread", [0.0, math.nan])
def test_without_spread_there_is_no_interval(spread: float) -> None:
    assert module._interval(0.3, spread, 10, 0.9).status == "undefined"


def test_one_unit_is_too_few_and_two_are_not() -> None:
    rows = people(40)
    for units, status in ((1, "too_few_units"), (2, "ok")):
        sums = sums_of(**rows, unit=np.arange(40) % units)
        found = cross_fitted_amplification(sums, confidence=0.8, rng=rng())[A_TO_T]
        assert (found.interval.status, found.interval.confidence) == (status, 0.8)


def test_a_confidence_is_strictly_between_0_and_1() -> None:
    with pytest.raises(InputError, match="confidence"):
        cross_fitted_amplification(sums_of(**people(20)), confidence=1.0, rng=rng())


class TestSpread:
    def spread(self, values: Any, monkeypatch: pytest.MonkeyPatch) -> float:
        drawn = np.array(values, dtype=np.float64)
        monkeypatch.setattr(module, "_WAYS", drawn.shape[1])
        monkeypatch.setattr(module, "_estimates", lambda *_: {A_TO_T: drawn})
        rows = SimpleNamespace(times=np.ones(10), units=10)
        return module._spread(rows, False, rng())[A_TO_T]  # type: ignore[arg-type]

    def test_the_noise_of_the_splits_is_taken_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        draw = rng()
        drawn = draw.normal(0, 0.3, (4000, 1)) + draw.normal(0, 1.0, (4000, 8))
        assert self.spread(drawn, monkeypatch) == pytest.approx(0.3, abs=0.02)

    def test_by_hand(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Means 2, 6 and 10, whose variance is 16; variances 2, 2 and 8 of two ways each.
        values = [[1, 3], [5, 7], [8, 12]]
        assert self.spread(values, monkeypatch) == pytest.approx(math.sqrt(16 - 4 / 2))

    def test_resamples_without_a_value_have_no_say(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = [[1, 3], [5, 7], [np.nan, 4], [8, 12]]
        assert self.spread(values, monkeypatch) == pytest.approx(math.sqrt(14))

    def test_noise_that_explains_everything_leaves_none(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.spread([[1, 3], [3, 1.0]], monkeypatch) == 0.0

    @pytest.mark.parametrize(
        ("kinds", "samples"),
        [(10, 400), (31_250, 400), (31_251, 399), (100_000, 125), (125_000, 100), (200_000, 100)],
    )
    def test_very_many_units_are_resampled_fewer_times(
        self, kinds: int, samples: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: dict[str, Any] = {}

        def multinomial(units: int, shares: np.ndarray, size: int) -> np.ndarray:
            seen.update(units=units, shares=shares)
            return np.empty((size, 1))

        def estimates(rows: Any, times: np.ndarray, ways: int, *_: Any) -> dict[Any, Any]:
            seen.update(samples=len(times), ways=ways)
            return {}

        monkeypatch.setattr(module, "_estimates", estimates)
        times = np.arange(kinds)
        rows = SimpleNamespace(times=times, units=times.sum())
        module._spread(rows, False, SimpleNamespace(multinomial=multinomial))  # type: ignore[arg-type]
        assert (seen["samples"], seen["ways"], seen["units"]) == (samples, 8, times.sum())
        np.testing.assert_allclose(seen["shares"] * times.sum(), times)

    def test_it_is_that_of_samples_drawn_anew(self) -> None:
        """Two hundred people at a time: the value varies as much as resamples say."""
        found = []
        for seed in range(12):
            rows = people(200, seed)
            one_task = {name: rows[name][:, :1] for name in ("task_labels", "task_predictions")}
            sums = kinds_of(attribute_labels=rows["attribute_labels"], **one_task)
            found.append(cross_fitted_amplification(sums, rng=rng())[A_TO_T])
        half = np.mean([one.interval.width for one in found]) / 2
        spread = np.std([one.value for one in found], ddof=1)
        # Twelve values tell a standard deviation within a factor of two.
        assert 0.5 < half / (spread * stats.t.ppf(0.975, 199)) < 2


@pytest.mark.slow
def test_rows_in_which_nothing_is_linked_amplify_nothing() -> None:
    """Twenty independent tasks: the plain interval misses zero most of the time."""
    draw = rng(5)
    covered, values = 0, []
    for _ in range(25):
        truth, guess = (draw.random((2, 300, 20)) < 0.3).astype(int)
        sums = sums_of(draw.integers(0, 2, 300), truth, task_predictions=guess)
        one = cross_fitted_amplification(sums, rng=draw)[A_TO_T]
        values.append(one.value)
        covered += 0.0 in one.interval
        close, pairs = close_pairs(sums)
        assert (pairs, close > 0.6 * pairs) == (40, True)
    assert covered >= 21
    assert abs(np.mean(values)) < 3 * np.std(values) / math.sqrt(25)


def test_rows_with_strong_links_have_the_published_value() -> None:
    draw = rng(6)
    group = draw.integers(0, 2, 4000)
    truth = (draw.random(4000) < 0.3 + 0.4 * group).astype(int)
    guess = (draw.random(4000) < 0.2 + 0.6 * group).astype(int)
    sums = kinds_of(attribute_labels=group, task_labels=truth, task_predictions=guess)
    found = cross_fitted_amplification(sums, rng=draw)[A_TO_T]
    plain = sums.total.value(A_TO_T, sums.total.lean())[0]
    assert found.value == pytest.approx(plain, abs=0.002)
    assert close_pairs(sums) == (0, 2)
    assert 0.1 in found.interval


class TestClosePairs:
    def test_they_are_pearsons_residuals_below_two_in_any_scale(self) -> None:
        draw = rng(7)
        group = draw.integers(0, 2, 400)
        truth = (draw.random((400, 12)) < 0.3 + np.linspace(0, 0.25, 12) * group[:, None]) * 1
        close, pairs = close_pairs(sums_of(group, truth))
        # Pearson's adjusted residual, the standard error of a count of rows given its margins.
        p_a, p_t = np.array([1 - group.mean(), group.mean()])[:, None], truth.mean(axis=0)
        joint = np.array([truth[group == one].sum(axis=0) for one in (0, 1)])
        error = np.sqrt(400 * p_a * (1 - p_a) * p_t * (1 - p_t))
        residual = (joint - 400 * p_a * p_t) / error
        assert not ((abs(residual) > 1.9) & (abs(residual) < 2.1)).any()
        assert (close, pairs) == ((abs(residual) < 2).sum(), 24)
        for scale in (1e-200, 1e-6, 1e6, 1e200):
            assert close_pairs(sums_of(group, truth, weight=np.full(400, scale))) == (close, pairs)
        # Every row nine times: as rows they are ever so sure, as clusters no more than before.
        often = np.repeat(np.arange(400), 9)
        assert close_pairs(sums_of(group[often], truth[often]))[0] < close
        assert close_pairs(sums_of(group[often], truth[often], unit=often)) == (close, pairs)

    @pytest.mark.parametrize(("alike", "close"), [(5, 4), (6, 0), (7, 0)])
    def test_two_standard_errors_exactly_are_not_close(self, alike: int, close: int) -> None:
        """Sixteen rows, half of each kind: the residual of 6 alike of 8 is exactly 2."""
        group = np.repeat([0, 1], 8)
        first = np.repeat([1, 0, 1, 0], [alike, 8 - alike, 8 - alike, alike])
        sums = sums_of(group, np.column_stack([first, 1 - first]))
        assert close_pairs(sums) == (close, 4)

    def test_a_tie_without_any_spread_leans_nowhere_and_is_not_close(self) -> None:
        sums = sums_of([0, 0, 1, 1], [0, 1, 0, 1], unit=np.zeros(4, dtype=int))
        assert close_pairs(sums) == (0, 2)

    @pytest.mark.parametrize("held", [None, 1, 40])
    def test_weighted_clusters_against_a_loop(
        self, held: int | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if held is not None:
            monkeypatch.setattr(module, "_HELD", held)
        draw = rng(3)
        group, unit = draw.integers(0, 3, 90), draw.permutation(np.arange(90) % 20)
        task = (draw.random((90, 5)) < 0.2 + 0.25 * (group[:, None] == np.arange(5) % 3)) * 1.0
        weight = draw.uniform(0.5, 2, 90)
        sums = sums_of(group, task, weight=weight, unit=unit)
        share, residuals = weight / weight.sum(), []
        for a, t in np.ndindex(3, 5):
            has, does = (group == a).astype(float), task[:, t]
            added = share * (has - share @ has) * (does - share @ does)
            by_unit = [added[unit == one].sum() for one in range(20)]
            residuals.append(abs(sum(by_unit)) / math.sqrt(sum(one**2 for one in by_unit)))
        assert not any(1.95 < one < 2.05 for one in residuals)
        close = sum(one < 2 for one in residuals)
        assert 2 < close < 13
        assert close_pairs(sums) == (close, 15)

    def test_kinds_count_as_often_as_they_occur(self) -> None:
        rows = people(300)
        found = close_pairs(kinds_of(**rows))
        assert found == close_pairs(sums_of(**rows))
        assert 0 < found[0] < found[1] == 6

    def test_a_label_of_all_rows_or_of_none_has_no_pair(self) -> None:
        group, task = [0, 1] * 10, np.tile([[1, 0, 1], [1, 0, 0]], (10, 1))
        assert close_pairs(sums_of(group, task)) == (0, 2)
        assert close_pairs(sums_of([0] * 20, task)) == (0, 0)

    @pytest.mark.filterwarnings("error")
    def test_rows_without_weight_have_no_pair(self) -> None:
        assert close_pairs(sums_of([0, 1], [0, 1], weight=[0, 0])) == (0, 0)


def test_a_label_of_all_rows_or_of_none_varies_nowhere() -> None:
    """Sums of weights are rounded, so that all rows may have a little less, or more, than 1."""
    shares = np.array([0.0, 1e-12, 1e-9, 0.3, 1 - 1e-9, 1 - 1e-12, 1.0, 1 + 1e-15])
    expected = [False, False, True, True, True, False, False, False]
    assert module._varies(shares).tolist() == expected


def test_without_predictions_there_is_no_estimate() -> None:
    assert cross_fitted_amplification(sums_of([0, 1], [0, 1]), rng=rng()) == {}
