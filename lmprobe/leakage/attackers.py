"""What an attacker is, the registry that finds one by name, and those that come with lmprobe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.io.work import Progress
from lmprobe.leakage.inputs import Codes
from lmprobe.leakage.rounds import Trial
from lmprobe.metrics.association import Floats
from lmprobe.registry import Registry

# From almost free to strongly held back; the loss is a mean per row.
_RIDGES = (1e-1, 1e-2, 1e-3, 1e-4)
_STEPS = 200

AUTO = "auto"

# The most accuracy that counting may lose where a regression could be used instead.
_MOST_LOSS = 0.03


class Attacker(Protocol):
    """Learns to guess the group from its inputs.

    The first line of the class's docstring is what a listing of the attackers shows.
    """

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Progress) -> list[Codes]:
        """Return the guessed group of every test row, trial by trial.

        An attacker learns from the train rows, may choose between versions of itself by
        the dev rows, and looks at the test rows only to guess.
        """
        ...


attackers: Registry[Callable[[], Attacker]] = Registry("attackers", "lmprobe.leakage.attackers")


def find_attacker(attacker: str | Attacker) -> Attacker:
    """Return the attacker of that name, or the one that was given."""
    if isinstance(attacker, str):
        return attackers.get(attacker)()
    if not callable(getattr(attacker, "attack", None)):
        raise InputError(
            f"`attacker` must be a name or an object with a method `attack`, found {attacker!r}"
        )
    return attacker


def choose_attacker(trials: Sequence[Trial]) -> str:
    """Return the attacker that `auto` is: `exact` if counting is good enough for all trials.

    Trials that are compared need the same attacker, so they are given together: those of the
    labels, of the predictions and of all training runs.
    """
    # With one label per example counting is as good as any other attacker, and the cheapest.
    few = (trial.inputs.coded or counting_loss(trial) <= _MOST_LOSS for trial in trials)
    return "exact" if all(few) else "logistic"


def counting_loss(trial: Trial) -> float:
    """Return a bound on the accuracy that `exact` is expected to lose to the Bayes rule.

    Over n train rows of a combination, the more frequent group is the wrong guess by chance:
    this costs at most 0.18 / sqrt(n) of the accuracy there for two groups, whatever their
    shares, and 0.25 / sqrt(n) for any number. Where there is no train row a lot costs at most
    1 - 1 / groups; the probability of such combinations is about the share of train rows
    whose combination occurs once (Good 1953).
    """
    train, by_lot = trial.rows.train, 1 - 1 / len(trial.groups.names)
    counts = np.unique(trial.inputs.combinations[train], return_counts=True)[1]
    return float((0.25 * np.sqrt(counts) + by_lot * (counts == 1)).sum() / len(train))


@attackers.register("exact")
class Exact:
    """The Bayes rule of the train rows: each combination's most frequent group, ties by lot."""

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Progress) -> list[Codes]:
        """Return the guesses; nothing is trained, so dev rows and device are not used."""
        guesses = []
        for number, trial in enumerate(trials, start=1):
            labels, rows = trial.inputs.combinations, trial.rows
            size = trial.inputs.size if trial.inputs.coded else int(labels.max()) + 1
            counts = np.zeros((size, len(trial.groups.names)))
            np.add.at(counts, (labels[rows.train], trial.groups.codes[rows.train]), 1)
            seen = np.mean(counts[labels[rows.test]].any(axis=1))
            if not trial.inputs.coded and seen < 0.5:
                raise InputError(
                    f'the attacker "exact" counts rows that are equal, and only {seen:.0%} of the '
                    'test rows are equal to a train row; use "logistic" or "mlp"'
                )
            # Less than one row apart is a tie, and a lot decides it; so is a combination that
            # no train row has.
            lot = np.random.default_rng(rows.seed).random(counts.shape)
            majority = (counts + 0.5 * lot).argmax(axis=1)
            guesses.append(majority[labels[rows.test]])
            progress(number, len(trials))
        return guesses


