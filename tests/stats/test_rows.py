"""Intervals over labelled rows against plain loops, and against known truths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.io.tables import TableSource
from lmprobe.metrics.direction import Direction
from lmprobe.results import Verdict
from lmprobe.stats.resampling import percentile_interval
from lmprobe.stats.row_sums import RowSums, Sums
from lmprobe.stats.rows import (
    bootstrap_interval,
    cross_fitted_amplification,
    links,
    reliability,
    strength,
    unevenness,
)
from lmprobe.tabular.counting import count_rows
from lmprobe.tabular.engine import count_lines
from lmprobe.tabular.settings import Columns, Layout
from tests.stats.labelled_rows import kinds_of, people, sums_of

A_TO_T, T_TO_A = Direction.ATTRIBUTE_TO_TASK, Direction.TASK_TO_ATTRIBUTE


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_ends_are_those_of_the_replicates_that_are_defined(confidence: float) -> None:
    """The task of one row of five: about a third of the replicates lack it, and say nothing."""
    sums = sums_of(
        ["a", "a", "b", "b", "b"], [1, 0, 0, 0, 0], attribute_predictions=["a", "a", "b", "b", "a"]
    )
    values = sums.resampled(200, rng()).value(T_TO_A, sums.total.lean())
    assert 100 < (~np.isnan(values)).sum() < 160
    result = bootstrap_interval(sums, confidence=confidence, rng=rng(), replicates=200)
    assert str(result[T_TO_A]) == str(percentile_interval(values, units=5, confidence=confidence))


def test_clusters_are_drawn_whole() -> None:
    rows = people(150)
    often = {name: np.repeat(column, 4, axis=0) for name, column in rows.items()}
    unit = np.repeat(np.arange(150), 4)
    alone, together, naive = (
        bootstrap_interval(sums, rng=rng(), replicates=2000)
        for sums in (sums_of(**rows), sums_of(**often, unit=unit), sums_of(**often))
    )
    for direction in (A_TO_T, T_TO_A):
        assert together[direction].width == pytest.approx(alone[direction].width, rel=0.15)
        assert naive[direction].width < 0.7 * together[direction].width


@pytest.mark.slow
def test_bins_cover_as_rows_do() -> None:
    """Ten thousand fractional predictions in 1,024 bins; the true value is known."""
    hits, truth = 0, 0.25 * 0.5
    layout = Layout(Columns(("group",), ("task",), (), ("guess",)), binary=True)
    for seed in range(200):
        draw = rng(1000 + seed)
        group = draw.integers(0, 2, 10_000)
        task = (draw.random(10_000) < 0.25 + 0.5 * group).astype(int)
        guess = np.clip(0.125 + 0.75 * group + draw.uniform(-0.1, 0.1, 10_000), 0, 1)
        with TableSource(pd.DataFrame({"group": group, "task": task, "guess": guess})) as source:
            lines = count_lines(source, layout, binned=True)
        rows = count_rows(lines, layout, "table").row_sums(("0", "1"), ("task",))
        hits += truth in bootstrap_interval(rows, rng=draw, replicates=400)[A_TO_T]
    assert stats.binomtest(hits, 200, 0.95).pvalue > 1e-3


def test_the_lean_comes_from_the_train_rows() -> None:
    rows = people()
    train = sums_of(1 - rows["attribute_labels"], rows["task_labels"])
    sums = kinds_of(**rows)
    own = bootstrap_interval(sums, rng=rng(), replicates=500)[A_TO_T]
    turned = bootstrap_interval(sums, train=train, rng=rng(), replicates=500)[A_TO_T]
    assert (turned.low, turned.high) == pytest.approx((-own.high, -own.low), abs=1e-12)


def test_pairs_of_a_label_that_never_occurs_count_only_on_request() -> None:
    """The third task is predicted but never true: a third of all pairs, all of them 0."""
    rows = people(60)
    rows["task_labels"][:, 2] = 0
    sums = kinds_of(**rows)
    plain, retained = (
        (
            bootstrap_interval(sums, keep_unseen=keep, rng=rng(), replicates=500)[A_TO_T],
            cross_fitted_amplification(sums, keep_unseen=keep, rng=rng())[A_TO_T].interval,
        )
        for keep in (False, True)
    )
    for own, with_unseen in zip(plain, retained, strict=True):
        expected = pytest.approx((own.low * 2 / 3, own.high * 2 / 3))
        assert (with_unseen.low, with_unseen.high) == expected


def test_one_unit_is_too_few_and_two_are_not() -> None:
    rows = people(40)
    for units, status in ((1, "too_few_units"), (2, "ok")):
        sums = sums_of(**rows, unit=np.arange(40) % units)
        plain = bootstrap_interval(sums, rng=rng())[A_TO_T]
        fitted = cross_fitted_amplification(sums, rng=rng())[A_TO_T].interval
        assert (plain.status, plain.method) == (status, "bootstrap")
        assert (fitted.status, fitted.method) == (status, "cross-fitted")


@pytest.mark.parametrize("kind", ["plain", "weighted", "fractions"])
def test_perfect_predictions_have_no_spread(kind: str) -> None:
    rows, draw = people(), rng(4)
    task = draw.random((400, 3)) if kind == "fractions" else rows["task_labels"]
    weight = draw.random(400) if kind == "weighted" else None
    sums = sums_of(rows["attribute_labels"], task, task_predictions=task, weight=weight)
    assert bootstrap_interval(sums, rng=rng(), replicates=1000)[A_TO_T].status == "undefined"
    fitted = cross_fitted_amplification(sums, rng=rng())[A_TO_T]
    assert (fitted.value, fitted.interval.status) == (0, "undefined")


def test_a_confidence_is_strictly_between_0_and_1() -> None:
    for function in (bootstrap_interval, cross_fitted_amplification):
        with pytest.raises(InputError, match="confidence"):
            function(sums_of(**people(20)), confidence=1.0, rng=rng())
    assert cross_fitted_amplification(sums_of([0, 1], [0, 1]), rng=rng()) == {}


def held_out(
    rows: dict[str, Any], times: np.ndarray, held: np.ndarray, keep_unseen: bool
) -> dict[Direction, np.ndarray]:
    """Return lean * (predicted - true) / (a fifth of the condition), pair by pair, (ways,)."""
    group = np.eye(2)[rows["attribute_labels"]]
    said = np.eye(2)[rows["attribute_predictions"]]
    task, guess = rows["task_labels"].astype(float), rows["task_predictions"].astype(float)
    retained = times - held
    pairs: dict[Direction, list[np.ndarray]] = {A_TO_T: [], T_TO_A: []}
    for a, t in np.ndindex(group.shape[1], task.shape[1]):
        both = group[:, a] * task[:, t]
        in_group, in_task = times @ group[:, a], times @ task[:, t]
        excess = (retained @ both) * retained.sum(axis=1) - (retained @ group[:, a]) * (
            retained @ task[:, t]
        )
        for direction, predicted, given in (
            (A_TO_T, group[:, a] * guess[:, t], in_group),
            (T_TO_A, said[:, a] * task[:, t], in_task),
        ):
            seen = given > 0 if keep_unseen else (in_group > 0) & (in_task > 0)
            change = np.sign(excess) * (held @ (predicted - both)) / (0.2 * np.maximum(given, 1))
            pairs[direction].append(np.where(seen, change, np.nan))
    return {direction: np.nanmean(each, axis=0) for direction, each in pairs.items()}


@pytest.mark.parametrize("keep_unseen", [False, True])
@pytest.mark.parametrize("unseen", [None, "task_labels", "attribute_labels"])
def test_the_cross_fitted_value_and_its_spread_are_those_of_a_loop(
    unseen: str | None, keep_unseen: bool
) -> None:
    """500 ways to hold a fifth out, and 8 ways in each of 400 resamples of the units."""
    rows = people(30)
    if unseen is not None:
        # One row alone has the label; where it is held out, the others do not lean.
        labels = rows[unseen][:, 2] if unseen == "task_labels" else rows[unseen]
        labels[1:], labels[0] = 0, 1
    generator, ones = rng(), np.ones((1, 30), dtype=int)
    whole = np.repeat(ones, 500, axis=0)
    estimates = held_out(rows, whole, generator.binomial(whole, 0.2), keep_unseen)
    times = np.repeat(generator.multinomial(30, ones[0] / 30, size=400), 8, axis=0)
    spread = held_out(rows, times, generator.binomial(times, 0.2), keep_unseen)
    sums = sums_of(**rows)
    result = cross_fitted_amplification(sums, keep_unseen=keep_unseen, confidence=0.9, rng=rng())
    for direction, values in estimates.items():
        shown = reliability(links(sums), direction)
        divisor = max(shown.proportional, 1 / 3)
        assert result[direction].value == pytest.approx(values.mean() / divisor, abs=1e-12)
        ways = spread[direction].reshape(400, 8)
        # The noise of the few ways to hold out is not that of the units.
        noise = np.nanmean(ways.var(axis=1, ddof=1)) / 8
        variance = np.nanvar(ways.mean(axis=1), ddof=1) - noise
        half = stats.t.ppf(0.95, 29) * math.sqrt(variance)
        # The end away from zero also covers an even exaggeration.
        most = min(divisor, max(shown.even, 1 / 4))
        low, high = values.mean() - half, values.mean() + half
        ends = (low / (most if low < 0 else divisor), high / (most if high > 0 else divisor))
        interval = result[direction].interval
        assert (interval.low, interval.high) == pytest.approx(np.clip(ends, -1, 1), rel=1e-9)


def test_no_sample_is_added_up_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows with 500 parts that are held out, and 400 resamples with 8 parts of each."""
    added_up, samples = [], RowSums.samples

    def counted(self: RowSums, times: np.ndarray) -> Sums:
        added_up.append(len(times))
        return samples(self, times)

    monkeypatch.setattr(RowSums, "samples", counted)
    sums = sums_of(**people(3000))
    cross_fitted_amplification(sums, labels=links(sums), rng=rng())
    assert sum(added_up) < 1.01 * (1 + 500 + 400 + 8 * 400)


