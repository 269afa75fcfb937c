"""Scores of the candidates of every template, as tables (template, attribute, task)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError, did_you_mean
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models.cache import CacheEntry, cached_answers
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import Cloze, LanguageModel, TokenQuery
from lmprobe.models.scorers import (
    AUTO,
    ChosenScorer,
    choose_scorer,
    mass_queries,
    sums,
    warn_of_split,
)
from lmprobe.templates import Sentence, Template, TemplateSet, differing_slots

_Members = list[list[int]]
"""For each label, the places of its words in a table."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the attributes and of the tasks that a template is filled with."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]


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
        """Return P(candidate) among the candidates selected (K, A, T).

        Candidates are the attributes in task->attribute and the tasks in attribute->task;
        over them the numbers add up to one. A guessed group has the sum over its words; given
        a group, the probabilities are the mean over its words. With a prior, each word's
        probability is divided by it first.
        """
        rows, columns = self._members(attributes, tasks)
        axis = self.direction.axis
        value = self._log_value(rows, columns)
        value = np.exp(value - value.max(axis=axis, keepdims=True))
        shares: Floats = value / value.sum(axis=axis, keepdims=True)
        by_attribute = _grouped(shares, rows, axis=-2, mean=axis == -1)
        return _grouped(by_attribute, columns, axis=-1, mean=axis == -2)

    def log_table(self, attributes: Sequence[str], tasks: Sequence[str]) -> Floats:
        """Return the logarithms of `probabilities`, but for a constant per condition, (K, A, T).

        Finite where a probability is too small for a number, unless groups have several words.
        """
        rows, columns = self._members(attributes, tasks)
        if max(map(len, (*rows, *columns))) == 1:
            return self._log_value(rows, columns)
        return np.log(np.maximum(self.probabilities(attributes, tasks), np.finfo(np.float64).tiny))

    def candidate_mass(self) -> Floats:
        """Return the mean probability of all candidates together, per template (K,).

        Little mass means that the model expected other words. Words of several pieces are
        asked for with as many masks, so with a masked model mass is not bounded by one if
        words split.
        """
        probability = np.exp(self.log_mass_table[self._places(*self._members(None, None))])
        mass: Floats = probability.sum(axis=self.direction.axis).mean(axis=1)
        return mass

    @property
    def log_mass_table(self) -> Floats:
        """(K, A', T'): the log-probability of each candidate by itself."""
        return self.log_probability if self.log_mass is None else self.log_mass

    @property
    def words(self) -> Words:
        """The words of the rows and of the columns."""
        return Words(self.attribute_words or self.attributes, self.task_words or self.tasks)

    def _log_value(self, rows: _Members, columns: _Members) -> Floats:
        places = self._places(rows, columns)
        value = self.log_probability[places]
        return value if self.log_prior is None else value - self.log_prior[places]

    def _members(
        self, attributes: Sequence[str] | None, tasks: Sequence[str] | None
    ) -> tuple[_Members, _Members]:
        """Return the rows of each attribute and the columns of each task."""
        return (
            _members(self.attributes, self.attribute_of, attributes, "attribute"),
            _members(self.tasks, self.task_of, tasks, "task"),
        )

    def _places(self, rows: _Members, columns: _Members) -> tuple[NDArray[np.intp], ...]:
        flat = [[place for places in members for place in places] for members in (rows, columns)]
        return np.ix_(range(len(self.templates)), *flat)


def _members(
    labels: Sequence[str], owners: Sequence[str], wanted: Sequence[str] | None, what: str
) -> _Members:
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
    totals: Floats = np.add.reduceat(table, starts, axis=axis)
    shape = [1, 1, 1]
    shape[axis] = len(sizes)
    return totals / np.reshape(sizes, shape) if mean else totals


class TemplateQueries:
    """The clozes of one template, one per direction and pair of words: one entry of the cache.

    They are scored and cached in the order of their text, so that the order in which words are
    listed is no reason to run the model again. A template is scored by itself, never in one
    batch with another, so that its scores do not depend on which others were in the cache.
    """

    def __init__(self, template: Template, words: Words, directions: Sequence[Direction]) -> None:
        """Fill in every sentence."""
        sentences = {
            (attribute, task): template.sentence(attribute, task)
            for attribute in words.attributes
            for task in words.tasks
        }
        self._tasks = len(words.tasks)
        self.clozes: dict[Direction, list[Cloze]] = {}
        self.order: dict[Direction, list[int]] = {}
        for direction in directions:
            clozes = _clozes(sentences, direction)
            order = sorted(range(len(clozes)), key=lambda n: (clozes[n].text, clozes[n].start))
            self.order[direction] = order
            self.clozes[direction] = [clozes[number] for number in order]

    def articles(self, direction: Direction) -> set[str]:
        """Return the articles before the words to guess, if not all have the same."""
        clozes = self.clozes[direction]
        articles = {cloze.text[slice(*cloze.article)] for cloze in clozes if cloze.article}
        return articles if len(articles) > 1 else set()

    def one_word(self, direction: Direction) -> bool:
        """Tell whether the candidates differ in one word and nothing else."""
        return all(
            len(cloze.differing) == 1 and " " not in cloze.text[slice(*cloze.differing[0])]
            for cloze in self.clozes[direction]
        )

    def facts(self, scorer: ChosenScorer, prior: bool) -> dict[str, Any]:
        """Return all that decides the scores, besides the model."""
        return {
            "scorer": (scorer.name, scorer.identity),
            "prior": prior,
            "clozes": {name: cloze_facts(clozes) for name, clozes in self.clozes.items()},
        }

    def cloze(self, direction: Direction, attribute: int, task: int) -> Cloze:
        """Return the cloze of the words at these places."""
        place = attribute * self._tasks + task
        return self.clozes[direction][self.order[direction].index(place)]

    def score(
        self, model: LanguageModel, scorer: ChosenScorer, prior: bool, progress: Progress
    ) -> dict[str, tuple[float, ...]]:
        """Run the model on everything at once: each distinct sentence is run once."""
        queries = scorer.scorer.queries
        groups: dict[str, list[Sequence[TokenQuery]]] = {}
        numbers: dict[str, tuple[float, ...]] = {}
        for direction, clozes in self.clozes.items():
            encoded = model.encode(clozes)
            numbers[f"{direction} pieces"] = tuple(len(cloze.pieces) for cloze in encoded)
            groups[f"{direction} log_probability"] = [queries(cloze) for cloze in encoded]
            if prior:
                hidden = model.encode([_without_given(cloze) for cloze in clozes])
                groups[f"{direction} log_prior"] = [queries(cloze) for cloze in hidden]
            if scorer.scorer.whole_sentence:
                mass = [mass_queries(cloze, model.kind) for cloze in encoded]
                groups[f"{direction} log_mass"] = [query.added for query in mass]
                groups[f"{direction} subtracted"] = [query.subtracted for query in mass]
        flat = [group for several in groups.values() for group in several]
        totals = iter(sums(model, flat, progress=progress).tolist())
        numbers |= {name: tuple(next(totals) for _ in group) for name, group in groups.items()}
        for direction in self.clozes:
            if less := numbers.pop(f"{direction} subtracted", None):
                whole = f"{direction} log_mass"
                numbers[whole] = tuple(a - b for a, b in zip(numbers[whole], less, strict=True))
        return numbers


