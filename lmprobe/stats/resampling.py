"""The standard error of a mean over templates and tasks, by resampling both.

The observations of a probe are templates crossed with tasks, not independent cells: one odd
template moves all of its cells together, and so does one odd task. Templates that share a frame
(a family) and tasks that share a row of the base's source (a unit) go together. Given the tasks,
a probe's number is a mean over templates, so the share of the families in its variance is that
of a jackknife, and so is the share of the turns of a chat, which group the same templates
otherwise. The share of the tasks is the variance over resamples of the tasks, in each of which
everything that depends on the choice of tasks was computed anew; what is linear in the tasks is
taken from the jackknife, which leaves little to the luck of the draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lmprobe.metrics.association import Floats
from lmprobe.results.verdict import Interval

REPLICATES = 10_000
"""Default number of bootstrap replicates: enough that the ends move by about 1 % of the width."""


def slices(total: int, width: int, held: int = 4_000_000) -> Iterator[slice]:
    """Yield the parts of `range(total)` such that part times width is about `held` at most."""
    step = max(1, held // width)
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


def draws(replicates: int, units: int, rng: np.random.Generator) -> Floats:
    """Return counts (replicates, units): each row draws `units` times with replacement."""
    places = rng.integers(units, size=(replicates, units))
    places += np.arange(replicates)[:, None] * units
    counts = np.bincount(places.ravel(), minlength=replicates * units)
    return counts.reshape(replicates, units).astype(np.float64)


def poisson_table() -> NDArray[np.uint8]:
    """Return 65,536 equally likely weights that follow the Poisson law of mean 1.

    Looking a random 16-bit number up in it is ten times as fast as drawing from the law,
    and differs from it by less than one part in 65,536; the mean is exactly 1.
    """
    chance = np.array([math.exp(-1) / math.factorial(times) for times in range(9)])
    often = np.round(chance * _SIZE).astype(np.int64)
    # Rounding leaves the mean off by a few in 65,536; the weights 0 and 1 make it up.
    often[1] += _SIZE - int(often @ np.arange(9))
    often[0] = _SIZE - often[1:].sum()
    return np.repeat(np.arange(9, dtype=np.uint8), often)


def poisson(replicates: int, units: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return weights (replicates, units), each drawn on its own with mean and variance 1."""
    entries = rng.integers(_SIZE, size=(replicates, units), dtype=np.uint16)
    weights = np.empty(entries.shape, dtype=_TABLE.dtype)
    # Row by row, because places are looked up in eight bytes each.
    for row, places in zip(weights, entries, strict=True):
        np.take(_TABLE, places, out=row, mode="clip")
    return weights


_SIZE = 65_536
_TABLE = poisson_table()
# Larger numbers of things are left to numpy's algorithm for them.
_INVERTED = 16


def thinned(
    times: NDArray[np.integer], chance: float, repeats: int, rng: np.random.Generator
) -> NDArray[np.integer]:
    """Return how many of `times` (U,) remain, each with a chance of at most 1/2, (repeats, U).

    `rng.binomial` inverts the distribution function at a random number for each small number of
    things. Here they are inverted together: the same draws in a tenth of the time.
    """
    from scipy import special

    many = np.flatnonzero(times > _INVERTED)
    if len(many):
        rest = thinned(np.where(times > _INVERTED, 0, times), chance, repeats, rng)
        if int(times.max()) > np.iinfo(rest.dtype).max:
            rest = rest.astype(np.int64)
        rest[:, many] = rng.binomial(times[many], chance, size=(repeats, len(many)))
        return rest
    most = int(times.max())
    some = np.flatnonzero(times)
    level, sizes = rng.random((repeats, len(some))), times[some].astype(np.intp)
    number = np.arange(most + 1)
    below = special.bdtr(np.minimum(number[:, None], number), number, chance)
    remaining: NDArray[np.uint8] = (level > below[0].take(sizes)).view(np.uint8)
    # Few remain twice or more often.
    more = np.flatnonzero(level > below[1].take(sizes)) if most > 1 else some[:0]
    for least in range(2, most + 1):
        remaining.reshape(-1)[more] += 1
        beyond = level.reshape(-1)[more] > below[least].take(sizes[more % len(sizes)])
        more = more[beyond]
    if len(some) == len(times):
        return remaining
    thin = np.zeros((repeats, len(times)), dtype=np.uint8)
    thin[:, some] = remaining
    return thin


