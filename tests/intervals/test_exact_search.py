"""How the ends of `exact` are searched for, with made-up tests that accept what they are told."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.intervals.exact_test import ScoreTest
from lmprobe.intervals.method import interval
from lmprobe.intervals.methods import exact, score
from lmprobe.intervals.two_groups import groups_sample

Blocks = list[tuple[float, float]]


@dataclass
class Told:
    """A test that does not reject blocks with a difference in one of some ranges.

    In `doubt` are ranges in which only blocks shorter than 0.001 are rejected.
    """

    accepted: Blocks
    doubt: Blocks = field(default_factory=list)
    x_a: int = 3
    n_a: int = 16
    x_b: int = 9
    n_b: int = 25
    difference: float = 0.1
    limits: tuple[tuple[float, float], tuple[float, float]] = ((0.2, 0.7), (0.1, 0.9))
    outcomes: tuple[Floats, Floats] = (np.arange(17), np.arange(26))
    blocks: Blocks = field(default_factory=list)
    together: int = 0

    def rejects(self, first: Floats, last: Floats) -> np.ndarray:
        assert (first <= last).all()
        self.together = max(self.together, len(first))
        self.blocks += list(zip(first.tolist(), last.tolist(), strict=True))

        def meets(ranges: Blocks) -> np.ndarray:
            each = [(first <= high) & (low <= last) for low, high in ranges]
            return np.any([np.zeros(len(first), dtype=bool), *each], axis=0)

        return ~meets(self.accepted) & ~(meets(self.doubt) & (last - first >= 0.001))


SIZES = (0.2, 0.02, 0.0005)


@pytest.mark.parametrize("edge", [0.0, 0.1999, 0.2, 0.4321, 0.7, 0.98765, 1.0])
def test_the_first_accepted_is_found_from_either_side(edge: float) -> None:
    rising = exact._first_accepted(Told([(edge, 2.0)]), 0.0, 1.0, SIZES)  # type: ignore[arg-type]
    assert rising is not None
    assert edge - 0.0005 - 1e-12 <= rising <= edge
    falling = exact._first_accepted(Told([(-2.0, edge)]), 1.0, 0.0, SIZES)  # type: ignore[arg-type]
    assert falling is not None
    assert edge <= falling <= edge + 0.0005 + 1e-12


def test_blocks_that_are_rejected_on_a_closer_look_are_passed_over() -> None:
    told = Told([(0.9, 2.0)], doubt=[(0.0, 0.25), (0.5, 0.55)])
    found = exact._first_accepted(told, 0.0, 1.0, SIZES)  # type: ignore[arg-type]
    assert found == pytest.approx(0.9, abs=0.0005 + 1e-9)
    told = Told([], doubt=[(0.0, 0.25), (0.5, 0.55)])
    assert exact._first_accepted(told, 0.0, 1.0, SIZES) is None  # type: ignore[arg-type]
    assert exact._first_accepted(Told([(0, 1)]), 0.4, 0.4, SIZES) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(("stop", "blocks"), [(1.0, 5), (0.99, 5), (1.01, 6), (0.2, 1), (0.1, 1)])
def test_a_range_is_cut_into_blocks_no_longer_than_the_size(stop: float, blocks: int) -> None:
    told = Told([])
    assert exact._first_accepted(told, 0.0, stop, SIZES) is None  # type: ignore[arg-type]
    edges = np.linspace(0, stop, blocks + 1)
    np.testing.assert_allclose(told.blocks, np.column_stack([edges[:-1], edges[1:]]))


@pytest.mark.parametrize(
    ("numbers", "together"), [(1, 1), (2 * 128 * 43, 2), (2 * 128 * 43 - 1, 1), (4_000_000, 10)]
)
def test_how_many_blocks_are_looked_at_together_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, numbers: int, together: int
) -> None:
    assert exact._BLOCK == 4_000_000
    # 128 rates with the chances of 17 + 26 outcomes are held for each block.
    monkeypatch.setattr(exact, "_BLOCK", numbers)
    told = Told([(0.43, 2.0)], doubt=[(0.1, 0.15)])
    found = exact._first_accepted(told, 0.0, 1.0, (0.04, 0.0005))  # type: ignore[arg-type]
    assert found == pytest.approx(0.42975, abs=0.0003)
    assert told.together == together


def test_blocks_do_not_reach_over_a_corner_of_the_limits() -> None:
    """Corners at 0.2 - 0.1 and 0.7 - 0.9; all differences lie in [0.2 - 0.9, 0.7 - 0.1]."""
    told = Told([(0.25, 0.3)], difference=0.3)
    assert exact._end(told, -0.7) == pytest.approx(0.25, abs=0.001)  # type: ignore[arg-type]
    widest = [block for block in told.blocks if block[1] - block[0] > 0.001]
    for corner in (0.1, -0.2):
        assert not any(low < corner - 1e-12 and corner + 1e-12 < high for low, high in widest)
        for place in (0, 1):
            assert any(block[place] == pytest.approx(corner, abs=1e-12) for block in widest)
    starts = [low for low, high in widest if high <= 0.1]
    assert starts == sorted(starts), "from outside in"
    told = Told([(-0.4, -0.35)], difference=-0.4)
    assert exact._end(told, 0.6) == pytest.approx(-0.35, abs=0.001)  # type: ignore[arg-type]
    ends = [high for low, high in told.blocks if low >= -0.2 - 1e-12]
    assert ends == sorted(ends, reverse=True)


def test_the_sizes_of_blocks_are_in_standard_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[float, ...]] = []

    def first_accepted(
        test: object, start: float, stop: float, sizes: tuple[float, ...]
    ) -> float | None:
        found.append(sizes)
        return None

    monkeypatch.setattr(exact, "_first_accepted", first_accepted)
    # If nothing is accepted, the estimate is.
    assert exact._end(Told([]), -0.7) == 0.1  # type: ignore[arg-type]
    # One row of each outcome is added: 13 of 43.
    unit = math.sqrt(13 / 43 * 30 / 43 * (1 / 16 + 1 / 25))
    for sizes in found:
        assert sizes == pytest.approx([0.5 * unit, 0.05 * unit, 0.005 * unit, 0.0005 * unit])
    assert found


@pytest.mark.parametrize("counts", [(1, 6, 4, 9), (0, 5, 2, 7), (5, 11, 3, 14)])
def test_nothing_beyond_an_end_is_accepted_and_the_next_block_is(
    counts: tuple[int, int, int, int],
) -> None:
    """Only a form that is computed directly: smaller first group, fewer ones."""
    ends = exact.of_counts(*counts, confidence=0.9)
    test = ScoreTest(*counts, 1 - 0.9)
    ones, rows = counts[0] + counts[2] + 1, counts[1] + counts[3] + 2
    unit = math.sqrt(ones / rows * (1 - ones / rows) * (1 / counts[1] + 1 / counts[3]))
    # Blocks are cut evenly: at least 10/11 of the last size.
    size = 0.0005 * unit
    for end, sign in zip(ends, (-1, 1), strict=True):
        if abs(end) == 1:
            continue
        edges = end + sign * size * np.arange(400)
        outside = test.rejects(np.minimum(edges[:-1], edges[1:]), np.maximum(edges[:-1], edges[1:]))
        assert outside.all()
        inside = np.array([end, end - sign * size])
        assert not test.rejects(inside.min(keepdims=True), inside.max(keepdims=True)).any()


def test_the_form_that_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smaller group first, then the one with fewer ones, then fewer ones than zeros."""
    seen: list[tuple[int, int, int, int]] = []

    def end(test: ScoreTest, outside: float) -> float:
        (low_a, high_a), (low_b, high_b) = test.limits
        seen.append((test.x_a, test.n_a, test.x_b, test.n_b))
        assert outside in (low_a - high_b, high_a - low_b)
        assert test.alpha == 1 - 0.87
        return -0.1 if outside == low_a - high_b else 0.3

    monkeypatch.setattr(exact, "_end", end)
    exact.of_counts.cache_clear()
    for counts, form, ends in (
        ((2, 5, 4, 9), (2, 5, 4, 9), (-0.1, 0.3)),
        ((4, 9, 2, 5), (2, 5, 4, 9), (-0.3, 0.1)),
        ((3, 5, 5, 9), (2, 5, 4, 9), (-0.3, 0.1)),
        ((5, 9, 3, 5), (2, 5, 4, 9), (-0.1, 0.3)),
        ((3, 8, 2, 8), (2, 8, 3, 8), (-0.3, 0.1)),
        ((4, 8, 4, 8), (4, 8, 4, 8), (-0.1, 0.3)),
        ((2, 4, 5, 8), (2, 4, 3, 8), (-0.3, 0.1)),
        ((2, 4, 4, 8), (2, 4, 4, 8), (-0.1, 0.3)),
    ):
        seen.clear()
        assert exact.of_counts(*counts, confidence=0.87) == ends
        assert set(seen) <= {form}
    exact.of_counts.cache_clear()


