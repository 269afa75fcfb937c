"""Dataset leakage, model leakage and their difference (Wang et al. 2019, section 3).

Leakage is the accuracy with which an attacker guesses the group of held-out examples,
with the groups in equal numbers. It is a lower bound: a better attacker might guess more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe.errors import Argument, InputError, check_confidence, invalid
from lmprobe.io.tables import NOT_BINARY, LackingRows, TableSource, refuse_unusable
from lmprobe.io.work import Progress, silent
from lmprobe.leakage.attackers import AUTO, Attacker, choose_attacker, find_attacker
from lmprobe.leakage.inputs import (
    Codes,
    GroupLabels,
    model_f1,
    perturb,
    read_groups,
    read_labels,
    read_predictions,
)
from lmprobe.leakage.result import (
    ASSUMPTIONS,
    LeakageMeasure,
    LeakageResult,
    LeakageRow,
    leakage_row,
    mean_row,
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
from lmprobe.models.forward import resolve_device
from lmprobe.registry import versions
from lmprobe.results import Interval, Note, NoteKind
from lmprobe.results.settings import command_line, from_mapping
from lmprobe.stats.rows import runs_note, with_left_out

if TYPE_CHECKING:
    import pandas as pd

_DEFAULT = LeakageSettings

# What a reader must know of the attacker that `auto` is.
_ATTACKER_NOTES = {
    "exact": "The attacker is exact: it counts each combination of labels in each group.",
    "logistic": "The attacker is logistic, because there are too many combinations of labels to "
    "count; it is blind to combinations, and mlp, which is not, may guess more.",
}


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
        `exact` counts combinations of labels, `logistic` is linear, `mlp` is the paper's
        network; `auto` is `exact` where there are few combinations and `logistic` elsewhere.
        Or an `Attacker`.
    share
        The share of the train rows that the attacker uses (Table 2 of the paper).

    Examples
    --------
    >>> painter = np.repeat([1, 0, 1, 0], [60, 40, 20, 80])
    >>> group = np.repeat(["woman", "man"], 100)
    >>> result = dataset_leakage(painter, group)
    >>> 0.6 < result.value < 0.8, result.provenance["attacker"]
    (True, 'exact')
    """
    return _measure(locals())


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
    return _measure(locals())


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
    return _measure(locals())


def _measure(arguments: Mapping[str, Any]) -> LeakageResult:
    """Measure with the arguments of one of the three functions above."""
    data = {role: arguments[role] for role in ("labels", "predictions") if role in arguments}
    attacker = arguments["attacker"]
    name = attacker if isinstance(attacker, str) else repr(attacker)
    settings = from_mapping(LeakageSettings, {**arguments, "attacker": name})
    measurement = prepare(data, arguments["attribute"], arguments["split"], settings)
    (result,), name = measure([measurement], attacker, settings, arguments["progress"])
    recorded = [key for key in settings.to_dict() if key in arguments and key != "device"]
    choices = {key: getattr(settings, key) for key in ("attacker", *recorded)}
    provenance = {"settings": choices, "attacker": name, "versions": versions()}
    return dataclasses.replace(result, provenance=provenance)


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """The labels and the predictions of one training run as the trials of their attackers."""

    groups: GroupLabels
    trials: Mapping[LeakageMeasure, Sequence[Trial]]
    f1: float | None
    """That of the model, or the one that was asked for."""
    reached: float | None
    """That of the perturbed labels, mean over rounds."""


def prepare(
    data: Mapping[str, Any], attribute: Labels, split: Any, settings: LeakageSettings
) -> Measurement:
    """Draw the rounds of the `labels` of the data, of the `predictions` or of both.

    Everything that can be wrong is checked here, before any attacker is trained.
    """
    truth = read_labels(data["labels"]) if "labels" in data else None
    scores = None
    if "predictions" in data:
        scores = read_predictions(data["predictions"], None if truth is None else truth.names)
    sizes = [len(part.values) for part in (truth, scores) if part is not None]
    if sizes[0] != sizes[-1]:
        raise invalid(
            "predictions", f" has {sizes[1]} rows where ", Argument("labels"), f" has {sizes[0]}"
        )
    check_confidence(settings.confidence)
    if settings.device != _DEFAULT.device:
        resolve_device(settings.device)
    groups = read_groups(attribute, sizes[0])
    parts = None if split is None else read_split(split, sizes[0])
    # The rows on which an F1 is measured.
    judged = np.flatnonzero(np.ones(sizes[0]) if parts is None else parts == PARTS.index("test"))
    rng = np.random.default_rng(settings.seed)
    drawn = draw_rounds(groups, parts, rounds=settings.rounds, share=settings.share, rng=rng)
    f1 = reached = settings.at
    trials: dict[LeakageMeasure, list[Trial]] = {}
    if truth is not None:
        if scores is not None and f1 is None:
            f1 = model_f1(
                truth, scores, rows=judged, average=settings.average, threshold=settings.threshold
            )
        inputs = [truth.as_input()] * len(drawn)
        if f1 is not None:
            wrong = [
                perturb(truth, f1, rng=rng, average=settings.average, rows=judged) for _ in drawn
            ]
            inputs = [perturbed.as_input() for perturbed, _ in wrong]
            reached = float(np.mean([score for _, score in wrong]))
        trials[LeakageMeasure.DATASET] = [
            Trial(seen, groups, rows) for seen, rows in zip(inputs, drawn, strict=True)
        ]
    if scores is not None:
        trials[LeakageMeasure.MODEL] = [Trial(scores, groups, rows) for rows in drawn]
    return Measurement(groups, trials, f1, reached)


