"""What a method is given and what is known of it: defaults, checks, and what counts as alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.intervals.method import (
    Sample,
    Traits,
    checked_confidence,
    constant,
    declare,
    groups_of,
    interval,
    intervals,
    observations_of,
    traits_of,
)
from lmprobe.results import Interval


def plain(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Return an interval that shows what the method was given."""
    return Interval(sample.value, float(rng.random()), confidence, "plain")


def test_a_sample_has_only_what_is_said_of_it() -> None:
    sample = Sample(0.25)
    assert sample.bounds == (-1.0, 1.0)
    assert sample.units == 0
    assert sample.observations is sample.resampled is sample.left_out is None
    assert sample.groups is sample.crossed is None
    for needing in (observations_of, groups_of):
        with pytest.raises(InputError, match="which this statistic is not"):
            needing(sample, "mine")


def test_a_method_is_a_name_or_a_function_and_95_percent_the_default() -> None:
    found = interval(Sample(0.25), method=plain, rng=np.random.default_rng(3))
    assert (found.low, found.high) == (0.25, np.random.default_rng(3).random())
    assert (found.confidence, found.method) == (0.95, "plain")
    named = interval(
        Sample(0.25, np.array([0.1, 0.4])), method="t", confidence=0.8, rng=np.random.default_rng(3)
    )
    assert (named.confidence, named.method) == (0.8, "t")


def test_what_is_not_declared_is_not_so() -> None:
    assert traits_of(plain) == Traits(False, False, False, False, "")

    @declare(Traits(crossed=True, caveat="mind this"))
    def other(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
        return plain(sample, confidence=confidence, rng=rng)

    assert traits_of(other) == Traits(crossed=True, caveat="mind this")


def test_the_traits_of_the_methods() -> None:
    """Those that resample: the bootstraps; only one of them goes further out for few units."""
    having = {
        trait: {name for name in intervals.names() if getattr(traits_of(name), trait)}
        for trait in ("resamples", "crossed", "expanded")
    }
    bootstraps = {"bootstrap", "bootstrap-bca", "bootstrap-percentile"}
    assert having == {"resamples": bootstraps, "crossed": {"t-crossed"}, "expanded": {"bootstrap"}}
    for name in (*bootstraps, "t"):
        assert traits_of(name).approximate
    for name in ("t-crossed", "hoeffding"):
        assert not traits_of(name).approximate


def test_a_confidence_lies_between_0_and_1() -> None:
    for confidence in (1e-9, 0.5, 1 - 1e-9):
        assert checked_confidence(confidence) == confidence
    for confidence in (0, 1, -0.1, 1.1, 1.5, math.nan):
        with pytest.raises(InputError, match="both excluded"):
            checked_confidence(confidence)


@pytest.mark.parametrize(("size", "least"), [(0.0, 1e-12), (0.5, 1e-12), (2.0, 2e-12), (1e3, 1e-9)])
def test_values_are_alike_if_they_differ_by_rounding(size: float, least: float) -> None:
    for sign in (1, -1):
        assert constant(sign * np.array([size, size - 0.9 * least, size]))
        assert not constant(sign * np.array([size, size - 1.2 * least, size]))
    assert constant(np.array([size]))


def test_a_difference_of_exactly_the_rounding_is_alike() -> None:
    assert constant(np.array([0.0, 1e-12]))
    assert not constant(np.array([0.0, 1.1e-12]))


def test_a_method_says_what_it_lacks() -> None:
    with pytest.raises(InputError, match='"mine" needs a mean of independent observations'):
        observations_of(Sample(0.0), "mine")
    with pytest.raises(InputError, match='"mine" is for the difference between two groups'):
        groups_of(Sample(0.0), "mine")
    values = np.array([0.1])
    assert observations_of(Sample(0.1, values), "mine") is values
