"""What every attacker promises; each against counting, scikit-learn or a plain training loop."""

from __future__ import annotations

import itertools
import signal
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lmprobe.errors import InputError
from lmprobe.io.work import silent
from lmprobe.leakage.attackers import (
    Mlp,
    attackers,
    choose_attacker,
    counting_loss,
    find_attacker,
    fit_softmax,
)
from lmprobe.leakage.inputs import AttackerInput, GroupLabels
from lmprobe.leakage.rounds import Round, Trial, draw_rounds
from tests.leakage.leaking_data import many_labels, one_label


def trials(kind: str = "coded", rows: int = 1000, rounds: int = 2, labels: int = 4) -> list[Trial]:
    """Return rounds of data that leak; each round sees other values, as of perturbed labels.

    Of one label per row (`coded`), of several (`several`) or of numbers (`dense`).
    """
    rng = np.random.default_rng(0)
    if kind == "coded":
        values, group = one_label(rng, rows, 0.5, labels)
        seen = [values.astype(np.int64), np.where(rng.random(rows) < 0.1, 0, values)]
    elif kind == "several":
        values, group = many_labels(rng, rows, labels, skew=1.0)
        # The second round has fewer combinations.
        seen = [values, values * (np.arange(labels) > 0)]
    else:
        values, group = many_labels(rng, rows, labels)
        seen = [values.astype(np.float32), (values + rng.normal(size=values.shape)).astype("f")]
    groups = GroupLabels(group.astype(np.int64), ("a", "b"))
    drawn = draw_rounds(groups, None, rounds=rounds, rng=rng)
    return [
        Trial(AttackerInput(seen[number % 2], labels), groups, rows)
        for number, rows in enumerate(drawn)
    ]


SMALL = Mlp(epochs=10, width=16, learning_rate=1e-2)


def attack(attacker: Any, given: list[Trial], progress: Any = silent) -> list[list[int]]:
    if attacker == "mlp":
        attacker = SMALL
    guesses = find_attacker(attacker).attack(given, device="cpu", progress=progress)
    return [guess.tolist() for guess in guesses]


@pytest.mark.parametrize("name", attackers.names())
@pytest.mark.parametrize("kind", ["coded", "several"])
def test_every_attacker_keeps_the_promises(name: str, kind: str) -> None:
    given, seen = trials(kind), []
    guesses = attack(name, given, lambda *at: seen.append(at))
    assert guesses == attack(name, given)
    for guess, trial in zip(guesses, given, strict=True):
        # One label decides half of the rows, so three quarters can be guessed; four labels that
        # are each more frequent with one group show 0.81 of the groups.
        assert 0.65 < np.mean(guess == trial.truth) < 0.85
    assert seen[-1][0] == seen[-1][1]
    # A round does not depend on the others, and nobody looks at the groups of test rows.
    hidden = given[0].groups.codes.copy()
    hidden[given[0].rows.test] = 1 - hidden[given[0].rows.test]
    blind = Trial(given[0].inputs, GroupLabels(hidden, ("a", "b")), given[0].rows)
    assert attack(name, [blind]) == guesses[:1]


@pytest.mark.parametrize(("kind", "labels"), [("coded", 200), ("several", 6)])
def test_exact_guesses_the_most_frequent_group_of_the_train_rows(kind: str, labels: int) -> None:
    # Few rows of each combination, so that a lead of one row is frequent.
    for trial in trials(kind, labels=labels):
        (guess,) = attack("exact", [trial])
        rows, groups, train = trial.inputs.rows, trial.groups.codes, trial.rows.train
        for row, group in zip(trial.rows.test, guess, strict=True):
            alike = (rows(train) == rows(np.array([row]))).all(axis=1)
            same = np.bincount(groups[train[alike]], minlength=2)
            assert same[group] == same.max()


def test_exact_decides_ties_and_unseen_combinations_by_lot() -> None:
    trial = trials()[0]
    # Every row has a label of its own, so the train rows say nothing about the others.
    unseen = Trial(AttackerInput(np.arange(1000), 1000), trial.groups, trial.rows)
    assert 0.35 < np.mean(attack("exact", [unseen])) < 0.65
    # A third of the rows have a combination of their own; the others show the group.
    codes, alone = trial.groups.codes, np.arange(1000) % 3 == 0
    values = np.column_stack([np.where(alone, np.arange(1000), 0), alone ^ (codes == 1)])
    partly = Trial(AttackerInput(values, 2), trial.groups, trial.rows)
    right = np.equal(attack("exact", [partly])[0], partly.truth)
    seen = ~alone[trial.rows.test]
    assert right[seen].all()
    assert 0.3 < right[~seen].mean() < 0.7
    with pytest.raises(InputError, match="only 0% of the test rows are equal to a train row"):
        attack("exact", trials("dense"))


