"""P(candidate) as (template, attribute, task), with the mass the candidates had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError, did_you_mean
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models import cache as store
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import LanguageModel
from lmprobe.models.scorers import AUTO, ChosenScorer, choose_scorer, warn_of_split
from lmprobe.probing.sheet import Sheet, Words
from lmprobe.templates import TemplateSet

_Members = list[list[int]]
"""For each label, the places of its words in a table."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """How probable the model finds each candidate, before and after renormalising.

    An attribute or a task may be a group of words. Tables have one row per word of the
    attributes (A') and one column per word of the tasks (T').
    """

    direction: Direction
    templates: tuple[str, ...]
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    log_probability: Floats
    """(K, A', T'): log P(candidate | sentence), as the scorer gives it."""
    log_prior: Floats | None
    """(K, A', T'): the same with the other word masked as well, where the prior was asked for."""
    pieces: Mapping[str, int]
    """Number of pieces of each candidate that the tokenizer splits."""
    scorer: str
    cached: bool
    """Whether every number came from the cache."""
    articles: tuple[str, ...] = ()
    """The different articles that templates write before the candidates, if they differ."""
    log_mass: Floats | None = None
    """(K, A', T'): log-probability of the candidate by itself, where the scorer's is another."""
    attribute_of: tuple[str, ...] = ()
    """The attribute that each row belongs to; by default its own."""
    task_of: tuple[str, ...] = ()
    """The task that each column belongs to; by default its own."""
    attribute_words: tuple[str, ...] = ()
    """The word of each row; by default the attribute."""
    task_words: tuple[str, ...] = ()
    """The word of each column; by default the task."""
    one_word: bool = False
    """Whether the candidates differ in one word in every template."""
    mass_ratio: float | None = None
    """How many times the probability of random words the candidates have, where it was asked."""
    threads: int = 1
    """How many threads the answers were computed with, the most of any template."""

    def probabilities(
        self, attributes: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> Floats:
        """Return P(candidate) among the candidates kept (K, A, T).

        Candidates are the attributes in task->attribute and the tasks in attribute->task;
        over them the numbers add up to one. A guessed group has the sum over its words; given
        a group, the probabilities are the mean over its words. With a prior, each word's
        probability is divided by it first.
        """
        rows, columns = self._members(attributes, tasks)
        value = self._log_value(rows, columns)
        value = np.exp(value - value.max(axis=self._axis, keepdims=True))
        shares: Floats = value / value.sum(axis=self._axis, keepdims=True)
        by_attribute = _grouped(shares, rows, axis=1, mean=self._axis == 2)
        return _grouped(by_attribute, columns, axis=2, mean=self._axis == 1)

    def log_table(self, attributes: Sequence[str], tasks: Sequence[str]) -> Floats:
        """Return the logarithms of `probabilities`, but for a constant per condition, (K, A, T).

        Finite where a probability is too small for a number, unless groups have several words.
        """
        rows, columns = self._members(attributes, tasks)
        if max(map(len, (*rows, *columns))) == 1:
            return self._log_value(rows, columns)
        return np.log(np.maximum(self.probabilities(attributes, tasks), np.finfo(np.float64).tiny))

    def _log_value(self, rows: _Members, columns: _Members) -> Floats:
        kept = self._kept(rows, columns)
        value = self.log_probability[kept]
        return value if self.log_prior is None else value - self.log_prior[kept]

    def candidate_mass(self) -> Floats:
        """Return the mean probability of all candidates together, per template (K,).

        Little mass means that the model expected other words. Words of several pieces are
        asked for with as many masks, so with a masked model mass is not bounded by one if
        words split.
        """
        held = np.exp(self.log_mass_table[self._kept(*self._members(None, None))])
        mass: Floats = held.sum(axis=self._axis).mean(axis=1)
        return mass

    @property
    def log_mass_table(self) -> Floats:
        """(K, A', T'): the log-probability of each candidate by itself."""
        return self.log_probability if self.log_mass is None else self.log_mass

    @property
    def words(self) -> Words:
        """The words of the rows and of the columns."""
        return Words(self.attribute_words or self.attributes, self.task_words or self.tasks)

    @property
    def _axis(self) -> int:
        return 1 if self.direction == Direction.TASK_TO_ATTRIBUTE else 2

    def _members(
        self, attributes: Sequence[str] | None, tasks: Sequence[str] | None
    ) -> tuple[_Members, _Members]:
        """Return the rows of each attribute kept and the columns of each task kept."""
        return (
            _members(self.attributes, self.attribute_of, attributes, "attribute"),
            _members(self.tasks, self.task_of, tasks, "task"),
        )

    def _kept(self, rows: _Members, columns: _Members) -> tuple[NDArray[np.intp], ...]:
        flat = [[place for places in members for place in places] for members in (rows, columns)]
        return np.ix_(range(len(self.templates)), *flat)


def _members(
    labels: Sequence[str], owners: Sequence[str], wanted: Sequence[str] | None, what: str
) -> _Members:
    """Return where the words of each label that is wanted are."""
    places: dict[str, list[int]] = {}
    for place, owner in enumerate(owners or labels):
        places.setdefault(owner, []).append(place)
    for name in wanted or ():
        if name not in places:
            raise InputError(f'{what} "{name}" was not scored; {did_you_mean(name, labels)}')
    return [places[name] for name in (labels if wanted is None else wanted)]


def _grouped(table: Floats, members: _Members, *, axis: int, mean: bool) -> Floats:
    """Return the sum, or the mean, over the words of each label; words are in its order."""
    sizes = [len(places) for places in members]
    if max(sizes) == 1:
        return table
    starts = np.cumsum([0, *sizes[:-1]])
    sums: Floats = np.add.reduceat(table, starts, axis=axis)
    shape = [1, 1, 1]
    shape[axis] = len(sizes)
    return sums / np.reshape(sizes, shape) if mean else sums


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
