"""Plans against their formulas, the exact interval, a loop over numbers, and the paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from benchmarks.coverage import plans
from lmprobe.errors import InputError
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.stats.base_uncertainty import reliability
from lmprobe.stats.methods.proportions import ScoreTest, exact_interval, score_interval
from lmprobe.stats.planning import (
    VARIANCE_IS,
    Components,
    claimable_effect,
    sample_size,
    sentences_needed,
    smallest,
    templates_needed,
    variance_components,
)

N, SHARE, BOUND, CONFIDENCE = 700, 0.3, 3.0, 0.9
ALPHA = 1 - CONFIDENCE
LARGEST = 9 / 4
"""The variance of costs that are 0 and 3 equally often."""
GIVEN: dict[str, Any] = {"group_share": SHARE, "cost_bound": BOUND, "confidence": CONFIDENCE}
KNOWN = pytest.mark.parametrize(
    ("variance", "used"), [(None, LARGEST), (1.7, 1.7), (0.4, 0.4), (50.0, LARGEST)]
)


class TestSearch:
    @settings(deadline=None)
    @given(st.integers(2, 2**60))
    def test_it_is_the_first_that_is_enough(self, wanted: int) -> None:
        assert smallest(lambda n: n >= wanted) == wanted

    @pytest.mark.parametrize("wanted", [2, 3, 4, 5, 1023, 1024, 1025, 2**60 - 1, 2**60])
    def test_around_powers_of_two(self, wanted: int) -> None:
        assert smallest(lambda n: n >= wanted) == wanted

    def test_there_is_none_where_more_than_two_to_the_sixtieth_would_be_needed(self) -> None:
        assert smallest(lambda n: n > 2**60) is None
        assert smallest(lambda n: n >= 9, most=8) is None
        assert smallest(lambda n: n >= 8, most=8) == 8

    def test_a_search_may_begin_above_and_end_below_two(self) -> None:
        assert smallest(lambda n: True, 100) == 2
        assert smallest(lambda n: True, 100, least=0) == 0
        assert smallest(lambda n: n >= 57, 100) == 57

    def test_small_steps_find_the_end_of_a_gap(self) -> None:
        # 900 is enough as well, but 949 is not.
        assert smallest(lambda n: n >= 900 and n != 949, 1000, steps=(1,)) == 950
        assert smallest(lambda n: n >= 57, 5, grow=lambda n: n + 10, steps=(4, 1)) == 57


class TestWidths:
    def width(self, method: str, variance: float | None = None) -> float:
        return claimable_effect(N, **GIVEN, variance=variance, method=method)

    @pytest.mark.parametrize("variance", [None, 1.7])
    def test_bernsteins_is_equation_3(self, variance: float | None) -> None:
        t = self.width("bernstein", variance)
        # The amortized disparity lies within C / γ of zero, and so varies by at most (C / γ)².
        largest = (BOUND / SHARE) ** 2 if variance is None else variance
        exponent = -N * t**2 / (2 * largest + 2 / 3 * (BOUND / SHARE) * t)
        assert 2 * math.exp(exponent) == pytest.approx(ALPHA)

    @KNOWN
    @pytest.mark.parametrize("method", ["score", "bootstrap"])
    def test_the_approximate_ones_follow_the_normal_law(
        self, method: str, variance: float | None, used: float
    ) -> None:
        error = math.sqrt(used / (0.3 * N) + used / (0.7 * N))
        assert self.width(method, variance) == pytest.approx(stats.norm.isf(0.05) * error)

    @KNOWN
    def test_bettings_is_hoeffdings_with_the_variance(
        self, variance: float | None, used: float
    ) -> None:
        # A twentieth of the error is spent on the limits of the means.
        log = math.log(2 / (0.95 * ALPHA))
        spread = used / (0.3 * N) + used / (0.7 * N)
        assert self.width("betting", variance) == pytest.approx(math.sqrt(2 * log * spread))


def excluded(n: int, effect: float, share: float, rate: float, confidence: float) -> bool:
    """Whether the exact interval of such counts excludes zero."""
    n_a = round(n * share)
    middle = max(rate, effect / 2)
    x_a, x_b = round(n_a * (middle + effect / 2)), round((n - n_a) * (middle - effect / 2))
    low, high = exact_interval(x_a, n_a, x_b, n - n_a, confidence=confidence)
    return not low <= 0 <= high


class TestExact:
    @pytest.mark.parametrize(
        ("effect", "share", "variance", "rate", "confidence", "bound"),
        # 0.1 and 0.2 are the rates at which 0/1 costs vary by 0.09 and 0.16.
        [
            (0.3, 0.5, None, 0.5, 0.95, 1.0),
            (0.5, 0.286, None, 0.5, 0.99, 2.0),
            (0.2, 0.3, 0.09, 0.1, 0.9, 1.0),
            (0.4, 0.4, 9 * 0.16, 0.2, 0.8, 3.0),
            (0.3, 0.5, 7.0, 0.5, 0.95, 1.0),
        ],
    )
    def test_from_the_number_on_every_interval_excludes_zero(
        self, effect: float, share: float, variance: float | None, rate: float,
        confidence: float, bound: float,
    ) -> None:  # fmt: skip
        n = sample_size(
            effect * bound, group_share=share, variance=variance, confidence=confidence,
            cost_bound=bound, method="exact",
        )  # fmt: skip
        assert all(excluded(more, effect, share, rate, confidence) for more in range(n, n + 9))
        assert not excluded(n - 1, effect, share, rate, confidence)

    @pytest.mark.parametrize(("n", "share", "rate"), [(60, 0.5, 0.5), (150.9, 0.3, 0.2)])
    def test_the_smallest_effect_that_rows_can_claim(
        self, n: float, share: float, rate: float
    ) -> None:
        effect = claimable_effect(
            n, group_share=share, variance=4 * rate * (1 - rate), cost_bound=2.0, method="exact"
        )
        step = 2.0**-24
        assert (effect / 2 / step).is_integer()
        assert 0.1 < effect / 2 < 0.5
        assert excluded(int(n), effect / 2, share, rate, 0.95)
        assert not excluded(int(n), effect / 2 - step, share, rate, 0.95)

    def test_none_where_the_largest_is_not_enough(self) -> None:
        # One row has no two groups; two rows never differ at 0.95.
        assert claimable_effect(1, confidence=0.4, method="exact") == math.inf
        assert claimable_effect(2, method="exact") == math.inf
        # One of one and none of one: at most an even chance of two different rows.
        assert claimable_effect(2, confidence=0.4, method="exact") <= 1
        assert sample_size(1.0, confidence=0.4, method="exact") == 2

    @pytest.mark.slow
    def test_many_rows_are_searched_in_odd_steps(self) -> None:
        n = sample_size(0.02, method="exact")
        assert n == 9893
        assert not excluded(n - 1, 0.02, 0.5, 0.5, 0.95)
        assert all(excluded(more, 0.02, 0.5, 0.5, 0.95) for more in range(n, n + 3))


class TestSampleSize:
    def test_the_papers_numbers(self) -> None:
        assert sample_size(0.05) == 11903
        assert claimable_effect(3160) == pytest.approx(0.09742, abs=5e-6)
        assert sample_size(0.05, method="exact") == sample_size(0.5, cost_bound=10, method="exact")

    @settings(deadline=None)
    @given(
        effect=st.floats(0.01, 0.9),
        share=st.floats(0.02, 0.5),
        bound=st.floats(1, 5),
        confidence=st.floats(0.5, 0.999),
    )
    def test_it_is_equation_4(
        self, effect: float, share: float, bound: float, confidence: float
    ) -> None:
        variance = (bound / share) ** 2
        log = -math.log((1 - confidence) / 2)
        exact = (2 * variance + 2 * bound / (3 * share) * effect) * log / effect**2
        n = sample_size(effect, group_share=share, cost_bound=bound, confidence=confidence)
        assert n == pytest.approx(max(math.floor(exact) + 1, 2), abs=1e-9 * exact + 1e-9)

    @pytest.mark.parametrize("method", VARIANCE_IS)
    @pytest.mark.parametrize("share", [0.5, 0.1])
    def test_one_row_fewer_is_not_enough(self, method: str, share: float) -> None:
        n = sample_size(0.15, group_share=share, method=method)
        assert claimable_effect(n, group_share=share, method=method) < 0.15
        assert claimable_effect(n - 1, group_share=share, method=method) >= 0.15

    @pytest.mark.parametrize("method", ["score", "betting", "bernstein"])
    def test_an_effect_as_large_as_the_half_width_needs_one_row_more(self, method: str) -> None:
        effect = claimable_effect(1000, method=method)
        assert sample_size(effect, method=method) == 1001
        assert sample_size(math.nextafter(effect, 1), method=method) == 1000

    def test_the_largest_effect_and_one_out_of_reach(self) -> None:
        assert sample_size(3.0, cost_bound=3.0) == sample_size(1.0)
        assert sample_size(1.0, confidence=0.1, variance=1e-9, method="score") == 2
        with pytest.raises(InputError, match="no sample is large enough to claim 1e-10"):
            sample_size(1e-10)


def exact_power(n: int, effect: float, share: float, middle: float) -> float:
    """The chance of an outcome that the exact test rejects, by enumeration."""
    n_a = round(n * share)
    n_b = n - n_a
    chances = np.outer(
        stats.binom.pmf(range(n_a + 1), n_a, middle + effect / 2),
        stats.binom.pmf(range(n_b + 1), n_b, middle - effect / 2),
    )
    zero = np.zeros(1)
    return sum(
        chances[x, y]
        for x, y in np.argwhere(chances > 1e-6).tolist()
        if x * n_b > y * n_a and ScoreTest(x, n_a, y, n_b, 0.05).rejects(zero, zero)[0]
    )


class TestPower:
    @pytest.mark.parametrize("power", [0.1, 0.8, 0.95])
    @pytest.mark.parametrize("method", ["score", "bootstrap", "betting", "bernstein"])
    def test_the_effect_exceeds_the_half_width_by_a_quantile_of_the_estimate(
        self, method: str, power: float
    ) -> None:
        n = sample_size(0.2, group_share=0.3, method=method, power=power)
        # The amortized disparity varies by (1 / 0.3)², a cost of 0 or 1 within a group by 1/4.
        variance = 1 / 0.09 if method == "bernstein" else 1 / 4 / (0.3 * 0.7)

        def short(n: int) -> float:
            half = claimable_effect(n, group_share=0.3, method=method)
            return half + stats.norm.ppf(power) * math.sqrt(variance / n) - 0.2

        assert short(n) < 0 <= short(n - 1)

    @pytest.mark.parametrize("method", VARIANCE_IS)
    def test_the_published_definition_is_a_power_of_one_half(self, method: str) -> None:
        sizes = [sample_size(0.3, method=method, power=power) for power in (0.2, 0.5, 0.8, 0.9)]
        assert sizes == sorted(set(sizes))
        assert sizes[1] == sample_size(0.3, method=method)

    @pytest.mark.parametrize(
        ("effect", "share", "variance", "middle"),
        [(0.5, 0.5, None, 0.5), (0.4, 0.3, None, 0.5), (0.35, 0.15, 0.16, 0.2), (0.4, 0.5, 0, 0.2)],
    )
    def test_the_exact_test_claims_in_that_share_of_samples(
        self, effect: float, share: float, variance: float | None, middle: float
    ) -> None:
        options: dict[str, Any] = {"group_share": share, "variance": variance, "method": "exact"}
        n = sample_size(effect, **options, power=0.8)
        assert 0.8 <= exact_power(n, effect, share, middle) < 0.9
        assert exact_power(sample_size(effect, **options), effect, share, middle) < 0.7

    def test_the_score_test_claims_in_that_share_of_samples(self) -> None:
        n = sample_size(0.2, method="score", power=0.8)
        draw = np.random.default_rng(0)
        counts = (draw.binomial(n // 2, 0.6, 4000), draw.binomial(n - n // 2, 0.4, 4000))
        low, _ = score_interval(counts[0], n // 2, counts[1], n - n // 2, confidence=0.95)
        assert 0.78 < np.mean(low > 0) < 0.84


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"effect": 0.0}, "`effect` must be positive and at most the largest cost, 1.0: found 0"),
        ({"effect": 3.01, "cost_bound": 3.0}, "`effect` must be positive and at most"),
        ({"effect": math.nan}, "`effect`"),
        ({"effect": "much"}, "`effect`"),
        ({"effect": 0.1, "power": 0}, "`power` must lie between 0 and 1, both excluded: found 0"),
        ({"effect": 0.1, "power": 1.0}, "`power` must lie between 0 and 1, both excluded"),
        ({"effect": 0.1, "power": math.nan}, "`power` must lie between 0 and 1"),
        ({"effect": 0.1, "power": "most"}, "`power` must be a number: found 'most'"),
        ({"n": 0}, "`n` must be positive: found 0"),
        ({"n": math.nan}, "`n`"),
        ({"n": 9, "cost_bound": 0}, "`cost_bound` must be positive and finite: found 0"),
        ({"n": "many"}, "`n`"),
        ({"n": 9, "cost_bound": "x"}, "`cost_bound`"),
        ({"n": 9, "variance": "x"}, "`variance`"),
        ({"n": 9, "cost_bound": math.inf}, "`cost_bound` must be positive and finite"),
        ({"n": 9, "variance": -0.01}, "`variance` must be finite and not negative"),
        ({"n": 9, "variance": math.inf}, "`variance` must be finite and not negative"),
        ({"n": 9, "variance": 0, "method": "score"}, '`variance` must be positive for "score"'),
        ({"n": 9, "variance": 0, "method": "bootstrap"}, "`variance` must be positive"),
        ({"n": 9, "method": "scor"}, 'no plan for "scor"; did you mean "score"'),
        ({"n": 9, "method": "t-crossed"}, '"t-crossed" was removed'),
        ({"n": 9, "method": "hoeffding"}, 'the interval "hoeffding" was removed; use "exact" or'),
        ({"n": 9, "confidence": 1.0}, "`confidence`"),
        ({"n": 9, "group_share": 0.51}, "`group_share`"),
        ({"n": 9, "group_share": 0.0}, "`group_share`"),
    ],
)
def test_a_mistake_names_its_argument(arguments: dict[str, Any], message: str) -> None:
    question: Any = sample_size if "effect" in arguments else claimable_effect
    with pytest.raises(InputError, match=message):
        question(**arguments)


@pytest.mark.parametrize("method", ["bernstein", "exact", "betting"])
def test_costs_that_do_not_vary_can_be_planned_by_a_guarantee(method: str) -> None:
    assert claimable_effect(8, variance=0, method=method) >= 0


def cells_of(table: np.ndarray) -> np.ndarray:
    """Return cells (K, 2, T) whose mean over both attributes is the table (K, T)."""
    return np.stack([table - 0.1, table + 0.1], axis=1)


def crossed(seed: int, k: int, t: int, parts: tuple[float, float, float]) -> np.ndarray:
    draw = np.random.default_rng(seed)
    shapes = ((k, 1), (1, t), (k, t))
    return sum(part * draw.normal(size=shape) for part, shape in zip(parts, shapes, strict=True))


PILOT = crossed(1, 7, 5, (0.3, 0.2, 0.4))


class TestPilot:
    def test_the_parts_are_those_of_a_two_way_analysis_of_variance(self) -> None:
        k, t = PILOT.shape
        mean = sum(PILOT.flat) / (k * t)
        rows = [sum(PILOT[i]) / t for i in range(k)]
        columns = [sum(PILOT[:, j]) / k for j in range(t)]
        of_rows = t * sum((row - mean) ** 2 for row in rows) / (k - 1)
        of_columns = k * sum((column - mean) ** 2 for column in columns) / (t - 1)
        left = [
            (PILOT[i, j] - rows[i] - columns[j] + mean) ** 2 for i in range(k) for j in range(t)
        ]
        rest = sum(left) / ((k - 1) * (t - 1))
        parts = variance_components(cells_of(PILOT))
        assert parts.templates == pytest.approx(max(0, (of_rows - rest) / t))
        assert parts.tasks == pytest.approx(max(0, (of_columns - rest) / k))
        assert parts.rest == pytest.approx(rest)
        assert (parts.n_templates, parts.n_tasks) == (7, 5)

    def test_planted_parts_are_recovered(self) -> None:
        parts = [
            variance_components(crossed(seed, 20, 40, (0.1, 0.2, 0.3))[:, None])
            for seed in range(60)
        ]
        means = np.mean([(part.templates, part.tasks, part.rest) for part in parts], axis=0)
        assert means == pytest.approx([0.01, 0.04, 0.09], rel=0.15)

    def test_a_part_that_the_pilot_cannot_tell_is_none(self) -> None:
        # All rows and all columns have the same mean: there is nothing but the rest.
        parts = variance_components(cells_of(np.array([[1.0, -1.0], [-1.0, 1.0]])))
        assert (parts.templates, parts.tasks, parts.rest) == (0.0, 0.0, 4.0)

    def test_families_are_units_and_undefined_tasks_are_left_out(self) -> None:
        cells = cells_of(PILOT)
        cells[2, :, 1] = math.nan
        assert variance_components(cells) == variance_components(np.delete(cells, 1, axis=2))
        families = variance_components(cells_of(PILOT), list("aabbccd"))
        means = np.stack([PILOT[i : i + 2].mean(axis=0) for i in (0, 2, 4, 6)])
        alone = variance_components(cells_of(means))
        assert families.templates == pytest.approx(alone.templates)
        assert families.rest == pytest.approx(alone.rest)
        assert (families.n_templates, families.n_tasks) == (4, 5)

    def test_uneven_families_count_as_fewer(self) -> None:
        assert variance_components(cells_of(PILOT)).evenness == 1.0
        cells = cells_of(np.vstack([PILOT, PILOT[:1]]))
        cells[6] = math.nan
        # What is nowhere defined does not count: 4, 1, 1 and 1 templates.
        assert variance_components(cells, list("abcdaaga")).evenness == pytest.approx(49 / 19 / 4)
        even, uneven = (Components(0.1, 0.0, 0.0, 8, 9, share) for share in (1.0, 0.5))
        # Eight uneven families, and twice as many planned ones, are as good as half of them.
        half = Components(0.1, 0.0, 0.0, 4, 9).halfwidth(20, 9, 0.95)
        assert uneven.halfwidth(40, 9, 0.95) == pytest.approx(half)
        assert even.halfwidth(20, 9, 0.95) < half
        assert uneven.halfwidth(2, 9, 0.95) == math.inf

    @pytest.mark.parametrize(("effect", "confidence"), [(0.6, 0.95), (0.25, 0.8), (50.0, 0.95)])
    def test_the_plan_counts_up_to_the_first_that_is_enough(
        self, effect: float, confidence: float
    ) -> None:
        cells = crossed(3, 9, 8, (0.3, 0.1, 0.4))[:, None]
        plan = templates_needed(cells, effect, confidence=confidence)
        parts, tail = plan.components, (1 - confidence) / 2

        def limit(part: float, pilot: tuple[int, int], n: int, other: int) -> tuple[float, float]:
            """The expected square of a standard error, and what 90 % of them stay below."""
            own, across = pilot
            factor = float(stats.f.ppf(0.9, n - 1, own - 1))
            pooled, more = part + parts.rest / across, parts.rest / other - parts.rest / across
            upper = factor * pooled + (factor * more if more > 0 else more)
            return (pooled + more) / n, upper / n

        def halfwidth(k: int, t: int, *, fixed: bool = False) -> float:
            rows, upper_rows = limit(parts.templates, (9, 8), k, t)
            columns, upper_columns = (0.0, 0.0) if fixed else limit(parts.tasks, (8, 9), t, k)
            degrees = (rows + columns) ** 2 / (rows**2 / (k - 1) + columns**2 / (t - 1))
            total = rows + columns + math.hypot(upper_rows - rows, upper_columns - columns)
            squares = ((degrees, total), (k - 1, upper_rows), (t - 1, upper_columns))
            return max(float(stats.t.isf(tail, of)) * math.sqrt(square) for of, square in squares)

        def first(of: Callable[[int], float]) -> int | None:
            return next((n for n in range(2, 999) if of(n) < effect), None)

        assert plan.templates == first(lambda n: halfwidth(n, 8))
        assert plan.tasks == first(lambda n: halfwidth(9, n))
        assert plan.fixed_tasks == first(lambda n: halfwidth(n, 8, fixed=True))
        assert (plan.effect, plan.confidence) == (effect, confidence)

    def test_the_half_width_of_the_pilot_is_that_of_its_interval(self) -> None:
        cells = crossed(3, 9, 8, (0.3, 0.3, 0.4))[:, None]
        own = plans.halfwidth(cells, np.arange(9))
        assert templates_needed(cells, 0.5).halfwidth == pytest.approx(own)

    def test_an_effect_as_large_as_the_half_width_needs_one_more(self) -> None:
        cells = cells_of(PILOT)
        parts = variance_components(cells)
        assert templates_needed(cells, parts.halfwidth(30, 5, 0.95)).templates == 31
        assert templates_needed(cells, parts.halfwidth(7, 30, 0.95)).tasks == 31

    def test_no_number_of_templates_makes_up_for_tasks(self) -> None:
        plan = templates_needed(crossed(4, 20, 10, (0.0, 0.3, 0.01))[:, None], 0.01)
        assert plan.templates is None
        assert plan.tasks is not None
        assert plan.tasks > 100
        parts = Components(0.02, 0.05, 0.0, n_templates=3, n_tasks=4)
        limit = stats.t.isf(0.1, 8) * math.sqrt(0.05 / 9 * stats.f.ppf(0.9, 8, 3))
        assert parts.halfwidth(2**60, 9, 0.8) == pytest.approx(limit)

    def test_cells_that_are_all_alike_need_no_more(self) -> None:
        plan = templates_needed(np.full((3, 2, 4), 0.5), 1e-9)
        assert (plan.templates, plan.tasks, plan.fixed_tasks, plan.halfwidth) == (2, 2, 2, 0.0)

    @pytest.mark.parametrize("number", [0, 3, 6, 10])
    def test_plans_hold_in_nine_of_ten_samples(self, number: int) -> None:
        pilot = plans.PILOTS[number]
        before, after = plans.pilot_study(pilot, 100, np.random.default_rng(number))
        assert before.held < 65
        assert len(after.units) - after.held <= 17  # 0.01 by chance if one in ten misses
        assert after.held > 75

    @pytest.mark.parametrize(
        ("cells", "arguments", "message"),
        [
            (PILOT, {"effect": 0.0}, "`effect` must be positive"),
            (PILOT, {"effect": math.nan}, "`effect` must be positive"),
            (PILOT, {"effect": 0.1, "confidence": 1.0}, "`confidence`"),
            (PILOT[:1], {"effect": 0.1}, "at least two templates.*found 1 and 5"),
            (PILOT[:, :1], {"effect": 0.1}, "found 7 and 1"),
            # Without variance of tasks, templates alone are enough, but far too many of them.
            (np.array([[1.0, -1.0], [-1.0, 1.0]]), {"effect": 1e-12}, "plan for a larger effect"),
        ],
    )
    def test_mistakes(self, cells: np.ndarray, arguments: dict[str, float], message: str) -> None:
        with pytest.raises(InputError, match=message):
            templates_needed(cells_of(cells), **arguments)  # type: ignore[arg-type]


class TestSentences:
    @pytest.mark.parametrize("direction", DIRECTIONS)
    @pytest.mark.parametrize("scale", [1, 6])
    def test_the_first_of_eight_steps_a_doubling_that_shows_enough(
        self, direction: Direction, scale: int
    ) -> None:
        counts = scale * np.array([[30.0, 20.0, 60.0], [15.0, 40.0, 25.0]])

        def shown(factor: float) -> float:
            rng = np.random.default_rng(0)
            return reliability(counts, direction, rng=rng, factor=factor).proportional

        step = next(k for k in range(99) if shown(2 ** (k / 8)) >= 0.9)
        exact = counts.sum() * 2 ** (step / 8)
        digits = 10 ** (len(str(int(exact))) - 2)
        assert sentences_needed(counts, direction) == math.ceil(exact / digits) * digits

    def test_more_sentences_show_more(self) -> None:
        counts = np.array([[9.0, 40, 6, 13, 9, 16, 20], [3, 5, 1, 3, 1, 1, 12]])
        shares = [
            reliability(
                counts, Direction.TASK_TO_ATTRIBUTE, rng=np.random.default_rng(0), factor=factor
            )
            for factor in (1, 10, 100)
        ]
        assert shares[0].proportional < shares[1].proportional < shares[2].proportional <= 1
        assert all(share.even < share.proportional for share in shares)

    def test_a_base_that_is_large_enough_needs_no_more(self) -> None:
        counts = np.array([[90_000.0, 10_000.0], [10_000.0, 90_001.0]])
        assert sentences_needed(counts, Direction.TASK_TO_ATTRIBUTE) == 210_000

    def test_no_number_shows_a_link_that_is_not_there(self) -> None:
        for counts in (np.full((2, 2), 2e11), np.array([[50.0], [50.0]])):
            assert sentences_needed(counts, Direction.TASK_TO_ATTRIBUTE) is None

    def test_mistakes(self) -> None:
        with pytest.raises(InputError, match="whole numbers"):
            sentences_needed(np.full((2, 2), 9.5), Direction.TASK_TO_ATTRIBUTE)
        for share in (0, 1, math.nan):
            with pytest.raises(InputError, match="`reliable` must lie between 0 and 1"):
                sentences_needed(np.ones((2, 2)), Direction.TASK_TO_ATTRIBUTE, reliable=share)