@pytest.mark.slow
def test_rows_in_which_nothing_is_linked_amplify_nothing() -> None:
    """Twenty independent tasks: the plain interval misses zero most of the time."""
    draw, covered, plain, values = rng(5), 0, 0, []
    for _ in range(25):
        truth, guess = (draw.random((2, 300, 20)) < 0.3).astype(int)
        sums = sums_of(draw.integers(0, 2, 300), truth, task_predictions=guess)
        result = cross_fitted_amplification(sums, rng=draw)[A_TO_T]
        covered += 0 in result.interval
        plain += 0 in bootstrap_interval(sums, rng=draw, replicates=300)[A_TO_T]
        values.append(result.value)
    assert covered >= 20
    assert plain < 15
    assert abs(np.mean(values)) < 3 * np.std(values) / 5


@pytest.mark.parametrize("weighted", [False, True])
def test_close_pairs_against_a_loop(weighted: bool) -> None:
    """Clusters of weighted rows: what they add to the excess over independence, squared."""
    draw = rng(3)
    group, unit = draw.integers(0, 3, 90), draw.permutation(np.arange(90) % 20)
    task = (draw.random((90, 5)) < 0.2 + 0.25 * (group[:, None] == np.arange(5) % 3)) * 1.0
    weight = draw.uniform(0.5, 2, 90) if weighted else np.ones(90)
    share, residuals = weight / weight.sum(), []
    for a, t in np.ndindex(3, 5):
        has, does = (group == a).astype(float), task[:, t]
        added = share * (has - share @ has) * (does - share @ does)
        by_unit = [added[unit == number].sum() for number in range(20)]
        # A rare pair has at least the variance of independent rows.
        spread = [
            min(p * (1 - p), 90 * sum((share * (x - p))[unit == u].sum() ** 2 for u in range(20)))
            for x, p in ((has, share @ has), (does, share @ does))
        ]
        variance = max(sum(value**2 for value in by_unit), spread[0] * spread[1] / 90)
        residuals.append(abs(sum(by_unit)) / math.sqrt(variance))
    assert not any(1.95 < residual < 2.05 for residual in residuals)
    close = sum(residual < 2 for residual in residuals)
    assert 2 < close < 13
    for scale in (1e-200, 1.0, 1e200):
        sums = sums_of(group, task, weight=weight * scale, unit=unit)
        assert (links(sums).close, links(sums).pairs) == (close, 15)
        assert np.abs(links(sums).z).ravel() == pytest.approx(residuals)