def is_constant(values: Floats) -> bool:
    """Tell whether the values are all alike but for rounding; no spread can be read off them."""
    return bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))


def expanded_tail(confidence: float, units: int) -> float:
    """Return the tail of the percentile interval that has Student's width for a mean.

    Resampling n units forgets a factor n/(n-1) in the variance and the uncertainty of the
    variance itself; Hesterberg (2015, section 4.2) gives both back by going further out.
    """
    from scipy import special

    reach = float(special.stdtrit(units - 1, (1 + confidence) / 2))
    return math.erfc(reach * math.sqrt(units / (units - 1)) / math.sqrt(2)) / 2


def percentile_interval(replicates: Floats, *, units: int, confidence: float) -> Interval:
    """Return the interval from replicates that were made by resampling `units`.

    Replicates on which the statistic is undefined are left out; where the others agree there
    is no interval.
    """
    defined = replicates[~np.isnan(replicates)]
    if not len(defined):
        return Interval.undefined(confidence, "bootstrap")
    tail = expanded_tail(confidence, units)
    ends = np.quantile(defined, (tail, 1 - tail))
    if is_constant(ends):
        return Interval.undefined(confidence, "bootstrap")
    return Interval(float(ends[0]), float(ends[1]), confidence, "bootstrap")


# A standard error below this share of the values is rounding, not spread.
_ROUNDING = 1e-12
# Uneven weights of the tasks leave at least so many of them, however uneven they are.
_FEWEST_BY_WEIGHT = 3.0
# Simulated samples that say how likely any of several intervals misses.
_SAMPLES = 20_000


def task_weights(units: Sequence[str], times: Floats) -> Floats:
    """Return the weight of each task, (1 + U + R, T): as it is, without each unit, and drawn."""
    unit = np.unique(np.array(units, dtype=str), return_inverse=True)[1]
    whole = np.ones((1, len(unit)))
    without = (np.arange(times.shape[1])[:, None] != unit).astype(np.float64)
    return np.concatenate([whole, without if len(without) > 1 else whole, times[:, unit]])