@attackers.register("logistic")
class Logistic:
    """Softmax regression on standardised columns; quick, and blind to combinations of labels."""

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Progress) -> list[Codes]:
        """Return the guesses; it runs on the CPU whatever the device."""
        steps, guesses = len(trials) * len(_RIDGES), []
        for number, trial in enumerate(trials):
            fits: list[tuple[float, Codes]] = []
            for accuracy, guess in _fits(trial):
                fits.append((accuracy, guess))
                progress(number * len(_RIDGES) + len(fits), steps)
            guesses.append(max(fits, key=lambda fit: fit[0])[1])
        return guesses


def _fits(trial: Trial) -> Iterator[tuple[float, Codes]]:
    """Yield the dev accuracy and the guesses of each ridge; equal rows are computed once."""
    rows, groups = trial.rows, len(trial.groups.names)
    train, which = trial.inputs.distinct(rows.train)
    # The train rows of each group that look like each different one.
    cells = which * groups + trial.groups.codes[rows.train]
    counts = np.bincount(cells, minlength=len(train) * groups).reshape(-1, groups)
    share = counts.sum(axis=1) / len(which)
    centre = share @ train
    spread = np.sqrt(share @ (train - centre) ** 2)
    spread[(train == train[0]).all(axis=0)] = 1.0

    def columns(values: NDArray[np.float32]) -> Floats:
        return np.column_stack([(values - centre) / spread, np.ones(len(values))])

    x = columns(train)
    weights = np.zeros((x.shape[1], groups))
    parts = [trial.inputs.distinct(part) for part in (rows.dev, rows.test)]
    judged = [(columns(values), own) for values, own in parts]
    for ridge in _RIDGES:
        # Each fit starts where the last one ended: the solutions lie close together.
        weights = fit_softmax(x, counts, ridge, weights)
        dev, test = ((values @ weights).argmax(axis=1)[own] for values, own in judged)
        yield float(np.mean(dev == trial.groups.codes[rows.dev])), test


def fit_softmax(x: Floats, counts: NDArray[Any], ridge: float, start: Floats) -> Floats:
    """Return the weights (d, G) of a softmax regression; the last column of `x` is all ones.

    `counts` (n, G) is how often each row occurs in each group.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    target = counts / counts.sum()
    share = target.sum(axis=1, keepdims=True)

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(start.shape)
        log_share = log_softmax(x @ weights, axis=1)
        held = weights.copy()
        held[-1] = 0.0  # the intercept is free
        value = -np.sum(target * log_share) + 0.5 * ridge * np.sum(held**2)
        slope = x.T @ (np.exp(log_share) * share - target) + ridge * held
        return float(value), slope.ravel()

    fitted = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return np.asarray(fitted.x).reshape(start.shape)


@attackers.register("mlp")
@dataclass(frozen=True, slots=True)
class Mlp:
    """The paper's network of four layers, 300 wide (Wang et al. 2019, section 4.1).

    The fields are its recipe; `layers` and `width` are what their Table 2 varies. `patience`
    ends a training whose dev accuracy has not risen for so many epochs. It is off unless
    asked for, because a later epoch might have been better.
    """

    layers: int = 4
    width: int = 300
    epochs: int = 100
    batch_size: int = 128
    learning_rate: float = 5e-5
    patience: int | None = None

    def __post_init__(self) -> None:
        """Refuse a network or a training without any size."""
        for name in ("layers", "width", "epochs", "learning_rate"):
            if not getattr(self, name) > 0:
                raise InputError(f"`{name}` must be positive, found {getattr(self, name)}")
        if self.batch_size < 2:
            raise InputError(f"`batch_size` must be 2 or more, found {self.batch_size}")
        if self.patience is not None and self.patience < 1:
            raise InputError(f"`patience` must be 1 or more, found {self.patience}")

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Progress) -> list[Codes]:
        """Return the guesses; all trials train side by side in one batched network."""
        # torch takes seconds to import; the other attackers do without it.
        from lmprobe.leakage.training import train_and_guess

        return train_and_guess(trials, self, device=device, progress=progress)
