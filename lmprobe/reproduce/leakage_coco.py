"""What COCO's objects, and the objects that captions mention, reveal about gender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.io.progress import Progress, silent
from lmprobe.leakage.f1 import f1_score
from lmprobe.leakage.measure import dataset_leakage, leakage_amplification
from lmprobe.leakage.result import LeakageRow, Measure
from lmprobe.reproduce.caption_data import MODELS, CaptionData, caption_data
from lmprobe.reproduce.experiment import experiment
from lmprobe.reproduce.result import ReproducedRow, Reproduction, texts_as_notes
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.reproduce.tables import INTERVAL, OURS, PAPER, comparison_table
from lmprobe.results import Column, ColumnKind, Verdict
from lmprobe.results.format import format_range

ROUNDS = 3
SAME_ERRORS = "amplification, same errors"


@experiment("leakage-coco")
def leakage_coco(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Measure what COCO's objects and six models' captions reveal about gender."""
    return run(settings.seed, tuple(MODELS), progress)


def run(
    seed: int, models: tuple[str, ...], progress: Progress = silent, *, rounds: int = ROUNDS
) -> Reproduction:
    """Run the experiment for some of the models."""
    data, provenance = caption_data("published")
    attack = _Attack(data, seed, rounds)
    rows = [attack.labels()]
    for number, model in enumerate(models):
        rows += attack.model(model)
        progress(number + 1, len(models))
    columns = (OURS, INTERVAL, Column("F1", ColumnKind.NUMBER, key="f1"), PAPER)
    return Reproduction(
        name="leakage-coco",
        title="Leakage of COCO: accuracy of guessing gender from objects",
        paper="Wang et al. 2019 (ICCV), the measures of section 3 on captions; not in the paper",
        rows=tuple(rows),
        printed=(comparison_table(rows, columns),),
        notes=texts_as_notes(
            _reading(rows),
            f"{data.images:,} images, 79 objects; attacker `logistic`, {rounds} rounds of equal "
            "numbers of men and women. Guessing at random is right half of the time.",
            "Leakage amplification compares a model's mentions with labels that are flipped by "
            "chance until they have the same F1. Captions leave out three quarters of the objects "
            "and seldom invent one, which flips do not imitate. `same errors` compares them "
            "with labels that miss and invent each object as often as the model does, but at "
            "random: whatever is left depends on the rest of the image, gender among it.",
            "Mentions are read by the published rule; the gender words of a caption are not seen. "
            "A caption mentions what is salient, so that an excess may come from the photographs "
            "(who holds what) as much as from the model; it does not show unfairness by itself.",
            f"Data: {provenance['source']}.",
        ),
    )


@dataclass(frozen=True, slots=True)
class _Attack:
    """The images, and how they are attacked."""

    data: CaptionData
    seed: int
    rounds: int

    def labels(self) -> ReproducedRow:
        """Return what the labelled objects reveal."""
        objects, genders = self._of_images(self.data.objects), self._genders
        found = dataset_leakage(objects, genders, **self._options).rows[0]
        return _row("labels: dataset leakage", found, None, 1.0)

    def model(self, model: str) -> list[ReproducedRow]:
        """Return what a model's mentions reveal, beside labels that are as wrong."""
        name, genders = MODELS[model], self._genders
        objects = self._of_images(self.data.objects)
        said = self._of_images(self.data.said_objects[model])
        flipped = leakage_amplification(objects, said, genders, **self._options)
        wrong = as_wrong(objects, said, np.random.default_rng(self.seed))
        same = leakage_amplification(wrong, said, genders, at=1.0, **self._options).rows[-1]
        return [
            *(_row(f"{name}: {row.name}", row, name, row.f1) for row in flipped.rows),
            _row(f"{name}: {SAME_ERRORS}", same, name, f1_score(objects, wrong), same_errors=True),
        ]

    @property
    def _options(self) -> dict[str, Any]:
        return {"attacker": "logistic", "rounds": self.rounds, "seed": self.seed}

    @property
    def _genders(self) -> NDArray[Any]:
        return np.where(self._of_images(self.data.gender)[:, 0] == 1, "man", "woman")

    def _of_images(self, table: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.repeat(table, self.data.times, axis=0).astype(np.int64)


def as_wrong(
    labels: NDArray[np.int64], said: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return labels (n, T) that miss and invent each object as often as `said`, at random."""
    present = np.maximum(labels.sum(axis=0), 1)
    absent = np.maximum((1 - labels).sum(axis=0), 1)
    seen = (labels * said).sum(axis=0) / present
    invented = ((1 - labels) * said).sum(axis=0) / absent
    found = rng.random(labels.shape) < np.where(labels == 1, seen, invented)
    return np.asarray(found, dtype=np.int64)


def _row(
    name: str,
    found: LeakageRow,
    model: str | None,
    f1: float | None,
    *,
    same_errors: bool = False,
) -> ReproducedRow:
    return ReproducedRow(
        name,
        found.value,
        interval=found.interval,
        verdict=found.verdict,
        details={
            "measure": found.measure.value,
            "model": model,
            "f1": f1,
            "same_errors": same_errors,
        },
    )


def _reading(rows: list[ReproducedRow]) -> str:
    """Return what the rows allow to be said."""
    parts = []
    compared = [row for row in rows if row.details["measure"] == Measure.AMPLIFICATION.value]
    for same_errors, what in (
        (False, "labels flipped to the same F1"),
        (True, "labels with the same errors by chance"),
    ):
        found = [row for row in compared if row.details["same_errors"] is same_errors]
        more = sum(row.verdict is Verdict.LEAKS_MORE for row in found)
        low, high = (edge(row.value for row in found) for edge in (min, max))
        parts.append(f"than {what}: {more} of {len(found)} ({format_range(low, high)})")
    models = [row.value for row in rows if row.details["measure"] == Measure.MODEL.value]
    above = sum(value > rows[0].value for value in models)
    return (
        f"Captions whose objects reveal more about gender {'; '.join(parts)}. More than the true "
        f"labels themselves: {above} of {len(models)}, since captions name few objects."
    )