@pytest.mark.parametrize("groups", [2, 3])
def test_exact_agrees_with_a_tree_without_limit_and_a_saturated_regression(groups: int) -> None:
    tree = pytest.importorskip("sklearn.tree")
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, (3000, 3))
    # The group hangs on combinations, not on single labels.
    code = (labels[:, 0] ^ labels[:, 1]) + 2 * labels[:, 2]
    group = np.where(rng.random(3000) < 0.4, code % groups, rng.integers(0, groups, 3000))
    read = GroupLabels(group, tuple("abc")[:groups])
    for rows in draw_rounds(read, None, rounds=2, rng=rng):
        (guess,) = attack("exact", [Trial(AttackerInput(labels, 3), read, rows)])
        saturated = np.eye(8)[labels @ [1, 2, 4]]
        for model, x in (
            (tree.DecisionTreeClassifier(), labels),
            (linear_model.LogisticRegression(C=1e6, max_iter=2000), saturated),
        ):
            fitted = model.fit(x[rows.train], group[rows.train])
            assert fitted.predict(x[rows.test]).tolist() == guess


def one_trial(labels: Any, group: Any) -> Trial:
    """Return the first round of those labels."""
    read, rng = GroupLabels(np.asarray(group), ("a", "b")), np.random.default_rng(0)
    values = np.asarray(labels)
    size = values.shape[1] if values.ndim == 2 else int(values.max()) + 1
    rows = draw_rounds(read, None, rounds=2, rng=rng)[0]
    return Trial(AttackerInput(values, size), read, rows)


