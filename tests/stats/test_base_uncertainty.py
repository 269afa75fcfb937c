"""The correction of a counted base against plain loops over its tables, and simulations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError
from lmprobe.metrics.lean import lean_of_counts
from lmprobe.results import Interval
from lmprobe.stats.base_uncertainty import (
    BaseCorrection,
    Reliability,
    base_correction,
    concentration,
    is_enough,
    posterior_rates,
    reliability,
    survey_correction,
    with_noise,
)
from lmprobe.stats.cross_fit import CrossFittedLean, blurred_lean, cross_fitted_lean

COUNTS = np.array([[7.0, 2.0, 4.0], [1.0, 6.0, 5.0]])
GIVEN_TASK, GIVEN_GROUP = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK
SCALE = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0]])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def correction(proportional: float, even: float = 1.0) -> BaseCorrection:
    parts = rng(1).uniform(-1, 1, (2, 20, 2, 3))
    lean = CrossFittedLean(parts[0, 0], parts[1, 0])
    return BaseCorrection(lean, Reliability(proportional, even), 9, CrossFittedLean(*parts))


@pytest.mark.parametrize(("proportional", "divisor"), [(0.8, 0.8), (0.1, 1 / 3), (0.4, 0.4)])
def test_values_and_their_noise_are_divided_by_what_is_found(
    proportional: float, divisor: float
) -> None:
    found = correction(proportional)
    predicted = rng(2).random((4, 2, 3))
    expected = (found.lean.weight * predicted - found.lean.offset) / divisor
    assert found.cells(predicted) == pytest.approx(expected)
    values = [
        np.mean((weight * predicted.mean(axis=0) - offset) * SCALE)
        for weight, offset in zip(found.redrawn.weight, found.redrawn.offset, strict=True)
    ]
    assert found.noise(predicted, SCALE) == pytest.approx(np.std(values, ddof=1) / divisor)


@pytest.mark.parametrize(
    ("proportional", "even", "stretch"),
    [(0.9, 0.6, 1.5), (0.5, 0.5, 1), (0.6, 0.9, 1), (0.9, 0.2, 2.7), (0.2, 0.4, 1)],
)
def test_ends_are_stretched_away_from_zero(
    proportional: float, even: float, stretch: float
) -> None:
    for low, high in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.2), (0.0, 0.2)):
        wide = correction(proportional, even).widened(Interval(low, high, 0.9, "t"))
        assert wide.low == pytest.approx(low * stretch if low < 0 else low)
        assert wide.high == pytest.approx(high * stretch if high > 0 else high)
        assert (wide.confidence, wide.method) == (0.9, "t")


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_independent_noise_adds_in_squares_at_each_end(confidence: float) -> None:
    found = with_noise(Interval(-0.1, 0.6, confidence, "t"), 0.2, 0.1)
    reach = stats.norm.ppf((1 + confidence) / 2) * 0.1
    assert found.low == pytest.approx(0.2 - math.hypot(0.3, reach))
    assert found.high == pytest.approx(0.2 + math.hypot(0.4, reach))
    for none in (Interval.too_few_units(0.95, "t"), Interval.undefined(0.95, "t")):
        assert with_noise(none, 0.2, 0.1).to_dict() == none.to_dict()


def test_half_of_what_there_is_must_be_seen() -> None:
    assert [is_enough(share) for share in (0.5, 1.0, None, 0.4999)] == [True, True, True, False]


@pytest.mark.parametrize("odd", [1.5, 3e-6, 2.0001, 3e7 + 0.25, math.nan])
def test_weights_are_no_counts_however_large(odd: float) -> None:
    table = np.array([[1.0, odd], [4.0, 5.0]])
    with pytest.raises(InputError, match=f"whole numbers of sentences; found {odd:.10g}"):
        base_correction(table, GIVEN_TASK, rng=rng())
    rounded = base_correction(COUNTS + 1e-7, GIVEN_TASK, rng=rng())
    assert rounded.sentences == 25
    plain = base_correction(COUNTS, GIVEN_TASK, rng=rng())
    assert np.array_equal(rounded.lean.weight, plain.lean.weight)


@pytest.mark.parametrize(
    "counts",
    [
        COUNTS,
        np.array([[9.0, 1, 2, 7], [2, 8, 9, 1], [1, 1, 4, 3]]),
        np.array([[12.0, 1, 5], [0, 0, 0], [3, 9, 4]]),
        np.array([[12.0, 1, 5], [1, 0, 0], [3, 9, 4]]),
    ],
)
def test_the_concentration_has_the_largest_likelihood(counts: np.ndarray) -> None:
    """Of 80 from 1/4 to 4,000, in even steps of the logarithm; labels never counted aside."""
    seen = counts[counts.sum(axis=1) > 0]
    share = seen.sum(axis=1) / seen.sum()

    def likelihood(size: float) -> float:
        law = stats.dirichlet_multinomial
        return sum(float(law.logpmf(task, size * share, task.sum())) for task in seen.T.astype(int))

    best = max((0.25 * 16_000 ** (step / 79) for step in range(80)), key=likelihood)
    assert 0.3 < best < 3000
    assert concentration(counts) == pytest.approx(best)


def test_the_prior_tells_alike_tasks_from_different_ones() -> None:
    assert concentration(np.full((2, 5), 300.0)) == pytest.approx(4000)
    assert concentration(np.diag([900.0] * 40)) == pytest.approx(0.25)


def test_rates_are_drawn_from_their_posterior() -> None:
    counts = np.array([[7.0, 2, 4], [0, 0, 0], [1, 6, 5]])
    share = np.array([13, 0, 12]) / 25
    alpha = counts + concentration(counts) * share[:, None]
    drawn = rng(5).gamma(alpha, size=(9, 3, 3))
    found = posterior_rates(counts, 9, rng(5))
    np.testing.assert_allclose(found, drawn / drawn.sum(axis=1, keepdims=True), rtol=1e-12)
    # A rate that is possible is never zero, however small the draws of its law.
    rare = posterior_rates(np.array([[5000.0, 0.0], [0.0, 5000.0]]), 200, rng())
    assert (rare > 0).all()
    assert rare.min() < 1e-30


@pytest.mark.parametrize("given", [None, *DIRECTIONS])
@pytest.mark.parametrize(("direction", "factor"), [(GIVEN_TASK, 1.0), (GIVEN_GROUP, 2.4)])
def test_reliability_is_the_share_of_the_strength_with_the_right_sign(
    direction: Direction, given: Direction | None, factor: float
) -> None:
    """Sixty worlds with the same random numbers, pair by pair."""
    generator = rng(3)
    rates = posterior_rates(COUNTS, 60, generator)
    sizes = np.rint(COUNTS.sum(axis=0) * factor).astype(int)
    drawn = np.moveaxis(generator.multinomial(sizes, np.moveaxis(rates, 1, 2)), 2, 1)
    fitted = cross_fitted_lean(drawn * 1.0, direction, given=given, rng=generator, draws=60)
    shown = whole = even = 0.0
    for world, weight in zip(rates * sizes, fitted.weight, strict=True):
        lean = lean_of_counts(world, direction)
        for a, t in np.ndindex(2, 3):
            if (given or direction) == GIVEN_TASK:
                link = abs(world[a, t] / world[:, t].sum() - world[a].sum() / world.sum())
            else:
                link = abs(world[a, t] / world[a].sum() - world[:, t].sum() / world.sum())
            agreeing = 0.0 if math.isnan(weight[a, t]) else weight[a, t] * lean[a, t]
            shown += agreeing * link * SCALE[a, t]
            whole += link * SCALE[a, t]
            even += agreeing / (60 * 6)
    found = reliability(COUNTS, direction, given=given, scale=SCALE, rng=rng(3), factor=factor)
    assert (found.proportional, found.even) == pytest.approx((shown / whole, even))
    assert reliability(COUNTS[:1], direction, rng=rng()) == Reliability(0.0, 0.0)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_corrections_are_made_of_the_parts_that_are_tested_on_their_own(
    direction: Direction,
) -> None:
    options: dict[str, Any] = {"weighting": "paper", "given": GIVEN_GROUP}
    found = base_correction(COUNTS, direction, scale=SCALE, rng=rng(), **options)
    draw = rng()
    lean = cross_fitted_lean(COUNTS, direction, rng=draw, **options)
    assert np.array_equal(found.lean.offset, lean.offset)
    assert found.reliability == reliability(COUNTS, direction, scale=SCALE, rng=draw, **options)
    rates = np.moveaxis(posterior_rates(COUNTS, 100, draw), 1, 2)
    drawn = np.moveaxis(draw.multinomial([8, 8, 9], rates), 2, 1) * 1.0
    again = cross_fitted_lean(drawn, direction, rng=draw, draws=60, **options)
    assert np.array_equal(found.redrawn.weight, again.weight, equal_nan=True)
    errors = COUNTS / 2 + 1
    survey = survey_correction(COUNTS, errors, direction, rng=rng(), **options)
    draw = rng()
    lean = blurred_lean(COUNTS, errors, direction, rng=draw, **options)
    assert np.array_equal(survey.lean.offset, lean.offset)
    table = np.maximum(COUNTS + errors * draw.standard_normal((100, 2, 3)), 0)
    noisy = blurred_lean(table, errors, direction, rng=draw, draws=60, **options)
    assert np.array_equal(survey.redrawn.weight, noisy.weight, equal_nan=True)
    assert (survey.reliability, survey.sentences) == (Reliability(1.0, 1.0), None)


@pytest.mark.slow
def test_the_noise_is_that_of_bases_drawn_anew() -> None:
    """The spread of the corrected value over 60 bases of 400 sentences from known rates."""
    draw = rng(4)
    rates = draw.beta(2, 2, 12)
    truth = np.stack([rates, 1 - rates])
    predicted = (0.5 + 1.4 * (truth - 0.5))[None].clip(0, 1)
    values, noise = [], []
    for _ in range(60):
        counts = draw.multinomial(400, (truth / 12).ravel()).reshape(2, 12) * 1.0
        found = base_correction(counts, GIVEN_TASK, rng=draw)
        values.append(found.cells(predicted).mean())
        noise.append(found.noise(predicted))
    # Sixty values tell a standard deviation to about 10 %.
    assert np.mean(noise) == pytest.approx(np.std(values, ddof=1), rel=0.35)