def measure(
    measurements: Sequence[Measurement],
    attacker: str | Attacker,
    settings: LeakageSettings,
    progress: Progress,
) -> tuple[list[LeakageResult], str]:
    """Attack each measurement; return the results, and the name of the attacker."""
    trial_sets = [trials for item in measurements for trials in item.trials.values()]
    notes: tuple[Note, ...] = ASSUMPTIONS
    if attacker == AUTO:
        attacker = choose_attacker([trial for trials in trial_sets for trial in trials])
        notes = (*notes, Note(NoteKind.METHOD, _ATTACKER_NOTES[attacker]))
    sized, attacked = _sized(find_attacker(attacker), settings), 0

    def guesses(trials: Sequence[Trial]) -> list[Codes]:
        nonlocal attacked

        def report(done: int, total: int) -> None:
            progress(attacked * total + done, len(trial_sets) * total)

        answers = sized.attack(trials, device=settings.device, progress=report)
        attacked += 1
        return answers

    results = []
    for item in measurements:
        rows = _rows(item, guesses, settings.confidence)
        results.append(LeakageResult(rows, item.groups.names, notes))
    return results, attacker if isinstance(attacker, str) else repr(attacker)


def _rows(
    measurement: Measurement,
    guesses: Callable[[Sequence[Trial]], Sequence[Codes]],
    confidence: float,
) -> tuple[LeakageRow, ...]:
    """Return the leakage of the model and of the dataset, and their difference if both are."""
    groups, rows = measurement.groups, {}

    def interval(values: Sequence[float], by_row: Floats, least: float) -> Interval:
        return leakage_interval(values, by_row, groups, bounds=(least, 1.0), confidence=confidence)

    for kind, trials in measurement.trials.items():
        values, by_row = score_guesses(guesses(trials), trials)
        f1 = measurement.reached if kind is LeakageMeasure.DATASET else measurement.f1
        rows[kind] = leakage_row(
            kind, float(np.mean(values)), interval(values, by_row, 0.0), values,
            chance=1 / len(groups.names), f1=f1, by_row=by_row,
        )  # fmt: skip
    if len(rows) == 1:
        return tuple(rows.values())
    model, dataset = rows[LeakageMeasure.MODEL], rows[LeakageMeasure.DATASET]
    values = tuple(np.subtract(model.rounds, dataset.rounds).tolist())
    assert model.by_row is not None
    assert dataset.by_row is not None
    paired = interval(values, model.by_row - dataset.by_row, -1.0)
    mean, kind = float(np.mean(values)), LeakageMeasure.AMPLIFICATION
    return model, dataset, leakage_row(kind, mean, paired, values, f1=measurement.f1)


