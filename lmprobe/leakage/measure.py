"""Dataset leakage, model leakage and their difference (Wang et al. 2019, section 3).

Leakage is the accuracy with which an attacker guesses the group of held-out examples,
with the groups in equal numbers. It is a lower bound: a better attacker might guess more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lmprobe.errors import InputError, check_confidence
from lmprobe.io.resources import versions
from lmprobe.io.work import Progress, silent
from lmprobe.leakage.attackers import Attacker, find_attacker
from lmprobe.leakage.f1 import model_f1, perturb
from lmprobe.leakage.inputs import AttackerInput, read_groups, read_labels, read_predictions
from lmprobe.leakage.result import (
    ASSUMPTIONS,
    LeakageResult,
    LeakageRow,
    Measure,
    leakage_row,
)
from lmprobe.leakage.rounds import (
    PARTS,
    Trial,
    draw_rounds,
    leakage_interval,
    read_split,
    score_guesses,
)
from lmprobe.leakage.settings import Average, LeakageSettings
from lmprobe.metrics.association import Floats
from lmprobe.metrics.labels import Labels
from lmprobe.results import Interval

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
    return measure_leakage(**locals())


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
    return measure_leakage(**locals())


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
    return measure_leakage(**locals())


def measure_leakage(
    *,
    attribute: Labels,
    split: Any,
    attacker: str | Attacker,
    device: str,
    progress: Progress,
    **options: Any,
) -> LeakageResult:
    """Measure the `labels`, the `predictions`, or both and their difference.

    The other options are settings, and recorded. Everything that can be wrong is checked
    before any attacker is trained.
    """
    truth = read_labels(options.pop("labels")) if "labels" in options else None
    given = None
    if "predictions" in options:
        names = None if truth is None else truth.names
        given = read_predictions(options.pop("predictions"), names)
    sizes = [len(each.values) for each in (truth, given) if each is not None]
    if sizes[0] != sizes[-1]:
        raise InputError(f"`predictions` has {sizes[1]} rows where `labels` has {sizes[0]}")
    name = attacker if isinstance(attacker, str) else repr(attacker)
    settings = LeakageSettings(attacker=name, device=device, **options)
    check_confidence(settings.confidence)
    average = settings.average
    groups = read_groups(attribute, sizes[0])
    parts = None if split is None else read_split(split, sizes[0])
    # The rows on which an F1 is measured.
    judged = np.flatnonzero(np.ones(sizes[0]) if parts is None else parts == PARTS.index("test"))
    rng = np.random.default_rng(settings.seed)
    drawn = draw_rounds(groups, parts, rounds=settings.rounds, share=settings.share, rng=rng)
    attack = find_attacker(attacker).attack

    def interval(values: Sequence[float], by_row: Floats, least: float) -> Interval:
        confidence = settings.confidence
        return leakage_interval(values, by_row, groups, bounds=(least, 1.0), confidence=confidence)

    def leakage(
        measure: Measure, inputs: Sequence[AttackerInput], f1: float | None, report: Progress
    ) -> LeakageRow:
        """Attack every round and score the guesses."""
        trials = [Trial(seen, groups, rows) for seen, rows in zip(inputs, drawn, strict=True)]
        values, by_row = score_guesses(attack(trials, device=device, progress=report), trials)
        return leakage_row(
            measure, float(np.mean(values)), interval(values, by_row, 0.0), values,
            chance=1 / len(groups.names), f1=f1, by_row=by_row,
        )  # fmt: skip

    def result(*rows: LeakageRow) -> LeakageResult:
        recorded = {key: value for key, value in settings.to_dict().items() if key in options}
        provenance = {"settings": {"attacker": name, **recorded}, "versions": versions()}
        return LeakageResult(rows, groups.names, ASSUMPTIONS, provenance)

    if truth is None:
        assert given is not None
        return result(leakage(Measure.MODEL, [given] * len(drawn), None, progress))
    f1 = settings.at
    if given is not None and f1 is None:
        f1 = model_f1(truth, given, rows=judged, average=average, threshold=settings.threshold)
    inputs, reached = [truth.as_input()] * len(drawn), f1
    if f1 is not None:
        wrong = [perturb(truth, f1, rng=rng, average=average, rows=judged) for _ in drawn]
        inputs = [labels.as_input() for labels, _ in wrong]
        reached = float(np.mean([score for _, score in wrong]))
    if given is None:
        return result(leakage(Measure.DATASET, inputs, reached, progress))
    dataset = leakage(
        Measure.DATASET, inputs, reached, lambda done, total: progress(done, 2 * total)
    )
    model = leakage(
        Measure.MODEL, [given] * len(drawn), f1,
        lambda done, total: progress(total + done, 2 * total),
    )  # fmt: skip
    assert model.by_row is not None
    assert dataset.by_row is not None
    values = tuple(np.subtract(model.rounds, dataset.rounds).tolist())
    paired = interval(values, model.by_row - dataset.by_row, -1.0)
    mean = float(np.mean(values))
    return result(model, dataset, leakage_row(Measure.AMPLIFICATION, mean, paired, values, f1=f1))