def _without_given(cloze: Cloze) -> Cloze:
    """Return the cloze with the given word hidden, unless it is guessed as well."""
    hidden = [
        (start, end)
        for start, end in cloze.given
        if not any(left < end and start < right for left, right in cloze.differing)
    ]
    return replace(cloze, hidden=tuple(hidden))


def _clozes(sentences: Mapping[tuple[str, str], Sentence], direction: Direction) -> list[Cloze]:
    """Return one cloze per pair of words, tasks fastest."""
    blanks: dict[str, list[tuple[str, str]]] = {}
    for pair in sentences:
        blanks.setdefault(pair[direction.given_axis], []).append(pair)
    differing: dict[tuple[str, str], tuple[str, ...]] = {}
    for pairs in blanks.values():
        slots = differing_slots([sentences[pair] for pair in pairs])
        differing |= dict.fromkeys(pairs, slots)
    return [_cloze(sentence, direction, differing[pair]) for pair, sentence in sentences.items()]


def _cloze(sentence: Sentence, direction: Direction, differing: Sequence[str]) -> Cloze:
    slots = sentence.attribute_slot, sentence.task_slot
    hidden, given = slots[direction.axis], slots[direction.given_axis]
    return Cloze(
        sentence.text,
        *sentence.span(hidden).word,
        given=(sentence.span(given).word,),
        article=sentence.article(hidden),
        differing=tuple(
            (span.start, span.end) for span in sentence.spans if span.slot in differing
        ),
    )


def cloze_facts(clozes: Sequence[Cloze]) -> list[Any]:
    """Return all of the clozes that decides their scores."""
    return [
        (cloze.text, cloze.start, cloze.end, cloze.given, cloze.article, cloze.differing)
        for cloze in clozes
    ]


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
    chosen_scorer = choose_scorer(scorer, model.kind)
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
    queries = [TemplateQueries(template, words, directions) for template in templates.templates]
    entries, cached = cached_answers(
        model,
        [
            (query.facts(chosen_scorer, prior), partial(query.score, model, chosen_scorer, prior))
            for query in queries
        ],
        cache=cache,
        size=sum(map(len, queries[0].clozes.values())),
        progress=progress,
    )
    scores = {
        direction: Scores(
            direction=direction,
            templates=tuple(template.name for template in templates.templates),
            attributes=attributes,
            tasks=tasks,
            attribute_of=tuple(attribute_of.values()),
            task_of=tuple(task_of.values()),
            attribute_words=words.attributes,
            task_words=words.tasks,
            **_tables(direction, words, queries, entries),
            scorer=chosen_scorer.name,
            cached=cached,
            threads=max(entry.threads for entry in entries),
        )
        for direction in directions
    }
    if not chosen_scorer.scorer.whole_word:
        split = {word for table in scores.values() for word in table.pieces}
        warn_of_split(split, chosen_scorer.name)
    return scores


def _tables(
    direction: Direction,
    words: Words,
    queries: Sequence[TemplateQueries],
    entries: Sequence[CacheEntry],
) -> dict[str, Any]:
    """Return what the entries give in one direction, by the names of the fields of `Scores`."""
    tables: dict[str, Any] = {}
    for name in ("log_probability", "log_prior", "log_mass", "pieces"):
        rows = [entry.numbers.get(f"{direction} {name}") for entry in entries]
        if None in rows:
            tables[name] = None
            continue
        table = np.empty((len(queries), len(words.attributes) * len(words.tasks)))
        for number, row in enumerate(rows):
            # Back from the order of the text to that of the words.
            table[number, queries[number].order[direction]] = row
        tables[name] = table.reshape(len(queries), len(words.attributes), len(words.tasks))
    most = tables["pieces"].max(axis=(0, direction.given_axis))
    guessed = (words.attributes, words.tasks)[direction.axis]
    return tables | {
        "pieces": {word: int(n) for word, n in zip(guessed, most, strict=True) if n > 1},
        "articles": tuple(sorted(set().union(*(query.articles(direction) for query in queries)))),
        "one_word": all(query.one_word(direction) for query in queries),
    }