@dataclass(frozen=True, slots=True, eq=False)
class SampledUnits:
    """Units other than templates and tasks, and how a number changes with those drawn."""

    effective: float
    """The effective number of units, from which the degrees of freedom follow."""
    number: int
    changes: Floats
    """(R,): the number, or its change, on draws of the units."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """One number of a probe, template by template, and how it changes with the tasks."""

    by_template: Floats
    """(K,), NaN where undefined; the number is their mean."""
    families: tuple[str, ...]
    units: tuple[str, ...]
    """The unit of each task."""
    without: Floats
    """(U,): the change of the number when a unit of tasks is left out, units by name."""
    resampled: Floats
    """(R,): its change on resamples of the tasks."""
    times: Floats
    """(R, U): how often each unit was drawn in them."""
    task_weight: Floats | None = None
    """(T,): how much each task weighs in the margins of the base; None if they do not matter."""
    noise: float = 0.0
    """The standard error that a base alone adds when its tasks are not drawn anew."""
    turns: tuple[str, ...] = ()
    """The turn of a chat before each template, where there is a chat."""
    sampled: Mapping[str, SampledUnits] = field(default_factory=dict)
    """What else was sampled, items or clusters of them, and is in no other part."""
    framed: bool = True
    """Whether the templates are a sample; else every item has a frame of its own."""

    @classmethod
    def of_templates(
        cls, by_template: Floats, families: tuple[str, ...], turns: tuple[str, ...] = ()
    ) -> Replicates:
        """Return a number that does not depend on the choice of tasks."""
        without, resampled, times = np.zeros(1), np.zeros(2), np.ones((2, 1))
        return cls(by_template, families, ("",), without, resampled, times, turns=turns)

    @property
    def value(self) -> float:
        """The mean over the templates for which it is defined."""
        defined = self.by_template[~np.isnan(self.by_template)]
        return float(defined.mean()) if len(defined) else math.nan

    def combined(self, own: float, other: Replicates, factor: float) -> Replicates:
        """Return `own` times this number plus `factor` times another on the same units."""
        # The noise of a base that both share is in their sum twice, and hardly in a difference.
        noise = own * self.noise, factor * other.noise
        # The same items are drawn alike for both, and other ones on their own.
        sampled = {name: replace(u, changes=own * u.changes) for name, u in self.sampled.items()}
        for name, units in other.sampled.items():
            mine = sampled.get(name, replace(units, changes=np.zeros(len(units.changes))))
            sampled[name] = replace(mine, changes=mine.changes + factor * units.changes)
        return replace(
            self,
            sampled=sampled,
            by_template=own * self.by_template + factor * other.by_template,
            without=own * self.without + factor * other.without,
            resampled=own * self.resampled + factor * other.resampled,
            noise=sum(noise) if factor > 0 else math.hypot(*noise),
        )

    @cached_property
    def family_sums(self) -> tuple[Floats, Floats]:
        """The sum over the templates of each family that has any, and their number, (F,) each."""
        return self._sums(self.families)

    @cached_property
    def turn_sums(self) -> tuple[Floats, Floats]:
        """The same of each turn of a chat; of no turns where there are not several."""
        sums, sizes = self._sums(self.turns) if self.turns else (np.zeros(0), np.zeros(0))
        return (sums, sizes) if len(sizes) > 1 else (sums[:0], sizes[:0])

    def _sums(self, groups: tuple[str, ...]) -> tuple[Floats, Floats]:
        defined = ~np.isnan(self.by_template)
        names = np.unique(np.array(groups, dtype=str)[defined], return_inverse=True)[1]
        sizes = np.bincount(names).astype(np.float64)
        sums = np.bincount(names, weights=self.by_template[defined])
        return sums.astype(np.float64), sizes

    @cached_property
    def unit_sizes(self) -> Floats:
        """How many tasks each unit has, units by name."""
        return self._by_unit(np.ones(len(self.units)))

    def _by_unit(self, by_task: Floats) -> Floats:
        unit = np.unique(np.array(self.units, dtype=str), return_inverse=True)[1]
        return np.bincount(unit, weights=by_task).astype(np.float64)

    @property
    def effective_tasks(self) -> float:
        """How many tasks of equal weight are worth as much as these."""
        number = effective_number(self.unit_sizes)
        if self.task_weight is None:
            return number
        by_weight = effective_number(self._by_unit(self.task_weight))
        return min(number, max(by_weight, _FEWEST_BY_WEIGHT))

    @cached_property
    def influence(self) -> dict[str, Floats]:
        """How much the number falls without each family, each turn of a chat and each unit."""
        falls = {}
        for part, (sums, sizes) in {"families": self.family_sums, "turns": self.turn_sums}.items():
            total = sizes.sum()
            rest = np.where(total > sizes, total - sizes, 1.0)
            falls[part] = (sums - sizes * self.value) / rest
        return falls | {"tasks": -self.without}

    def spread(self, resample: str = "both") -> Spread:
        """Return the standard error of the number when `resample` is drawn anew."""
        sizes = self.family_sums[1]
        if not len(sizes):
            return Spread(math.nan, {"families": Share(0.0, 0.0, 0)})
        parts: dict[str, Share] = {}
        if resample != "tasks":
            for part, each in (("families", sizes), ("turns", self.turn_sums[1])):
                if self.framed if part == "families" else len(each):
                    variance = _jackknife(self.influence[part])
                    parts[part] = Share(variance, effective_number(each), len(each))
        if resample != "templates":
            variance = self._task_variance(self.influence["tasks"])
            parts["tasks"] = Share(variance, self.effective_tasks, len(self.unit_sizes))
        elif self.noise:
            parts["base"] = Share(self.noise**2, math.inf, 2)
        for name, units in self.sampled.items():
            variance = float(np.nanvar(units.changes, ddof=1))
            parts[name] = Share(variance, units.effective, units.number)
        return Spread(self.value, parts or {"items": Share(0.0, 0.0, 0)})

    @property
    def extra(self) -> Floats:
        """How the number changes with what else was sampled, (R,), the noise of a base aside."""
        parts = [units.changes for units in self.sampled.values()]
        return np.asarray(sum((part - np.nanmean(part) for part in parts), np.zeros(1)))

    def _linear(self) -> Floats:
        """Return what a draw of each unit adds to the number, to first order, (U,)."""
        by_unit = self.influence["tasks"]
        return np.asarray((by_unit - by_unit.mean()) * (len(by_unit) - 1) / len(by_unit))

    def _task_variance(self, by_unit: Floats) -> float:
        """Return the variance over resamples of the tasks, the linear part by the jackknife."""
        n = len(by_unit)
        if n < 2:
            return 0.0
        linear = self.times @ self._linear()
        change = self.resampled - np.nanmean(self.resampled)
        defined = ~np.isnan(change)
        linear, change = linear[defined] - linear[defined].mean(), change[defined]
        square = float(linear @ linear)
        slope = float(linear @ change) / square if square > 0 else 0.0
        rest = float(np.var(change - slope * linear, ddof=1))
        return slope**2 * _jackknife(by_unit) + rest * n / (n - 1)

    def leave_one_out(self) -> Iterator[tuple[str, Replicates]]:
        """Yield the number without each family, each turn and each unit of tasks."""
        names, tasks = np.array(self.families, dtype=str), np.array(self.units, dtype=str)
        groups = {"families": names}
        # A single turn that is left would have no spread.
        if len(self.turn_sums[0]) > 2:
            groups["turns"] = np.array(self.turns, dtype=str)
        for axis, of in groups.items():
            for group in dict.fromkeys(of.tolist()):
                rest = of != group
                if not np.isnan(self.by_template[rest]).all():
                    places = np.flatnonzero(rest).tolist()
                    yield (
                        axis,
                        replace(
                            self,
                            by_template=self.by_template[rest],
                            families=tuple(self.families[place] for place in places),
                            turns=tuple(self.turns[place] for place in places if self.turns),
                        ),
                    )
        units, linear, weight = np.unique(tasks), self._linear(), self.task_weight
        for place, unit in enumerate(units if len(units) > 2 else ()):
            yield (
                "tasks",
                replace(
                    self,
                    by_template=self.by_template + self.without[place],
                    units=tuple(tasks[tasks != unit].tolist()),
                    task_weight=None if weight is None else weight[tasks != unit],
                    without=np.delete(self.without, place),
                    resampled=self.resampled - self.times[:, place] * linear[place],
                    times=np.delete(self.times, place, axis=1),
                ),
            )


def _jackknife(influence: Floats) -> float:
    """Return the jackknife's variance of a number from the changes without each unit."""
    n = len(influence)
    return (n - 1) / n * float(((influence - influence.mean()) ** 2).sum())


