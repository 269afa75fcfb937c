"""How much data a claim needs: rows for a disparity, templates for a probe, sentences for a base.

As in equation (4) of Bernstein-Bounded Unfairness, a claim of `effect` needs an interval
whose half-width is smaller than the estimate `effect`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import NormalDist

import numpy as np

from lmprobe.errors import InputError, check_confidence, check_numbers, did_you_mean, invalid
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import defined_mean
from lmprobe.stats.base_uncertainty import checked_counts, reliability
from lmprobe.stats.method import intervals
from lmprobe.stats.methods.bounded import ON_LIMITS, checked_group_share, halfwidth
from lmprobe.stats.methods.proportions import ScoreTest

VARIANCE_IS = {"bernstein": "of the amortized disparity"} | dict.fromkeys(
    ("exact", "betting", "score", "bootstrap"), "of the cost within a group"
)
"""What `variance` is the variance of, for each method that rows can be planned for."""

_quantile = NormalDist().inv_cdf
# Larger samples are out of reach.
_MOST, _MOST_SENTENCES = 2**60, 2**40
# The search for the exact test starts at this many times the large-sample number of rows and
# goes down to that number in this many steps.
_MARGIN, _TRIED = 1.1, 200
# The smallest effect that the exact test can claim is computed to this part of the cost bound.
_PARTS = 2**24
# Sizes of a base that are tried are a factor of 2 ** (1 / 8) apart.
_STEPS = 8
# A prior fitted to a handful of sentences takes their links for certain: of 5 it plans 13. With
# fewer sentences a task than this, a share has a standard error of more than 0.16.
_LEAST_PER_TASK = 10


def smallest(
    enough: Callable[[int], bool],
    start: int = 2,
    *,
    grow: Callable[[int], int] = lambda n: 2 * n,
    steps: Sequence[int] | None = None,
    least: int = 2,
    most: int = _MOST,
) -> int | None:
    """Return the smallest n from `least` that is enough, None where none up to `most` is.

    It grows from `start` until it is enough, then shrinks by each of `steps` while that is
    enough too. By default the steps halve, which is right if all larger numbers are enough as
    well; if not, small steps find the end of a gap.

    >>> smallest(lambda n: n * n > 50)
    8
    """
    enough, n = cache(enough), start
    while not enough(n):
        n = grow(n)
        if n > most:
            return None
    for step in steps or [2**power for power in reversed(range(n.bit_length()))]:
        while n - step >= least and enough(n - step):
            n -= step
    return n


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
        raise invalid("n", f" must be positive: found {n}")
    return _Rows(group_share, cost_bound, confidence, variance, method).claimable(n)


def sample_size(
    effect: float,
    *,
    group_share: float = 0.5,
    cost_bound: float = 1.0,
    confidence: float = 0.95,
    variance: float | None = None,
    method: str = "bernstein",
    power: float | None = None,
) -> int:
    """Return the smallest number of rows that can claim a disparity of `effect`.

    As published, an estimate of `effect` is then a claim; if the true effect is exactly that
    large, about half of the samples make it. With `power`, about that share or more do.

    `group_share` is that of the smaller group. Without a `variance` the worst case is planned
    for; it is that of the amortized disparity for `bernstein`, and of the cost within a group
    for the other methods. `exact` is not monotone in n: every larger number of rows is enough
    as well, but of more than a few hundred candidates only some are tried.

    >>> sample_size(0.05), sample_size(0.05, method="exact")
    (11903, 1641)
    >>> sample_size(0.05, method="exact", power=0.8)
    3237
    """
    above = 0.5 if power is None else power
    check_numbers(effect=effect, power=above)
    if not 0 < above < 1:
        raise invalid("power", f" must lie between 0 and 1, both excluded: found {power}")
    rows = _Rows(group_share, cost_bound, confidence, variance, method, _quantile(above))
    if not 0 < effect <= cost_bound:
        raise invalid(
            "effect",
            f" must be positive and at most the largest cost, {cost_bound}: found {effect}",
        )
    if method == "exact":
        difference = effect / cost_bound
        start = math.ceil(_MARGIN * rows.large_sample(difference))
        n = smallest(
            lambda n: rows.excludes_zero(n, difference),
            start,
            grow=lambda n: math.ceil(_MARGIN * n),
            # An odd step meets even and odd group sizes alike.
            steps=(2 * math.ceil((_MARGIN - 1) * start / _TRIED / 2) - 1, 1),
        )
    else:
        n = smallest(lambda n: rows.claimable(n) < effect)
    if n is None:
        raise InputError(f"no sample is large enough to claim {effect}; plan for a larger one")
    return n


@dataclass(frozen=True, slots=True)
class _Rows:
    """A table in which the costs of two groups are compared by one interval method."""

    group_share: float
    cost_bound: float
    confidence: float
    variance: float | None
    method: str
    margin: float = 0.0
    """An estimate so many standard errors below the true effect must still be a claim."""

    def __post_init__(self) -> None:
        """Raise an error that names the argument which cannot be planned with."""
        check_confidence(self.confidence)
        checked_group_share(self.group_share)
        bound, variance = self.cost_bound, 0.0 if self.variance is None else self.variance
        check_numbers(cost_bound=bound, variance=variance)
        if not 0 < bound < math.inf:
            raise invalid("cost_bound", f" must be positive and finite: found {bound}")
        if not 0 <= variance < math.inf:
            raise invalid("variance", f" must be finite and not negative: found {variance}")
        if self.method not in VARIANCE_IS:
            intervals.refuse_removed(self.method)
            hint = did_you_mean(self.method, VARIANCE_IS)
            raise InputError(f'no plan for "{self.method}"; {hint}')
        if self.variance == 0 and self.method in ("score", "bootstrap"):
            raise invalid(
                "variance", f' must be positive for "{self.method}": without it none is needed'
            )

    def claimable(self, n: float) -> float:
        """Return the half-width of n rows plus the margin; infinite where none excludes zero."""
        share, bound = self.group_share, self.cost_bound
        if self.method == "bernstein":
            variance = (bound / share) ** 2 if self.variance is None else self.variance
            half = halfwidth(n, variance, bound / share, self.confidence)
            return half + self.margin * math.sqrt(variance / n)
        if self.method == "exact":
            rejects = partial(self.excludes_zero, int(n))
            parts = smallest(lambda k: rejects(k / _PARTS), _PARTS, least=1, most=_PARTS)
            return math.inf if parts is None else bound * (parts / _PARTS)
        within = min(bound**2 / 4, math.inf if self.variance is None else self.variance)
        reach = -_quantile((1 - self.confidence) / 2)
        # `score` and `bootstrap` approach the normal width, betting Hoeffding's with the true
        # variance in place of the largest.
        if self.method == "betting":
            reach = math.sqrt(2 * math.log(2 / ((1 - self.confidence) * (1 - ON_LIMITS))))
        return (reach + self.margin) * math.sqrt(within / (n * share * (1 - share)))

    def excludes_zero(self, n: int, difference: float) -> bool:
        """Tell whether the exact test of n rows, with this difference of rates, rejects zero.

        The two rates of the largest cost lie around that of the variance, or as near to it as the
        difference allows, and are closer to each other by the margin: each moves by its share of
        the variance, which makes it the most likely outcome of that kind.
        """
        n_a = round(n * self.group_share)
        sizes = np.array([n_a, n - n_a])
        if sizes.min() < 1:
            return False
        rates = self._middle_rate(difference) + np.array([difference, -difference]) / 2
        variances = rates * (1 - rates) / sizes
        move = self.margin / (math.sqrt(variances.sum()) or 1.0)
        rates = np.clip(rates - move * variances * [1, -1], 0, 1)
        if rates[0] <= rates[1]:
            return False
        (x_a, x_b), (n_a, n_b) = np.rint(sizes * rates).astype(int).tolist(), sizes.tolist()
        test = ScoreTest(x_a, n_a, x_b, n_b, 1 - self.confidence)
        return bool(test.rejects(np.zeros(1), np.zeros(1))[0])

    def large_sample(self, difference: float) -> float:
        """Return the rows that the normal law asks for, when counts fall short by rounding."""
        middle = self._middle_rate(difference)
        spread = self.group_share * (1 - self.group_share)
        reach = max(0.0, -_quantile((1 - self.confidence) / 2) + self.margin) ** 2
        n = max(4.0, reach * middle * (1 - middle) / (difference**2 * spread))
        lost = min(0.5, 1 / (2 * n * spread * difference))
        return n / (1 - lost) ** 2

    def _middle_rate(self, difference: float) -> float:
        # Of the largest variance; divided twice, because the square of a small bound may be 0.
        bound, variance = self.cost_bound, self.variance
        share = 1.0 if variance is None else min(1.0, 4 * variance / bound / bound)
        return max((1 - math.sqrt(1 - share)) / 2, difference / 2)


@dataclass(frozen=True, slots=True)
class Components:
    """The parts of a probe's variance, and how many units the pilot had of each.

    The value of a probe is a mean over K templates crossed with T tasks; its variance is
    templates / K + tasks / T + rest / (K T). No number of templates shrinks the second part.
    """

    templates: float
    tasks: float
    rest: float
    n_templates: int
    """Templates, or paraphrase families where the set has them."""
    n_tasks: int
    evenness: float = 1.0
    """The effective share of the families: those of uneven sizes n count as (Σn)² / Σn²."""

    def halfwidth(
        self, k: int, t: int, confidence: float, holds: float = 0.9, *, fixed_tasks: bool = False
    ) -> float:
        """Return a half-width that the share `holds` of probes, k templates by t tasks, stay below.

        The squared standard error is the sum of those over templates and over tasks. The pilot
        estimated both and the probe will do so again: the ratio of two estimates has an F
        distribution. The excesses of its quantiles are added as squares (Graybill & Wang 1980).
        """
        from scipy import special

        pilot = np.array([self.evenness * self.n_templates, self.n_tasks])
        units = np.array([self.evenness * k, t])
        if not units.min() > 1:
            return math.inf
        # Units vary by their own part and by the rest, averaged over the other axis.
        variance = np.array([self.templates, self.tasks]) + self.rest / pilot[::-1]
        change = self.rest / units[::-1] - self.rest / pilot[::-1]
        factor = special.fdtri(units - 1, pilot - 1, holds)
        # The rest has by far the most degrees of freedom: what it takes away is known.
        limits = (factor * variance + np.maximum(change, factor * change)) / units
        squares = (variance + change) / units
        if fixed_tasks:
            limits[1] = squares[1] = 0.0
        if not squares.any():
            return 0.0
        total = squares.sum() + np.hypot(*(limits - squares))
        degrees = squares.sum() ** 2 / (squares**2 / (units - 1)).sum()
        reach = special.stdtrit([degrees, *(units - 1)], (1 + confidence) / 2)
        return float((reach * np.sqrt([total, *limits])).max())


@dataclass(frozen=True, slots=True)
class TemplatePlan:
    """What a claim of `effect` needs, None where no number is enough; the pilot's half-width."""

    effect: float
    confidence: float
    components: Components
    templates: int | None
    """With the pilot's tasks."""
    tasks: int | None
    """With the pilot's templates."""
    fixed_tasks: int
    """Templates, when the pilot's tasks are all that one wants to speak of."""
    halfwidth: float