@pytest.mark.parametrize(("alike", "close"), [(5, 4), (6, 0), (7, 0)])
def test_two_standard_errors_exactly_are_not_close(alike: int, close: int) -> None:
    """Sixteen rows, half of each kind: the residual of 6 alike of 8 is exactly 2."""
    group = np.repeat([0, 1], 8)
    first = np.repeat([1, 0, 1, 0], [alike, 8 - alike, 8 - alike, alike])
    result = links(sums_of(group, np.column_stack([first, 1 - first])))
    assert (result.close, result.pairs) == (close, 4)


def close_pairs(sums: RowSums) -> tuple[int, int]:
    return links(sums).close, links(sums).pairs


@pytest.mark.filterwarnings("error")
def test_a_label_of_all_rows_or_of_none_has_no_pair() -> None:
    group, task = [0, 1] * 10, np.tile([[1, 0, 1], [1, 0, 0]], (10, 1))
    assert close_pairs(sums_of(group, task)) == (0, 2)
    assert close_pairs(sums_of(group, task, weight=np.full(20, 0.1))) == (0, 2)
    assert close_pairs(sums_of([0] * 20, task)) == (0, 0)
    # One row of forty is enough to have pairs, and so is all but one.
    rare = np.eye(40)[:, :1]
    assert close_pairs(sums_of([0, 1] * 20, np.hstack([rare, 1 - rare]))) == (4, 4)
    assert close_pairs(sums_of([0, 1], [0, 1], weight=[0, 0])) == (0, 0)
    rows = people(300)
    result = close_pairs(kinds_of(**rows))
    assert result == close_pairs(sums_of(**rows))
    assert 0 < result[0] < result[1] == 6