def effective_number(sizes: Floats) -> float:
    """Return how many units of equal size are worth as much as units of these sizes.

    >>> effective_number(np.array([4.0, 4.0])), effective_number(np.array([7.0, 1.0]))
    (2.0, 1.28)
    """
    return float(sizes.sum() ** 2 / (sizes**2).sum())


@dataclass(frozen=True, slots=True)
class Share:
    """The share of one source in the variance of a number."""

    variance: float
    units: float
    """The effective number of units that it was estimated from."""
    number: int
    """How many units there are."""

    @property
    def degrees(self) -> float:
        """The degrees of freedom of the variance."""
        return min(max(self.units - 1, 0.05), 1e9)


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard error of a value by its sources: families, turns, tasks, the base, items.

    A claim must be true of the sum, whose degrees of freedom are Satterthwaite's (1946), and of
    each source alone: with two or three units their variance is small by chance now and then,
    the degrees of freedom then appear to be those of the other source, and the sum alone rejects
    a true hypothesis in up to 12 % of samples at 0.05. The variance of single cells is in both
    shares, so the sum is a little too large where only cells vary.
    """

    value: float
    parts: dict[str, Share]

    @property
    def units(self) -> int:
        """The number of units of the source that has fewest."""
        return min(part.number for part in self.parts.values())

    @property
    def variance(self) -> float:
        """The sum of the parts."""
        return sum(part.variance for part in self.parts.values())

    @property
    def degrees(self) -> float:
        """Satterthwaite's degrees of freedom of the sum."""
        below = sum(part.variance**2 / part.degrees for part in self.parts.values())
        return self.variance**2 / below if below > 0 else math.inf

    @property
    def is_rounding(self) -> bool:
        """Whether nothing varies but for rounding."""
        return not math.sqrt(self.variance) > _ROUNDING * max(1.0, abs(self.value))

    def _errors(self) -> list[tuple[float, float]]:
        """Return standard error and degrees of freedom of the sum and of each part."""
        parts = [(part.variance, part.degrees) for part in self.parts.values()]
        return [(math.sqrt(v), d) for v, d in [(self.variance, self.degrees), *parts] if v > 0]

    def interval(self, confidence: float, method: str = "bootstrap") -> Interval:
        """Return Student's interval around the value."""
        from scipy import special

        if self.units < 2 or math.isnan(self.value):
            return Interval.too_few_units(confidence, method)
        if self.is_rounding:
            return Interval.undefined(confidence, method)
        half = max(
            float(special.stdtrit(degrees, (1 + confidence) / 2)) * error
            for error, degrees in self._errors()
        )
        return Interval(self.value - half, self.value + half, confidence, method)

    def p_value(self, reference: float = 0.0) -> float:
        """Return the two-sided p-value of "the true value is the reference"."""
        return 2 * self.tail(-abs(self.value - reference))

    def tail(self, distance: float) -> float:
        """Return the chance that the value exceeds the truth by at most `distance`."""
        from scipy import special

        if self.units < 2:
            return math.nan
        if self.is_rounding:
            # Nothing differs anywhere: that much is certain. The same difference everywhere
            # has no spread that could be judged.
            return math.nan if self.value else (distance > 0) + 0.5 * (distance == 0)
        return max(float(special.stdtr(d, distance / error)) for error, d in self._errors())


