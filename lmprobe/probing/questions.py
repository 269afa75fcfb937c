"""What a model is asked: the clozes of the templates and control questions, in chunks.

A chunk is some templates in a row with everything that is asked about them. It is scored at once
and is one entry of the cache, so its batches are full, and its answers depend neither on the batch
size nor on what else the cache has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.io.work import Progress
from lmprobe.metrics.direction import Direction
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import (
    Cloze,
    EncodedCloze,
    LanguageModel,
    TokenQuery,
)
from lmprobe.models.scorers import ChosenScorer, choose_scorer, mass_queries, sums
from lmprobe.templates import Sentence, TemplateSet, differing_slots
from lmprobe.templates.differences import differences
from lmprobe.templates.items import ItemTable
from lmprobe.templates.template import UNSPACED

_SEED = 0
"""Of the samples that say how good a model is: they belong to the model, not to the run."""

# Conditions (a template and a given word) with random tokens, and in each of them the most
# candidates and about the number of random tokens.
_CONDITIONS = 8
_CANDIDATES = 32

# Sentences for the perplexity. A causal model has read them all. A masked one reads one more
# sequence for each of their words, so they are few: about one in 200, from 3 to 6.
_SENTENCES = 64
_SENTENCES_MASKED = range(3, 7)
_ONE_IN = 200

# In scripts without spaces every character counts as a word.
_WORD = re.compile(f"[{UNSPACED}]|[^\\W{UNSPACED}]+")

# Names of the numbers of a chunk, after the direction: log-probabilities of the first tokens of
# candidates and of random tokens in the same places; and log-likelihoods of sampled sentences.
CANDIDATES, RANDOM, PERPLEXITY = "candidates", "random words", "perplexity"


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the attributes and of the tasks that a template is filled with."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """The clozes of some templates, or rows of items, and the control questions about them."""

    templates: int
    """How many templates or rows there are."""
    clozes: Mapping[Direction, Sequence[Cloze]]
    """Of every template, attribute and task, tasks fastest; the same pairs in each direction. Of
    items, every row and attribute."""
    conditions: Mapping[Direction, Sequence[Sequence[int]]]
    """Candidates of a blank beside which random words are asked for: numbers of clozes."""
    sentences: Sequence[int]
    """The clozes whose sentences the perplexity is about."""

    @property
    def size(self) -> int:
        """The number of clozes of all directions."""
        return sum(map(len, self.clozes.values()))

    @property
    def sampled_words(self) -> int:
        """The number of words of the sentences that the perplexity is about."""
        clozes = next(iter(self.clozes.values()))
        return sum(count_words(clozes[number].text) for number in self.sentences)

    def articles(self, direction: Direction) -> set[str]:
        """Return the articles before the words to guess, of templates that have several."""
        clozes = self.clozes[direction]
        size = len(clozes) // self.templates
        several: set[str] = set()
        for first in range(0, len(clozes), size):
            part = clozes[first : first + size]
            articles = {cloze.text[slice(*cloze.article)] for cloze in part if cloze.article}
            several |= articles if len(articles) > 1 else set()
        return several

    def one_word(self, direction: Direction) -> bool:
        """Tell whether the candidates differ in one word and nothing else."""
        return all(
            len(cloze.differing) == 1 and " " not in cloze.text[slice(*cloze.differing[0])]
            for cloze in self.clozes[direction]
        )

    def facts(self, kind: str, scorer: ChosenScorer, prior: bool) -> dict[str, Any]:
        """Return all that decides the numbers, besides the model, which is of that kind."""
        return {
            "scorer": (scorer.name, scorer.identity),
            "prior": prior,
            "clozes": {
                name: [
                    (
                        cloze.text,
                        cloze.start,
                        cloze.end,
                        cloze.given,
                        cloze.article,
                        cloze.differing,
                        *([cloze.prompt] if cloze.prompt else ()),
                        *([cloze.candidates] if cloze.candidates else ()),
                    )
                    for cloze in clozes
                ]
                for name, clozes in self.clozes.items()
            },
            "random words": (_SEED, _CANDIDATES, self.conditions),
            "perplexity": (self.sentences, _sentence_scorer(kind).identity),
        }

    def score(
        self, model: LanguageModel, scorer: ChosenScorer, prior: bool, progress: Progress
    ) -> dict[str, tuple[float, ...]]:
        """Run the model on everything at once: each distinct sequence is run once.

        The numbers are named by direction and quantity.
        """
        groups: dict[str, Sequence[Sequence[TokenQuery]]] = {}
        numbers: dict[str, tuple[float, ...]] = {}
        encoded = self._encoded(model)
        for direction, sentences in encoded.items():
            numbers[f"{direction} pieces"] = tuple(len(cloze.pieces) for cloze in sentences)
            scored = scorer.queries(sentences)
            groups[f"{direction} log_probability"] = scored
            if prior:
                hidden = model.encode([_without_given(cloze) for cloze in self.clozes[direction]])
                groups[f"{direction} log_prior"] = scorer.queries(hidden)
            if scorer.scorer.whole_sentence:
                mass = [mass_queries(cloze, model.kind) for cloze in sentences]
                groups[f"{direction} log_mass"] = scored = [query.added for query in mass]
                groups[f"{direction} subtracted"] = [query.subtracted for query in mass]
            conditions = [
                [_first_query(sentences[n], scored[n], model.kind) for n in condition]
                for condition in self.conditions[direction]
            ]
            random = [_with_random_tokens(model, queries) for queries in conditions]
            groups[f"{direction} {CANDIDATES}"] = [(query,) for query in chain(*conditions)]
            groups[f"{direction} {RANDOM}"] = [(query,) for query in chain(*random)]
        clozes = next(iter(encoded.values()))
        sampled = [clozes[number] for number in self.sentences]
        groups[PERPLEXITY] = _sentence_scorer(model.kind).queries(sampled)
        flat = [group for several in groups.values() for group in several]
        totals = iter(sums(model, flat, progress=progress).tolist())
        numbers |= {name: tuple(next(totals) for _ in group) for name, group in groups.items()}
        for direction in self.clozes:
            if less := numbers.pop(f"{direction} subtracted", None):
                whole_mass = numbers[f"{direction} log_mass"]
                numbers[f"{direction} log_mass"] = tuple(
                    a - b for a, b in zip(whole_mass, less, strict=True)
                )
        return numbers

    def _encoded(self, model: LanguageModel) -> dict[Direction, list[EncodedCloze]]:
        """Return the tokens of the clozes; a sentence of both directions is tokenized once."""
        encoded = iter(model.encode([cloze for clozes in self.clozes.values() for cloze in clozes]))
        return {
            direction: [next(encoded) for _ in clozes] for direction, clozes in self.clozes.items()
        }


def chunks(
    templates: TemplateSet,
    words: Words,
    directions: Sequence[Direction],
    kind: str,
    prompts: Mapping[str, str],
) -> list[Chunk]:
    """Return everything that a model of that kind is asked about the words in the templates.

    `prompts` has what the model reads before the sentences, for each turn of a chat.
    """
    shape = len(templates.templates), len(words.attributes), len(words.tasks)
    pairs = shape[1] * shape[2]
    number = min(shape[0], -(-shape[0] * pairs // kinds.get(kind).chunk_sentences))
    sampled = _sampled(shape[0] * pairs, _sample_size(shape[0] * pairs, kind))
    conditions = {direction: _conditions(shape, direction) for direction in directions}
    made = []
    for rows in np.array_split(np.arange(shape[0]), number):
        first, end = int(rows[0]) * pairs, (int(rows[-1]) + 1) * pairs
        members = [templates.templates[row] for row in rows]
        filled = [
            (each.sentences(words.attributes, words.tasks), prompts.get(each.turn, ""))
            for each in members
        ]
        made.append(
            Chunk(
                len(rows),
                {
                    direction: [cloze for each in filled for cloze in _clozes(*each, direction)]
                    for direction in directions
                },
                {
                    direction: [
                        [place - first for place in condition]
                        for condition in places
                        if first <= condition[0] < end
                    ]
                    for direction, places in conditions.items()
                },
                [place - first for place in sampled if first <= place < end],
            )
        )
    return made


def item_chunks(items: ItemTable, kind: str, prompts: Mapping[str, str]) -> list[Chunk]:
    """Return everything that a model of that kind is asked about the rows of an item table."""
    rows, attributes = items.rows, len(items.attributes)
    turns = items.turns or ("",) * len(items.template_names)
    direction = Direction.TASK_TO_ATTRIBUTE
    sampled = _sampled(len(rows) * attributes, _sample_size(len(rows) * attributes, kind))
    candidates, conditions = _sampled(attributes, _CANDIDATES), _sampled(len(rows), _CONDITIONS)
    made = []
    each = max(1, kinds.get(kind).chunk_sentences // attributes)
    for begin in range(0, len(rows), each):
        part = rows[begin : begin + each]
        first, end = begin * attributes, (begin + len(part)) * attributes
        made.append(
            Chunk(
                len(part),
                {
                    direction: [
                        cloze
                        for k, n in part
                        for cloze in _item_clozes(items.cells[k, :, n].tolist(), prompts, turns[k])
                    ]
                },
                {
                    direction: [
                        [row * attributes + place - first for place in candidates]
                        for row in conditions
                        if begin <= row < begin + len(part)
                    ]
                },
                [place - first for place in sampled if first <= place < end],
            )
        )
    return made


def _item_clozes(sentences: list[str], prompts: Mapping[str, str], turn: str) -> list[Cloze]:
    """Return one cloze per candidate; the first difference is the word to guess."""
    return [
        Cloze(
            text,
            *spans[0],
            differing=spans,
            prompt=prompts.get(turn, ""),
            candidates=tuple(sentences),
        )
        for text, spans in zip(sentences, differences(sentences), strict=True)
    ]


def _clozes(
    sentences: Mapping[tuple[str, str], Sentence], prompt: str, direction: Direction
) -> list[Cloze]:
    """Return one cloze per pair of words, tasks fastest."""
    blanks: dict[str, list[tuple[str, str]]] = {}
    for pair in sentences:
        blanks.setdefault(pair[direction.given_axis], []).append(pair)
    differing: dict[tuple[str, str], tuple[str, ...]] = {}
    for pairs in blanks.values():
        slots = differing_slots([sentences[pair] for pair in pairs])
        differing |= dict.fromkeys(pairs, slots)
    return [
        _cloze(sentence, prompt, direction, differing[pair]) for pair, sentence in sentences.items()
    ]


def _cloze(
    sentence: Sentence, prompt: str, direction: Direction, differing: Sequence[str]
) -> Cloze:
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
        prompt=prompt,
    )


def _without_given(cloze: Cloze) -> Cloze:
    """Return the cloze with the given word hidden, unless it is guessed as well."""
    hidden = [
        (start, end)
        for start, end in cloze.given
        if not any(left < end and start < right for left, right in cloze.differing)
    ]
    return replace(cloze, hidden=tuple(hidden))


def _sentence_scorer(kind: str) -> ChosenScorer:
    return choose_scorer(kinds.get(kind).sentence_scorer, kind)


def _sample_size(sentences: int, kind: str) -> int:
    """Return how many of the sentences the perplexity is about."""
    if not kinds.get(kind).masks:
        return _SENTENCES
    return max(_SENTENCES_MASKED[0], min(_SENTENCES_MASKED[-1], sentences // _ONE_IN))


def _sampled(count: int, most: int) -> list[int]:
    """Return at most so many of the numbers below `count`, in order, drawn with a fixed seed."""
    rng = np.random.default_rng(_SEED)
    return sorted(rng.choice(count, min(count, most), replace=False).tolist())


def _conditions(shape: tuple[int, int, int], direction: Direction) -> list[list[int]]:
    """Return the clozes, by number, of some candidates under some conditions."""
    candidates = _sampled(shape[direction.axis], _CANDIDATES)
    given = shape[direction.given_axis]
    places = np.arange(np.prod(shape)).reshape(shape)
    # (template, given, candidate)
    by_condition = places if direction.axis == -1 else places.swapaxes(1, 2)
    return [
        by_condition[divmod(number, given)][candidates].tolist()
        for number in _sampled(shape[0] * given, _CONDITIONS)
    ]


def _first_query(sentence: EncodedCloze, scored: Sequence[TokenQuery], kind: str) -> TokenQuery:
    """Return the query for the first token of the word to guess.

    For a causal model it is the first token of all that differs if that comes before: it gives the
    word away.
    """
    start, end = sentence.differing[0]
    inside = start <= sentence.word[0] and sentence.word[1] <= end
    place = sentence.word[0] if kinds.get(kind).masks or inside else start
    # A scorer of another package may not ask there.
    return next((query for query in scored if query.position == place), scored[0])


def _with_random_tokens(model: LanguageModel, queries: Sequence[TokenQuery]) -> list[TokenQuery]:
    """Return the queries with random tokens: of letters, and beginning a word if theirs does.

    None where the model does not tell its tokens. The network has the answer already, because it
    is in the same place of the same sequence.
    """
    tokens = model.word_tokens
    if not len(tokens.letters):
        return []
    candidates = [query.token for query in queries]
    # Other words in every condition, and the same ones in every run.
    rng = np.random.default_rng((_SEED, *candidates, *queries[0].ids))
    pools = {
        begins: _others(tokens.letters & (tokens.begins == begins), candidates)
        for begins in {bool(tokens.begins[token]) for token in candidates}
    }
    # Beside few candidates more of them, because they cost nothing.
    each = -(-_CANDIDATES // len(queries))
    return [
        replace(query, token=int(token))
        for query in queries
        for token in rng.choice(pools[bool(tokens.begins[query.token])], each)
    ]


def _others(alike: NDArray[np.bool_], candidates: Sequence[int]) -> NDArray[np.intp]:
    """Return the tokens that are alike, but for the candidates."""
    free = np.ones(len(alike), dtype=bool)
    free[candidates] = False
    pool = np.flatnonzero(alike & free)
    # A vocabulary without such tokens, as of bytes, has others.
    return pool if len(pool) else np.flatnonzero(free)


def count_words(text: str) -> int:
    """Return the number of words.

    >>> count_words("She was a nurse."), count_words("她是护士。")
    (4, 4)
    """
    return len(_WORD.findall(text))
