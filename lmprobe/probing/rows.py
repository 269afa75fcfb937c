"""Compares the predictions of a model with base rates: the rows of a probe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.errors import Argument, InputError, invalid
from lmprobe.metrics.association import Floats, lean as lean_of_association
from lmprobe.metrics.direction import Direction, LeanWeighting, Missing
from lmprobe.metrics.directional import amplification
from lmprobe.models.kind import kinds
from lmprobe.models.scorers import scorers
from lmprobe.probing.result import DecidingItem, GroupedWord, ProbeRow
from lmprobe.probing.scores import Scores, is_informed, tiny_mass_notes
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Estimate, Interval, Note, NoteKind, Obstacle
from lmprobe.results.format import format_signed, plural
from lmprobe.sources import AlignedBaseRates, Source, align_base_rates, load_base_rates
from lmprobe.stats.planning import sentences_needed
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import RowEstimates, estimate_rows, unevenness
from lmprobe.templates import AnySet

NO_LEAN = "none"
"""The name of the lean's source in results that have none."""
_NO_LEAN = (
    "no source has a lean for these words, so the value is undefined; `absolute` measures how "
    "unevenly the model treats the groups, without a sign. Name a table that has a lean to "
    "measure the value too: --lean own.csv"
)


@dataclass(frozen=True, slots=True)
class Baseline:
    """Base rates from one source, the direction of bias from the same or another."""

    name: str
    rates: AlignedBaseRates
    lean_name: str
    lean_rates: AlignedBaseRates | None
    """None if no source has a lean for these words."""

    def lean(self, direction: Direction, weighting: LeanWeighting) -> Floats:
        """Return the lean (A, T) in the order of the base.

        A group without a lean, such as "they" in WinoBias, leans nowhere; a task about which
        nothing is known is undefined.
        """
        own = self.rates.association
        if self.lean_rates is None:
            return np.full(own.joint.shape, np.nan)
        other = self.lean_rates.association
        lean = lean_of_association(other, direction, weighting)
        table = np.zeros(own.joint.shape)
        for column, task in enumerate(own.tasks):
            if task not in other.tasks:
                table[:, column] = np.nan
                continue
            for row, attribute in enumerate(own.attributes):
                if attribute in other.attributes:
                    cell = other.attributes.index(attribute), other.tasks.index(task)
                    table[row, column] = lean[cell]
        return table

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know of these base rates and their lean."""
        own = self.rates.notes
        if self.rates.taken_as_exact:
            text = (
                f"the base rates of {self.name} are taken as exact: their description has neither "
                "`counts = true` nor standard errors"
            )
            own = (*own, Note(NoteKind.ASSUMPTION, text))
        if self.lean_rates is None:
            return (*own, Note(NoteKind.LEAN, _NO_LEAN))
        if self.lean_name == self.name:
            return own
        texts = [f"the lean comes from {self.lean_name}"]
        if self.lean_rates.dropped_attributes:
            groups = ", ".join(self.lean_rates.dropped_attributes)
            texts.append(f"{self.lean_name} has no lean for {groups}: 0 is used")
        if self.lean_rates.dropped_tasks:
            tasks = plural(len(self.lean_rates.dropped_tasks), "task")
            texts.append(f"{self.lean_name} has no lean for {tasks}: undefined")
        return (*own, *(Note(NoteKind.LEAN, text) for text in texts))

    def merged(self, owner: Mapping[str, str]) -> Baseline:
        """Return the same base rates with the attributes of one owner taken together."""
        rates = self.rates.merged(owner)
        lean_rates = self.lean_rates
        if lean_rates is not None:
            lean_rates = rates if lean_rates is self.rates else lean_rates.merged(owner)
        return replace(self, rates=rates, lean_rates=lean_rates)


def baseline(
    source: Source,
    attributes: Sequence[str],
    tasks: Sequence[str],
    *,
    lean_from: Source | None = None,
    default_lean: str | None = None,
    missing: Missing = "drop",
    pseudo_count: float = 0.5,
) -> Baseline:
    """Return the base rates of `source`, with the lean of `lean_from` or the source's own.

    `default_lean` serves a source that has none, in place of the one that it names itself.
    """
    rates = align_base_rates(source, attributes, tasks, missing=missing, pseudo_count=pseudo_count)
    declared = getattr(source, "lean_source", None)
    by_default = lean_from is None
    if lean_from is not None and getattr(lean_from, "lean_source", None) is not None:
        text = f": {lean_from.name} has no lean; name base rates that have one, such as labor"
        raise invalid("lean", text)
    if lean_from is None and declared is not None:
        lean_from = load_base_rates(default_lean or declared)
    if lean_from is None:
        return Baseline(source.name, rates, source.name, rates)
    labels = rates.association
    try:
        # A word without a lean is undefined, not an error: it is counted with the rest.
        lean_rates = align_base_rates(lean_from, labels.attributes, labels.tasks, missing="drop")
    except InputError as problem:
        if by_default:
            return Baseline(source.name, rates, NO_LEAN, None)
        raise InputError(
            problem,
            f'; "{source.name}" takes its lean from there: choose another source of the lean (',
            Argument("lean"),
            ")",
        ) from problem
    return Baseline(source.name, rates, lean_from.name, lean_rates)


def grouped_words(scores: Mapping[Direction, Scores], templates: AnySet) -> tuple[GroupedWord, ...]:
    """Return the words of every label that is not its own only word, with their shares."""
    words: list[GroupedWord] = []
    for direction, table in scores.items():
        labels = (table.attributes, table.tasks)[direction.axis]
        members = (templates.attribute_words, templates.task_words)[direction.axis]
        if all(members[label] == (label,) for label in labels):
            continue
        if table.layout is not None and all(len(members[label]) == 1 for label in labels):
            # The only item of a task carries all there is, and its name may be a number.
            continue
        by_word = replace(
            table, attributes=table.words.attributes, tasks=table.words.tasks,
            attribute_of=(), task_of=(),
        )  # fmt: skip
        # What is guessed comes first, (words, templates, given).
        guessed = np.moveaxis(by_word.probabilities(), direction.axis, 0)
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


def group_notes(scores: Scores, templates: AnySet) -> tuple[Note, ...]:
    """Return a note about groups of different numbers of words, or about candidates read alike."""
    notes: list[Note] = []
    if scores.layout is not None and scores.direction is Direction.TASK_TO_ATTRIBUTE:
        # Items of a task that is given: a cell is their mean.
        even = int((np.ptp(scores.log_probability, axis=1) == 0).sum())
        text = f"in {plural(even, 'row')} the model gives all candidates the same probability"
        return (Note(NoteKind.DATA, text),) if even and not scores.recorded else ()
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


# Items that are shown because they move the value most, up and down.
_DECIDING = 5


def deciding_items(row: ProbeRow, scores: Scores) -> tuple[DecidingItem, ...]:
    """Return the items that move the value of a row most; nothing for words or recorded answers."""
    table = scores.layout
    if table is None or not table.finished or row.unevenness is not None:
        return ()
    table = table.selected(row.attributes, row.tasks)
    items = scores.all_items(row.attributes, row.tasks)
    cells = amplification(items.shares, row.base_rate[:, items.task], row.lean[:, items.task])
    sizes = items.sizes[:, 0][:, items.task]
    pairs = (~np.isnan(row.by_pair)).sum()
    each = np.nansum(np.nansum(cells, axis=1) / np.where(sizes > 0, sizes, 1), axis=0)
    effects = each / (pairs * len(cells))
    order = np.argsort(effects, kind="stable")
    most = dict.fromkeys([*order[::-1][:_DECIDING].tolist(), *order[:_DECIDING][::-1].tolist()])
    group = np.nan_to_num(row.lean).argmax(axis=0)
    return tuple(
        DecidingItem(
            row.base,
            table.task_of[place],
            table.items[place],
            table.shown(place),
            row.attributes[group[task]],
            float(row.base_rate[group[task], task]),
            float(np.nanmean(items.shares[:, group[task], place])),
            float(effects[place]),
        )
        for place, task in ((place, items.task[place]) for place in most if effects[place])
    )


def margins(
    baselines: Sequence[Baseline],
    scores: Mapping[Direction, Scores],
    templates: AnySet,
) -> Iterator[tuple[str, list[Baseline], dict[Direction, Scores]]]:
    """Yield each crossed attribute with the bases and the guesses of its values alone."""
    for place, name in enumerate(templates.crossed if len(templates.crossed) > 1 else ()):
        owner = {label: values[place] for label, values in templates.attribute_values.items()}
        merged = [
            baseline.merged(owner)
            for baseline in baselines
            if len({owner[label] for label in baseline.rates.association.attributes}) > 1
        ]
        yield (
            name,
            merged,
            {
                direction: replace(
                    table,
                    attributes=tuple(dict.fromkeys(owner[label] for label in table.attributes)),
                    attribute_of=tuple(owner[label] for label in table.attribute_of),
                )
                for direction, table in scores.items()
            },
        )


def probe_rows(
    baselines: Sequence[Baseline],
    scores: Mapping[Direction, Scores],
    families: tuple[str, ...],
    settings: ProbeSettings,
    turns: tuple[str, ...] = (),
) -> tuple[ProbeRow, ...]:
    """Return one row per base and direction; their intervals may depend on each other.

    `families` and `turns` of a chat group the templates.
    """
    bare = [
        (baseline, replace(_bare_row(baseline, answers, families, settings), turns=turns), answers)
        for baseline in baselines
        for answers in scores.values()
    ]
    tables = [
        _tables(row, answers, settings)
        for baseline, row, answers in bare
        if baseline.lean_rates is not None
    ]
    obstacles = [row.obstacle for baseline, row, _ in bare if baseline.lean_rates is not None]
    measured = zip(tables, estimate_rows(tables, obstacles, settings), strict=True)
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
        items=scores.items(labels.attributes, labels.tasks),
    )


def _tables(row: ProbeRow, scores: Scores, settings: ProbeSettings) -> RowTables:
    if np.isnan(row.by_pair).all():
        raise InputError(
            f'base "{row.base}", {row.direction}: no pair of words is defined; the lean '
            f'comes from "{row.lean_source}", which must know these words (choose it '
            "with ",
            Argument("lean"),
            ")",
        )
    logs = scores.log_table(row.attributes, row.tasks)
    return replace(row.tables(settings.seed), logs=logs)


def _uneven(row: ProbeRow, settings: ProbeSettings) -> ProbeRow:
    """Return a row for which no lean is known."""
    deviations = unevenness(
        row.predicted,
        row.base_rate,
        families=row.families,
        turns=row.turns,
        confidence=settings.confidence,
        rng=np.random.default_rng(settings.seed),
    )
    return replace(row, unevenness=deviations)


def _estimated(
    baseline: Baseline, row: ProbeRow, tables: RowTables, estimates: RowEstimates
) -> ProbeRow:
    value = estimates.parts["value"]
    notes = [*row.notes, *estimates.notes]
    if tables.sampled:
        notes += base_notes(value, tables)
    notes += preference_notes(estimates.parts, baseline.rates, row.direction, row.predicted)
    return replace(
        row,
        interval=value.interval,
        notes=tuple(notes),
        corrected=value.corrected,
        base_bias=value.base_bias,
        obstacle=value.obstacle,
        association=estimates.parts["association"],
        preference=estimates.parts["preference"],
        strength=estimates.strength,
        base_reliability=estimates.reliability,
        standard_errors=estimates.standard_errors,
        robustness=estimates.robustness,
    )


def _article_notes(scores: Scores) -> tuple[Note, ...]:
    if not scores.articles or (scorer := scorers.get(scores.scorer)).hides_articles:
        return ()
    hiding = kinds.get(scorer.kind).default_scorer
    text = (
        f"the articles {' and '.join(scores.articles)} are visible before the words to predict, "
        f"so a word competes mainly with words of the same article; {hiding} hides articles too"
    )
    return (Note(NoteKind.ARTICLE, text),)


# A preference is worth a sentence where it moves a tenth of the probability.
_MOVED = 0.1
# The reliability that is worth counting more sentences for.
_GOOD = 0.9


def preference_notes(
    parts: Mapping[str, Estimate], rates: AlignedBaseRates, direction: Direction, predicted: Floats
) -> tuple[Note, ...]:
    """Return one sentence where the value and the association differ in size or verdict."""
    value, association = parts["value"], parts["association"]
    word, moved = preferred(rates, direction, predicted)
    large = abs(parts["preference"].claimed) > abs(value.claimed) / 2
    if not (large and moved > _MOVED) and value.verdict is association.verdict:
        return ()
    number = "value" if value.corrected is None else "corrected value"
    text = (
        f"without its preference for “{word}” in all sentences the {number} would be "
        f"{format_signed(association.claimed)} instead of {format_signed(value.claimed)}"
    )
    return (Note(NoteKind.PREFERENCE, text),)


def preferred(
    rates: AlignedBaseRates, direction: Direction, predicted: Floats
) -> tuple[str, float]:
    """Return the candidate that the model prefers most, whatever is given, against the base.

    With it comes the share of the probability that the model gives to other candidates than
    the base does (the total variation distance of the two margins).
    """
    world = rates.association
    margins = world.p_attribute, world.p_task
    margin = np.moveaxis(predicted.mean(axis=0), direction.axis, 0) @ margins[direction.given_axis]
    names = (world.attributes, world.tasks)[direction.axis]
    more = margin - margins[direction.axis]
    return names[int(np.argmax(more))], float(np.abs(more).sum() / 2)


def base_notes(estimate: Estimate, tables: RowTables) -> tuple[Note, ...]:
    """Return what the noise of a sampled base did to the value, and how to have less of it."""
    assert estimate.base_bias is not None
    bias = format_signed(estimate.base_bias)
    if not tables.counted:
        text = f"the value is corrected for the bias of the base's standard errors, {bias}"
        return (Note(NoteKind.METHOD, text),)
    value, association = (tables.reliability(part) for part in ("value", "association"))
    sentences = f"{int(tables.base.sum()):,} sentences"
    text = f"the value is corrected for the bias that the noise of {sentences} causes, {bias}"
    notes = (Note(NoteKind.METHOD, text),)
    if value.proportional >= _GOOD and association.is_enough:
        return notes
    text = (
        f"the base was counted in {sentences}, so few that only {value.proportional:.0%} of an "
        "amplification shows"
    )
    if not association.is_enough and value.is_enough:
        text += f", and {association.proportional:.0%} of the association"
    if estimate.obstacle is Obstacle.SMALL_BASE:
        text += "; this is too little for a verdict"
    if value.proportional < _GOOD:
        enough = sentences_needed(tables.base, tables.direction, reliable=_GOOD, more=True)
        text += (
            "; no number of sentences would show more, because the table has no clear link"
            if enough is None
            else f"; about {enough:,} would show {_GOOD:.0%}"
        )
    return (*notes, Note(NoteKind.BASE, text))
