"""What a counted base shows of its links: against loops over its tables, and simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.metrics.association import lean_of_counts
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.results import Interval
from lmprobe.stats.base_uncertainty import (
    Reliability,
    SplitBase,
    checked_counts,
    concentration,
    lean_rule,
    posterior_rates,
    reliability,
)
from lmprobe.stats.verdicts import IntervalSettings
from tests.stats.tables import row_tables

COUNTS = np.array([[7.0, 2.0, 4.0], [1.0, 6.0, 5.0]])
GIVEN_TASK, GIVEN_GROUP = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK
SCALE = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0]])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("proportional", "even", "stretch"),
    [(0.9, 0.6, 1.5), (0.5, 0.5, 1), (0.6, 0.9, 1), (0.9, 0.2, 2.7), (0.2, 0.4, 1)],
)
def test_ends_are_stretched_away_from_zero(
    proportional: float, even: float, stretch: float
) -> None:
    for low, high in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.2), (0.0, 0.2)):
        wide = Reliability(proportional, even).stretched(Interval(low, high, 0.9, "t"))
        assert wide.low == pytest.approx(low * stretch if low < 0 else low)
        assert wide.high == pytest.approx(high * stretch if high > 0 else high)
        assert (wide.confidence, wide.method) == (0.9, "t")


def test_half_of_what_there_is_must_be_seen() -> None:
    shares = (0.5, 1.0, 0.4999)
    assert [Reliability(share, 1.0).is_enough for share in shares] == [True, True, False]
    # Below a third the interval would be all there is to see.
    assert [Reliability(share, 1.0).divisor for share in (0.8, 0.1)] == [0.8, 1 / 3]


@pytest.mark.parametrize("odd", [1.5, 3e-6, 2.0001, 3e7 + 0.25, math.nan])
def test_weights_are_no_counts_however_large(odd: float) -> None:
    table = np.array([[1.0, odd], [4.0, 5.0]])
    with pytest.raises(InputError, match=f"whole numbers of sentences; found {odd:.10g}"):
        checked_counts(table)
    assert np.array_equal(checked_counts(COUNTS + 1e-7), COUNTS)


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
    result = posterior_rates(counts, 9, rng(5))
    np.testing.assert_allclose(result, drawn / drawn.sum(axis=1, keepdims=True), rtol=1e-12)
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
    split = SplitBase.of_counts(drawn * 1.0, generator, 60)
    fitted = split.leaning(lean_rule(direction), given or direction)
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
    result = reliability(COUNTS, direction, given=given, scale=SCALE, rng=rng(3), factor=factor)
    assert (result.proportional, result.even) == pytest.approx((shown / whole, even))
    assert reliability(COUNTS[:1], direction, rng=rng()) == Reliability(0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_noise_is_at_least_that_of_bases_drawn_anew(direction: Direction) -> None:
    """The spread of the claimed numbers over 60 bases of 400 sentences from known rates."""
    draw = rng(4)
    rates = draw.beta(2, 2, 12)
    truth = np.stack([rates, 1 - rates])
    model = (0.5 + 1.4 * (truth - 0.5))[None].clip(0.01, 0.99)
    actual = []
    for _ in range(60):
        counts = draw.multinomial(400, (truth / 12).ravel()).reshape(2, 12) * 1.0
        tables = row_tables(model, counts, direction, counted=True)
        actual.append(IntervalSettings(resample="templates").numbers_of(tables))
    for part in actual[0]:
        spread = np.std([numbers[part].value for numbers in actual], ddof=1)
        noise = np.mean([numbers[part].noise for numbers in actual])
        # Sixty values tell a standard deviation to about 10 %.
        assert 0.8 < noise / spread < 2, part
