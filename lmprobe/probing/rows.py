"""Compares the predictions of a model with base rates: the rows of a probe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.direction import Direction
from lmprobe.models.kind import kinds
from lmprobe.models.scorers import scorers
from lmprobe.probing.baseline import Baseline, is_informed, tiny_mass_notes
from lmprobe.probing.notes import base_notes, preference_notes
from lmprobe.probing.row import ProbeRow
from lmprobe.probing.scores import Scores
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Interval, Note, NoteKind, Obstacle
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.unevenness import unevenness
from lmprobe.stats.verdicts import RowEstimates, estimate_rows
from lmprobe.templates import TemplateSet


@dataclass(frozen=True, slots=True)
class GroupedWord:
    """One word of a group, and which part of the group's probability it carried."""

    axis: str
    """`attribute` or `task`."""
    group: str
    word: str
    share: float
    """When the group is guessed: the mean over templates and what is given."""


def grouped_words(
    scores: Mapping[Direction, Scores], templates: TemplateSet
) -> tuple[GroupedWord, ...]:
    """Return the words of every label that is not its own only word, with their shares."""
    words: list[GroupedWord] = []
    for direction, table in scores.items():
        forward = direction is Direction.TASK_TO_ATTRIBUTE
        labels = table.attributes if forward else table.tasks
        members = templates.attribute_words if forward else templates.task_words
        if all(members[label] == (label,) for label in labels):
            continue
        # What is guessed comes first, (words, templates, given).
        guessed = np.moveaxis(_by_word(table, templates).probabilities(), 1 if forward else 2, 0)
        start = 0
        for label in labels:
            own = guessed[start : start + len(members[label])]
            shares = (own / own.sum(axis=0)).mean(axis=(1, 2))
            words += [
                GroupedWord(direction.predicted, label, word, float(share))
                for word, share in zip(members[label], shares, strict=True)
            ]
            start += len(own)
    return tuple(words)


def _by_word(scores: Scores, templates: TemplateSet) -> Scores:
    attributes = tuple(w for label in scores.attributes for w in templates.attribute_words[label])
    tasks = tuple(w for label in scores.tasks for w in templates.task_words[label])
    return replace(
        scores, attributes=attributes, tasks=tasks, attribute_of=attributes, task_of=tasks
    )


def group_notes(scores: Scores, templates: TemplateSet) -> tuple[Note, ...]:
    """Return a note about the attributes, or the tasks, if they have different numbers of words."""
    notes = []
    for role, labels, words in (
        ("groups", scores.attributes, templates.attribute_words),
        ("tasks", scores.tasks, templates.task_words),
    ):
        sizes = {label: len(words[label]) for label in labels}
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{label} {size}" for label, size in sizes.items())
            text = (
                f"the {role} have different numbers of words, and the probability of one is the "
                f"sum over its words, so one with more words is predicted more often: {listed}"
            )
            notes.append(Note(NoteKind.GROUPS, text))
    return tuple(notes)


def margins(
    baselines: Sequence[Baseline], scores: Mapping[Direction, Scores], templates: TemplateSet
) -> Iterator[tuple[str, list[Baseline], dict[Direction, Scores]]]:
    """Yield each crossed attribute with the bases and the guesses of its values alone."""
    for place, name in enumerate(templates.crossed if len(templates.crossed) > 1 else ()):
        owner = {label: values[place] for label, values in templates.attribute_values.items()}
        merged = [
            against.merged(owner)
            for against in baselines
            if len({owner[label] for label in against.rates.association.attributes}) > 1
        ]
        yield name, merged, {direction: _merged(one, owner) for direction, one in scores.items()}


def _merged(scores: Scores, owner: Mapping[str, str]) -> Scores:
    return replace(
        scores,
        attributes=tuple(dict.fromkeys(owner[label] for label in scores.attributes)),
        attribute_of=tuple(owner[label] for label in scores.attribute_of),
    )


def probe_rows(
    baselines: Sequence[Baseline],
    scores: Mapping[Direction, Scores],
    families: tuple[str, ...],
    settings: ProbeSettings,
) -> tuple[ProbeRow, ...]:
    """Return one row per base and direction; their intervals may depend on each other."""
    bare = [
        (baseline, _bare_row(baseline, answers, families, settings), answers)
        for baseline in baselines
        for answers in scores.values()
    ]
    tables = [
        _tables(baseline, row, answers, settings)
        for baseline, row, answers in bare
        if baseline.lean_rates is not None
    ]
    obstacles = [row.obstacle for baseline, row, _ in bare if baseline.lean_rates is not None]
    measured = zip(tables, estimate_rows(tables, obstacles, settings.choices), strict=True)
    return tuple(
        _uneven(row, settings)
        if baseline.lean_rates is None
        else _estimated(baseline, row, *next(measured))
        for baseline, row, _ in bare
    )


def _bare_row(
    baseline: Baseline, scores: Scores, families: tuple[str, ...], settings: ProbeSettings
) -> ProbeRow:
    """Return one base in one direction without what is uncertain about it."""
    direction, rates = scores.direction, baseline.rates
    labels, sampling = rates.association, rates.sampling
    obstacle = None if is_informed(scores, settings.min_mass) else Obstacle.UNINFORMED
    if obstacle is None and baseline.lean_rates is None:
        obstacle = Obstacle.NO_LEAN
    return ProbeRow(
        base=baseline.name,
        direction=direction,
        attributes=labels.attributes,
        tasks=labels.tasks,
        predicted=scores.probabilities(attributes=labels.attributes, tasks=labels.tasks),
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
        obstacle=obstacle,
        task_units=rates.task_units,
        base_table=labels.joint if labels.counts is None else labels.counts,
        counted=sampling is not None and sampling.counts,
        base_errors=None if sampling is None else sampling.standard_errors,
    )


def _tables(
    baseline: Baseline, row: ProbeRow, scores: Scores, settings: ProbeSettings
) -> RowTables:
    """Return the tables that the numbers of a row are computed from."""
    if np.isnan(row.by_pair).all():
        raise InputError(
            f'base "{row.base}", {row.direction}: no pair of words is defined; the lean comes from '
            f'"{baseline.lean_name}", which must know these words (choose it with `lean`)'
        )
    logs = scores.log_table(row.attributes, row.tasks)
    return replace(row.tables(settings.seed), logs=logs)


def _uneven(row: ProbeRow, settings: ProbeSettings) -> ProbeRow:
    """Return a row for which no lean is known."""
    found = unevenness(
        row.predicted,
        row.base_rate,
        families=row.families,
        confidence=settings.confidence,
        rng=np.random.default_rng(settings.seed),
    )
    return replace(row, unevenness=found)


def _estimated(
    baseline: Baseline, row: ProbeRow, tables: RowTables, found: RowEstimates
) -> ProbeRow:
    value = found.parts["value"]
    notes = [*row.notes, *found.notes]
    if tables.sampled:
        notes += base_notes(value, tables)
    notes += preference_notes(found.parts, baseline.rates, row.direction, row.predicted)
    return replace(
        row,
        interval=value.interval,
        notes=tuple(notes),
        corrected=value.corrected,
        base_bias=value.base_bias,
        obstacle=value.obstacle,
        association=found.parts["association"],
        preference=found.parts["preference"],
        strength=found.strength,
        base_reliability=found.reliability,
        standard_errors=found.standard_errors,
        robustness=found.robustness,
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
