"""All that is asked about one template: its candidates in each direction, and the answers.

A sheet is what the cache files as one entry. It is asked by itself, never in one batch with
another, so that its answers do not depend on which others were already known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmprobe.core.direction import Direction
from lmprobe.io.progress import Progress
from lmprobe.models import cache as store
from lmprobe.models.cloze import Cloze, EncodedCloze, TokenQuery
from lmprobe.models.language_model import LanguageModel
from lmprobe.scorers.mass import MassQueries, mass_queries
from lmprobe.scorers.scorer import ChosenScorer, sums
from lmprobe.templates import Sentence, Template, differing_slots


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
        found = {one.text[slice(*one.article)] for one in self.clozes[direction] if one.article}
        return found if len(found) > 1 else set()

    def key(self, model: LanguageModel, scorer: ChosenScorer, prior: bool) -> str:
        """Return the name of the cache entry with the answers of a model."""
        return store.key_of(
            {
                **model_facts(model),
                "scorer": (scorer.name, scorer.identity),
                "prior": prior,
                "clozes": {
                    direction: described(clozes) for direction, clozes in self.clozes.items()
                },
            }
        )

    def cloze(self, direction: Direction, attribute: int, task: int) -> Cloze:
        """Return the cloze of the words at these places."""
        place = attribute * self._tasks + task
        return self.clozes[direction][self.order[direction].index(place)]

    def sizes(self, scorer: ChosenScorer, prior: bool) -> dict[str, int]:
        """Return the names of the lists of numbers in an entry, and how long each is."""
        lists = ["log_probability", "pieces"]
        lists += ["log_prior"] if prior else []
        lists += ["log_mass"] if scorer.scorer.whole_sentence else []
        return {
            f"{direction} {name}": len(clozes)
            for direction, clozes in self.clozes.items()
            for name in lists
        }

    def ask(
        self, model: LanguageModel, scorer: ChosenScorer, prior: bool, progress: Progress
    ) -> store.Entry:
        """Ask the model everything at once: no sentence is run twice, whoever needs it."""
        groups: dict[str, list[Sequence[TokenQuery]]] = {}
        pieces: dict[str, tuple[float, ...]] = {}
        for direction, clozes in self.clozes.items():
            encoded = model.encode(clozes)
            pieces[f"{direction} pieces"] = tuple(len(one.pieces) for one in encoded)
            queries = [scorer.scorer.queries(one) for one in encoded]
            groups[f"{direction} log_probability"] = list(queries)
            if prior:
                hidden = model.encode([_without_given(one) for one in clozes])
                groups[f"{direction} log_prior"] = [scorer.scorer.queries(one) for one in hidden]
            if scorer.scorer.whole_sentence:
                mass = _mass(encoded, model)
                groups[f"{direction} log_mass"] = [one.added for one in mass]
                groups[f"{direction} subtracted"] = [one.subtracted for one in mass]
        flat = iter(sums(model, [one for group in groups.values() for one in group],
                         progress=progress).tolist())  # fmt: skip
        numbers = {name: tuple(next(flat) for _ in group) for name, group in groups.items()}
        return store.Entry(model.name, {**_subtracted(numbers), **pieces}, model.threads)


def described(clozes: Sequence[Cloze]) -> list[Any]:
    """Return all that decides the answers to the clozes."""
    return [(one.text, one.start, one.end, one.given, one.article, one.differing) for one in clozes]


def _without_given(cloze: Cloze) -> Cloze:
    """Return the cloze with the given word hidden, unless it is guessed as well."""
    guessed = cloze.differing
    hidden = [
        (start, end)
        for start, end in cloze.given
        if not any(left < end and start < right for left, right in guessed)
    ]
    return replace(cloze, hidden=tuple(hidden))


def _mass(encoded: Sequence[EncodedCloze], model: LanguageModel) -> list[MassQueries]:
    return [mass_queries(sentence, model.kind) for sentence in encoded]


def _subtracted(numbers: Mapping[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    """Return the numbers with what is subtracted from the mass taken off it."""
    result = dict(numbers)
    for name in numbers:
        direction, _, what = name.partition(" ")
        if what == "subtracted":
            mass = f"{direction} log_mass"
            result[mass] = tuple(
                added - less for added, less in zip(numbers[mass], result.pop(name), strict=True)
            )
    return result


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
