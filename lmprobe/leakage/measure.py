"""Dataset leakage, model leakage and their difference (Wang et al. 2019, section 3).

Leakage is the accuracy with which an attacker guesses the group of held-out examples,
with the groups in equal numbers. It is a lower bound: a better attacker might guess more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmprobe.errors import InputError
from lmprobe.intervals.interval import Interval
from lmprobe.intervals.method import checked_confidence
from lmprobe.labels import Labels
from lmprobe.leakage.attackers.attacker import Attacker, find_attacker
from lmprobe.leakage.evidence import (
    Codes,
    Evidence,
    Groups,
    TrueLabels,
    read_groups,
    read_labels,
    read_predictions,
)
from lmprobe.leakage.f1 import Average, model_f1
from lmprobe.leakage.perturb import perturb
from lmprobe.leakage.rounds import PARTS, Round, Trial, draw_rounds, read_split
from lmprobe.leakage.spread import correctness, interval_of, score_by_row
from lmprobe.progress import Progress, silent
from lmprobe.tally import Floats

REMINDER = (
    "Leakage is a lower bound: a better attacker might guess more. The interval covers which "
    "examples were drawn, how the attackers started and how few test rows there are; it does "
    "not cover another train set or data collected elsewhere."
)


@dataclass(frozen=True, slots=True, eq=False)
class Leakage:
    """How often an attacker guesses the group of a held-out example; `chance` is nothing."""

    value: float
    interval: Interval
    rounds: tuple[float, ...]
    groups: tuple[str, ...]
    by_row: Floats
    """Each example's share of rounds in which it was guessed, NaN where it was never tested."""
    f1: float | None = None
    """The F1 that the perturbed labels reached, where labels were perturbed."""

    @property
    def chance(self) -> float:
        """What guessing blindly gets: one over the number of groups."""
        return 1 / len(self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "value": self.value,
            "interval": self.interval.to_dict(),
            "rounds": list(self.rounds),
            "chance": self.chance,
            "f1": self.f1,
        }


