"""The sample of two groups: what it offers each method, and how its rows are drawn anew."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.intervals import two_groups
from lmprobe.intervals.method import Groups
from lmprobe.intervals.two_groups import amortized, cells_of, groups_sample, resampled, turned

FIRST = np.array([0.0, 0.5, 2.0])
SECOND = np.array([1.0, 0.0, 0.25, 1.5, 0.0])


class TestSample:
    def test_what_is_known_of_it(self) -> None:
        sample = groups_sample(FIRST, SECOND, cost_bound=2.0, group_share=0.25)
        assert sample.value == pytest.approx(2.5 / 3 - 2.75 / 5)
        assert sample.bounds == (-8.0, 8.0)
        assert sample.units == 3
        assert groups_sample(SECOND, FIRST, cost_bound=2.0, group_share=0.25).units == 3
        groups = sample.groups
        assert groups is not None
        assert (groups.cost_bound, groups.group_share) == (2.0, 0.25)
        assert groups.protected is FIRST
        assert groups.other is SECOND

    def test_the_observations_are_divided_by_the_share_of_their_group(self) -> None:
        sample = groups_sample(FIRST, SECOND, cost_bound=2.0, group_share=0.25)
        expected = [cost / (3 / 8) for cost in FIRST] + [-cost / (5 / 8) for cost in SECOND]
        assert sample.observations == pytest.approx(expected)
        assert amortized(FIRST, SECOND) == pytest.approx(expected)
        assert np.mean(expected) == pytest.approx(sample.value)

    def test_savings_turned_over_have_the_same_mean(self) -> None:
        found = turned(Groups(FIRST, SECOND, 2.0, 0.25))
        expected = [-(2 - cost) / (3 / 8) for cost in FIRST]
        expected += [(2 - cost) / (5 / 8) for cost in SECOND]
        assert found == pytest.approx(expected)
        assert found.mean() == pytest.approx(2.5 / 3 - 2.75 / 5)

    def test_it_can_be_had_without_each_row(self) -> None:
        sample = groups_sample(FIRST, SECOND, cost_bound=2.0, group_share=0.25)
        assert sample.left_out is not None
        first, second = sample.left_out()
        for number, value in enumerate(first):
            assert value == pytest.approx(np.delete(FIRST, number).mean() - SECOND.mean())
        for number, value in enumerate(second):
            assert value == pytest.approx(FIRST.mean() - np.delete(SECOND, number).mean())

    def test_without_its_only_row_a_group_has_no_mean(self) -> None:
        sample = groups_sample(np.array([0.3]), np.array([0.1, 0.2]), cost_bound=1, group_share=0.3)
        assert sample.left_out is not None
        first, second = sample.left_out()
        assert np.isnan(first).tolist() == [True]
        assert second == pytest.approx([0.1, 0.2])

    def test_resamples_are_those_of_its_groups(self) -> None:
        sample = groups_sample(FIRST, SECOND, cost_bound=2.0, group_share=0.25)
        assert sample.resampled is not None
        np.testing.assert_array_equal(
            sample.resampled(50, np.random.default_rng(3)),
            resampled(FIRST, SECOND, 50, np.random.default_rng(3)),
        )

    @pytest.mark.parametrize("sizes", [(0, 2), (2, 0), (0, 0)])
    def test_a_group_without_rows_is_refused(self, sizes: tuple[int, int]) -> None:
        with pytest.raises(InputError, match="needs a row in each of them"):
            groups_sample(np.ones(sizes[0]), np.ones(sizes[1]), cost_bound=1, group_share=0.5)


def by_hand(first: Floats, second: Floats, drawn: np.ndarray) -> list[float]:
    """Return the difference for each row of how often the costs of both groups are drawn."""
    found = []
    for often in drawn:
        sides = []
        for costs, part in ((first, often[: len(first)]), (second, often[len(first) :])):
            total = sum(cost * times for cost, times in zip(costs, part, strict=True))
            sides.append(total / part.sum() if part.sum() else math.nan)
        found.append(sides[0] - sides[1])
    return found


class TestResampling:
    @pytest.mark.parametrize("block", [1, 8, 17, 4_000_000])
    def test_rows_are_drawn_one_by_one(self, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
        monkeypatch.setattr(two_groups, "_BLOCK", block)
        found = resampled(FIRST, SECOND, 61, np.random.default_rng(0))
        chosen = np.random.default_rng(0).integers(8, size=(61, 8))
        drawn = np.array([np.bincount(row, minlength=8) for row in chosen])
        np.testing.assert_allclose(found, by_hand(FIRST, SECOND, drawn), rtol=1e-12)

    @pytest.mark.parametrize("block", [1, 5, 11, 4_000_000])
    def test_rows_of_few_costs_are_drawn_cell_by_cell(
        self, monkeypatch: pytest.MonkeyPatch, block: int
    ) -> None:
        monkeypatch.setattr(two_groups, "_BLOCK", block)
        first, second = np.repeat(FIRST, [1, 40, 20]), np.repeat(SECOND[[3, 0]], [30, 50])
        found = resampled(first, second, 61, np.random.default_rng(0))
        shares = np.array([1, 40, 20, 50, 30]) / 141
        drawn = np.random.default_rng(0).multinomial(141, shares, size=61)
        np.testing.assert_allclose(found, by_hand(FIRST, np.array([1, 1.5]), drawn), rtol=1e-12)

    @pytest.mark.parametrize(("rows", "one_by_one"), [(32, False), (31, True)])
    def test_sixteen_rows_for_each_cell_are_drawn_as_cells(
        self, monkeypatch: pytest.MonkeyPatch, rows: int, one_by_one: bool
    ) -> None:
        seen = []
        draws = two_groups.draws

        def watched(replicates: int, units: int, rng: np.random.Generator) -> Floats:
            seen.append(units)
            return draws(replicates, units, rng)

        monkeypatch.setattr(two_groups, "draws", watched)
        resampled(np.zeros(16), np.ones(rows - 16), 5, np.random.default_rng(0))
        assert seen == ([rows] if one_by_one else [])

    def test_a_group_that_is_drawn_empty_has_no_difference(self) -> None:
        found = resampled(np.array([1.0]), np.array([0.5]), 400, np.random.default_rng(0))
        # Of two rows both are drawn half of the time.
        assert np.isnan(found).mean() == pytest.approx(0.5, abs=0.1)
        assert set(found[~np.isnan(found)].tolist()) == {0.5}

    @pytest.mark.parametrize("rows", [1, 40])
    def test_how_much_is_held_at_a_time(self, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
        seen = []
        draws = two_groups.draws

        def watched(replicates: int, units: int, rng: np.random.Generator) -> Floats:
            seen.append(replicates)
            return draws(replicates, units, rng)

        assert two_groups._BLOCK == 4_000_000
        monkeypatch.setattr(two_groups, "draws", watched)
        monkeypatch.setattr(two_groups, "_BLOCK", 60)
        costs = np.linspace(0, 1, rows)
        resampled(costs, costs, 70, np.random.default_rng(0))
        assert seen == ([30, 30, 10] if rows == 1 else [1] * 70)


def merged(costs: Floats) -> tuple[list[float], list[int]]:
    """Return the means and sizes of the cells between 128 quantiles and 128 even steps."""
    edges = {float(np.quantile(costs, share)) for share in np.linspace(0, 1, 128)}
    low, high = float(costs.min()), float(costs.max())
    edges |= {low + share * (high - low) for share in np.linspace(0, 1, 128)}
    means, sizes, before = [], [], -math.inf
    for edge in sorted(edges):
        inside = costs[(costs > before) & (costs <= edge)]
        if len(inside):
            means.append(float(inside.mean()))
            sizes.append(len(inside))
        before = edge
    return means, sizes


class TestCells:
    def test_different_costs_and_how_often_each_occurs(self) -> None:
        values, counts = cells_of(np.array([0.5, 0.0, 0.5, 1.0]))
        assert values.tolist() == [0.0, 0.5, 1.0]
        assert counts.tolist() == [1, 2, 1]

    def test_up_to_256_costs_are_kept_as_they_are(self) -> None:
        kept = np.linspace(0, 1, 256)
        np.testing.assert_array_equal(cells_of(kept)[0], kept)
        assert len(cells_of(np.linspace(0, 1, 257))[0]) < 257

    @pytest.mark.parametrize("law", ["uniform", "beta", "shifted"])
    def test_more_are_merged_between_quantiles_and_even_steps(self, law: str) -> None:
        rng = np.random.default_rng(0)
        drawn = {
            "uniform": lambda: rng.random(3000),
            "beta": lambda: np.round(rng.beta(0.4, 5, 6000), 4),
            "shifted": lambda: 3 + 2 * rng.beta(6, 2, 2000),
        }
        costs = drawn[law]()
        values, counts = cells_of(costs)
        means, sizes = merged(costs)
        assert values == pytest.approx(means, rel=1e-10)
        assert counts.tolist() == sizes
        assert counts.dtype == np.intp

    @pytest.mark.parametrize(("lost", "kept"), [(0.8e-4, False), (1.25e-4, True)])
    def test_a_ten_thousandth_of_the_variance_may_be_lost(self, lost: float, kept: bool) -> None:
        """Pairs of costs a little apart; how far decides what merging them would lose."""
        places = np.linspace(0, 1, 127)
        # Of pairs at m ± h, merging loses h² of the variance.
        h = math.sqrt(lost * places.var())
        assert 2 * h < 1 / 127
        many = 40
        rng = np.random.default_rng(1)
        # Within a pair the costs differ by rounding alone, so that there are more than 256.
        jitter = 1e-9 * rng.random((many, 127))
        costs = np.concatenate([(places - h + jitter).ravel(), (places + h + jitter).ravel()])
        values, _ = cells_of(costs)
        means, sizes = merged(costs)
        between = np.average((np.array(means) - costs.mean()) ** 2, weights=sizes)
        share = 1 - between / costs.var()
        assert bool(share > 1e-4) is kept
        assert (len(values) == len(np.unique(costs))) is kept
