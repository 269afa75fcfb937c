"""What every interval method promises, and the exact numbers of the closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.intervals.method import Sample, interval, intervals
from lmprobe.intervals.methods import empirical_bernstein
from lmprobe.intervals.methods.bernstein import bernstein_halfwidth
from lmprobe.intervals.methods.t import interval_over_runs
from lmprobe.intervals.probe import CellTable, probe_sample
from lmprobe.intervals.two_groups import groups_sample, resampled
from lmprobe.results.interval import Interval

TWO_GROUPS = ("stratified", "stratified-bernstein", "score", "exact", "betting")
PROBES = ("t-crossed",)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def two_groups(n: int = 200) -> Sample:
    draw = np.random.default_rng(1)
    costs = (draw.random(n) < 0.4).astype(float), (draw.random(n) < 0.3).astype(float)
    return groups_sample(*costs, cost_bound=1.0, group_share=0.5)


def probed(n: int = 30) -> Sample:
    cells = np.random.default_rng(2).normal(0.1, 0.05, (n, 2, 30))
    return probe_sample(CellTable.of(cells, None), "both")


SAMPLES = [
    (name, sample)
    for name in intervals.names()
    for sample in (two_groups, probed)
    if name not in (PROBES if sample is two_groups else TWO_GROUPS)
]


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
class TestConformance:
    def test_it_holds_the_estimate_and_is_named(self, name: str, sample: type) -> None:
        found = interval(sample(), method=name, rng=rng())
        assert sample().value in found
        assert (found.method, found.confidence) == (name, 0.95)

    def test_more_confidence_is_wider(self, name: str, sample: type) -> None:
        widths = [
            interval(sample(), method=name, confidence=level, rng=rng()).width
            for level in (0.5, 0.8, 0.95, 0.99)
        ]
        assert widths == sorted(widths)
        assert widths[0] > 0

    def test_more_data_is_narrower(self, name: str, sample: type) -> None:
        few, many = (interval(sample(n), method=name, rng=rng()).width for n in (20, 320))
        assert many < few

    def test_the_same_seed_gives_the_same_interval(self, name: str, sample: type) -> None:
        one, two = (interval(sample(), method=name, rng=rng()) for _ in range(2))
        assert one == two

    @pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5, math.nan])
    def test_confidence_is_a_probability(self, name: str, sample: type, confidence: float) -> None:
        with pytest.raises(InputError, match="confidence"):
            interval(sample(), method=name, confidence=confidence, rng=rng())


def test_every_method_describes_itself_in_one_line() -> None:
    for name in intervals.names():
        first = (intervals.get(name).__doc__ or "").splitlines()[0]
        assert 20 < len(first) < 90, name


def test_an_unknown_method_names_the_nearest() -> None:
    with pytest.raises(InputError, match='did you mean "bernstein"'):
        interval(probed(), method="bernstien", rng=rng())


@pytest.mark.parametrize("name", TWO_GROUPS)
def test_two_group_methods_refuse_a_probe(name: str) -> None:
    with pytest.raises(InputError, match="two groups"):
        interval(probed(), method=name, rng=rng())


class TestNeverZeroWidth:
    @pytest.mark.parametrize("name", [n for n in intervals.names() if n not in TWO_GROUPS])
    def test_constant_templates(self, name: str) -> None:
        sample = probe_sample(CellTable.of(np.full((12, 2, 9), 0.1), None), "both")
        found = interval(sample, method=name, rng=rng())
        assert math.isnan(found.low) or found.width > 0

    @pytest.mark.parametrize("name", [n for n in intervals.names() if n not in PROBES])
    @pytest.mark.parametrize("cost", [0.0, 1.0])
    def test_constant_costs(self, name: str, cost: float) -> None:
        costs = np.full(40, cost)
        sample = groups_sample(costs, costs, cost_bound=1.0, group_share=0.5)
        found = interval(sample, method=name, rng=rng())
        assert math.isnan(found.low) or found.width > 0

    @pytest.mark.parametrize("name", [n for n in intervals.names() if n not in TWO_GROUPS])
    def test_two_templates_at_a_low_confidence(self, name: str) -> None:
        # Half of the resamples draw both, and so give one and the same value.
        cells = np.repeat([[[0.1]], [[0.2]]], 9, axis=2)
        sample = probe_sample(CellTable.of(cells, None), "templates")
        found = interval(sample, method=name, confidence=0.4, rng=rng())
        assert math.isnan(found.low) or found.width > 0

    @pytest.mark.parametrize("name", [n for n in intervals.names() if n not in TWO_GROUPS])
    def test_one_template_says_nothing(self, name: str) -> None:
        sample = probe_sample(CellTable.of(np.full((1, 2, 9), 0.1), None), "both")
        found = interval(sample, method=name, rng=rng())
        assert found.width > 1
        assert name == "hoeffding" or found.high == math.inf

    @pytest.mark.parametrize("values", [[0.1], [0.1, 0.1, 0.1]])
    def test_runs(self, values: list[float]) -> None:
        assert not math.isfinite(interval_over_runs(values).width)


class TestBernstein:
    """Equation (3) of the paper, to nine digits."""

    @pytest.mark.parametrize(
        ("n", "variance", "share", "bound", "confidence", "expected"),
        [(100, 1, 0.5, 1, 0.95, 0.2973238656), (500, 0.05, 0.1, 1, 0.95, 0.0612336051)],
    )
    def test_known(
        self, n: int, variance: float, share: float, bound: float, confidence: float,
        expected: float,
    ) -> None:  # fmt: skip
        found = bernstein_halfwidth(n, variance, share, cost_bound=bound, confidence=confidence)
        assert found == pytest.approx(expected, abs=5e-11)

    @settings(deadline=None)
    @given(
        n=st.integers(1, 10**6),
        variance=st.floats(1e-6, 100),
        share=st.floats(0.01, 0.5),
        bound=st.floats(0.1, 10),
        confidence=st.floats(0.5, 0.999),
    )
    def test_it_solves_equation_2(
        self, n: int, variance: float, share: float, bound: float, confidence: float
    ) -> None:
        t = bernstein_halfwidth(n, variance, share, cost_bound=bound, confidence=confidence)
        chance = 2 * math.exp(-n * t**2 / (2 * variance + 2 * bound / (3 * share) * t))
        assert chance == pytest.approx(1 - confidence, rel=1e-9)

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            ((0, 1, 0.5), "`n`"),
            ((10, -1, 0.5), "`variance`"),
            ((10, 1, 0), "`group_share`"),
            ((10, 1, 0.6), "`group_share`"),
        ],
    )
    def test_mistakes(self, arguments: tuple[float, float, float], word: str) -> None:
        with pytest.raises(InputError, match=word):
            bernstein_halfwidth(*arguments)

    def test_the_interval_is_equation_3_on_the_amortized_disparity(self) -> None:
        costs = np.random.default_rng(1).random(100), np.random.default_rng(2).random(300)
        sample = groups_sample(*costs, cost_bound=1.0, group_share=0.2)
        assert sample.observations is not None
        found = interval(sample, method="bernstein", rng=rng())
        half = bernstein_halfwidth(400, float(sample.observations.var()), 0.2)
        saved = np.concatenate([(1 - costs[0]) / 0.25, -(1 - costs[1]) / 0.75])
        half = min(half, bernstein_halfwidth(400, float(saved.var()), 0.2))
        assert found.high - sample.value == pytest.approx(half, rel=1e-12)
        assert sample.observations.mean() == pytest.approx(sample.value, abs=1e-12)


@pytest.mark.parametrize("name", ["bernstein", "empirical-bernstein", "hoeffding", "stratified"])
def test_told_as_loss_or_as_accuracy_is_the_same(name: str) -> None:
    loss = np.repeat([1.0, 0.0], [8, 152]), np.repeat([1.0, 0.0], [5, 235])
    found, turned = (
        interval(groups_sample(*costs, cost_bound=1.0, group_share=0.4), method=name, rng=rng())
        for costs in (loss, (1 - loss[0], 1 - loss[1]))
    )
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-12)


def test_empirical_bernstein_from_the_theorem() -> None:
    # Maurer & Pontil, Theorem 4, each side with half of the chance, values in [-1, 1].
    values = np.random.default_rng(3).uniform(-1, 1, 50)
    found = interval(Sample(float(values.mean()), values), method="empirical-bernstein", rng=rng())
    log = math.log(2 / 0.025)
    half = 2 * (math.sqrt(2 * values.var(ddof=1) / 4 * log / 50) + 7 * log / (3 * 49))
    assert found.high - values.mean() == pytest.approx(half, rel=1e-12)
    assert empirical_bernstein.halfwidth(50, 0.0, 2.0, 0.95) > 0


def test_student_agrees_with_scipy() -> None:
    values = np.random.default_rng(4).normal(size=12)
    found = interval_over_runs(values.tolist(), 0.9)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)


class TestBootstrap:
    def test_it_has_students_width_for_a_mean(self) -> None:
        # Resampling templates alone: the statistic is a plain mean of 12 values.
        cells = np.random.default_rng(6).normal(size=(12, 1, 1))
        sample = probe_sample(CellTable.of(cells, None), "templates")
        found = interval(sample, method="bootstrap", rng=rng())
        expected = interval_over_runs(cells.ravel().tolist())
        assert found.width == pytest.approx(expected.width, rel=0.08)

    def test_bca_agrees_with_scipy(self) -> None:
        values = np.random.default_rng(7).exponential(size=25)
        sample = probe_sample(CellTable.of(values[:, None, None] / 10, None), "templates")
        found = interval(sample, method="bootstrap-bca", rng=rng())
        theirs = stats.bootstrap(
            (values / 10,), np.mean, n_resamples=10_000, method="BCa", rng=rng()
        ).confidence_interval
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.003)

    @settings(deadline=None, max_examples=20)
    @given(
        protected=st.lists(st.sampled_from([0.0, 0.2, 1.0]), min_size=2, max_size=40),
        other=st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=40),
    )
    def test_cells_and_rows_are_resampled_alike(
        self, protected: list[float], other: list[float]
    ) -> None:
        """Drawing how often each cell occurs has the law of drawing rows: mean and spread."""
        costs = np.array(protected), np.array(other)
        ours = resampled(*costs, 4000, rng())
        rows = np.concatenate(costs)
        in_group = np.arange(len(rows)) < len(protected)
        chosen = np.random.default_rng(1).integers(len(rows), size=(4000, len(rows)))
        with np.errstate(invalid="ignore"):
            means = [
                (rows[chosen] * mask[chosen]).sum(1) / mask[chosen].sum(1)
                for mask in (in_group, ~in_group)
            ]
        loop = means[0] - means[1]
        assert np.isnan(ours).mean() == pytest.approx(np.isnan(loop).mean(), abs=0.03)
        error = 6 * max(np.nanstd(loop), 1e-9) / math.sqrt(4000)
        assert np.nanmean(ours) == pytest.approx(np.nanmean(loop), abs=error + 1e-12)
        assert np.nanstd(ours) == pytest.approx(np.nanstd(loop), rel=0.15, abs=1e-9)

    def test_a_long_table_of_few_cells_costs_nothing(self) -> None:
        costs = np.tile([0.0, 1.0], 10**6)
        found = resampled(costs, costs[1:], 1000, rng())
        assert found.std() == pytest.approx(math.sqrt(0.25 / 1e6), rel=0.1)


def test_the_interval_knows_what_it_holds() -> None:
    found = Interval(-0.1, 0.2, 0.95, "t")
    assert 0 in found
    assert 0.3 not in found
    assert Interval(-math.inf, math.nan, 0.95, "t").to_dict()["high"] is None
