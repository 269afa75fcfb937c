"""Student's quantile against scipy's, which is too slow to import for what needs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe.intervals import student
from lmprobe.intervals.student import student_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 19, 20, 999, 1000, 1001, 50_000, 10**6])
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.999])
def test_the_quantile_is_that_of_scipy(confidence: float, degrees: int) -> None:
    expected = stats.t.ppf((1 + confidence) / 2, degrees)
    assert student_quantile(confidence, degrees) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("confidence", [1e-9, 1 - 1e-9, 1 - 1e-12])
@pytest.mark.parametrize("degrees", [1, 2, 7])
def test_a_very_small_or_large_confidence_ends(confidence: float, degrees: int) -> None:
    # So close to 1, the confidence itself is known to few digits.
    expected = stats.t.isf((1 - confidence) / 2, degrees)
    assert student_quantile(confidence, degrees) == pytest.approx(expected, rel=0.001)


@pytest.mark.parametrize(
    ("degrees", "confidence"), [(1, 0.5), (1, 0.95), (2, 0.95), (5, 0.9), (6, 0.8), (39, 0.95)]
)
def test_every_step_is_newtons(
    degrees: int, confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the normal quantile up, and from the derivative of the probability that scipy has."""
    tried = []

    def probability(t: float, degrees: int) -> float:
        tried.append(t)
        return original(t, degrees)

    original = student._central_probability
    monkeypatch.setattr(student, "_central_probability", probability)
    found = student_quantile(confidence, degrees)
    assert tried[0] == pytest.approx(stats.norm.ppf((1 + confidence) / 2))
    for t, following in zip(tried, [*tried[1:], found], strict=True):
        missing = confidence - (1 - 2 * stats.t.sf(t, degrees))
        assert following == pytest.approx(t + missing / (2 * stats.t.pdf(t, degrees)), rel=1e-12)
    # A dozen would do here.
    assert tried[12:] == pytest.approx([found] * len(tried[12:]), rel=1e-13)


def test_the_expansion_is_that_of_the_quantile_in_powers_of_one_over_the_degrees() -> None:
    """Its four terms against those of quantiles with 40 digits, for very many degrees."""
    z = 0.7
    points = np.array([1.0, -1.0, 0.5, -0.5])
    powers = points[:, None] ** np.arange(1, 5)
    sums = [student._expansion(z, 1 / point) - z for point in points]  # type: ignore[arg-type]
    found = np.linalg.solve(powers, sums)
    assert found == pytest.approx(precise_terms(z), rel=1e-9)


def precise_terms(z: float) -> list[float]:
    mp: Any = pytest.importorskip("mpmath", reason="needs mpmath").mp.clone()
    mp.dps = 40
    confidence = mp.erf(mp.mpf(z) / mp.sqrt(2))

    def quantile(degrees: Any) -> Any:
        log = mp.loggamma((degrees + 1) / 2) - mp.loggamma(degrees / 2)
        constant = 2 * mp.exp(log) / mp.sqrt(degrees * mp.pi)

        def density(x: Any) -> Any:
            return constant * (1 + x * x / degrees) ** (-(degrees + 1) / 2)

        t = mp.mpf(stats.t.ppf(stats.norm.cdf(z), float(degrees)))
        for _ in range(2):
            t += (confidence - mp.quad(density, [0, t])) / density(t)
        return t

    parts = [mp.mpf(number) / 10_000 for number in range(1, 8)]
    powers = mp.matrix([[part**power for power in range(1, 8)] for part in parts])
    excess = mp.matrix([quantile(1 / part) - mp.mpf(z) for part in parts])
    return [float(term) for term in mp.lu_solve(powers, excess)[:4]]