def table_leakage(
    table: Any,
    *more_runs: Any,
    attribute: str,
    labels: Sequence[str] = (),
    predictions: Sequence[str] = (),
    split: str | None = None,
    run_column: str | None = None,
    settings: LeakageSettings | None = None,
    progress: Progress = silent,
) -> LeakageResult:
    """Measure the leakage of the columns of a table: files, a DataFrame or an Arrow table.

    With `labels` alone it is the dataset's leakage, with `predictions` alone the model's, with
    both the leakage amplification too. Several tables, or the values of `run_column`, are
    several training runs: the answer is then the mean over runs, with an interval that covers
    rounds, test rows and runs.
    """
    settings = LeakageSettings() if settings is None else settings
    _refuse_without_effect(settings, labels, predictions)
    if run_column is not None and more_runs:
        raise InputError("give --run-column or several tables, not both")
    tables = (table, *more_runs)
    words = [attribute, *(name for name in (split, run_column) if name)]
    runs: list[tuple[str, pd.DataFrame]] = []
    left_out: list[LackingRows | None] = []
    for number, data in enumerate(tables, start=1):
        name = f"table {number}" if more_runs else "the table"
        name = str(data) if isinstance(data, str | Path) else name
        numbers = [*labels, *predictions]
        with TableSource(data) as source:
            source.name = name
            if settings.missing_cells == "drop":
                left_out.append(source.leave_out_missing(words, numbers))
            frame = source.read([*numbers, *words], text=words)
            # One column may hold categories.
            categories = [part[0] for part in (labels, predictions) if len(part) == 1]
            refuse_unusable(source, frame, [*words, *labels, *categories])
            for column in labels if len(labels) > 1 else ():
                if not frame[column].isin((0, 1)).all():
                    source.refuse(column, NOT_BINARY)
        if run_column is None:
            runs.append((name, frame))
        else:
            parts = frame.groupby(run_column, sort=True)
            runs += [(f'{name}, run "{run}"', part) for run, part in parts]

    measurements: list[Measurement] = []
    for name, frame in runs:
        columns: dict[str, Any] = {
            role: frame[list(names) if len(names) > 1 else names[0]]
            for role, names in (("labels", labels), ("predictions", predictions))
            if names
        }
        if predictions:
            # They go by position: their columns cannot be called like the labels'.
            columns["predictions"] = columns["predictions"].to_numpy()
        part = None if split is None else frame[split]
        try:
            measurement = prepare(columns, frame[attribute], part, settings)
        except InputError as problem:
            if len(runs) == 1:
                raise
            raise InputError(f"{name}: ", problem) from problem
        measurements.append(measurement)
        both = (measurement, measurements[0])
        groups, first = (", ".join(item.groups.names) for item in both)
        if groups != first:
            raise InputError(
                f"{name}: the groups are {groups}, in {runs[0][0]} they are {first}; all training "
                "runs must have the same groups"
            )
    results, attacker = measure(measurements, settings.attacker, settings, progress)
    subjects = [str(data) if isinstance(data, str | Path) else "a table" for data in tables]
    provenance: dict[str, Any] = {
        "subject": ", ".join(subjects),
        "attribute": attribute,
        "labels": list(labels),
        "predictions": list(predictions),
        "split": split,
        "run_column": run_column,
        "settings": settings.to_dict(),
        "attacker": attacker,
        "versions": versions(),
    }
    if all(isinstance(data, str | Path) for data in tables):
        options = [f"--attribute={attribute}", *(["--split", split] if split else [])]
        options += ["--run-column", run_column] if run_column else []
        options += [word for name in labels for word in ("--labels", name)]
        options += [word for name in predictions for word in ("--predictions", name)]
        provenance["command"] = command_line("leak", subjects, options, settings.words())
    result = dataclasses.replace(_mean_over_runs(results), provenance=provenance)
    return with_left_out(result, left_out)


def _refuse_without_effect(
    settings: LeakageSettings, labels: Sequence[str], predictions: Sequence[str]
) -> None:
    if isinstance(labels, str) or isinstance(predictions, str):
        raise invalid(
            "labels", " and ", Argument("predictions"), ' are lists of columns such as ["verb"]'
        )
    if not labels and not predictions:
        raise InputError(
            "a table needs ", Argument("labels"), ", ", Argument("predictions"), " or both"
        )
    if settings.at is not None and not labels:
        raise invalid("at", " perturbs labels and needs ", Argument("labels"))
    if settings.threshold is not None and not (labels and predictions):
        raise invalid(
            "threshold",
            " decides an F1 and needs both ",
            Argument("labels"),
            " and ",
            Argument("predictions"),
        )


def _sized(attacker: Attacker, settings: LeakageSettings) -> Attacker:
    """Return the attacker with the layers and the width of the settings."""
    for name in ("layers", "width"):
        size = getattr(settings, name)
        if size is None:
            continue
        if name not in getattr(attacker, "__dataclass_fields__", {}):
            raise InputError(
                f'the attacker "{settings.attacker}" has no ', Argument(name), "; use mlp"
            )
        attacker = dataclasses.replace(attacker, **{name: size})  # type: ignore[type-var]
    return attacker


def _mean_over_runs(results: Sequence[LeakageResult]) -> LeakageResult:
    first = results[0]
    if len(results) == 1:
        return first
    of_runs = zip(*(result.rows for result in results), strict=True)
    rows = tuple(mean_row(rows, first.chance) for rows in of_runs)
    return LeakageResult(rows, first.groups, (*first.notes, runs_note(len(results), "rows")))
