from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lmprobe.errors import InputError
from lmprobe.io.progress import silent
from lmprobe.leakage.attackers.attacker import attackers, find_attacker
from lmprobe.leakage.attackers.logistic import _fit
from lmprobe.leakage.attackers.mlp import Mlp
from lmprobe.leakage.inputs import AttackerInput, GroupLabels
from lmprobe.leakage.rounds import Trial, draw_rounds
from tests.leakage.leaking_data import one_label


def trials(seed: int = 0, rows: int = 1000, leak: float = 0.5) -> list[Trial]:
    rng = np.random.default_rng(seed)
    labels, group = one_label(rng, rows, leak)
    groups = GroupLabels(group.astype(np.int64), ("a", "b"))
    evidence = AttackerInput(labels.astype(np.int64), 4)
    return [Trial(evidence, groups, one) for one in draw_rounds(groups, None, rounds=2, rng=rng)]


def quick(name: str) -> object:
    return Mlp(epochs=4, width=16, learning_rate=1e-2) if name == "mlp" else find_attacker(name)


@pytest.mark.parametrize("name", attackers.names())
def test_every_attacker_keeps_the_promises(name: str) -> None:
    given = trials()
    seen: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        seen.append((done, total))

    attacker = quick(name)
    guesses = attacker.attack(given, device="cpu", progress=note)  # type: ignore[attr-defined]
    again = attacker.attack(given, device="cpu", progress=silent)  # type: ignore[attr-defined]
    for guess, other, trial in zip(guesses, again, given, strict=True):
        assert guess.shape == trial.rows.test.shape
        assert set(guess) <= {0, 1}
        assert (guess == other).all()
        # The labels decide half of the rows, so three quarters can be guessed.
        assert 0.65 < np.mean(guess == trial.truth) < 0.85
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize("name", attackers.names())
def test_no_attacker_looks_at_the_groups_of_test_rows(name: str) -> None:
    one = trials()[0]
    hidden = one.groups.codes.copy()
    hidden[one.rows.test] = 1 - hidden[one.rows.test]
    other = Trial(one.inputs, GroupLabels(hidden, one.groups.names), one.rows)
    attacker = quick(name)
    both = [
        attacker.attack([trial], device="cpu", progress=silent)[0]  # type: ignore[attr-defined]
        for trial in (one, other)
    ]
    assert (both[0] == both[1]).all()


def test_exact_is_the_bayes_rule_of_the_train_rows() -> None:
    for trial in trials(3, leak=0.2):
        guess = find_attacker("exact").attack([trial], device="cpu", progress=silent)[0]
        labels, groups, train = trial.inputs.values, trial.groups.codes, trial.rows.train
        for row, found in zip(trial.rows.test, guess, strict=True):
            same = groups[train[labels[train] == labels[row]]]
            assert np.mean(same == found) >= 0.5


def test_exact_decides_ties_by_lot() -> None:
    one = trials()[0]
    # Every row has a label of its own, so the train rows say nothing about the others.
    unseen = Trial(AttackerInput(np.arange(1000), 1000), one.groups, one.rows)
    guess = find_attacker("exact").attack([unseen], device="cpu", progress=silent)[0]
    assert 0.35 < np.mean(guess) < 0.65


def test_exact_needs_one_label_per_row() -> None:
    one = trials()[0]
    several = Trial(AttackerInput(np.zeros((1000, 2), np.float32), 2), one.groups, one.rows)
    with pytest.raises(InputError, match="one label per example"):
        find_attacker("exact").attack([several], device="cpu", progress=silent)


def test_logistic_finds_the_solution_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    y = rng.integers(0, 3, 300) * (x[:, 0] > 0) + (x[:, 1] > 0.5)
    target = np.eye(y.max() + 1)[y]
    with_one = np.column_stack([x, np.ones(300)])
    ours = _fit(with_one, target, 0.01, np.zeros((5, target.shape[1])))
    theirs = LogisticRegression(C=1 / (0.01 * 300), tol=1e-8, max_iter=2000).fit(x, y)
    shares = np.exp(with_one @ ours)
    shares /= shares.sum(axis=1, keepdims=True)
    assert shares == pytest.approx(theirs.predict_proba(x), abs=2e-3)


def test_the_recipe_is_the_papers() -> None:
    # Wang et al. 2019, sections 4.1 and Table 2.
    assert Mlp() == Mlp(
        layers=4, width=300, epochs=100, batch_size=128, learning_rate=5e-5, patience=None
    )


def test_unknown_name_and_bad_recipes() -> None:
    with pytest.raises(InputError, match='did you mean "logistic"'):
        find_attacker("logistics")
    for recipe in (
        {"layers": 0},
        {"width": 0},
        {"epochs": -1},
        {"batch_size": 1},
        {"learning_rate": 0.0},
        {"patience": 0},
    ):
        with pytest.raises(InputError, match=next(iter(recipe))):
            Mlp(**recipe)  # type: ignore[arg-type]
