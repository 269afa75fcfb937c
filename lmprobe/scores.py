"""Holds P(candidate) as (template, attribute, task), with the mass the candidates had.

`score_templates` fills in every sentence of a template set, asks the model for the masked
word, and files the answers template by template: an interrupted run goes on where it
stopped, and a run with another base rate asks the model nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.association import DIRECTIONS, Direction
from lmprobe.errors import InputError, did_you_mean
from lmprobe.models import cache as store
from lmprobe.models.blank import Blank, Encoded, Question
from lmprobe.models.masked import MaskedModel
from lmprobe.progress import Progress, silent
from lmprobe.scorers.scorer import Scorer, answer, scorers, warn_of_split
from lmprobe.tally import Floats
from lmprobe.templates import Template, TemplateSet

# Masked sentences that are run together before their templates are filed: enough for full
# batches of like length, few enough that little is lost when a run is interrupted.
_TOGETHER = 512


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """How probable the model finds each candidate, before and after renormalising."""

    direction: Direction
    templates: tuple[str, ...]
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    log_probability: Floats
    """(K, A, T): log P(word | sentence) of whole words, as the scorer gives it."""
    log_prior: Floats | None
    """(K, A, T): the same with the other word masked as well, where the prior was asked for."""
    pieces: Mapping[str, int]
    """Number of pieces of each candidate that the tokenizer splits."""
    scorer: str
    cached: bool
    """Whether every number came from the cache."""
    articles: tuple[str, ...] = ()
    """The different articles that templates write before the candidates, if they differ."""

    @property
    def prior(self) -> bool:
        """Whether probabilities are divided by the word's prior."""
        return self.log_prior is not None

    def probabilities(
        self, attributes: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> Floats:
        """Return P(candidate) among the candidates kept (K, A', T').

        Candidates are the attributes in task->attribute and the tasks in attribute->task;
        over them the numbers add up to one. With a prior, each is divided by it first.
        """
        kept = self._kept(attributes, tasks)
        value = self.log_probability[kept]
        if self.log_prior is not None:
            value = value - self.log_prior[kept]
        value = np.exp(value - value.max(axis=self._axis, keepdims=True))
        shares: Floats = value / value.sum(axis=self._axis, keepdims=True)
        return shares

    def candidate_mass(
        self, attributes: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> Floats:
        """Return the mean probability that all candidates together held, per template (K,).

        Little mass means that the model had other words in mind. Words of several pieces
        are asked for with as many masks, so mass is not bounded by one if words split.
        """
        held = np.exp(self.log_probability[self._kept(attributes, tasks)])
        mass: Floats = held.sum(axis=self._axis).mean(axis=1)
        return mass

    @property
    def _axis(self) -> int:
        return 1 if self.direction == "task->attribute" else 2

    def _kept(
        self, attributes: Sequence[str] | None, tasks: Sequence[str] | None
    ) -> tuple[np.ndarray, ...]:
        rows = _places(self.attributes, attributes, "attribute")
        columns = _places(self.tasks, tasks, "task")
        return np.ix_(range(len(self.templates)), rows, columns)


def score_templates(
    model: MaskedModel,
    templates: TemplateSet,
    direction: Direction,
    *,
    attributes: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    scorer: str = "word-l2r",
    prior: bool = False,
    cache: bool = True,
    progress: Progress = silent,
) -> Scores:
    """Return how probable the model finds each candidate in each sentence of a set.

    `attributes` and `tasks` choose among the set's words. `prior` divides by the word's
    probability when the other word is masked too (Kurita et al. 2019). `progress` counts
    the masked sentences that the model has to read.
    """
    if direction not in DIRECTIONS:
        raise InputError(f'no direction "{direction}"; {did_you_mean(direction, DIRECTIONS)}')
    attributes = tuple(templates.attributes if attributes is None else attributes)
    tasks = tuple(templates.tasks if tasks is None else tasks)
    if not attributes or not tasks:
        raise InputError("scoring needs at least one attribute and one task")
    pairs = [(attribute, task) for attribute in attributes for task in tasks]
    sheets = [_Sheet(template, direction, pairs) for template in templates.templates]
    found = scorers.get(scorer)()
    keys = [_key(model, sheet, scorer, prior) for sheet in sheets] if cache else []
    entries = {n: entry for n, key in enumerate(keys) if (entry := store.read(key)) is not None}
    missing = [number for number in range(len(sheets)) if number not in entries]
    for number, entry in _answers(model, sheets, missing, found, prior, progress):
        entries[number] = entry
        if cache:
            store.write(keys[number], entry)
    filed = [entries[number] for number in range(len(sheets))]
    shape = (len(attributes), len(tasks))
    pieces = _table(sheets, [entry.pieces for entry in filed], shape)
    result = Scores(
        direction=direction,
        templates=tuple(template.name for template in templates.templates),
        attributes=attributes,
        tasks=tasks,
        log_probability=_table(sheets, [entry.log_probability for entry in filed], shape),
        log_prior=_table(sheets, [entry.log_prior or () for entry in filed], shape)
        if prior
        else None,
        pieces=_split(pieces, direction, attributes, tasks),
        scorer=scorer,
        cached=not missing,
        articles=tuple(sorted(set().union(*(sheet.articles() for sheet in sheets)))),
    )
    if not found.whole_word:
        warn_of_split(result.pieces, scorer)
    return result


class _Sheet:
    """The blanks of one template in one direction, one per pair of words.

    They are asked and filed in the order of their text, so that the order in which words
    are listed is no reason to ask again.
    """

    def __init__(
        self, template: Template, direction: Direction, pairs: Sequence[tuple[str, str]]
    ) -> None:
        blanks = [_blank(template, direction, *pair) for pair in pairs]
        self.order = sorted(range(len(blanks)), key=lambda n: (blanks[n].text, blanks[n].start))
        self.blanks = [blanks[number] for number in self.order]

    def articles(self) -> set[str]:
        """Return the articles before the words to guess, if not all have the same."""
        found = {one.text[slice(*one.article)] for one in self.blanks if one.article}
        return found if len(found) > 1 else set()

    def both(self, prior: bool) -> list[Blank]:
        """Return the blanks and, for the prior, the same with the given word masked."""
        return self.blanks + [replace(one, hidden=one.given) for one in self.blanks if prior]


def _blank(template: Template, direction: Direction, attribute: str, task: str) -> Blank:
    sentence = template.sentence(attribute, task)
    group, work = sentence.attribute_span, sentence.task_span
    if direction == "task->attribute":
        return Blank(sentence.text, *group, given=(work,), article=sentence.attribute_article)
    return Blank(sentence.text, *work, given=(group,), article=sentence.task_article)


def _key(model: MaskedModel, sheet: _Sheet, scorer: str, prior: bool) -> str:
    return store.key_of(
        {
            "model": model.content_hash,
            "dtype": model.dtype,
            "device": model.device.split(":")[0],
            "scorer": scorer,
            "prior": prior,
            "blanks": [
                (one.text, one.start, one.end, one.given, one.article) for one in sheet.blanks
            ],
        }
    )


def _answers(
    model: MaskedModel,
    sheets: Sequence[_Sheet],
    missing: Sequence[int],
    scorer: Scorer,
    prior: bool,
    progress: Progress,
) -> Iterator[tuple[int, store.Entry]]:
    """Ask the model about the missing sheets; give each as soon as it is answered."""
    blanks = [sheets[number].both(prior) for number in missing]
    # All at once, so that one error can name every word that does not fit.
    encoded = iter(model.encode([blank for sheet in blanks for blank in sheet]))
    tokens = [[next(encoded) for _ in sheet] for sheet in blanks]
    asked = [[scorer.questions(sentence) for sentence in sheet] for sheet in tokens]
    groups = _grouped(asked)
    total = sum(count for _, count in groups)
    done = 0
    for members, count in groups:
        flat = [questions for member in members for questions in asked[member]]
        values = iter(answer(model, flat, progress=_shifted(progress, done, total)))
        done += count
        for member in members:
            sheet = [next(values) for _ in asked[member]]
            yield missing[member], _entry(model.name, sheet, tokens[member], prior)


def _grouped(
    asked: Sequence[Sequence[tuple[Question, ...]]],
) -> list[tuple[list[int], int]]:
    """Return runs of sheets to ask together, each with its number of different sentences."""
    groups: list[tuple[list[int], int]] = []
    members: list[int] = []
    sentences: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    for number, sheet in enumerate(asked):
        members.append(number)
        sentences |= {(one.ids, one.segments) for questions in sheet for one in questions}
        if len(sentences) >= _TOGETHER or number == len(asked) - 1:
            groups.append((members, len(sentences)))
            members, sentences = [], set()
    return groups


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _: progress(before + done, total)


def _entry(
    name: str, values: Sequence[float], tokens: Sequence[Encoded], prior: bool
) -> store.Entry:
    count = len(values) // 2 if prior else len(values)
    return store.Entry(
        model=name,
        log_probability=tuple(map(float, values[:count])),
        log_prior=tuple(map(float, values[count:])) if prior else None,
        pieces=tuple(len(sentence.pieces) for sentence in tokens[:count]),
    )


def _table(
    sheets: Sequence[_Sheet], rows: Sequence[Sequence[float]], shape: tuple[int, int]
) -> Floats:
    """Return the filed numbers in the order of the words (K, A, T)."""
    table = np.empty((len(sheets), shape[0] * shape[1]))
    for number, (sheet, row) in enumerate(zip(sheets, rows, strict=True)):
        table[number, sheet.order] = row
    return table.reshape(len(sheets), *shape)


def _split(
    pieces: Floats, direction: Direction, attributes: Sequence[str], tasks: Sequence[str]
) -> dict[str, int]:
    """Return the number of pieces of each candidate that has more than one in some sentence."""
    guesses_group = direction == "task->attribute"
    most = pieces.max(axis=(0, 2) if guesses_group else (0, 1))
    words = attributes if guesses_group else tasks
    return {word: int(count) for word, count in zip(words, most, strict=True) if count > 1}


def _places(known: Sequence[str], wanted: Sequence[str] | None, what: str) -> list[int]:
    if wanted is None:
        return list(range(len(known)))
    for name in wanted:
        if name not in known:
            raise InputError(f'{what} "{name}" was not scored; {did_you_mean(name, known)}')
    return [known.index(name) for name in wanted]
