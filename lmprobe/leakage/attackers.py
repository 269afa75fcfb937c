"""What an attacker is, the registry that finds one by name, and those that come with lmprobe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lmprobe.errors import InputError
from lmprobe.io.work import Progress
from lmprobe.leakage.inputs import Codes
from lmprobe.leakage.rounds import Trial
from lmprobe.metrics.association import Floats
from lmprobe.registry import Registry

# From almost free to strongly held back; the loss is a mean per row.
_RIDGES = (1e-1, 1e-2, 1e-3, 1e-4)
_STEPS = 200


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


@attackers.register("exact")
class Exact:
    """The Bayes rule of the train rows: each label's most frequent group, ties by lot."""

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Progress) -> list[Codes]:
        """Return the guesses; nothing is trained, so dev rows and device are not used."""
        guesses = []
        for number, trial in enumerate(trials, start=1):
            labels, train = trial.inputs.values, trial.rows.train
            if not trial.inputs.coded:
                raise InputError(
                    'the attacker "exact" needs one label per example; for several labels or for '
                    'logits use "mlp" or "logistic"'
                )
            counts = np.zeros((trial.inputs.size, len(trial.groups.names)))
            np.add.at(counts, (labels[train], trial.groups.codes[train]), 1)
            # Less than one row apart is a tie, and a lot decides it.
            lot = np.random.default_rng(trial.rows.seed).random(counts.shape)
            majority = (counts + 0.5 * lot).argmax(axis=1)
            guesses.append(majority[labels[trial.rows.test]])
            progress(number, len(trials))
        return guesses


@attackers.register("logistic")
class Logistic:
    """Softmax regression on standardised columns; quick, and blind to combinations of labels."""

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Progress) -> list[Codes]:
        """Return the guesses; it runs on the CPU whatever the device."""
        guesses = []
        for number, trial in enumerate(trials, start=1):
            guesses.append(_attack(trial))
            progress(number, len(trials))
        return guesses


def _attack(trial: Trial) -> Codes:
    rows, group = trial.rows, trial.groups.codes
    train = trial.inputs.rows(rows.train).astype(np.float64)
    centre, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread == 0] = 1.0

    def columns(index: Codes) -> Floats:
        scaled = (trial.inputs.rows(index) - centre) / spread
        return np.column_stack([scaled, np.ones(len(index))])

    x, dev, test = columns(rows.train), columns(rows.dev), columns(rows.test)
    target = np.eye(len(trial.groups.names))[group[rows.train]]
    weights = np.zeros((x.shape[1], target.shape[1]))
    tried: list[tuple[float, Codes]] = []
    for ridge in _RIDGES:
        # Each fit starts where the last one ended: the solutions lie close together.
        weights = fit_softmax(x, target, ridge, weights)
        accuracy = float(np.mean((dev @ weights).argmax(axis=1) == group[rows.dev]))
        tried.append((accuracy, (test @ weights).argmax(axis=1).astype(np.int64)))
    return max(tried, key=lambda fit: fit[0])[1]


def fit_softmax(x: Floats, target: Floats, ridge: float, start: Floats) -> Floats:
    """Return the weights (d, G) of a softmax regression; the last column of `x` is all ones."""
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(start.shape)
        log_share = log_softmax(x @ weights, axis=1)
        held = weights.copy()
        held[-1] = 0.0  # the intercept is free
        value = -np.sum(target * log_share) / len(x) + 0.5 * ridge * np.sum(held**2)
        slope = x.T @ (np.exp(log_share) - target) / len(x) + ridge * held
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
