"""All that is asked about one template: its candidates in each direction, and the answers.

A sheet is what the cache files as one entry. It is asked by itself, never in one batch with
another, so that its answers do not depend on which others were already known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lmprobe.io.work import Progress
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction
from lmprobe.models import cache as store
from lmprobe.models.language_model import Cloze, LanguageModel, TokenQuery
from lmprobe.models.scorers import ChosenScorer, mass_queries, sums
from lmprobe.templates import Sentence, Template, differing_slots

SEED = 0
"""Of the samples that say how good a model is: they belong to the model, not to the run."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the attributes and of the tasks that a sheet asks about."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]


def model_facts(model: LanguageModel) -> dict[str, str]:
    """Return all of a model that decides its answers."""
    return {
        "model": model.content_hash,
        "kind": model.kind,
        "dtype": model.dtype,
        "device": model.device.split(":")[0],
    }


class Sheet:
    """The clozes of one template, one per direction and pair of words.

    They are asked and filed in the order of their text, so that the order in which words
    are listed is no reason to ask again.
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
            clozes = _clozes(sentences, words, direction)
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

    def key(self, model: LanguageModel, scorer: ChosenScorer, prior: bool) -> str:
        """Return the name of the cache entry with the answers of a model."""
        return store.key_of(
            {
                **model_facts(model),
                "scorer": (scorer.name, scorer.identity),
                "prior": prior,
                "clozes": {name: described(clozes) for name, clozes in self.clozes.items()},
            }
        )

    def cloze(self, direction: Direction, attribute: int, task: int) -> Cloze:
        """Return the cloze of the words at these places."""
        place = attribute * self._tasks + task
        return self.clozes[direction][self.order[direction].index(place)]

    def ask(
        self, model: LanguageModel, scorer: ChosenScorer, prior: bool, progress: Progress
    ) -> store.Entry:
        """Ask the model everything at once: each distinct sentence is run once."""
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
                groups[f"{direction} log_mass"] = [asked.added for asked in mass]
                groups[f"{direction} subtracted"] = [asked.subtracted for asked in mass]
        flat = iter(sums(model, [one for group in groups.values() for one in group],
                         progress=progress).tolist())  # fmt: skip
        numbers |= {name: tuple(next(flat) for _ in group) for name, group in groups.items()}
        for direction in self.clozes:
            if less := numbers.pop(f"{direction} subtracted", None):
                whole = f"{direction} log_mass"
                numbers[whole] = tuple(a - b for a, b in zip(numbers[whole], less, strict=True))
        return store.Entry(model.name, numbers, model.threads)


def described(clozes: Sequence[Cloze]) -> list[Any]:
    """Return all that decides the answers to the clozes."""
    return [
        (cloze.text, cloze.start, cloze.end, cloze.given, cloze.article, cloze.differing)
        for cloze in clozes
    ]


def sampled(count: int, most: int) -> list[int]:
    """Return at most so many of the numbers below `count`, in order, drawn with a fixed seed."""
    rng = np.random.default_rng(SEED)
    return sorted(rng.choice(count, min(count, most), replace=False).tolist())


def answers(
    model: LanguageModel, facts: Mapping[str, Any], compute: Callable[[], Floats], *, cache: bool
) -> tuple[float, ...]:
    """Return the numbers that `compute` gives, from the cache if they are there.

    With the model, `facts` are all that decides them.
    """
    key = store.key_of({**model_facts(model), **facts})
    entry = store.read(key) if cache else None
    if entry is None:
        entry = store.Entry(model.name, {"numbers": tuple(compute().tolist())}, model.threads)
        if cache:
            store.write(key, entry)
            model.remember()
    (numbers,) = entry.numbers.values()
    return numbers


def _without_given(cloze: Cloze) -> Cloze:
    """Return the cloze with the given word hidden, unless it is guessed as well."""
    hidden = [
        (start, end)
        for start, end in cloze.given
        if not any(left < end and start < right for left, right in cloze.differing)
    ]
    return replace(cloze, hidden=tuple(hidden))


def _clozes(
    sentences: Mapping[tuple[str, str], Sentence], words: Words, direction: Direction
) -> list[Cloze]:
    """Return one cloze per pair of words, tasks fastest."""
    if direction is Direction.TASK_TO_ATTRIBUTE:
        blanks = [[(other, given) for other in words.attributes] for given in words.tasks]
    else:
        blanks = [[(given, other) for other in words.tasks] for given in words.attributes]
    differing: dict[tuple[str, str], tuple[str, ...]] = {}
    for pairs in blanks:
        slots = differing_slots([sentences[pair] for pair in pairs])
        differing |= dict.fromkeys(pairs, slots)
    return [_cloze(sentence, direction, differing[pair]) for pair, sentence in sentences.items()]


def _cloze(sentence: Sentence, direction: Direction, differing: Sequence[str]) -> Cloze:
    spans = [sentence.attribute_span, sentence.task_span]
    articles = [sentence.attribute_article, sentence.task_article]
    if direction is not Direction.TASK_TO_ATTRIBUTE:
        spans.reverse()
        articles.reverse()
    return Cloze(
        sentence.text,
        *spans[0],
        given=(spans[1],),
        article=articles[0],
        differing=tuple((one.start, one.end) for one in sentence.spans if one.slot in differing),
    )
