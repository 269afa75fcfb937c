"""How much data a claim needs, and what a given amount of data can claim.

As in equation (4) of Bernstein-Bounded Unfairness, a claim of `effect` needs an interval
whose half-width is smaller than the estimate `effect`. This is not power: where the true
effect is exactly that large, about half of such samples show an estimate at least as large.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from lmprobe.errors import InputError, check_numbers, did_you_mean
from lmprobe.inference.exact_planning import exact_claimable_effect, exact_sample_size
from lmprobe.inference.smallest import smallest
from lmprobe.intervals.method import checked_confidence, intervals
from lmprobe.intervals.methods import bernstein, betting
from lmprobe.intervals.methods.bernstein import checked_group_share

HalfWidth = Callable[[float, float, float, float, float | None], float]
"""(n, group_share, cost_bound, confidence, variance) -> half-width of the interval."""


def _bernstein(n: float, share: float, bound: float, confidence: float, v: float | None) -> float:
    worst = (bound / share) ** 2
    return bernstein.halfwidth(n, worst if v is None else v, bound / share, confidence)


def _normal(n: float, share: float, bound: float, confidence: float, v: float | None) -> float:
    """The large-sample width that `score` and `bootstrap` both approach."""
    from scipy import special

    reach = float(special.ndtri((1 + confidence) / 2))
    return reach * math.sqrt(_variance(v, bound) / (n * share * (1 - share)))


def _betting(n: float, share: float, bound: float, confidence: float, v: float | None) -> float:
    """The large-sample width: Hoeffding's, with the true variance in place of the largest."""
    goal = math.log(2 / ((1 - confidence) * (1 - betting.ON_LIMITS)))
    return math.sqrt(2 * goal * _variance(v, bound) / (n * share * (1 - share)))


def _exact(n: float, share: float, bound: float, confidence: float, v: float | None) -> float:
    return bound * exact_claimable_effect(n, share, _rate(v, bound), confidence)


def _variance(v: float | None, bound: float) -> float:
    """Return the variance of the cost within a group; without one, the largest there can be."""
    largest = bound**2 / 4
    return largest if v is None else min(v, largest)


def _rate(v: float | None, bound: float) -> float:
    """Return the rate at most 1/2 at which costs of 0 and the bound have this variance."""
    # Of the largest variance; divided twice, because the square of a small bound may be 0.
    share = 1.0 if v is None else min(1.0, 4 * v / bound / bound)
    return (1 - math.sqrt(1 - share)) / 2


_WIDTHS: dict[str, tuple[HalfWidth, str]] = {
    "bernstein": (_bernstein, "of the amortized disparity"),
    "exact": (_exact, "of the cost within a group"),
    "betting": (_betting, "of the cost within a group"),
    "score": (_normal, "of the cost within a group"),
    "bootstrap": (_normal, "of the cost within a group"),
}
PLANNED = tuple(_WIDTHS)
"""The methods that a sample can be planned for."""


def meaning_of_variance(method: str) -> str:
    """Return what `variance` is the variance of, for this method."""
    return _WIDTHS[method][1]


def claimable_effect(
    n: float,
    *,
    group_share: float = 0.5,
    cost_bound: float = 1.0,
    confidence: float = 0.95,
    variance: float | None = None,
    method: str = "bernstein",
) -> float:
    """Return the smallest effect that n rows can claim: the interval's half-width.

    >>> round(claimable_effect(3160), 5)  # WinoBias, by the published bound
    0.09742
    """
    check_numbers(n=n)
    if not n > 0:
        raise InputError(f"`n` must be positive: found {n}")
    width = _checked(group_share, cost_bound, confidence, variance, method)
    return width(n, group_share, cost_bound, confidence, variance)


def sample_size(
    effect: float,
    *,
    group_share: float = 0.5,
    cost_bound: float = 1.0,
    confidence: float = 0.95,
    variance: float | None = None,
    method: str = "bernstein",
) -> int:
    """Return the smallest number of rows that can claim a disparity of `effect`.

    `group_share` is that of the smaller group. Without a `variance` the worst case is
    planned for; what it is the variance of depends on the method: for `bernstein` the
    amortized disparity, for `exact`, `betting`, `score` and `bootstrap` the cost within a
    group. For `exact`, which is not monotone in n, every larger number of rows is enough as
    well.

    >>> sample_size(0.05), sample_size(0.05, method="betting")
    (11903, 2993)
    """
    check_numbers(effect=effect)
    width = _checked(group_share, cost_bound, confidence, variance, method)
    if not 0 < effect <= cost_bound:
        raise InputError(
            f"`effect` must be positive and at most the largest cost, {cost_bound}: found {effect}"
        )

    if width is _exact:
        rate = _rate(variance, cost_bound)
        return exact_sample_size(effect / cost_bound, group_share, rate, confidence)

    def enough(n: int) -> bool:
        return width(n, group_share, cost_bound, confidence, variance) < effect

    found = smallest(enough)
    if found is None:
        raise InputError(f"no sample is large enough to claim {effect}; plan for a larger one")
    return found


def _checked(
    share: float, bound: float, confidence: float, variance: float | None, method: str
) -> HalfWidth:
    checked_confidence(confidence)
    checked_group_share(share)
    check_numbers(cost_bound=bound, variance=0 if variance is None else variance)
    if not (bound > 0 and math.isfinite(bound)):
        raise InputError(f"`cost_bound` must be positive and finite: found {bound}")
    if variance is not None and not (variance >= 0 and math.isfinite(variance)):
        raise InputError(f"`variance` must be finite and not negative: found {variance}")
    if method not in _WIDTHS:
        intervals.refuse_removed(method)
        raise InputError(f'no plan for "{method}"; {did_you_mean(method, _WIDTHS)}')
    if variance == 0 and _WIDTHS[method][0] is _normal:
        raise InputError(f'`variance` must be positive for "{method}": without it none is needed')
    return _WIDTHS[method][0]