def test_auto_counts_where_labels_have_few_combinations() -> None:
    rng = np.random.default_rng(1)
    few, many = (many_labels(rng, 6000, labels) for labels in (4, 12))
    one = one_label(rng, 6000, 0.5, labels=2000)
    numbers = few[0] + rng.normal(size=few[0].shape)
    assert choose_attacker([one_trial(*few)]) == "exact"
    assert choose_attacker([one_trial(*many)]) == "logistic"
    # With fewer rows the same combinations are too many.
    assert choose_attacker([one_trial(few[0][:300], few[1][:300])]) == "logistic"
    assert choose_attacker([one_trial(numbers, few[1])]) == "logistic"
    # Nothing is gained over counting one label per row.
    assert choose_attacker([one_trial(*one)]) == "exact"
    # What is compared gets the same attacker.
    assert choose_attacker([one_trial(*few), one_trial(numbers, few[1])]) == "logistic"


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("skew", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("combinations", [3, 30, 300])
def test_counting_loses_no_more_than_its_bound(groups: int, skew: float, combinations: int) -> None:
    """The expected accuracy of `exact` from planted shares, over many train sets."""
    rng = np.random.default_rng(6)
    shares = np.exp(skew * rng.normal(size=(combinations, groups)))
    shares /= shares.sum(axis=1, keepdims=True)
    often = rng.dirichlet(np.full(combinations, 0.5))
    losses, bounds = [], []
    for _ in range(40):
        code = rng.choice(combinations, 900, p=often)
        group = (rng.random((900, 1)) > shares[code].cumsum(axis=1)).sum(axis=1)
        group = np.minimum(group, groups - 1)
        read, train = GroupLabels(group, tuple("abcd")[:groups]), np.arange(600)
        # The test rows are every combination once.
        code[600 : 600 + combinations] = np.arange(combinations)
        rows = Round(train, train, np.arange(600, 600 + combinations), int(rng.integers(2**31)))
        trial = Trial(AttackerInput(code, combinations), read, rows)
        (guess,) = attack("exact", [trial])
        right = shares[np.arange(combinations), guess]
        losses.append(often @ (shares.max(axis=1) - right))
        bounds.append(counting_loss(trial))
    assert np.mean(losses) <= np.mean(bounds)


@pytest.mark.parametrize("ridge", [0.1, 0.001])
def test_logistic_finds_the_solution_of_scikit_learn(ridge: float) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    y = rng.integers(0, 3, 300) * (x[:, 0] > 0) + (x[:, 1] > 0.5)
    target, with_one = np.eye(y.max() + 1)[y], np.column_stack([x, np.ones(300)])
    shares = np.exp(with_one @ fit_softmax(with_one, target, ridge, np.zeros((5, 4))))
    shares /= shares.sum(axis=1, keepdims=True)
    theirs = linear_model.LogisticRegression(C=1 / (ridge * 300), tol=1e-8, max_iter=2000).fit(x, y)
    assert shares == pytest.approx(theirs.predict_proba(x), abs=3e-3)


@pytest.mark.parametrize("kind", ["coded", "several", "dense"])
def test_logistic_keeps_the_ridge_that_is_best_on_the_dev_rows(kind: str) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    for trial in trials(kind, 300, rounds=4, labels=8):
        parts = trial.rows.train, trial.rows.dev, trial.rows.test
        train, dev, test = (trial.inputs.rows(part).astype(float) for part in parts)
        y, y_dev = (trial.groups.codes[part] for part in parts[:2])
        centre, spread = train.mean(axis=0), train.std(axis=0)
        spread[spread == 0] = 1.0
        fits = [
            linear_model.LogisticRegression(C=1 / (ridge * len(y)), tol=1e-8, max_iter=5000)
            .fit((train - centre) / spread, y)
            for ridge in (1e-1, 1e-2, 1e-3, 1e-4)
        ]  # fmt: skip
        best = max(fits, key=lambda fit: fit.score((dev - centre) / spread, y_dev))
        (guess,) = attack("logistic", [trial])
        assert np.mean(best.predict((test - centre) / spread) == guess) > 0.97


def test_logistic_guesses_the_same_where_no_rows_are_equal() -> None:
    rng = np.random.default_rng(4)
    for seed in range(10):
        group = rng.integers(0, 2, 300)
        labels = rng.random((300, 5)) < np.where(group[:, None], 0.1, [0.02, 0.05, 0.2, 0.3, 0.5])
        # So little that it only makes the rows differ.
        apart = labels + 1e-5 * rng.normal(size=labels.shape)
        read = GroupLabels(group, ("a", "b"))
        rows = draw_rounds(read, None, rounds=2, rng=np.random.default_rng(seed))
        equal, different = (
            attack("logistic", [Trial(AttackerInput(values.astype("f"), 5), read, rows[0])])
            for values in (labels, apart)
        )
        assert equal == different


def test_a_column_that_is_constant_in_the_train_rows_says_nothing() -> None:
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 60)
    telling = (group + rng.normal(size=60)).astype(np.float32)
    constant = np.where(np.arange(60) < 40, 3.0, rng.normal(size=60)).astype(np.float32)
    rows = Round(np.arange(40), np.arange(40, 50), np.arange(50, 60), 0)
    columns = (telling[:, None], np.column_stack([telling, constant]))
    without, with_it = (
        Trial(AttackerInput(values, values.shape[1]), GroupLabels(group, ("a", "b")), rows)
        for values in columns
    )
    assert attack("logistic", [without]) == attack("logistic", [with_it])


