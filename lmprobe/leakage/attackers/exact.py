"""The majority per label: with one label per example and enough rows, nobody guesses better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmprobe.errors import InputError
from lmprobe.io.progress import Progress
from lmprobe.leakage.attackers.attacker import attackers
from lmprobe.leakage.inputs import Codes
from lmprobe.leakage.rounds import Trial


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
