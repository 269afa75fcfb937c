"""The attackers without a network, by hand: what they fit, which fit they keep, ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from scipy.special import log_softmax

from lmprobe.io.progress import silent
from lmprobe.leakage.attackers import logistic
from lmprobe.leakage.attackers.attacker import find_attacker
from lmprobe.leakage.attackers.exact import Exact
from lmprobe.leakage.attackers.logistic import Logistic, _fit
from lmprobe.leakage.attackers.mlp import Mlp
from lmprobe.leakage.inputs import AttackerInput, GroupLabels
from lmprobe.leakage.rounds import Round, Trial


def trial(values: Any, size: int, group: Any, parts: Any, names: tuple[str, ...]) -> Trial:
    rows = Round(*(np.asarray(part) for part in parts), seed=3)
    return Trial(
        AttackerInput(np.asarray(values), size), GroupLabels(np.asarray(group), names), rows
    )


def test_exact_guesses_the_majority_by_one_row_and_the_higher_lot_on_a_tie() -> None:
    labels, groups = 600, 3
    # Label l has two rows of group l % 3 and one of each other group: a lead of one row.
    values = np.repeat(np.arange(labels), 4)
    group = np.concatenate([[one % 3, 0, 1, 2] for one in range(labels)])
    led = trial(
        values, labels, group, [range(len(values)), [], range(0, len(values), 4)], tuple("abc")
    )
    (found,) = Exact().attack([led], device="cpu", progress=silent)
    assert found.tolist() == [one % 3 for one in range(labels)]
    # Without the fourth row nobody leads.
    train = np.arange(len(values)).reshape(-1, 4)[:, 1:].ravel()
    even = trial(values, labels, group, [train, [], train[::3]], tuple("abc"))
    (found,) = Exact().attack([even], device="cpu", progress=silent)
    lots = np.random.default_rng(3).random((labels, groups))
    assert found.tolist() == [int(np.argmax(lot)) for lot in lots]


@pytest.mark.parametrize("name", ["exact", "logistic"])
def test_progress_counts_the_trials(name: str) -> None:
    one = trial([0, 1, 0, 1], 2, [0, 1, 0, 1], [[0, 1], [2, 3], [2, 3]], ("a", "b"))
    seen: list[tuple[int, int]] = []
    find_attacker(name).attack([one] * 3, device="cpu", progress=lambda *at: seen.append(at))
    assert seen == [(1, 3), (2, 3), (3, 3)]


class Asked(Exception):
    """Ends a fit when it is known what is minimised."""


def minimised(x: Any, target: Any, ridge: float, monkeypatch: pytest.MonkeyPatch) -> Any:
    kept: dict[str, Any] = {}

    def ask(loss: Any, start: Any, **options: Any) -> Any:
        kept.update(options, loss=loss, start=start)
        raise Asked

    monkeypatch.setattr(scipy.optimize, "minimize", ask)
    with pytest.raises(Asked):
        _fit(x, target, ridge, np.full((x.shape[1], target.shape[1]), 0.25))
    return kept


def test_the_loss_is_the_mean_cross_entropy_and_a_ridge_on_all_but_the_intercept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(size=(9, 2)), np.ones(9)])
    group = rng.integers(0, 3, 9)
    kept = minimised(x, np.eye(3)[group], 0.3, monkeypatch)
    assert kept["start"].tolist() == [0.25] * 9
    # The limit of L-BFGS-B: it is reached only where columns separate the groups.
    assert kept["options"] == {"maxiter": 200}
    weights = rng.normal(size=(3, 3))
    value, slope = kept["loss"](weights.ravel())
    rows = [-log_softmax(x[row] @ weights)[group[row]] for row in range(9)]
    assert value == pytest.approx(np.mean(rows) + 0.3 / 2 * np.sum(weights[:2] ** 2))
    each = scipy.optimize.approx_fprime(weights.ravel(), lambda flat: kept["loss"](flat)[0])
    assert slope == pytest.approx(each, abs=1e-6)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets the weights of each ridge; it returns what is asked of them."""

    def script(weights: list[Any]) -> list[tuple[Any, Any, float, Any]]:
        asked: list[tuple[Any, Any, float, Any]] = []

        def fit(x: Any, target: Any, ridge: float, start: Any) -> Any:
            asked.append((x, target, ridge, start))
            return np.asarray(weights[len(asked) - 1], dtype=float)

        monkeypatch.setattr(logistic, "_fit", fit)
        return asked

    return script


