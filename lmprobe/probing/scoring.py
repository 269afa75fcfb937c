"""Asks a model about every candidate of a template set, and files the answers.

They are filed template by template: an interrupted run continues where it stopped, and a run
with another base rate asks the model nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.io.progress import Progress, silent
from lmprobe.models import cache as store
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import LanguageModel
from lmprobe.probing.scores import Scores
from lmprobe.probing.sheet import Sheet, Words
from lmprobe.scorers.scorer import AUTO, ChosenScorer, choose_scorer, warn_of_split
from lmprobe.templates import TemplateSet


def score_templates(
    model: LanguageModel, templates: TemplateSet, direction: Direction | str, **options: Any
) -> Scores:
    """Return how probable the model finds each candidate, in one direction alone.

    The options are those of `score_directions`.
    """
    wanted = Direction.parse(direction)
    return score_directions(model, templates, (wanted,), **options)[wanted]


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
    # The label of every word, in the order of the labels.
    attribute_of = {word: name for name in attributes for word in templates.attribute_words[name]}
    task_of = {word: name for name in tasks for word in templates.task_words[name]}
    words = Words(tuple(attribute_of), tuple(task_of))
    sheets = [Sheet(template, words, directions) for template in templates.templates]
    entries, cached = _entries(model, sheets, chosen, prior, cache, progress)
    labels: dict[str, Any] = {
        "templates": tuple(template.name for template in templates.templates),
        "attributes": attributes,
        "tasks": tasks,
        "attribute_of": tuple(attribute_of.values()),
        "task_of": tuple(task_of.values()),
        "attribute_words": words.attributes,
        "task_words": words.tasks,
    }
    scores = {
        direction: Scores(
            direction=direction,
            **labels,
            **_tables(direction, words, sheets, entries),
            scorer=chosen.name,
            cached=cached,
            threads=max(entry.threads for entry in entries),
        )
        for direction in directions
    }
    if not chosen.scorer.whole_word:
        warn_of_split({word for table in scores.values() for word in table.pieces}, chosen.name)
    return scores


def _entries(
    model: LanguageModel,
    sheets: Sequence[Sheet],
    scorer: ChosenScorer,
    prior: bool,
    cache: bool,
    progress: Progress,
) -> tuple[list[store.Entry], bool]:
    """Return the answers to each sheet, and whether all of them were in the cache."""
    keys = [sheet.key(model, scorer, prior) for sheet in sheets] if cache else []
    entries = dict(enumerate(map(store.read, keys)))
    missing = [number for number in range(len(sheets)) if entries.get(number) is None]
    size = sum(map(len, sheets[0].clozes.values()))
    for done, number in enumerate(missing):
        steps = _share(progress, done * size, size, len(missing) * size)
        entry = entries[number] = sheets[number].ask(model, scorer, prior, steps)
        if cache:
            store.write(keys[number], entry)
    if missing and cache:
        model.remember()
    return [entry for _, entry in sorted(entries.items()) if entry is not None], not missing


def _share(progress: Progress, before: int, size: int, whole: int) -> Progress:
    """Return the progress of one sheet of `size` sentences as part of the whole."""
    return lambda done, total: progress(before + size * done // total, whole)


def _tables(
    direction: Direction, words: Words, sheets: Sequence[Sheet], entries: Sequence[store.Entry]
) -> dict[str, Any]:
    """Return what the answers give in one direction, by the names of the fields of `Scores`."""
    shape = len(words.attributes), len(words.tasks)
    tables = {
        name: _table(sheets, entries, direction, name, shape)
        for name in ("log_probability", "log_prior", "log_mass", "pieces")
    }
    pieces = tables["pieces"]
    assert pieces is not None
    guesses_attribute = direction is Direction.TASK_TO_ATTRIBUTE
    most = pieces.max(axis=(0, 2) if guesses_attribute else (0, 1))
    guessed = words.attributes if guesses_attribute else words.tasks
    articles = set().union(*(sheet.articles(direction) for sheet in sheets))
    return tables | {
        "pieces": {word: int(n) for word, n in zip(guessed, most, strict=True) if n > 1},
        "articles": tuple(sorted(articles)),
        "one_word": all(sheet.one_word(direction) for sheet in sheets),
    }


def _table(
    sheets: Sequence[Sheet],
    entries: Sequence[store.Entry],
    direction: Direction,
    name: str,
    shape: tuple[int, int],
) -> Floats | None:
    """Return the numbers of that name in the order of the words (K, A', T'), or None."""
    table = np.empty((len(sheets), shape[0] * shape[1]))
    for number, (sheet, entry) in enumerate(zip(sheets, entries, strict=True)):
        row = entry.numbers.get(f"{direction} {name}")
        if row is None:
            return None
        table[number, sheet.order[direction]] = row
    return table.reshape(len(sheets), *shape)
