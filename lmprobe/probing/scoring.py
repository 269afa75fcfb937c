"""Asks a model about every candidate of a template set, and files the answers.

They are filed template by template: an interrupted run continues where it stopped, and a run
with another base rate asks the model nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError, did_you_mean
from lmprobe.io.progress import Progress, silent
from lmprobe.models import cache as store
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import LanguageModel
from lmprobe.probing.scores import Scores
from lmprobe.probing.sheet import Sheet, Words
from lmprobe.scorers.scorer import AUTO, ChosenScorer, choose_scorer, warn_of_split
from lmprobe.templates import TemplateSet


def score_templates(
    model: LanguageModel,
    templates: TemplateSet,
    direction: Direction,
    *,
    attributes: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    scorer: str = AUTO,
    prior: bool = False,
    cache: bool = True,
    progress: Progress = silent,
) -> Scores:
    """Return how probable the model finds each candidate in each sentence of a set.

    As `score_directions`, for one direction alone.
    """
    if direction not in DIRECTIONS:
        raise InputError(f'no direction "{direction}"; {did_you_mean(direction, DIRECTIONS)}')
    return score_directions(
        model,
        templates,
        (Direction(direction),),
        attributes=attributes,
        tasks=tasks,
        scorer=scorer,
        prior=prior,
        cache=cache,
        progress=progress,
    )[Direction(direction)]


def score_directions(
    model: LanguageModel,
    templates: TemplateSet,
    directions: Sequence[Direction] = DIRECTIONS,
    *,
    attributes: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    scorer: str = AUTO,
    prior: bool = False,
    cache: bool = True,
    progress: Progress = silent,
) -> dict[Direction, Scores]:
    """Return how probable the model finds each candidate, in each of the directions.

    `attributes` and `tasks` choose among the set's. `prior` divides by the word's probability
    when the other word is masked too (Kurita et al. 2019). `progress` counts sentences.
    """
    chosen = choose_scorer(scorer, model.kind)
    if prior and not kinds.get(model.kind).masks:
        raise InputError(f"a prior needs a masked model, and {model.name} is {model.kind}")
    attributes = tuple(templates.attributes if attributes is None else attributes)
    tasks = tuple(templates.tasks if tasks is None else tasks)
    if not attributes or not tasks:
        raise InputError("scoring needs at least one attribute and one task")
    labels = _Labels(
        attributes,
        tasks,
        _words_of(attributes, templates.attribute_words),
        _words_of(tasks, templates.task_words),
    )
    words = Words(tuple(labels.attribute_of), tuple(labels.task_of))
    sheets = [Sheet(template, words, directions) for template in templates.templates]
    entries, cached = _entries(model, sheets, chosen, prior, cache, progress)
    found = {
        direction: _scores(direction, templates, labels, sheets, entries, chosen, cached)
        for direction in directions
    }
    if not chosen.scorer.whole_word:
        split = {word for scores in found.values() for word in scores.pieces}
        warn_of_split(split, chosen.name)
    return found


@dataclass(frozen=True, slots=True)
class _Labels:
    """The attributes and tasks of a table, and which of them each word belongs to."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    attribute_of: Mapping[str, str]
    task_of: Mapping[str, str]


def _words_of(labels: Sequence[str], words: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the label of every word, in the order of the labels."""
    return {word: label for label in labels for word in words[label]}


def _entries(
    model: LanguageModel,
    sheets: Sequence[Sheet],
    scorer: ChosenScorer,
    prior: bool,
    cache: bool,
    progress: Progress,
) -> tuple[list[store.Entry], bool]:
    """Return the answers to each sheet, and whether all of them were in the cache."""
    entries: dict[int, store.Entry] = {}
    keys = [sheet.key(model, scorer, prior) for sheet in sheets] if cache else []
    for number, key in enumerate(keys):
        entry = store.read(key)
        if entry is not None and entry.has(sheets[number].sizes(scorer, prior)):
            entries[number] = entry
    missing = [number for number in range(len(sheets)) if number not in entries]
    size = [len(clozes) for sheet in sheets[:1] for clozes in sheet.clozes.values()]
    for done, number in enumerate(missing):
        steps = _share(progress, done * sum(size), sum(size), len(missing) * sum(size))
        entries[number] = sheets[number].ask(model, scorer, prior, steps)
        if cache:
            store.write(keys[number], entries[number])
    if missing and cache:
        model.remember()
    return [entries[number] for number in range(len(sheets))], not missing


def _share(progress: Progress, before: int, size: int, whole: int) -> Progress:
    """Return the progress of one sheet of `size` sentences as part of the whole."""
    return lambda done, total: progress(before + size * done // total, whole)


def _scores(
    direction: Direction,
    templates: TemplateSet,
    labels: _Labels,
    sheets: Sequence[Sheet],
    entries: Sequence[store.Entry],
    scorer: ChosenScorer,
    cached: bool,
) -> Scores:
    shape = (len(labels.attribute_of), len(labels.task_of))
    tables = {
        name: _table(sheets, entries, direction, name, shape)
        for name in ("log_probability", "log_prior", "log_mass", "pieces")
    }
    log_probability, pieces = tables["log_probability"], tables["pieces"]
    assert log_probability is not None
    assert pieces is not None
    guesses_attribute = direction is Direction.TASK_TO_ATTRIBUTE
    most = pieces.max(axis=(0, 2) if guesses_attribute else (0, 1))
    words = labels.attribute_of if guesses_attribute else labels.task_of
    articles = set().union(*(sheet.articles(direction) for sheet in sheets))
    return Scores(
        direction=direction,
        templates=tuple(template.name for template in templates.templates),
        attributes=labels.attributes,
        tasks=labels.tasks,
        log_probability=log_probability,
        log_prior=tables["log_prior"],
        pieces={word: int(count) for word, count in zip(words, most, strict=True) if count > 1},
        scorer=scorer.name,
        cached=cached,
        articles=tuple(sorted(articles)),
        log_mass=tables["log_mass"],
        attribute_of=tuple(labels.attribute_of.values()),
        task_of=tuple(labels.task_of.values()),
        attribute_words=tuple(labels.attribute_of),
        task_words=tuple(labels.task_of),
        threads=max(entry.threads for entry in entries),
    )


def _table(
    sheets: Sequence[Sheet],
    entries: Sequence[store.Entry],
    direction: Direction,
    name: str,
    shape: tuple[int, int],
) -> Floats | None:
    """Return the filed numbers in the order of the words (K, A', T'), None if there are none."""
    table = np.empty((len(sheets), shape[0] * shape[1]))
    for number, (sheet, entry) in enumerate(zip(sheets, entries, strict=True)):
        row = entry.numbers.get(f"{direction} {name}")
        if row is None:
            return None
        table[number, sheet.order[direction]] = row
    return table.reshape(len(sheets), *shape)