VALUES = np.array(
    [[1, 5, 0], [2, 5, 4], [6, 5, 2], [3, 5, 2], [1, 5, 3], [4, 5, 3], [9, 5, 2], [0, 7, 1]],
    dtype=np.float32,
)
NUMBERS = trial(VALUES, 3, [0, 1, 1, 0, 0, 1, 1, 0], [[0, 1, 2, 3], [4, 5], [6, 7]], ("a", "b"))
ZERO = np.zeros((4, 2))


def one(column: int, sign: float) -> Any:
    """Return weights that guess the second group where a standardised column is positive."""
    weights = ZERO.copy()
    weights[column, 1] = sign
    return weights


def test_columns_are_standardised_by_the_train_rows_and_have_an_intercept(fits: Any) -> None:
    asked = fits([ZERO] * 4)
    Logistic().attack([NUMBERS], device="cpu", progress=silent)
    x, target = asked[0][:2]
    first = VALUES[:4].astype(float)
    spread = np.array([first[:, 0].std(), 1.0, first[:, 2].std()])
    assert x == pytest.approx(np.column_stack([(first - first.mean(axis=0)) / spread, np.ones(4)]))
    assert target.tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]


def test_every_ridge_is_tried_from_strong_to_weak_each_from_the_last_solution(fits: Any) -> None:
    weights = [one(0, 1.0 + number) for number in range(4)]
    asked = fits(weights)
    Logistic().attack([NUMBERS], device="cpu", progress=silent)
    assert [ridge for _, _, ridge, _ in asked] == [0.1, 0.01, 0.001, 0.0001]
    starts = [start.tolist() for _, _, _, start in asked]
    assert starts == [ZERO.tolist(), *(one.tolist() for one in weights[:3])]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        # Dev rows are (1, 5, 3) of the first group and (4, 5, 3) of the second.
        ([one(0, -1), one(0, 1), one(0, -1), ZERO], [1, 0]),
        ([one(0, -1), ZERO, one(0, -1), one(0, 1)], [1, 0]),
        # All are right on one of the two; the intercept alone says the second group.
        ([one(3, 1), ZERO, ZERO, ZERO], [1, 1]),
        # All are wrong on both.
        ([one(0, -1)] * 4, [0, 1]),
    ],
)
def test_the_guess_is_that_of_the_best_on_the_dev_rows_the_first_on_a_tie(
    fits: Any, weights: list[Any], expected: list[int]
) -> None:
    fits(weights)
    (found,) = Logistic().attack([NUMBERS], device="cpu", progress=silent)
    assert found.tolist() == expected
    assert found.dtype == np.int64


def test_a_column_that_is_constant_in_the_train_rows_says_nothing() -> None:
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 60)
    telling = (group + rng.normal(size=60)).astype(np.float32)
    parts = [range(40), range(40, 50), range(50, 60)]
    constant = np.where(np.arange(60) < 40, 3.0, rng.normal(size=60)).astype(np.float32)
    columns = [telling[:, None], np.column_stack([telling, constant])]
    found = [
        Logistic()
        .attack(
            [trial(values, values.shape[1], group, parts, ("a", "b"))],
            device="cpu",
            progress=silent,
        )[0]
        .tolist()
        for values in columns
    ]
    assert found[0] == found[1]


def test_the_smallest_network_and_training_are_allowed() -> None:
    least = Mlp(layers=1, width=1, epochs=1, batch_size=2, learning_rate=1e-9, patience=1)
    assert (least.layers, least.batch_size, least.patience) == (1, 2, 1)
