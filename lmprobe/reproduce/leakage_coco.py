"""What COCO's objects, and the objects that captions mention, reveal about gender."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import lmprobe
from lmprobe.io.work import Progress, silent
from lmprobe.leakage.inputs import f1_score
from lmprobe.leakage.result import LeakageRow
from lmprobe.reproduce.captions import MODELS, caption_data
from lmprobe.reproduce.experiment import (
    INTERVAL,
    OURS,
    ReproducedRow,
    Reproduction,
    comparison_table,
    experiment,
    reproduction,
)
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import Column, ColumnKind, Verdict
from lmprobe.results.format import format_range

SAME_ERRORS = "amplification, same errors"


@experiment("leakage-coco")
def leakage_coco(
    settings: ExperimentSettings,
    progress: Progress = silent,
    *,
    models: tuple[str, ...] = tuple(MODELS),
    rounds: int = 3,
) -> Reproduction:
    """Measure what COCO's objects and six models' captions reveal about gender."""
    seed = settings.seed
    data, provenance = caption_data("published")
    genders = np.repeat(np.where(data.gender[:, 0] == 1, "man", "woman"), data.times)
    objects = np.repeat(data.objects, data.times, axis=0).astype(np.int64)
    options: dict[str, Any] = {"attacker": "logistic", "rounds": rounds, "seed": seed}
    (labels,) = lmprobe.dataset_leakage(objects, genders, **options).rows
    rows = [_row("labels: dataset leakage", labels, None, 1.0)]
    for number, model in enumerate(models):
        name = MODELS[model]
        said = np.repeat(data.said_objects[model], data.times, axis=0).astype(np.int64)
        flipped = lmprobe.leakage_amplification(objects, said, genders, **options)
        rows += [_row(f"{name}: {row.measure}", row, name, row.f1) for row in flipped.rows]
        wrong = as_wrong(objects, said, np.random.default_rng(seed))
        same = lmprobe.leakage_amplification(wrong, said, genders, at=1.0, **options).rows[-1]
        f1 = f1_score(objects, wrong)
        rows.append(_row(f"{name}: {SAME_ERRORS}", same, name, f1, same_errors=True))
        progress(number + 1, len(models))
    columns = (OURS, INTERVAL, Column("F1", ColumnKind.NUMBER, key="f1"))
    return reproduction(
        "leakage-coco",
        rows,
        comparison_table(rows, columns),
        reading=_reading(rows),
        images=data.images,
        rounds=rounds,
        source=provenance["source"],
    )


def as_wrong(
    labels: NDArray[np.int64], said: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return labels (n, T) that miss and invent each object as often as `said`, at random."""
    absent = 1 - labels
    seen = (labels * said).sum(axis=0) / np.maximum(labels.sum(axis=0), 1)
    invented = (absent * said).sum(axis=0) / np.maximum(absent.sum(axis=0), 1)
    wrong = rng.random(labels.shape) < np.where(labels == 1, seen, invented)
    return np.asarray(wrong, dtype=np.int64)


def _row(
    name: str, row: LeakageRow, model: str | None, f1: float | None, *, same_errors: bool = False
) -> ReproducedRow:
    details = {"measure": row.measure.value, "model": model, "f1": f1, "same_errors": same_errors}
    return ReproducedRow(name, row.value, None, row.interval, row.verdict, details)


def _reading(rows: list[ReproducedRow]) -> str:
    """Return what the rows allow to be said."""
    compared = [row for row in rows if row.details["measure"] == "leakage amplification"]
    parts = []
    labels = ("labels flipped to the same F1", "labels with the same errors by chance")
    for same_errors, what in zip((False, True), labels, strict=True):
        own = [row for row in compared if row.details["same_errors"] is same_errors]
        more = sum(row.verdict is Verdict.LEAKS_MORE for row in own)
        ends = format_range(min(row.value for row in own), max(row.value for row in own))
        parts.append(f"than {what} in {more} of {len(own)} models ({ends})")
    models = [row.value for row in rows if row.details["measure"] == "model leakage"]
    above = sum(value > rows[0].value for value in models)
    return (
        f"The objects that captions name reveal more about gender {', and '.join(parts)}. They "
        f"reveal more than the true labels in {above} of {len(models)}"
    )
