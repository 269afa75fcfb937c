"""A linear attacker: softmax regression with the ridge that does best on the dev rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.io.progress import Progress
from lmprobe.leakage.attackers.attacker import attackers
from lmprobe.leakage.inputs import Codes
from lmprobe.leakage.rounds import Trial

# From almost free to strongly held back; the loss is a mean per row.
_RIDGES = (1e-1, 1e-2, 1e-3, 1e-4)
_STEPS = 200


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
