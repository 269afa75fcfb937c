"""Dataset leakage, model leakage and their difference (Wang et al. 2019, section 3).

Leakage is the accuracy with which an attacker guesses the group of held-out examples,
with the groups in equal numbers. It is a lower bound: a better attacker might guess more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lmprobe.core.labels import Labels
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.intervals.method import checked_confidence
from lmprobe.io.progress import Progress, silent
from lmprobe.io.versions import versions
from lmprobe.leakage.attackers.attacker import Attacker, find_attacker
from lmprobe.leakage.f1 import model_f1, perturb
from lmprobe.leakage.inputs import (
    AttackerInput,
    TrueLabels,
    read_groups,
    read_labels,
    read_predictions,
)
from lmprobe.leakage.leakage_interval import leakage_interval, score_guesses
from lmprobe.leakage.result import ASSUMPTIONS, LeakageResult
from lmprobe.leakage.rounds import PARTS, Trial, draw_rounds, read_split
from lmprobe.leakage.row import LeakageRow, Measure, leakage_row
from lmprobe.leakage.settings import Average, LeakageSettings
from lmprobe.results.interval import Interval

_DEFAULT = LeakageSettings


def dataset_leakage(
    labels: Labels,
    attribute: Labels,
    *,
    at: float | None = _DEFAULT.at,
    average: Average = _DEFAULT.average,
    split: Any = None,
    attacker: str | Attacker = _DEFAULT.attacker,
    rounds: int = _DEFAULT.rounds,
    share: float = _DEFAULT.share,
    confidence: float = _DEFAULT.confidence,
    seed: int = _DEFAULT.seed,
    device: str = _DEFAULT.device,
    progress: Progress = silent,
) -> LeakageResult:
    """Measure how well the group can be guessed from the true labels.

    Parameters
    ----------
    labels
        (n, L) of 0/1, or one column of categories. A column of 0/1 is one yes-or-no label.
    attribute
        The group of each row: one column of categories.
    at
        An F1; the labels are first perturbed at random until they have it.
    average
        How that F1 is averaged over labels: `macro`, as in the paper's code, or `micro`.
    split
        `train`, `dev` or `test` for each row. By default every round splits the data at random.
    attacker
        `mlp` (the paper's), `logistic`, `exact` (one label per row), or an `Attacker`.
    share
        The share of the train rows that the attacker uses (Table 2 of the paper).

    Examples
    --------
    >>> painter = np.repeat([1, 0, 1, 0], [60, 40, 20, 80])
    >>> group = np.repeat(["woman", "man"], 100)
    >>> result = dataset_leakage(painter, group, attacker="exact")
    >>> 0.6 < result.value < 0.8
    True
    """
    truth = read_labels(labels)
    study = _Study(
        len(truth.values), attribute, split, attacker, device,
        at=at, average=average, rounds=rounds, share=share, confidence=confidence, seed=seed,
    )  # fmt: skip
    inputs, f1 = study.perturbed(truth, at)
    return study.result(study.row(Measure.DATASET, inputs, progress, f1))


def model_leakage(
    predictions: Any,
    attribute: Labels,
    *,
    split: Any = None,
    attacker: str | Attacker = _DEFAULT.attacker,
    rounds: int = _DEFAULT.rounds,
    share: float = _DEFAULT.share,
    confidence: float = _DEFAULT.confidence,
    seed: int = _DEFAULT.seed,
    device: str = _DEFAULT.device,
    progress: Progress = silent,
) -> LeakageResult:
    """Measure how well the group can be guessed from a model's predictions.

    `predictions` are (n, L) logits (as in the paper), probabilities or decisions, or one
    column of predicted categories. Everything else is as for `dataset_leakage`.
    """
    given = read_predictions(predictions)
    study = _Study(
        len(given.values), attribute, split, attacker, device,
        rounds=rounds, share=share, confidence=confidence, seed=seed,
    )  # fmt: skip
    return study.result(study.row(Measure.MODEL, [given] * rounds, progress))


def leakage_amplification(
    labels: Labels,
    predictions: Any,
    attribute: Labels,
    *,
    at: float | None = _DEFAULT.at,
    average: Average = _DEFAULT.average,
    threshold: float | None = _DEFAULT.threshold,
    split: Any = None,
    attacker: str | Attacker = _DEFAULT.attacker,
    rounds: int = _DEFAULT.rounds,
    share: float = _DEFAULT.share,
    confidence: float = _DEFAULT.confidence,
    seed: int = _DEFAULT.seed,
    device: str = _DEFAULT.device,
    progress: Progress = silent,
) -> LeakageResult:
    """Measure how much more a model leaks than labels with as many errors at random.

    The labels are perturbed to the model's own F1 (or to `at`), measured on the test rows
    if there is a `split` and on all rows otherwise. A label is predicted if its score is above
    `threshold`, by default 0.5 for probabilities and 0 for logits. Both attackers of a round
    use the same rows, so the interval is that of a paired difference.
    """
    truth = read_labels(labels)
    given = read_predictions(predictions, truth.names)
    if len(given.values) != len(truth.values):
        raise InputError(
            f"`predictions` has {len(given.values)} rows where `labels` has {len(truth.values)}"
        )
    study = _Study(
        len(truth.values), attribute, split, attacker, device,
        at=at, average=average, threshold=threshold,
        rounds=rounds, share=share, confidence=confidence, seed=seed,
    )  # fmt: skip
    f1 = at
    if f1 is None:
        f1 = model_f1(truth, given, rows=study.judged, average=average, threshold=threshold)
    inputs, reached = study.perturbed(truth, f1)
    dataset = study.row(
        Measure.DATASET, inputs, lambda done, total: progress(done, 2 * total), reached
    )
    model = study.row(
        Measure.MODEL, [given] * rounds, lambda done, total: progress(total + done, 2 * total), f1
    )
    values = tuple(np.subtract(model.rounds, dataset.rounds).tolist())
    assert model.by_row is not None
    assert dataset.by_row is not None
    interval = study.interval(values, model.by_row - dataset.by_row, bounds=(-1.0, 1.0))
    difference = leakage_row(Measure.AMPLIFICATION, float(np.mean(values)), interval, values, f1=f1)
    return study.result(model, dataset, difference)


class _Study:
    """The rounds of one measurement, and who attacks them how."""

    def __init__(
        self,
        rows: int,
        attribute: Labels,
        split: Any,
        attacker: str | Attacker,
        device: str,
        **choices: Any,
    ) -> None:
        """Check everything that can be wrong before any attacker is trained; draw the rounds."""
        name = attacker if isinstance(attacker, str) else repr(attacker)
        self._settings = LeakageSettings(attacker=name, device=device, **choices)
        checked_confidence(self._settings.confidence)
        self._groups = read_groups(attribute, rows)
        parts = None if split is None else read_split(split, rows)
        # The rows on which an F1 is measured.
        self.judged = (
            np.arange(rows) if parts is None else np.flatnonzero(parts == PARTS.index("test"))
        )
        self._rng = np.random.default_rng(self._settings.seed)
        self._rounds = draw_rounds(
            self._groups, parts,
            rounds=self._settings.rounds, share=self._settings.share, rng=self._rng,
        )  # fmt: skip
        self._attacker = find_attacker(attacker)
        recorded = {"attacker": name} | {
            key: value for key, value in self._settings.to_dict().items() if key in choices
        }
        self._provenance = {"settings": recorded, "versions": versions()}

    def perturbed(
        self, truth: TrueLabels, at: float | None
    ) -> tuple[list[AttackerInput], float | None]:
        """Return what each round's attacker sees of the labels, and their mean F1."""
        if at is None:
            return [truth.as_input()] * len(self._rounds), None
        average = self._settings.average
        drawn = [
            perturb(truth, at, rng=self._rng, average=average, rows=self.judged)
            for _ in self._rounds
        ]
        return [labels.as_input() for labels, _ in drawn], float(np.mean([f1 for _, f1 in drawn]))

    def row(
        self,
        measure: Measure,
        inputs: Sequence[AttackerInput],
        progress: Progress,
        f1: float | None = None,
    ) -> LeakageRow:
        """Attack every round and score the guesses."""
        pairs = zip(inputs, self._rounds, strict=True)
        trials = [Trial(given, self._groups, rows) for given, rows in pairs]
        device = self._settings.device
        guesses = self._attacker.attack(trials, device=device, progress=progress)
        values, by_row = score_guesses(guesses, trials)
        interval = self.interval(values, by_row, bounds=(0.0, 1.0))
        return leakage_row(
            measure, float(np.mean(values)), interval, values,
            chance=1 / len(self._groups.names), f1=f1, by_row=by_row,
        )  # fmt: skip

    def result(self, *rows: LeakageRow) -> LeakageResult:
        """Return the rows with the settings that decided them."""
        return LeakageResult(rows, self._groups.names, ASSUMPTIONS, self._provenance)

    def interval(
        self, values: tuple[float, ...], by_row: Floats, *, bounds: tuple[float, float]
    ) -> Interval:
        """Return the interval of the mean over rounds."""
        confidence = self._settings.confidence
        return leakage_interval(values, by_row, self._groups, bounds=bounds, confidence=confidence)