def plain_training(recipe: Mlp, trial: Trial) -> list[int]:
    """Train one attacker with torch's own layers; the best epoch on the dev rows counts."""
    generator, layers = torch.Generator().manual_seed(trial.rows.seed), []
    widths = [trial.inputs.size, *[recipe.width] * (recipe.layers - 1), 2]
    for fan_in, out in itertools.pairwise(widths):
        # The mean is subtracted right after a layer with BatchNorm: it has no bias.
        linear = nn.Linear(fan_in, out, bias=len(layers) == 3 * (recipe.layers - 1))
        drawn = torch.rand(fan_in, out, generator=generator).T
        linear.weight.data = (2 * drawn - 1) / fan_in**0.5
        layers += [linear, nn.BatchNorm1d(out), nn.LeakyReLU()]
    drawn = torch.rand(2, generator=generator)
    layers[-3].bias.data = (2 * drawn - 1) / widths[-2] ** 0.5
    network, rows = nn.Sequential(*layers[:-2]), trial.rows
    step = torch.optim.Adam(network.parameters(), lr=recipe.learning_rate)
    size, best, guess = min(recipe.batch_size, len(rows.train)), -1.0, [-1]

    def logits(index: Any) -> torch.Tensor:
        return network(torch.from_numpy(trial.inputs.rows(index)))  # type: ignore[no-any-return]

    for _ in range(recipe.epochs):
        order = torch.randperm(len(rows.train), generator=generator).numpy()
        network.train()
        for number in range(len(order) // size):
            index = rows.train[order[number * size : (number + 1) * size]]
            step.zero_grad()
            group = torch.from_numpy(trial.groups.codes[index])
            nn.functional.cross_entropy(logits(index), group).backward()
            step.step()
        network.eval()
        with torch.no_grad():
            dev, test = (logits(part).argmax(dim=1).numpy() for part in (rows.dev, rows.test))
        accuracy = float(np.mean(dev == trial.groups.codes[rows.dev]))
        if accuracy > best:
            best, guess = accuracy, test.tolist()
    return guess


@pytest.mark.parametrize("kind", ["coded", "several", "dense"])
@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("batch_size", [16, 1000])
def test_the_mlp_guesses_what_plain_trainings_guess(
    kind: str, layers: int, batch_size: int
) -> None:
    # Of 40 labels, or 32 combinations, some are missing from each batch.
    given = trials(kind, 300, labels={"coded": 40, "several": 5, "dense": 8}[kind])
    recipe = replace(
        SMALL, layers=layers, width=5, epochs=4, batch_size=batch_size, learning_rate=3e-2
    )
    expected = [plain_training(recipe, trial) for trial in given]
    assert attack(recipe, given) == expected
    assert attack(recipe, given[1:]) == expected[1:]


def test_workers_change_nothing_and_report_their_sum() -> None:
    given, recipe = trials(rounds=3), replace(SMALL, epochs=3)
    before, actual, seen = torch.get_num_threads(), [], []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            actual.append(attack(recipe, given, lambda *at: seen.append(at)))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert actual[0] == actual[1]
    # Three attackers, three epochs, 600 train rows in batches of 128: steps, not workers.
    assert seen[-1] == (36, 36)
    assert {total for _, total in seen} == {36}


def test_training_ends_early_where_nothing_can_improve_or_patience_is_used_up() -> None:
    def epochs(recipe: Mlp, given: list[Trial]) -> int:
        seen: list[tuple[int, int]] = []
        attack(recipe, given, lambda *at: seen.append(at))
        assert seen[-1][0] == seen[-1][1]
        # The last call is that of the end.
        return (len(seen) - 1) // (len(given[0].rows.train) // recipe.batch_size)

    codes, recipe = trials()[0].groups.codes, replace(SMALL, epochs=50)
    telling = [Trial(AttackerInput(codes, 2), trial.groups, trial.rows) for trial in trials()[:1]]
    assert attack(recipe, telling) == [telling[0].truth.tolist()]
    assert epochs(recipe, telling) < 50
    leaking = trials("dense")[:1]
    impatient = [epochs(replace(recipe, patience=patience), leaking) for patience in (1, 6)]
    assert impatient[0] < impatient[1] < epochs(recipe, leaking) == 50


def test_the_recipe_is_the_papers() -> None:
    # Wang et al. 2019, sections 4.1 and Table 2.
    assert Mlp() == Mlp(
        layers=4, width=300, epochs=100, batch_size=128, learning_rate=5e-5, patience=None
    )


def test_unknown_names_devices_and_bad_recipes() -> None:
    with pytest.raises(InputError, match='did you mean "logistic"'):
        find_attacker("logistics")
    with pytest.raises(InputError, match='no device "warp"; use auto'):
        Mlp(epochs=1).attack(trials(), device="warp", progress=silent)
    for name in ("layers", "width", "epochs", "batch_size", "learning_rate", "patience"):
        with pytest.raises(InputError, match=f"`{name}` must be .*, found 0"):
            Mlp(**{name: 0})


def test_an_interrupted_training_stops_and_restores_the_settings_of_torch() -> None:
    before = torch.get_num_threads(), torch.get_float32_matmul_precision()
    steps: list[tuple[int, int]] = []

    def interrupt(*at: int) -> None:
        steps.append(at)
        if len(steps) == 1:
            # As Ctrl-C does, while the workers train.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt):
            attack(replace(SMALL, epochs=300), trials("dense"), interrupt)
        assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == (2, before[1])
    finally:
        torch.set_num_threads(before[0])
    done, total = steps[-1]
    assert done < total / 2
