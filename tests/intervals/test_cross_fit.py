"""The cross-fitted lean: against a plain loop over ways to hold out, and against known truths."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError
from lmprobe.intervals import base_uncertainty
from lmprobe.intervals.base_uncertainty import (
    Reliability,
    base_correction,
    concentration,
    posterior_rates,
    reliability,
    sentences_needed,
)
from lmprobe.intervals.cross_fit import (
    HOLDOUT,
    CrossFittedLean,
    blurred_lean,
    cross_fitted_lean,
)
from lmprobe.metrics.lean import lean, lean_of_counts
from lmprobe.results.interval import Interval

COUNTS = np.array([[2, 1, 0], [1, 1, 2]])


def enumerated(counts: np.ndarray, direction: Direction) -> tuple[np.ndarray, np.ndarray]:
    """Weight and offset from every way to hold sentences out, with its probability."""
    axis = 0 if direction == Direction.TASK_TO_ATTRIBUTE else 1
    weight, offset = np.zeros(counts.shape), np.zeros(counts.shape)
    for held in itertools.product(*(range(count + 1) for count in counts.ravel())):
        out = np.array(held).reshape(counts.shape)
        chance = math.prod(
            math.comb(int(n), int(k)) * HOLDOUT**k * (1 - HOLDOUT) ** (n - k)
            for n, k in zip(counts.ravel(), held, strict=True)
        )
        kept = counts - out
        sign = np.zeros(counts.shape)
        for a, t in np.ndindex(counts.shape):
            sign[a, t] = np.sign(kept[a, t] * kept.sum() - kept[a].sum() * kept[:, t].sum())
        weight += chance * sign * out.sum(axis=axis, keepdims=True)
        offset += chance * sign * out
    expected = HOLDOUT * counts.sum(axis=axis, keepdims=True)
    return weight / expected, offset / expected


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_simulated_ways_to_hold_out_agree_with_all_of_them(direction: Direction) -> None:
    found = cross_fitted_lean(COUNTS, direction, rng=np.random.default_rng(0), draws=40_000)
    weight, offset = enumerated(COUNTS, direction)
    np.testing.assert_allclose(found.weight, weight, atol=0.02)
    np.testing.assert_allclose(found.offset, offset, atol=0.02)


@pytest.mark.parametrize("weighting", ["joint", "paper"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_with_very_many_sentences_it_is_the_lean(direction: Direction, weighting: str) -> None:
    counts = np.array([[9, 2, 5], [3, 8, 1.0]]) * 100_000
    world = Association.from_counts(counts, ["a", "b"], ["r", "s", "t"])
    expected = lean(world, direction, weighting)
    np.testing.assert_array_equal(lean_of_counts(counts, direction, weighting), expected)
    found = cross_fitted_lean(
        counts, direction, weighting=weighting, rng=np.random.default_rng(0), draws=500
    )
    np.testing.assert_allclose(found.weight, expected, atol=0.01)
    predicted = np.full((2, 3), 0.4)
    plain = expected * (predicted - world.conditional(direction))
    np.testing.assert_allclose(found.cells(predicted), plain, atol=0.01)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_truthful_model_is_found_to_amplify_nothing(direction: Direction) -> None:
    """Its published value is far below zero: lean and rates share the noise of the counts."""
    rng = np.random.default_rng(11)
    plain, fitted = [], []
    for _ in range(300):
        rate = 1 / (1 + np.exp(-rng.normal(0, 1, 15)))
        joint = np.stack([rate, 1 - rate]) * rng.dirichlet(np.full(15, 5.0))
        counts = rng.multinomial(300, joint.ravel()).reshape(joint.shape).astype(float)
        kept = counts.sum(axis=0) > 0
        joint, counts = joint[:, kept], counts[:, kept]
        truth = joint / joint.sum(axis=direction.axis, keepdims=True)
        base = counts / counts.sum(axis=direction.axis, keepdims=True)
        plain.append((lean_of_counts(counts, direction) * (truth - base)).mean())
        fitted.append(cross_fitted_lean(counts, direction, rng=rng, draws=100).cells(truth).mean())
    error = np.std(fitted) / math.sqrt(len(fitted))
    assert abs(np.mean(fitted)) < 3 * error
    assert np.mean(plain) < -5 * error


def test_the_fitted_prior_tells_alike_tasks_from_different_ones() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(20, 60, 60)
    for truth in (2.0, 20.0):
        rate = rng.beta(truth * 0.4, truth * 0.6, 60)
        women = rng.binomial(sizes, rate)
        found = concentration(np.stack([women, sizes - women]).astype(float))
        assert truth / 2 < found < truth * 2


def test_reliability_grows_with_the_sentences_and_says_how_many_are_enough() -> None:
    rng = np.random.default_rng(3)
    rate = rng.beta(2, 2, 20)
    counts = rng.multinomial(200, (np.stack([rate, 1 - rate]) / 20).ravel()).reshape(2, 20)
    counts = counts[:, counts.sum(axis=0) > 0].astype(float)
    direction = Direction.TASK_TO_ATTRIBUTE
    found = [
        reliability(counts, direction, rng=np.random.default_rng(0), factor=factor)
        for factor in (1, 10, 100)
    ]
    shares = [one.proportional for one in found]
    assert shares == sorted(shares)
    assert shares[0] < 0.85 < shares[1] < shares[2] <= 1
    assert all(one.even < one.proportional for one in found)
    needed = sentences_needed(counts, direction, reliable=0.9)
    assert needed is not None
    again = reliability(
        counts, direction, rng=np.random.default_rng(1), factor=needed / counts.sum()
    )
    assert again.proportional == pytest.approx(0.9, abs=0.03)


def test_weights_are_no_counts() -> None:
    with pytest.raises(InputError, match="whole numbers"):
        base_correction(
            np.array([[1.5, 2], [3, 4]]), Direction.TASK_TO_ATTRIBUTE, rng=np.random.default_rng(0)
        )


def test_the_interval_stretches_away_from_zero_only() -> None:
    counts = np.array([[3.0, 1, 4, 0], [1, 4, 2, 2]])
    found = base_correction(counts, Direction.TASK_TO_ATTRIBUTE, rng=np.random.default_rng(0))
    wide = found.widened(Interval(0.01, 0.03, 0.95, "t"))
    assert (wide.low, wide.high) == (0.01, pytest.approx(0.03 * _stretch(found.reliability)))
    around = found.widened(Interval(-0.01, 0.03, 0.95, "t"))
    assert around.low < -0.01


def _stretch(found: Reliability) -> float:
    return max(1.0, max(found.proportional, 1 / 3) / max(found.even, 1 / 3))


def test_a_group_that_was_never_counted_is_drawn_nowhere() -> None:
    counts = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])
    drawn = posterior_rates(counts, 50, np.random.default_rng(0))
    assert (drawn[:, 1] == 0).all()
    assert (drawn[:, [0, 2]] > 0).all()


@pytest.mark.parametrize("needed", [1.7, 10.0, 13.0])
def test_the_number_of_sentences_is_searched_to_a_tenth(
    needed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grows(*_: object, factor: float, **__: object) -> SimpleNamespace:
        return SimpleNamespace(proportional=9 * factor / (9 * factor + needed))

    monkeypatch.setattr(base_uncertainty, "reliability", grows)
    found = sentences_needed(np.array([[300, 200], [100, 400]]), Direction.TASK_TO_ATTRIBUTE)
    assert found is not None
    assert needed <= found / 1000 <= needed * 1.1 * 1.1


def test_no_more_than_three_times_is_added_for_what_a_base_cannot_show() -> None:
    wide = Interval(-0.1, 0.2, 0.95, "t")
    for proportional, even, stretch in ((0.9, 0.6, 1.5), (0.9, 0.1, 2.7), (0.1, 0.1, 1.0)):
        shown = Reliability(proportional, even)
        correction = base_uncertainty.BaseCorrection(None, shown, 9, None)  # type: ignore[arg-type]
        found = correction.widened(wide)
        assert (found.low, found.high) == pytest.approx((-0.1 * stretch, 0.2 * stretch))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_survey_without_errors_has_the_lean_of_its_table(direction: Direction) -> None:
    table = np.array([[30.0, 10.0, 5.0], [10.0, 30.0, 20.0]])
    found = blurred_lean(
        table, np.zeros_like(table), direction, rng=np.random.default_rng(0), draws=7
    )
    expected = lean_of_counts(table, direction, "joint")
    rate = table / table.sum(axis=direction.axis, keepdims=True)
    np.testing.assert_allclose(found.weight, expected, rtol=1e-12)
    np.testing.assert_allclose(found.offset, expected * rate, rtol=1e-12)


def test_the_noise_of_a_base_is_that_of_the_corrected_value() -> None:
    """The value is divided by the reliability, and so is its standard error."""
    rng = np.random.default_rng(3)
    redrawn = CrossFittedLean(rng.uniform(-1, 1, (50, 2, 3)), rng.uniform(-1, 1, (50, 2, 3)))
    one = CrossFittedLean(np.ones((2, 3)), np.zeros((2, 3)))
    correction = base_uncertainty.BaseCorrection(
        one, base_uncertainty.Reliability(0.5, 0.5), 100, redrawn
    )
    predicted = rng.random((4, 2, 3))
    values = [
        np.mean(weight * predicted.mean(axis=0) - offset)
        for weight, offset in zip(redrawn.weight, redrawn.offset, strict=True)
    ]
    assert correction.noise(predicted) == pytest.approx(np.std(values, ddof=1) / 0.5)


def test_independent_noise_adds_in_squares_at_each_end() -> None:
    found = base_uncertainty.with_noise(Interval(0.07, 0.14, 0.95, "t"), 0.1, 0.04 / 1.959963985)
    assert found.low == pytest.approx(0.1 - np.hypot(0.03, 0.04))
    assert found.high == pytest.approx(0.1 + np.hypot(0.04, 0.04))