def jobs(
    rows: int, strengths: tuple[float, float], draw: np.random.Generator, *, groups: int = 2
) -> dict[str, Any]:
    """Groups and one of six jobs; labels and predictions have powers of the same links."""
    link = np.random.default_rng(8).normal(0, 0.6, (groups, 6))
    group = draw.integers(0, groups, rows)
    tables = []
    for power in strengths:
        chance = np.exp(power * link)
        chance = (chance / chance.sum(axis=1, keepdims=True)).cumsum(axis=1)[group]
        tables.append(np.eye(6)[(draw.random((rows, 1)) > chance).sum(axis=1)])
    return {"attribute_labels": group, "task_labels": tables[0], "task_predictions": tables[1]}


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("groups", [2, 3])
def test_the_strength_is_the_planted_power(power: float, groups: int) -> None:
    sums = kinds_of(**jobs(20_000, (1.0, power), rng(2), groups=groups))
    result = strength(sums, A_TO_T, rng=rng())
    assert result is not None
    assert result.value == pytest.approx(power, rel=0.1)
    assert power in result.interval
    expected = {0.5: Verdict.REDUCES, 1.0: Verdict.UNDECIDED, 2.0: Verdict.AMPLIFIES}
    assert result.verdict is expected[power]


@pytest.mark.parametrize("kind", ["rows", "weights", "clusters"])
def test_predictions_that_equal_the_labels_are_exactly_as_strong(kind: str) -> None:
    rows = jobs(400, (1.0, 1.0), rng())
    rows["task_predictions"] = rows["task_labels"]
    more: dict[str, Any] = {
        "rows": {},
        "weights": {"weight": rng(1).uniform(0.5, 2, 400)},
        "clusters": {"unit": np.arange(400) // 4},
    }[kind]
    result = strength(sums_of(**rows, **more), A_TO_T, rng=rng())
    assert result is not None
    assert (result.value, result.interval.status) == (1.0, "undefined")


def test_a_strength_is_withheld_where_logarithms_cannot_be_trusted() -> None:
    few = strength(sums_of(**jobs(60, (1.0, 1.0), rng())), A_TO_T, rng=rng())
    none = strength(sums_of(**jobs(2000, (0.0, 1.0), rng())), A_TO_T, rng=rng())
    for item in (few, none):
        assert item is not None
        assert math.isnan(item.value)
        assert (item.interval.status, item.verdict) == ("too_few_units", Verdict.UNDECIDED)
    rows = people(200)
    rows["task_labels"], rows["task_predictions"] = (
        rows[name][:, :1] for name in ("task_labels", "task_predictions")
    )
    assert strength(sums_of(**rows), A_TO_T, rng=rng()) is None
    # The scale of weights changes nothing.
    rows = jobs(2000, (1.0, 2.0), rng())
    plain, scaled = (
        strength(sums_of(**rows, weight=np.full(2000, w)), A_TO_T, rng=rng()) for w in (1.0, 1e6)
    )
    assert plain is not None
    assert scaled is not None
    assert scaled.value == pytest.approx(plain.value, rel=1e-6)


def test_predictions_that_follow_the_group_where_labels_do_not_are_uneven() -> None:
    """Half of the rows are men, who are never predicted; of the women 71 % are."""
    draw = rng(6)
    group, task = draw.integers(0, 2, 600), draw.integers(0, 2, (600, 1))
    guess = (group[:, None] == 1) & (draw.random((600, 1)) < 0.71)
    sums = sums_of(group, task, task_predictions=guess, attribute_predictions=group)
    result = unevenness(sums, A_TO_T, rng=rng())
    share = guess[group == 1].mean()
    assert result.value == pytest.approx((share - guess.mean() + guess.mean()) / 2, abs=0.02)
    assert result.interval.low < 0.355 < result.interval.high
    assert result.interval.low > 0.25
    assert result.p_value < 1e-9
    # The same rows in clusters of ten are less evidence, but still some.
    clustered = sums_of(group, task, task_predictions=guess, unit=np.arange(600) // 10)
    assert result.p_value < unevenness(clustered, A_TO_T, rng=rng()).p_value < 0.01
    # What the group is predicted to be does not depend on the one task.
    assert unevenness(sums, T_TO_A, rng=rng()).p_value > 0.5


def test_the_predicted_group_may_depend_on_the_only_task() -> None:
    draw = rng(6)
    group, task = draw.integers(0, 2, 600), draw.integers(0, 2, 600)
    said = np.where(draw.random(600) < 0.3 + 0.4 * task, 1, 0)
    result = unevenness(sums_of(group, task, attribute_predictions=said), T_TO_A, rng=rng())
    assert result.value == pytest.approx(said[task == 1].mean() - said.mean(), abs=1e-12)
    assert result.p_value < 1e-6


@pytest.mark.parametrize("kind", ["perfect", "one unit", "one group"])
def test_without_evidence_nothing_is_uneven(kind: str) -> None:
    draw = rng(7)
    group, task = draw.integers(0, 2, 80), draw.integers(0, 2, (80, 3))
    guess = task if kind == "perfect" else 1 * (draw.random((80, 3)) < 0.2 + 0.6 * group[:, None])
    unit = np.zeros(80, dtype=int) if kind == "one unit" else None
    if kind == "one group":
        group[:] = 0
    result = unevenness(sums_of(group, task, task_predictions=guess, unit=unit), A_TO_T, rng=rng())
    assert (result.p_value, result.verdict) == (1.0, Verdict.UNDECIDED)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.3, 0.03])