def variance_components(cells: Floats, families: Sequence[str] | None = None) -> Components:
    """Estimate the parts of the variance from a pilot's cells (K, A, T), NaN undefined."""
    names = np.arange(len(cells)) if families is None else np.asarray(families, dtype=str)
    defined = ~np.isnan(cells).all(axis=(1, 2))
    units, sizes = np.unique(names[defined], return_counts=True)
    means = [defined_mean(cells[names == unit], axis=(0, 1)) for unit in units]
    table = np.reshape(means, (len(units), cells.shape[2]))
    table = table[:, ~np.isnan(table).any(axis=0)]
    k, t = table.shape
    if k < 2 or t < 2:
        raise InputError(
            "a pilot needs at least two templates (or families) and two tasks that are defined "
            f"in all of them: found {k} and {t}"
        )
    # A two-way analysis of variance; the pilot cannot tell a negative part from none.
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    residuals = table - rows[:, None] - columns + table.mean()
    rest = float((residuals**2).sum()) / ((k - 1) * (t - 1))
    templates = max(0.0, float(rows.var(ddof=1)) - rest / t)
    tasks = max(0.0, float(columns.var(ddof=1)) - rest / k)
    evenness = float(sizes.sum() ** 2 / (sizes**2).sum()) / k
    return Components(templates, tasks, rest, n_templates=k, n_tasks=t, evenness=evenness)


