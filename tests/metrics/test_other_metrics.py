"""Multi-attribute and predictability amplification: loops from the papers, published behaviour."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.metric import metrics
from lmprobe.metrics.multi_attribute import multi_attribute_amplification
from lmprobe.metrics.predictability import predictability_amplification


def made(seed: int, n: int = 300, tasks: int = 4) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    group = draw.integers(0, 2, n)
    truth = (draw.random((n, tasks)) < 0.3 + 0.2 * group[:, None]).astype(int)
    guess = (draw.random((n, tasks)) < 0.2 + 0.4 * group[:, None]).astype(int)
    said = np.where(draw.random(n) < 0.8, group, 1 - group)
    return {
        "attribute_labels": group,
        "task_labels": truth,
        "attribute_predictions": said,
        "task_predictions": guess,
    }


def test_every_metric_takes_the_same_input_and_names_its_values() -> None:
    rows = made(0)
    names = {name: set(metrics.get(name)(**rows).values) for name in metrics.names()}
    both = {"attribute->task", "task->attribute"}
    assert names == {
        "directional": both,
        "mals": {"undirected"},
        "multi-attribute": both | {"undirected"},
        "predictability": both,
    }


class TestMultiAttribute:
    @pytest.mark.parametrize("size", [1, 2])
    def test_a_loop_over_groups_and_sets(self, size: int) -> None:
        rows = made(1)
        group, truth = rows["attribute_labels"], rows["task_labels"]
        sets = {tuple(np.flatnonzero(row)) for row in truth}
        sets = {one for one in sets if len(one) >= size}
        forward, backward, undirected = [], [], []
        for members in sets:
            has = truth[:, members].all(axis=1)
            says = rows["task_predictions"][:, members].all(axis=1)
            for g in (0, 1):
                mine = group == g
                forward.append(abs(says[mine].mean() - has[mine].mean()))
                guess = rows["attribute_predictions"] == g
                backward.append(abs(guess[has].mean() - mine[has].mean()))
                if mine[has].mean() > 0.5:
                    undirected.append(abs(guess[says].mean() - mine[has].mean()))
        found = multi_attribute_amplification(**rows, min_size=size)
        assert found.values["attribute->task"] == pytest.approx(np.mean(forward), abs=1e-12)
        assert found.values["task->attribute"] == pytest.approx(np.mean(backward), abs=1e-12)
        expected = np.sum(undirected) / len(sets)
        assert found.values["undirected"] == pytest.approx(expected, abs=1e-12)
        assert len(found.sets) == len(sets)

    def test_single_tasks_are_the_directional_metric(self) -> None:
        rows = made(2)
        # One task per row at most, so that every set is a single task.
        for name in ("task_labels", "task_predictions"):
            rows[name] = rows[name] * (np.cumsum(rows[name], axis=1) == 1)
        single = directional_amplification(**rows)
        found = multi_attribute_amplification(**rows)
        assert found.values["task->attribute"] == pytest.approx(single.task_to_attribute.absolute)
        assert found.values["attribute->task"] == pytest.approx(single.attribute_to_task.absolute)

    def test_a_link_of_two_tasks_that_neither_shows(self) -> None:
        """The imSitu example: unloading and indoors lean to men, both together to women."""
        kinds = [("man", 1, 0, 30), ("man", 0, 1, 30), ("man", 1, 1, 4)]
        kinds += [("woman", 1, 0, 10), ("woman", 0, 1, 10), ("woman", 1, 1, 10)]
        kinds += [("man", 0, 0, 10), ("woman", 0, 0, 40)]
        group = np.repeat([one[0] for one in kinds], [one[3] for one in kinds])
        truth = np.repeat([one[1:3] for one in kinds], [one[3] for one in kinds], axis=0)
        found = multi_attribute_amplification(
            group, truth, attribute_predictions=group, task_predictions=truth
        )
        lean = found.directed.attribute_to_task.lean
        assert found.sets == (("0",), ("1",), ("0", "1"))
        assert lean[0].tolist() == [1.0, 1.0, -1.0]  # of men
        assert set(found.values.values()) == {0.0}
        assert found.variances == {"attribute->task": 0.0, "task->attribute": 0.0}

    def test_train_rows_decide_the_sets(self) -> None:
        rows = made(3)
        train = {
            "train_attribute_labels": rows["attribute_labels"][:4],
            "train_task_labels": [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0]],
        }
        found = multi_attribute_amplification(**rows, **train)
        assert found.sets == (("0",), ("0", "1"))
        assert multi_attribute_amplification(**rows, **train, min_rows=2).sets == (("0", "1"),)
        with pytest.raises(InputError, match="no set of at least 9 tasks"):
            multi_attribute_amplification(**rows, min_size=9)
        with pytest.raises(InputError, match="of 0 and 1"):
            multi_attribute_amplification(**rows | {"task_predictions": rows["task_labels"] / 2})


class TestPredictability:
    @pytest.mark.parametrize("loss", ["error", "brier", "cross-entropy"])
    def test_attackers_trained_on_flipped_labels_come_near(self, loss: Any) -> None:
        """The published procedure with the attacker that counts: random flips, held-out rows."""
        rows = made(4, n=40_000, tasks=1)
        group, truth = rows["attribute_labels"], rows["task_labels"][:, 0]
        guess = rows["task_predictions"][:, 0]
        draw = np.random.default_rng(9)
        right = np.mean(truth == guess)
        flipped = np.where(draw.random(len(truth)) < right, truth, 1 - truth)

        def judged(target: np.ndarray) -> float:
            fit, test = slice(0, 20_000), slice(20_000, None)
            rate = np.array([target[fit][group[fit] == g].mean() for g in (0, 1)])[group[test]]
            if loss == "error":
                wrong = (rate > 0.5) != target[test]
                return 1 / np.mean(wrong)
            if loss == "brier":
                return 1 / np.mean((rate - target[test]) ** 2)
            chance = np.where(target[test] == 1, rate, 1 - rate)
            return 1 / -np.mean(np.log(chance))

        model, data = judged(guess), judged(flipped)
        found = predictability_amplification(group, truth, task_predictions=guess, loss=loss)
        expected = (model - data) / (model + data)
        assert found.values["attribute->task"] == pytest.approx(expected, abs=0.02)
        assert expected > 0.03

    def test_bounds_symmetry_and_neutral_predictions(self) -> None:
        rows = made(5)
        perfect = rows | {
            "task_predictions": rows["task_labels"],
            "attribute_predictions": rows["attribute_labels"],
        }
        assert predictability_amplification(**perfect).values == pytest.approx(
            {"attribute->task": 0.0, "task->attribute": 0.0}
        )
        found = predictability_amplification(**rows)
        assert all(-1 <= value <= 1 for value in found.values.values())
        turned = predictability_amplification(
            **rows
            | {
                "attribute_labels": 1 - rows["attribute_labels"],
                "attribute_predictions": 1 - rows["attribute_predictions"],
            }
        )
        assert turned.values == pytest.approx(found.values)

    def test_a_prediction_that_is_the_group_itself(self) -> None:
        group, truth = np.repeat([0, 1], 50), np.tile([0, 1], 50)
        found = predictability_amplification(group, truth, task_predictions=group)
        assert found.values["attribute->task"] == 1.0  # always guessed
        twice = predictability_amplification(
            group, truth, task_predictions=group, sample_weight=np.full(100, 2.0)
        )
        assert twice.values == found.values

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"loss": "accuracy"}, 'no loss "accuracy"'),
            ({"attribute_labels": np.arange(300) % 3}, "two groups, found 3"),
            ({"task_predictions": np.full((300, 4), 0.5)}, "of 0 and 1"),
            ({"task_predictions": None, "attribute_predictions": None}, "give"),
        ],
    )
    def test_mistakes(self, more: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            predictability_amplification(**made(6) | more)