def test_chance_alone_is_seldom_called_uneven(rate: float) -> None:
    """Eight tasks, common or rare, three groups of unequal size; 0.05 within three errors."""
    draw, false = rng(9), 0
    for _ in range(400):
        group = draw.choice(3, 300, p=[0.1, 0.3, 0.6])
        task, noise = draw.random((2, 300, 8)) < rate
        guess = np.where(draw.random((300, 8)) < 0.5, task, noise)
        sums = sums_of(group, task, task_predictions=guess)
        false += links(sums, A_TO_T).p_value < 0.05
    assert false / 400 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_the_reliability_grows_with_the_links() -> None:
    """Of labels without links little is shown, of strong ones nearly all, whatever the pattern."""
    shown = []
    for size in (0.0, 0.05, 0.1, 0.3):
        draw = rng(3)
        group = draw.integers(0, 2, 1000)
        link = size * draw.choice([-1, 1], 20)
        task = draw.random((1000, 20)) < 0.4 + (group[:, None] - 0.5) * link
        result = reliability(links(sums_of(group, task)), A_TO_T)
        assert 0 <= result.even <= result.proportional <= 1
        shown.append(result.proportional)
    assert shown == sorted(shown)
    assert shown[0] < 0.6
    assert shown[-1] > 0.97
    assert reliability(links(sums_of([0] * 10, [0, 1] * 5)), A_TO_T).proportional == 0


@pytest.mark.slow
def test_weak_links_are_found_as_large_as_they_are() -> None:
    """Twenty tasks with weak links that a model exaggerates by 0.05 in proportion."""
    draw, covered, values = rng(11), 0, []
    for _ in range(40):
        link = draw.normal(0, 0.06, 20)
        more = link * (1 + 0.1 / np.abs(link).mean())
        group = draw.integers(0, 2, 1000)
        task, guess = (
            draw.random((1000, 20)) < 0.4 + (group[:, None] - 0.5) * each for each in (link, more)
        )
        result = cross_fitted_amplification(sums_of(group, task, task_predictions=guess), rng=draw)
        values.append(result[A_TO_T].value)
        covered += 0.05 in result[A_TO_T].interval
    assert covered >= 36
    assert np.mean(values) == pytest.approx(0.05, abs=0.01)
