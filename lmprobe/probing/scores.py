"""Scores of the candidates of every template, as tables (template, attribute, task)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import Argument, InputError, did_you_mean
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats, ratio
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.metrics.directional import defined_mean
from lmprobe.models.cache import CacheEntry, Computation, cached_answers
from lmprobe.models.kind import kinds
from lmprobe.models.kinds.recorded import COUNT, RecordedModel
from lmprobe.models.language_model import LanguageModel
from lmprobe.models.scorers import AUTO, choose_scorer, warn_of_split
from lmprobe.probing.questions import (
    CANDIDATES,
    PERPLEXITY,
    RANDOM,
    Chunk,
    Words,
    chunks,
    item_chunks,
)
from lmprobe.results import Note, NoteKind
from lmprobe.results.format import format_percent
from lmprobe.stats.items import Items
from lmprobe.templates import AnySet
from lmprobe.templates.items import ItemTable, missing_notes

LEAST_RATIO = 2.0
"""Below this the candidates are not expected more than random words.

Random checkpoints of ten masked and seven causal architectures, five seeds each, both
directions: with initial weights of 0.02 none of 170 ratios exceeded 1.3, with 0.1 one exceeded
2 (2.76). Trained models have hundreds and more.
"""

TINY_MASS = 1e-3
"""With less, the candidates for a blank of one word are answers that a model hardly ever gives."""

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
    """How many times as probable as random tokens the first tokens of the candidates are."""
    perplexity: float | None = None
    """The perplexity per word of a sample of the sentences; the same in every direction."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """What the model read before the sentences, for each turn of a chat."""
    threads: int = 1
    """How many threads the answers were computed with, the most of any template."""
    layout: ItemTable | None = None
    """The items behind the columns, where the table of tasks has no words."""
    notes: tuple[Note, ...] = ()
    """What to know of answers that were recorded or served, and what is left out."""

    @property
    def recorded(self) -> bool:
        """Whether the answers come from a table, and not from a model that was asked."""
        return self.layout is not None and not self.layout.finished

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
        by_attribute = self._shares(rows, columns)
        shares = _grouped(by_attribute, columns, axis=-1, mean=self.direction.axis == -2)
        if np.isnan(shares).any():
            names = self.tasks if tasks is None else tasks
            task = names[int(np.flatnonzero(np.isnan(shares).any(axis=(0, 1)))[0])]
            raise InputError(
                f'a template has no answer for the task "{task}" and these attributes; leave it '
                "out (",
                Argument("tasks"),
                ")",
            )
        return shares

    def _shares(self, rows: _Members, columns: _Members) -> Floats:
        """Return P(candidate) of each attribute and each word of the tasks (K, A, T')."""
        axis = self.direction.axis
        value = self._log_value(rows, columns)
        value = np.exp(value - value.max(axis=axis, keepdims=True))
        shares: Floats = value / value.sum(axis=axis, keepdims=True)
        return _grouped(shares, rows, axis=-2, mean=axis == -1)

    def log_table(self, attributes: Sequence[str], tasks: Sequence[str]) -> Floats:
        """Return the logarithms of `probabilities`, but for a constant per condition, (K, A, T).

        Finite where a probability is too small for a number, unless groups have several words.
        """
        rows, columns = self._members(attributes, tasks)
        items = self.items(attributes, tasks)
        if items is not None:
            return items.logarithms(self.probabilities(attributes, tasks))
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
        # A template may lack an item; that recorded answers have no mass is not to be hidden.
        sums = probability.sum(axis=self.direction.axis)
        return np.asarray(sums.mean(axis=1) if self.recorded else defined_mean(sums, axis=1))

    def items(self, attributes: Sequence[str], tasks: Sequence[str]) -> Items | None:
        """Return the items behind the cells, where they are a sample or a count is zero."""
        if self.layout is None:
            return None
        items = self.all_items(attributes, tasks)
        if self.scorer == COUNT and self.recorded:
            counts = np.exp(self._log_value(*self._members(attributes, tasks)))
            items = replace(items, texts=np.nansum(counts, axis=1))
        # The words of a task that is guessed are all there are.
        sampled = (items.varied and (items.clustered or not items.summed)) or not items.framed
        zeros = self.recorded and (items.shares == 0).any()
        return items if sampled or items.texts is not None or zeros else None

    def all_items(
        self, attributes: Sequence[str], tasks: Sequence[str], *, logs: bool = False
    ) -> Items:
        """Return the items of some tasks: shares, or the logarithms of the candidates."""
        assert self.layout is not None
        rows, columns = self._members(attributes, tasks)
        flat = [place for own in columns for place in own]
        layout, names = self.layout, self.layout.clusters
        unit = np.unique(names, return_inverse=True)[1] if names else np.arange(len(self.task_of))
        return Items(
            shares=(self._log_value if logs else self._shares)(rows, columns),
            task=np.repeat(np.arange(len(columns)), [len(own) for own in columns]),
            unit=unit[flat].astype(np.int64),
            texts=None,
            key=sha256(repr((layout.task_of, layout.items, names)).encode()).hexdigest()[:16],
            summed=self.direction.axis == -1,
            clustered=bool(names),
            framed=layout.framed,
        )

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


def is_informed(scores: Scores, min_mass: float | None) -> bool:
    """Tell whether the candidates have enough probability for their shares to mean anything.

    With `min_mass` that is their mean mass; else they must have twice that of random words.
    """
    if min_mass is not None:
        # Recorded answers have no mass, and it forbids nothing.
        return not scores.candidate_mass().mean() < min_mass
    return scores.mass_ratio is None or scores.mass_ratio >= LEAST_RATIO


def tiny_mass_notes(scores: Scores) -> tuple[Note, ...]:
    """Return the warning that the model expects other words than the candidates, if it does.

    Where candidates differ in several words, their mass is small by nature.
    """
    mass = float(scores.candidate_mass().mean())
    if not scores.one_word or mass >= TINY_MASS:
        return ()
    text = (
        f"the candidates together have {format_percent(mass)} of the probability: the model "
        "expects other words, so the value is about answers that it hardly ever gives"
    )
    return (Note(NoteKind.MASS, text),)


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
    defined = ~np.isnan(table)
    if not defined.all():
        # A template may lack an item, which then counts nothing.
        totals: Floats = np.add.reduceat(np.where(defined, table, 0.0), starts, axis=axis)
        number = np.add.reduceat(defined, starts, axis=axis, dtype=np.float64)
        return ratio(totals, number if mean else np.minimum(number, 1.0))
    totals = np.add.reduceat(table, starts, axis=axis)
    shape = [1, 1, 1]
    shape[axis] = len(sizes)
    return totals / np.reshape(sizes, shape) if mean else totals


def score_templates(
    model: LanguageModel,
    templates: AnySet,
    direction: Direction | str,
    **options: Any,
) -> Scores:
    """Return how probable the model finds each candidate, in one direction alone.

    The options are those of `score_directions`.
    """
    wanted = Direction.parse(direction)
    return score_directions(model, templates, (wanted,), **options)[wanted]


def score_directions(
    model: LanguageModel,
    templates: AnySet,
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
    if isinstance(templates, ItemTable) and not templates.finished:
        return _recorded(model, templates.with_words(attributes, tasks), directions, scorer, prior)
    chosen_scorer = choose_scorer(scorer, model.kind)
    if prior and not kinds.get(model.kind).masks:
        raise InputError(f"a prior needs a masked model, and {model.name} is {model.kind}")
    attributes = tuple(templates.attributes if attributes is None else attributes)
    tasks = tuple(templates.tasks if tasks is None else tasks)
    if not attributes or not tasks:
        raise InputError("scoring needs at least one attribute and one task")
    prompts = _prompts(model, templates)
    left_out: tuple[Note, ...] = ()
    if isinstance(templates, ItemTable):
        items = templates.with_words(attributes, tasks)
        left_out = _item_notes(items, directions, prior=prior)
        directions = (Direction.TASK_TO_ATTRIBUTE,)
        requests = item_chunks(items, model.kind, prompts)
        tables = partial(_item_tables, items, requests)
    else:
        # The label of every word, in the order of the labels.
        labels = (attributes, templates.attribute_words), (tasks, templates.task_words)
        who, what = ({word: own for own in names for word in words[own]} for names, words in labels)
        # In alphabetical order: the order in which words are listed is no reason to ask again.
        ordered = Words(tuple(sorted(who)), tuple(sorted(what)))
        requests = chunks(templates, ordered, directions, model.kind, prompts)
        tables = partial(_word_tables, who, what, ordered)
    entries, cached = cached_answers(
        model,
        [
            Computation(
                chunk.facts(model.kind, chosen_scorer, prior),
                partial(chunk.score, model, chosen_scorer, prior),
                chunk.size,
            )
            for chunk in requests
        ],
        cache=cache,
        progress=progress,
    )
    numbers = _joined(entries)
    ratios = {
        way: _ratio(numbers[f"{way} {CANDIDATES}"], numbers[f"{way} {RANDOM}"])
        for way in directions
    }
    notes = (*kinds.get(model.kind).caveats, *left_out)
    if kinds.get(model.kind).caveats and None in ratios.values():
        text = "the model gave no random words to compare with: whether it is informed is not known"
        notes = (*notes, Note(NoteKind.DATA, text))
    sampled_words = sum(chunk.sampled_words for chunk in requests)
    scores = {
        direction: Scores(
            direction=direction,
            templates=templates.template_names,
            attributes=attributes,
            tasks=tasks,
            **tables(direction, numbers),
            articles=tuple(sorted(set().union(*(chunk.articles(direction) for chunk in requests)))),
            one_word=all(chunk.one_word(direction) for chunk in requests),
            scorer=chosen_scorer.name,
            cached=cached,
            prompts=prompts,
            threads=max(entry.threads for entry in entries),
            mass_ratio=ratios[direction],
            notes=notes,
            perplexity=float(np.exp(-numbers[PERPLEXITY].sum() / sampled_words)),
        )
        for direction in directions
    }
    if not chosen_scorer.scorer.whole_word:
        split = {word for table in scores.values() for word in table.pieces}
        warn_of_split(split, chosen_scorer.name)
    return scores


def _prompts(model: LanguageModel, templates: AnySet) -> dict[str, str]:
    """Return what the model reads before the sentences, for each turn of a chat."""
    turns = list(dict.fromkeys(templates.turns))
    write = getattr(model, "chat_prompt", None)
    if turns and write is None:
        raise InputError(
            f"{model.name} is a {model.kind} model, and turns of a chat (",
            Argument("chat"),
            ", or `chat` of a template set) are for causal models that have a chat template; "
            "leave them out, or choose another template set",
        )
    return {turn: write(turn, templates.system) for turn in turns} if write else {}


def _recorded(
    model: LanguageModel,
    answers: ItemTable,
    directions: Sequence[Direction],
    scorer: str,
    prior: bool,
) -> dict[Direction, Scores]:
    """Return the answers of a table as the scores of the directions that it can tell."""
    if not isinstance(model, RecordedModel):
        raise InputError(f"{model.name} is a model, and {answers.name} is a table of answers")
    for name, wrong in (("scorer", scorer != AUTO), ("prior", prior)):
        if wrong:
            raise InputError(Argument(name), f" is for models; {model.name} was scored elsewhere")
    logs = model.logarithms(answers)
    able, _ = model.directions(answers, tuple(directions))
    return {
        direction: Scores(
            direction=direction,
            templates=answers.template_names,
            attributes=answers.attributes,
            tasks=answers.tasks,
            log_probability=logs,
            log_prior=None,
            pieces={},
            scorer=model.values,
            cached=False,
            log_mass=np.full(logs.shape, np.log(model.mass / len(answers.attributes))),
            task_of=answers.task_of,
            task_words=answers.items,
            threads=model.threads,
            layout=answers,
            notes=model.notes(answers, tuple(directions)),
        )
        for direction in able
    }


def _joined(entries: Sequence[CacheEntry]) -> dict[str, Floats]:
    """Return the numbers of all chunks, one after the other."""
    return {
        name: np.concatenate([entry.numbers[name] for entry in entries])
        for name in entries[0].numbers
    }


def _word_tables(
    attribute_of: Mapping[str, str],
    task_of: Mapping[str, str],
    ordered: Words,
    direction: Direction,
    numbers: Mapping[str, Floats],
) -> dict[str, Any]:
    """Return the tables of one direction, words in the order of their labels, by field."""
    who, what = tuple(attribute_of), tuple(task_of)
    rows = [ordered.attributes.index(word) for word in who]
    columns = [ordered.tasks.index(word) for word in what]
    tables: dict[str, Any] = {}
    for name in ("log_probability", "log_prior", "log_mass", "pieces"):
        flat = numbers.get(f"{direction} {name}")
        if flat is not None:
            table = flat.reshape(-1, len(rows), len(columns))
            flat = np.ascontiguousarray(table[:, rows][:, :, columns])
        tables[name] = flat
    most = tables["pieces"].max(axis=(0, direction.given_axis))
    return tables | {
        "pieces": _split(zip((who, what)[direction.axis], most, strict=True)),
        "attribute_of": tuple(attribute_of.values()),
        "task_of": tuple(task_of.values()),
        "attribute_words": who,
        "task_words": what,
    }


def _item_notes(
    items: ItemTable, directions: Sequence[Direction], *, prior: bool
) -> tuple[Note, ...]:
    """Return what is left out of what was asked of items, or raise if that is all."""
    why = "the sentences of an item compare groups, and not tasks"
    if Direction.TASK_TO_ATTRIBUTE not in directions:
        raise InputError(f"{items.source} cannot answer {Direction.ATTRIBUTE_TO_TASK}: {why}")
    if prior:
        raise InputError(
            Argument("prior"), f" hides the word of the task, and a sentence of {items.source} has "
            "none; use a template set, or leave it out",
        )  # fmt: skip
    text = f"{Direction.ATTRIBUTE_TO_TASK} is left out: {why}"
    left_out = (Note(NoteKind.LEFT_OUT, text),) if len(directions) > 1 else ()
    return (*left_out, *missing_notes(items))


def _item_tables(
    items: ItemTable,
    requests: Sequence[Chunk],
    direction: Direction,
    numbers: Mapping[str, Floats],
) -> dict[str, Any]:
    """Return the tables (K, A, N) of the items, by field; NaN where a template lacks an item."""
    templates, places = np.array(items.rows).T
    tables: dict[str, Any] = {"log_prior": None, "log_mass": None}
    for name in ("log_probability", "log_mass"):
        if (flat := numbers.get(f"{direction} {name}")) is not None:
            table = np.full(items.cells.shape, np.nan)
            table[templates, :, places] = flat.reshape(len(places), -1)
            tables[name] = table
    clozes = (cloze.word for chunk in requests for cloze in chunk.clozes[direction])
    pieces = _split(zip(clozes, numbers[f"{direction} pieces"], strict=True))
    return tables | {
        "pieces": pieces,
        "task_of": items.task_of,
        "task_words": items.items,
        "layout": items,
    }


def _split(pieces: Iterable[tuple[str, float]]) -> dict[str, int]:
    """Return the words of several pieces, with their largest number."""
    most: dict[str, int] = {}
    for word, number in pieces:
        if number > 1:
            most[word] = max(int(number), most.get(word, 0))
    return most


def _ratio(candidates: Floats, random: Floats) -> float | None:
    """Return how many times as probable the candidates are as the random words, if any."""
    return None if not len(random) else float(np.exp(candidates).mean() / np.exp(random).mean())