def joint_confidence(
    numbers: Sequence[Replicates], resample: str, confidence: float, rng: np.random.Generator
) -> float:
    """Return the confidence of each interval that makes all of them cover together.

    Numbers of the same templates and tasks err together, so less is needed than Bonferroni's
    share: the smallest of their p-values is simulated with the correlation of their errors
    (single-step maximum-t; Hothorn, Bretz & Westfall 2008) and the degrees of freedom of each.
    """
    from scipy import special

    spreads = [number.spread(resample) for number in numbers]
    moving = [i for i, part in enumerate(spreads) if part.units > 1 and not part.is_rounding]
    if len(moving) < 2:
        return confidence
    errors = np.stack([_errors_by_unit(numbers, i, resample) for i in moving])
    errors /= np.linalg.norm(errors, axis=1, keepdims=True)
    normal = rng.standard_normal((_SAMPLES, errors.shape[1])) @ errors.T
    degrees = np.array([min(spreads[i].degrees, 1e6) for i in moving])
    # One chance for all variances: those of numbers on the same units are large together.
    chance = rng.random((_SAMPLES, 1))
    scale = np.sqrt(special.chdtri(degrees, 1 - chance) / degrees)
    p_values = 2 * special.stdtr(degrees, -np.abs(normal) / scale)
    return 1 - min(1 - confidence, float(np.quantile(p_values.min(axis=1), 1 - confidence)))


def _errors_by_unit(numbers: Sequence[Replicates], place: int, resample: str) -> Floats:
    """Return the influence of every family and unit on one number, by name; 0 where not its own."""
    number = numbers[place]
    defined = ~np.isnan(number.by_template)
    parts = []
    if resample != "tasks":
        named = {"families": number.framed, "turns": bool(number.turns)}
        for part in (part for part, shown in named.items() if shown):
            names = sorted({name for other in numbers for name in getattr(other, part)})
            own = np.unique(np.array(getattr(number, part), dtype=str)[defined])
            # A single one has no influence.
            values = number.influence[part] if len(own) > 1 else np.zeros(len(own))
            parts.append(_placed(names, own, values))
    if resample != "templates":
        names = sorted({name for other in numbers for name in other.units})
        own = np.unique(np.array(number.units, dtype=str))
        parts.append(_placed(names, own, number.influence["tasks"]))
    else:
        noise = np.zeros(len(numbers))
        noise[place] = number.noise
        parts.append(noise)
    extras = [other.extra for other in numbers]
    if (width := max(map(len, extras))) > 1:
        extra = extras[place] if len(extras[place]) > 1 else np.zeros(width)
        parts.append(extra / math.sqrt(width - 1))
    return np.concatenate(parts)


def _placed(names: list[str], own: NDArray[np.str_], values: Floats) -> Floats:
    placed = np.zeros(len(names))
    placed[np.searchsorted(np.array(names, dtype=str), own)] = values - values.mean()
    return placed