def templates_needed(
    cells: Floats, effect: float, *, families: Sequence[str] | None = None, confidence: float = 0.95
) -> TemplatePlan:
    """Return how many templates (or families) a claim of `effect` needs, from a pilot.

    With so many, the half-width is below `effect` in about 90 % of samples, or in more, if the
    effects of templates and tasks are normal and families as uneven as those of the pilot.
    """
    check_confidence(confidence)
    if not effect > 0:
        raise invalid("effect", f" must be positive: found {effect}")
    parts = variance_components(cells, families)
    k, t = parts.n_templates, parts.n_tasks
    templates = smallest(lambda n: parts.halfwidth(n, t, confidence) < effect)
    tasks = smallest(lambda n: parts.halfwidth(k, n, confidence) < effect)
    fixed = smallest(lambda n: parts.halfwidth(n, t, confidence, fixed_tasks=True) < effect)
    if fixed is None:
        raise InputError("no number is enough; plan for a larger effect, or from a larger pilot")
    # As many units as in the pilot vary by more or by less than those, in half of samples each.
    own = parts.halfwidth(k, t, confidence, 0.5)
    return TemplatePlan(effect, confidence, parts, templates, tasks, fixed, own)


def sentences_needed(
    counts: Floats, direction: Direction, *, reliable: float = 0.9, more: bool = False
) -> int | None:
    """Return how many sentences a base like this needs to show `reliable` of an amplification.

    With `more`, those counted are known to be too few. The tasks keep their shares of the
    sentences. None where the table shows no link that more sentences could make clear.
    """
    if not 0 < reliable < 1:
        raise invalid("reliable", f" must lie between 0 and 1, both excluded: found {reliable}")
    table = checked_counts(counts)
    total = float(table.sum())

    def enough(step: int) -> bool:
        rng, factor = np.random.default_rng(0), 2.0 ** (step / _STEPS)
        return reliability(table, direction, rng=rng, factor=factor).proportional >= reliable

    most = math.floor(_STEPS * math.log2(_MOST_SENTENCES / total))
    step = smallest(
        enough, more, grow=lambda step: step + _STEPS, steps=(4, 2, 1), least=more, most=most
    )
    if step is None:
        return None
    number = max(2.0 ** (step / _STEPS) * total, float(_LEAST_PER_TASK * table.shape[1]))
    # Two digits, rounded up: the estimate is no better than that.
    unit = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return int(math.ceil(number / unit) * unit)