@dataclass(frozen=True, slots=True, eq=False)
class LeakageAmplification:
    """Model leakage minus the leakage of labels that are as wrong, but only by chance."""

    value: float
    interval: Interval
    rounds: tuple[float, ...]
    model: Leakage
    dataset: Leakage
    f1: float
    """The model's own F1, at which the dataset's leakage was taken."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "value": self.value,
            "interval": self.interval.to_dict(),
            "rounds": list(self.rounds),
            "f1": self.f1,
        }


def dataset_leakage(
    labels: Labels,
    attribute: Labels,
    *,
    at: float | None = None,
    average: Average = "macro",
    split: Any = None,
    attacker: str | Attacker = "mlp",
    rounds: int = 5,
    share: float = 1.0,
    confidence: float = 0.95,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = silent,
) -> Leakage:
    """Measure how well the group can be guessed from the true labels.

    Parameters
    ----------
    labels
        (n, L) of 0/1, or one column of categories. A column of 0/1 is one yes-or-no label.
    attribute
        The group of each row: one column of categories.
    at
        An F1. The labels are first made wrong by chance until they have it.
    average
        How that F1 is averaged over labels: `macro`, as in the paper's code, or `micro`.
    split
        `train`, `dev` or `test` for each row. Without it every round cuts the data anew.
    attacker
        `mlp` (the paper's), `logistic`, `exact` (one label per row), or an `Attacker`.
    share
        How much of the train rows the attacker gets to see (Table 2 of the paper).

    Examples
    --------
    >>> painter = np.repeat([1, 0, 1, 0], [60, 40, 20, 80])
    >>> group = np.repeat(["woman", "man"], 100)
    >>> found = dataset_leakage(painter, group, attacker="exact")
    >>> 0.6 < found.value < 0.8
    True
    """
    truth = read_labels(labels)
    study = _Study.of(
        len(truth.values), attribute, split, attacker, rounds, share, confidence, seed, device
    )
    evidence, f1 = study.perturbed(truth, at, average)
    return study.leakage(evidence, progress, f1)


def model_leakage(
    predictions: Any,
    attribute: Labels,
    *,
    split: Any = None,
    attacker: str | Attacker = "mlp",
    rounds: int = 5,
    share: float = 1.0,
    confidence: float = 0.95,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = silent,
) -> Leakage:
    """Measure how well the group can be guessed from a model's predictions.

    `predictions` are (n, L) logits (as in the paper), probabilities or decisions, or one
    column of predicted categories. Everything else is as for `dataset_leakage`.
    """
    said = read_predictions(predictions)
    study = _Study.of(
        len(said.values), attribute, split, attacker, rounds, share, confidence, seed, device
    )
    return study.leakage([said] * rounds, progress)


def leakage_amplification(
    labels: Labels,
    predictions: Any,
    attribute: Labels,
    *,
    at: float | None = None,
    average: Average = "macro",
    threshold: float | None = None,
    split: Any = None,
    attacker: str | Attacker = "mlp",
    rounds: int = 5,
    share: float = 1.0,
    confidence: float = 0.95,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = silent,
) -> LeakageAmplification:
    """Measure how much more a model leaks than labels that are as wrong by chance alone.

    The labels are perturbed to the model's own F1 (or to `at`), measured on the test rows
    where there is a `split` and on all rows where there is none. A score decides for its
    label above `threshold`: 0.5 for probabilities, 0 for logits. Both attackers of a round
    see the same rows, so the interval is that of a paired difference.
    """
    truth = read_labels(labels)
    said = read_predictions(predictions, truth.names)
    if len(said.values) != len(truth.values):
        raise InputError(
            f"`predictions` has {len(said.values)} rows where `labels` has {len(truth.values)}"
        )
    study = _Study.of(
        len(truth.values), attribute, split, attacker, rounds, share, confidence, seed, device
    )
    f1 = at
    if f1 is None:
        f1 = model_f1(truth, said, rows=study.judged, average=average, threshold=threshold)
    evidence, reached = study.perturbed(truth, f1, average)
    first, second = _halves(progress)
    dataset = study.leakage(evidence, first, reached)
    model = study.leakage([said] * rounds, second)
    values = tuple(one - other for one, other in zip(model.rounds, dataset.rounds, strict=True))
    found = study.interval(values, model.by_row - dataset.by_row, bounds=(-1.0, 1.0))
    return LeakageAmplification(float(np.mean(values)), found, values, model, dataset, f1)


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    """The rounds of one measurement, and who attacks them how."""

    groups: Groups
    drawn: tuple[Round, ...]
    judged: Codes
    """The rows on which an F1 is measured."""
    attacker: Attacker
    device: str
    confidence: float
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        rows: int,
        attribute: Labels,
        split: Any,
        attacker: str | Attacker,
        rounds: int,
        share: float,
        confidence: float,
        seed: int,
        device: str,
    ) -> _Study:
        """Check everything that can be wrong before any attacker is trained; draw the rounds."""
        checked_confidence(confidence)
        groups = read_groups(attribute, rows)
        parts = None if split is None else read_split(split, rows)
        judged = np.arange(rows) if parts is None else np.flatnonzero(parts == PARTS.index("test"))
        rng = np.random.default_rng(seed)
        drawn = draw_rounds(groups, parts, rounds=rounds, share=share, rng=rng)
        return cls(groups, drawn, judged, find_attacker(attacker), device, confidence, rng)

    def perturbed(
        self, truth: TrueLabels, at: float | None, average: Average
    ) -> tuple[list[Evidence], float | None]:
        """Return what each round's attacker sees of the labels, and the mean F1 of that."""
        if at is None:
            return [truth.evidence()] * len(self.drawn), None
        wrong = [
            perturb(truth, at, rng=self.rng, average=average, rows=self.judged) for _ in self.drawn
        ]
        return [one.labels.evidence() for one in wrong], float(np.mean([one.f1 for one in wrong]))

    def leakage(
        self, evidence: Sequence[Evidence], progress: Progress, f1: float | None = None
    ) -> Leakage:
        """Attack every round and score the guesses."""
        pairs = zip(evidence, self.drawn, strict=True)
        trials = [Trial(one, self.groups, rows) for one, rows in pairs]
        guesses = self.attacker.attack(trials, device=self.device, progress=progress)
        correct = correctness(guesses, self.drawn, self.groups)
        values, by_row = score_by_row(correct, self.drawn, self.groups)
        found = self.interval(values, by_row, bounds=(0.0, 1.0))
        return Leakage(float(np.mean(values)), found, values, self.groups.names, by_row, f1)

    def interval(
        self, values: tuple[float, ...], by_row: Floats, *, bounds: tuple[float, float]
    ) -> Interval:
        return interval_of(values, by_row, self.groups, bounds=bounds, confidence=self.confidence)


def _halves(progress: Progress) -> tuple[Progress, Progress]:
    """Return the progress of the first and the second half of some work."""

    def first(done: int, total: int) -> None:
        progress(done, 2 * total)

    def second(done: int, total: int) -> None:
        progress(total + done, 2 * total)

    return first, second
