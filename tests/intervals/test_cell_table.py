"""The numbers of a probe that intervals are made from, against plain loops over its cells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.intervals import probe
from lmprobe.intervals.probe import CellTable, probe_interval, probe_sample, robustness
from lmprobe.intervals.weights import draws

NAN = math.nan
# Four templates, two attributes, three tasks. The last task has no pair at all in the third
# template, and the first template lacks one pair of its first task.
CELLS = np.array(
    [
        [[0.1, 0.2, 0.3], [NAN, 0.4, -0.2]],
        [[0.5, -0.1, 0.0], [0.3, 0.2, 0.1]],
        [[-0.3, 0.2, NAN], [0.1, 0.6, NAN]],
        [[0.2, 0.2, -0.4], [0.7, 0.1, 0.1]],
    ]
)
FAMILIES = ["b", "a", "b", "b"]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def by_template(cells: np.ndarray) -> list[float]:
    found = []
    for template in cells:
        pairs = [pair for pair in template.ravel() if not math.isnan(pair)]
        found.append(sum(pairs) / len(pairs))
    return found


def weighted_value(cells: np.ndarray, templates: np.ndarray, tasks: np.ndarray) -> float:
    """The value where each template and each task counts so many times."""
    top = bottom = 0.0
    for k, template in enumerate(cells):
        pairs = [
            (tasks[t], template[a, t])
            for a, t in np.ndindex(template.shape)
            if not math.isnan(template[a, t])
        ]
        weight = sum(one for one, _ in pairs)
        if weight > 0:
            top += templates[k] * sum(one * pair for one, pair in pairs) / weight
            bottom += templates[k]
    return top / bottom if bottom else NAN


def test_sums_and_counts_of_each_template_and_task() -> None:
    table = CellTable.of(CELLS, FAMILIES)
    assert table.count.tolist() == [[1, 2, 2], [2, 2, 2], [2, 2, 0], [2, 2, 2]]
    assert table.total == pytest.approx(
        np.array([[0.1, 0.6, 0.1], [0.8, 0.1, 0.1], [-0.2, 0.8, 0.0], [0.9, 0.3, -0.3]])
    )
    assert table.family.tolist() == [1, 0, 1, 1]
    assert table.families == 2
    assert table.by_template == pytest.approx(by_template(CELLS))
    assert CellTable.of(CELLS, None).family.tolist() == [0, 1, 2, 3]


def test_a_template_without_a_pair_is_left_out_with_its_family() -> None:
    cells = np.concatenate([np.full((1, 2, 3), NAN), CELLS])
    table = CellTable.of(cells, ["alone", *FAMILIES])
    assert table.families == 2
    assert table.by_template == pytest.approx(by_template(CELLS))


@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 2, 2), (0, 2, 2), (2, 0, 2), (2, 2, 0)])
def test_cells_have_three_axes_none_of_them_empty(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="must have the axes"):
        CellTable.of(np.zeros(shape), None)


@pytest.mark.parametrize("names", [["a"], ["a"] * 3, ["a"] * 5])
def test_there_are_as_many_families_as_templates(names: list[str]) -> None:
    with pytest.raises(InputError, match="4 templates need as many families"):
        CellTable.of(CELLS, names)


def test_the_smallest_cells_there_can_be() -> None:
    table = CellTable.of(np.array([[[0.25]]]), None)
    assert (table.families, table.by_template.tolist()) == (1, [0.25])
    assert table.by_family_and_task.tolist() == [[0.25]]


def test_values_under_weights() -> None:
    table = CellTable.of(CELLS, None)
    generator = rng(4)
    templates, tasks = generator.integers(0, 3, (40, 4)), generator.integers(0, 3, (40, 3))
    # Weights need not be whole numbers.
    templates, tasks = np.vstack([templates, [[0.5, 0, 0, 0]]]), np.vstack([tasks, [[0, 0, 0.25]]])
    expected = [weighted_value(CELLS, *one) for one in zip(templates, tasks, strict=True)]
    assert table.values(templates, tasks) == pytest.approx(expected, nan_ok=True)


def test_a_template_whose_pairs_are_not_drawn_has_no_say() -> None:
    table = CellTable.of(CELLS, None)
    only_last = np.array([[0.0, 0.0, 1.0]])
    # The third template has nothing in the last task: the others have 0.05, 0.05 and -0.15.
    found = table.values(np.array([[1.0, 1, 1, 1], [0, 0, 1, 0]]), np.repeat(only_last, 2, axis=0))
    assert found == pytest.approx([-0.05 / 3, NAN], nan_ok=True)


@pytest.mark.parametrize("families", [None, FAMILIES])
def test_numbers_by_family_and_task(families: list[str] | None) -> None:
    """Each pair has the share of its template; sums of shares are turned into means of T x F."""
    cells = np.concatenate([CELLS, np.full((4, 2, 1), NAN)], axis=2)
    names = families or list("abcd")
    value = sum(by_template(CELLS)) / 4
    units = sorted(set(names))
    expected = np.full((len(units), 3), value)
    for k, template in enumerate(CELLS):
        pairs = int((~np.isnan(template)).sum())
        for a, t in np.ndindex(template.shape):
            if not math.isnan(template[a, t]):
                share = 3 * len(units) / (4 * pairs)
                expected[units.index(names[k]), t] += share * (template[a, t] - value)
    found = CellTable.of(cells, families).by_family_and_task
    assert found == pytest.approx(expected)
    assert found.mean() == pytest.approx(value)


class TestSample:
    def test_observations_are_families_by_their_size(self) -> None:
        sample = probe_sample(CellTable.of(CELLS, FAMILIES), "both")
        first, second, third, fourth = by_template(CELLS)
        value = (first + second + third + fourth) / 4
        assert sample.value == pytest.approx(value)
        # One of four templates, and three of them, in two families.
        of_a, of_b = second, (first + third + fourth) / 3
        expected = [value + 0.5 * (of_a - value), value + 1.5 * (of_b - value)]
        assert sample.observations == pytest.approx(expected)
        assert sample.bounds == (-1.5, 1.5)
        assert sample.crossed is not None
        assert sample.crossed.shape == (2, 3)

    @pytest.mark.parametrize(("resample", "units"), [("both", 3), ("templates", 4), ("tasks", 3)])
    def test_units_are_those_drawn(self, resample: str, units: int) -> None:
        assert probe_sample(CellTable.of(CELLS, None), resample).units == units
        assert probe_sample(CellTable.of(CELLS, FAMILIES), "both").units == 2
        assert probe_sample(CellTable.of(CELLS, FAMILIES), "tasks").units == 3

    @pytest.mark.parametrize("resample", ["both", "templates", "tasks"])
    def test_resamples_draw_families_and_then_tasks(self, resample: str) -> None:
        sample = probe_sample(CellTable.of(CELLS, FAMILIES), resample)
        assert sample.resampled is not None
        found = sample.resampled(30, rng(1))
        generator = rng(1)
        families, tasks = np.ones((30, 2)), np.ones((30, 3))
        if resample != "tasks":
            families = draws(30, 2, generator)
        if resample != "templates":
            tasks = draws(30, 3, generator)
        expected = [
            weighted_value(CELLS, family[[1, 0, 1, 1]], task)
            for family, task in zip(families, tasks, strict=True)
        ]
        assert found == pytest.approx(expected, nan_ok=True)
        # More templates than tasks: neither may take the place of the other.
        alone = probe_sample(CellTable.of(CELLS, None), resample)
        assert alone.resampled is not None
        assert len(alone.resampled(30, rng(1))) == 30

    @pytest.mark.parametrize(
        ("resample", "sizes"), [("both", [2, 3]), ("templates", [2]), ("tasks", [3])]
    )
    def test_each_unit_is_left_out_once(self, resample: str, sizes: list[int]) -> None:
        sample = probe_sample(CellTable.of(CELLS, FAMILIES), resample)
        assert sample.left_out is not None
        parts = sample.left_out()
        assert [len(part) for part in parts] == sizes
        if resample != "tasks":
            first, second, third, fourth = by_template(CELLS)
            assert parts[0] == pytest.approx([(first + third + fourth) / 3, second])
        if resample != "templates":
            without = [
                weighted_value(CELLS, np.ones(4), 1.0 - np.eye(3)[number]) for number in range(3)
            ]
            assert parts[-1] == pytest.approx(without)

    def test_no_more_numbers_than_a_block_are_held_at_a_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []

        def watched(rows: int, units: int, generator: np.random.Generator) -> np.ndarray:
            asked.append((rows, units))
            return draws(rows, units, generator)

        monkeypatch.setattr(probe, "draws", watched)
        sample = probe_sample(CellTable.of(CELLS, None), "both")
        assert sample.resampled is not None
        # Four templates and three tasks: 20 numbers are those of two resamples.
        monkeypatch.setattr(probe, "_BLOCK", 20)
        assert not np.isnan(sample.resampled(5, rng())).any()
        assert asked == [(2, 4), (2, 3), (2, 4), (2, 3), (1, 4), (1, 3)]
        asked.clear()
        monkeypatch.setattr(probe, "_BLOCK", 1)
        sample.resampled(2, rng())
        assert asked == [(1, 4), (1, 3), (1, 4), (1, 3)]


def test_the_confidence_is_95_percent_unless_told() -> None:
    found, _ = probe_interval(CELLS, rng=rng(), method="t")
    told, _ = probe_interval(CELLS, rng=rng(), method="t", confidence=0.95)
    assert found == told
    assert found.confidence == 0.95


class TestRobustness:
    def test_two_templates_can_be_left_out(self) -> None:
        found = robustness(np.array([[[0.1]], [[0.4]]]))
        assert found.leave_one_out == pytest.approx((0.1, 0.4))
        assert found.template_sd == pytest.approx(0.15)
        assert found.to_dict() == {
            "template_sd": found.template_sd,
            "leave_one_out": list(found.leave_one_out),
            "sign_flip_templates": 0.0,
            "sign_flip_families": 0.0,
        }

    def test_one_template_cannot(self) -> None:
        found = robustness(np.array([[[0.1, 0.3]]]))
        assert all(math.isnan(end) for end in found.leave_one_out)
        assert found.template_sd == 0

    def test_zero_has_no_opposite_sign(self) -> None:
        values = np.array([0.0, 0.3, 0.3, -0.1])
        found = robustness(values[:, None, None])
        assert found.sign_flip_templates == 0.25
        turned = robustness(-values[:, None, None])
        assert turned.sign_flip_templates == 0.25
        nothing = robustness(np.array([0.2, -0.2])[:, None, None])
        assert nothing.sign_flip_templates == 0

    def test_families_flip_by_their_mean(self) -> None:
        values = np.array([0.5, -0.1, -0.3, 0.2])
        found = robustness(values[:, None, None], ["a", "b", "c", "c"])
        assert found.sign_flip_templates == 0.5
        assert found.sign_flip_families == pytest.approx(2 / 3)
