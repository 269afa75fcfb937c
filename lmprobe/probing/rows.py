"""Compares the predictions of a model with base rates: the rows of a probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError
from lmprobe.inference.unevenness import unevenness
from lmprobe.models.kind import kinds
from lmprobe.probing.baseline import Baseline
from lmprobe.probing.estimates import RowCells, estimates, row_cells
from lmprobe.probing.notes import base_notes, preference_notes
from lmprobe.probing.random_words import is_informed
from lmprobe.probing.row import ProbeRow
from lmprobe.probing.scores import Scores
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Estimate, Interval, Note, NoteKind
from lmprobe.scorers.scorer import scorers


def probe_rows(
    baselines: Sequence[Baseline],
    scores: Mapping[Direction, Scores],
    families: tuple[str, ...],
    settings: ProbeSettings,
) -> tuple[ProbeRow, ...]:
    """Return one row per base and direction; their intervals may depend on each other."""
    compared = [
        (baseline, scores[direction], _cells(baseline, scores[direction], settings))
        for baseline in baselines
        for direction in DIRECTIONS
    ]
    measured = [cells for _, _, cells in compared if cells is not None]
    parts = iter(estimates(measured, families, settings))
    return tuple(
        _uneven_row(baseline, its_scores, families, settings)
        if cells is None
        else _row(baseline, its_scores, cells, next(parts), families, settings)
        for baseline, its_scores, cells in compared
    )


def _cells(baseline: Baseline, scores: Scores, settings: ProbeSettings) -> RowCells | None:
    """Return the cells of one base in one direction; None if no lean is known."""
    if baseline.lean_rates is None:
        return None
    labels = baseline.rates.association
    predicted = scores.probabilities(attributes=labels.attributes, tasks=labels.tasks)
    logs = scores.log_table(labels.attributes, labels.tasks)
    cells = row_cells(baseline, scores.direction, predicted, logs, settings)
    if np.isnan(cells.value).all():
        raise InputError(
            f'base "{baseline.name}", {scores.direction}: no pair of words is defined; the lean '
            f'comes from "{baseline.lean_name}", which must know these words (choose it with '
            "`lean`)"
        )
    return cells


def _described(
    baseline: Baseline, scores: Scores, families: tuple[str, ...], settings: ProbeSettings
) -> dict[str, Any]:
    """Return the fields of a row that need no interval, by name."""
    direction, labels = scores.direction, baseline.rates.association
    return {
        "base": baseline.name,
        "direction": direction,
        "attributes": labels.attributes,
        "tasks": labels.tasks,
        "predicted": scores.probabilities(attributes=labels.attributes, tasks=labels.tasks),
        "base_rate": labels.conditional(direction),
        "lean": baseline.lean(direction, settings.lean_weighting),
        "candidate_mass": scores.candidate_mass(),
        "lean_source": baseline.lean_name,
        "lean_weighting": settings.lean_weighting,
        "families": families,
        "dropped_attributes": baseline.rates.dropped_attributes,
        "dropped_tasks": baseline.rates.dropped_tasks,
        "mass_ratio": scores.mass_ratio,
        "informed": is_informed(scores, settings.min_mass),
    }


def _uneven_row(
    baseline: Baseline, scores: Scores, families: tuple[str, ...], settings: ProbeSettings
) -> ProbeRow:
    """Return one base in one direction for which no lean is known."""
    described = _described(baseline, scores, families, settings)
    return ProbeRow(
        **described,
        interval=Interval.undefined(settings.confidence, settings.interval),
        notes=(*baseline.notes, *_article_notes(scores)),
        unevenness=unevenness(
            described["predicted"],
            described["base_rate"],
            families=families,
            confidence=settings.confidence,
            rng=np.random.default_rng(settings.seed),
        ),
    )


def _row(
    baseline: Baseline,
    scores: Scores,
    cells: RowCells,
    parts: Mapping[str, Estimate],
    families: tuple[str, ...],
    settings: ProbeSettings,
) -> ProbeRow:
    """Return one base in one direction with its numbers."""
    described = _described(baseline, scores, families, settings)
    value, counts = parts["value"], baseline.rates.association.counts
    notes = [*baseline.notes, *_article_notes(scores), *value.notes]
    if cells.corrections is not None and counts is not None:
        notes += base_notes(value, cells.corrections, counts, scores.direction)
    notes += preference_notes(parts, baseline.rates, scores.direction, described["predicted"])
    return ProbeRow(
        **described,
        interval=value.interval,
        notes=tuple(notes),
        corrected=value.corrected,
        base_bias=value.base_bias,
        association=replace(parts["association"], notes=()),
        preference=replace(parts["preference"], notes=()),
        base_reliability=cells.reliability,
    )


def _article_notes(scores: Scores) -> tuple[Note, ...]:
    scorer = scorers.get(scores.scorer)
    if not scores.articles or scorer.hides_articles:
        return ()
    hiding = kinds.get(scorer.kind).default_scorer
    text = (
        f"the articles {' and '.join(scores.articles)} are visible before the words to predict, "
        f"so a word competes mainly with words of the same article; {hiding} hides articles too"
    )
    return (Note(NoteKind.ARTICLE, text),)
