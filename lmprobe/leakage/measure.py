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
from lmprobe.leakage.rounds import Round, Trial, draw_rounds, read_split
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
    f1: float | None = None
    """The F1 that the perturbed labels reached, where labels were perturbed."""
    by_row: Floats | None = None
    """Each example's share of rounds in which it was guessed, NaN where it was never tested."""

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
    rng = np.random.default_rng(seed)
    groups = read_groups(attribute, len(truth.values))
    parts = None if split is None else read_split(split, len(truth.values))
    drawn = draw_rounds(groups, parts, rounds=rounds, share=share, rng=rng)
    evidence, f1 = _label_evidence(truth, at, average, parts, rounds, rng)
    guesses = _attack(attacker, evidence, groups, drawn, device, progress)
    return _leakage(guesses, drawn, groups, confidence, f1)


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
    rng = np.random.default_rng(seed)
    groups = read_groups(attribute, len(said.values))
    parts = None if split is None else read_split(split, len(said.values))
    drawn = draw_rounds(groups, parts, rounds=rounds, share=share, rng=rng)
    guesses = _attack(attacker, [said] * rounds, groups, drawn, device, progress)
    return _leakage(guesses, drawn, groups, confidence, None)


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
    rng = np.random.default_rng(seed)
    groups = read_groups(attribute, len(truth.values))
    parts = None if split is None else read_split(split, len(truth.values))
    f1 = at
    if f1 is None:
        on = _measured(parts, len(truth.values))
        f1 = model_f1(truth, said, rows=on, average=average, threshold=threshold)
    drawn = draw_rounds(groups, parts, rounds=rounds, share=share, rng=rng)
    evidence, reached = _label_evidence(truth, f1, average, parts, rounds, rng)
    half = _halves(progress)
    from_labels = _attack(attacker, evidence, groups, drawn, device, half[0])
    from_model = _attack(attacker, [said] * rounds, groups, drawn, device, half[1])
    return _difference(from_model, from_labels, drawn, groups, confidence, f1, reached)


def _measured(parts: Codes | None, rows: int) -> Codes:
    """Return the rows on which an F1 is measured."""
    return np.arange(rows) if parts is None else np.flatnonzero(parts == 2)


def _label_evidence(
    truth: TrueLabels,
    at: float | None,
    average: Average,
    parts: Codes | None,
    rounds: int,
    rng: np.random.Generator,
) -> tuple[list[Evidence], float | None]:
    """Return what each round's attacker sees of the labels, and the mean F1 of that."""
    if at is None:
        return [truth.evidence()] * rounds, None
    on = _measured(parts, len(truth.values))
    wrong = [perturb(truth, at, rng=rng, average=average, rows=on) for _ in range(rounds)]
    return [one.labels.evidence() for one in wrong], float(np.mean([one.f1 for one in wrong]))


def _attack(
    attacker: str | Attacker,
    evidence: Sequence[Evidence],
    groups: Groups,
    drawn: Sequence[Round],
    device: str,
    progress: Progress,
) -> list[Codes]:
    pairs = zip(evidence, drawn, strict=True)
    trials = [Trial(one, groups, rows) for one, rows in pairs]
    return find_attacker(attacker).attack(trials, device=device, progress=progress)


def _leakage(
    guesses: Sequence[Codes],
    drawn: Sequence[Round],
    groups: Groups,
    confidence: float,
    f1: float | None,
) -> Leakage:
    values, by_row = score_by_row(correctness(guesses, drawn, groups), drawn, groups)
    found = interval_of(values, by_row, groups, bounds=(0.0, 1.0), confidence=confidence)
    return Leakage(float(np.mean(values)), found, values, groups.names, f1, by_row)


def _difference(
    from_model: Sequence[Codes],
    from_labels: Sequence[Codes],
    drawn: Sequence[Round],
    groups: Groups,
    confidence: float,
    f1: float,
    reached: float | None,
) -> LeakageAmplification:
    model = _leakage(from_model, drawn, groups, confidence, None)
    dataset = _leakage(from_labels, drawn, groups, confidence, reached)
    assert model.by_row is not None
    assert dataset.by_row is not None
    values = tuple(one - other for one, other in zip(model.rounds, dataset.rounds, strict=True))
    score = model.by_row - dataset.by_row
    found = interval_of(values, score, groups, bounds=(-1.0, 1.0), confidence=confidence)
    return LeakageAmplification(float(np.mean(values)), found, values, model, dataset, f1)


def _halves(progress: Progress) -> tuple[Progress, Progress]:
    """Return the progress of the first and the second half of some work."""

    def first(done: int, total: int) -> None:
        progress(done, 2 * total)

    def second(done: int, total: int) -> None:
        progress(total + done, 2 * total)

    return first, second