@pytest.mark.parametrize("method", ["exact", "score"])
def test_the_interval_of_a_sample_is_that_of_its_counts_times_the_bound(method: str) -> None:
    costs = 2.5 * np.repeat([0, 1.0], [4, 3]), 2.5 * np.repeat([0, 1.0], [2, 6])
    sample = groups_sample(*costs, cost_bound=2.5, group_share=0.4)
    found = interval(sample, method=method, confidence=0.9, rng=np.random.default_rng(0))
    of_counts = exact.of_counts if method == "exact" else score.of_counts
    low, high = of_counts(3, 7, 6, 8, confidence=0.9)
    assert (found.low, found.high) == pytest.approx((2.5 * float(low), 2.5 * float(high)))
    assert (found.confidence, found.method) == (0.9, method)


@pytest.mark.parametrize("method", ["exact", "score"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_cost_between_none_and_all_is_refused_in_either_group(method: str, place: int) -> None:
    groups = [np.array([0.0, 2.0]), np.array([0.0, 2.0])]
    groups[place] = np.array([0.0, 0.5, 2.0])
    sample = groups_sample(groups[0], groups[1], cost_bound=2.0, group_share=0.4)
    with pytest.raises(InputError, match=rf'"{method}" is for costs .* found 0\.25'):
        interval(sample, method=method, rng=np.random.default_rng(0))
