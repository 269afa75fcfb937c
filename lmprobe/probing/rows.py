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
from lmprobe.probing.cells import row_cells
from lmprobe.probing.estimates import RowNumbers, estimates
from lmprobe.probing.explanations import base_notes, preference_notes
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
    asked = [(against, scores[one]) for against in baselines for one in DIRECTIONS]
    leaning = [pair for pair in asked if pair[0].lean_rates is not None]
    numbers = [_numbers(against, one, settings) for against, one in leaning]
    found = estimates(numbers, families, settings) if numbers else []
    measured = iter(
        [
            _row(against, one, row, parts, families, settings)
            for (against, one), row, parts in zip(leaning, numbers, found, strict=True)
        ]
    )
    return tuple(
        _uneven_row(*pair, families, settings) if pair[0].lean_rates is None else next(measured)
        for pair in asked
    )


def _described(
    against: Baseline, scores: Scores, families: tuple[str, ...], settings: ProbeSettings
) -> dict[str, Any]:
    """Return the fields of a row that need no interval, by name."""
    direction, labels = scores.direction, against.rates.association
    return {
        "base": against.name,
        "direction": direction,
        "attributes": labels.attributes,
        "tasks": labels.tasks,
        "predicted": scores.probabilities(attributes=labels.attributes, tasks=labels.tasks),
        "base_rate": labels.conditional(direction),
        "lean": against.lean(direction, settings.lean_weighting),
        "candidate_mass": scores.candidate_mass(),
        "lean_source": against.lean_name,
        "lean_weighting": settings.lean_weighting,
        "families": families,
        "dropped_attributes": against.rates.dropped_attributes,
        "dropped_tasks": against.rates.dropped_tasks,
        "mass_ratio": scores.mass_ratio,
        "informed": is_informed(scores, settings.min_mass),
    }


def _uneven_row(
    against: Baseline, scores: Scores, families: tuple[str, ...], settings: ProbeSettings
) -> ProbeRow:
    """Return one base in one direction for which no lean is known."""
    described = _described(against, scores, families, settings)
    return ProbeRow(
        **described,
        interval=Interval.undefined(settings.confidence, settings.interval),
        notes=(*against.notes, *_article_notes(scores)),
        unevenness=unevenness(
            described["predicted"],
            described["base_rate"],
            families=families,
            confidence=settings.confidence,
            rng=np.random.default_rng(settings.seed),
        ),
    )


def _numbers(against: Baseline, scores: Scores, settings: ProbeSettings) -> RowNumbers:
    """Return the cells of one base in one direction."""
    labels = against.rates.association
    predicted = scores.probabilities(attributes=labels.attributes, tasks=labels.tasks)
    logs = scores.log_table(labels.attributes, labels.tasks)
    cells = row_cells(
        against,
        scores.direction,
        predicted,
        logs,
        weighting=settings.lean_weighting,
        seed=settings.seed,
    )
    if np.isnan(cells.value).all():
        raise InputError(
            f'base "{against.name}", {scores.direction}: no pair of words is defined; the lean '
            f'comes from "{against.lean_name}", which must know these words (choose it with `lean`)'
        )
    return RowNumbers(cells, labels.tasks, against.lean_name != against.name)


def _row(
    against: Baseline,
    scores: Scores,
    numbers: RowNumbers,
    parts: Mapping[str, Estimate],
    families: tuple[str, ...],
    settings: ProbeSettings,
) -> ProbeRow:
    """Return one base in one direction with all that is known of it."""
    described = _described(against, scores, families, settings)
    corrections = numbers.cells.corrections
    value = parts["value"]
    notes = [*against.notes, *_article_notes(scores), *value.notes]
    if corrections is not None:
        counts = against.rates.association.counts
        assert counts is not None
        notes += base_notes(value, corrections, counts, scores.direction)
    notes += preference_notes(parts, against.rates, scores.direction, described["predicted"])
    return ProbeRow(
        **described,
        interval=value.interval,
        notes=tuple(notes),
        corrected=value.corrected,
        base_bias=value.base_bias,
        association=replace(parts["association"], notes=()),
        preference=replace(parts["preference"], notes=()),
        base_reliability=numbers.reliability,
    )


def _article_notes(scores: Scores) -> tuple[Note, ...]:
    used = scorers.get(scores.scorer)
    if not scores.articles or used.hides_articles:
        return ()
    hiding = kinds.get(used.kind).default_scorer
    text = (
        f"the articles {' and '.join(scores.articles)} are visible before the words to predict, "
        f"so a word competes mainly with words of the same article; {hiding} hides articles too"
    )
    return (Note(NoteKind.ARTICLE, text),)
