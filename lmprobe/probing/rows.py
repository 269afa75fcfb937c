"""Compares the predictions of a model with base rates: the rows of a probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError
from lmprobe.models.kind import kinds
from lmprobe.probing.baseline import Baseline
from lmprobe.probing.estimates import RowCells, estimates, row_cells
from lmprobe.probing.notes import base_notes, preference_notes
from lmprobe.probing.random_words import is_informed, tiny_mass_notes
from lmprobe.probing.row import ProbeRow
from lmprobe.probing.scores import Scores
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Estimate, Interval, Note, NoteKind
from lmprobe.scorers.scorer import scorers
from lmprobe.stats.unevenness import unevenness


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
        _row(baseline, its_scores, families, settings, cells, {} if cells is None else next(parts))
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


def _row(
    baseline: Baseline,
    scores: Scores,
    families: tuple[str, ...],
    settings: ProbeSettings,
    cells: RowCells | None,
    parts: Mapping[str, Estimate],
) -> ProbeRow:
    """Return one base in one direction; `cells` is None if no lean is known."""
    direction, rates = scores.direction, baseline.rates
    labels = rates.association
    predicted = scores.probabilities(attributes=labels.attributes, tasks=labels.tasks)
    row = ProbeRow(
        base=baseline.name,
        direction=direction,
        attributes=labels.attributes,
        tasks=labels.tasks,
        predicted=predicted,
        base_rate=labels.conditional(direction),
        lean=baseline.lean(direction, settings.lean_weighting),
        interval=Interval.undefined(settings.confidence, settings.interval),
        candidate_mass=scores.candidate_mass(),
        lean_source=baseline.lean_name,
        lean_weighting=settings.lean_weighting,
        families=families,
        dropped_attributes=rates.dropped_attributes,
        dropped_tasks=rates.dropped_tasks,
        notes=(*baseline.notes, *_article_notes(scores), *tiny_mass_notes(scores)),
        mass_ratio=scores.mass_ratio,
        informed=is_informed(scores, settings.min_mass),
    )
    if cells is None:
        rng, confidence = np.random.default_rng(settings.seed), settings.confidence
        tables = predicted, row.base_rate
        return replace(
            row, unevenness=unevenness(*tables, families=families, confidence=confidence, rng=rng)
        )
    value, notes = parts["value"], [*row.notes, *parts["value"].notes]
    if cells.corrections is not None and labels.counts is not None:
        notes += base_notes(value, cells.corrections, labels.counts, direction)
    notes += preference_notes(parts, rates, direction, predicted)
    return replace(
        row,
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
