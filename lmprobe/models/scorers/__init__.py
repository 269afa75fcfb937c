"""Scorers: which tokens are asked for to score a candidate, and the score of a sentence.

A scorer is a class in a module of this package that registers itself.
"""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import WORD_START, Cloze, EncodedCloze, LanguageModel, TokenQuery
from lmprobe.registry import Registry

AUTO = "auto"


class Scorer(Protocol):
    """Says which tokens are asked for; their log-probabilities add up to a candidate's."""

    kind: str
    """The kind of model that can answer."""
    whole_word: bool
    """False if the later pieces of a split word do not count: using it on one warns."""
    hides_articles: bool
    """Whether an article that was written for the word is guessed with it."""
    whole_sentence: bool
    """Whether every token of the sentence counts, and not only the candidate's."""

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Return the queries whose log-probabilities add up to that of the candidate."""


scorers: Registry[type[Scorer]] = Registry("scorers", "lmprobe.models.scorers")

_TRAITS = ("kind", "whole_word", "hides_articles", "whole_sentence", "queries")


class SplitWordWarning(UserWarning):
    """A word that the tokenizer splits was scored by one of its pieces."""


@dataclass(frozen=True, slots=True)
class ChosenScorer:
    """A scorer with the name it has, and the hash of its code."""

    name: str
    scorer: Scorer
    identity: str
    """Changes with the code of the scorer, so that the cache has no outdated answers."""

    def queries(self, sentences: Iterable[EncodedCloze]) -> list[tuple[TokenQuery, ...]]:
        """Return what is asked for each sentence; raise if that is nothing."""
        queries = [self.scorer.queries(sentence) for sentence in sentences]
        if not all(queries):
            raise InputError(
                f'the scorer "{self.name}" asks for no token of a sentence, so it has no score; '
                'see "A scorer" in docs/extending.md'
            )
        return queries


def choose_scorer(name: str, kind: str) -> ChosenScorer:
    """Return the scorer of that name for a kind of model; `auto` is the kind's default."""
    default = kinds.get(kind).default_scorer
    name = default if name == AUTO else name
    scorer = scorers.get(name)()
    if missing := [trait for trait in _TRAITS if not hasattr(scorer, trait)]:
        raise InputError(
            f'the scorer "{name}" lacks {", ".join(missing)}; see "A scorer" in docs/extending.md'
        )
    # A kind that derives from another is asked in the same way.
    if scorer.kind != kind and not issubclass(kinds.get(kind), kinds.get(scorer.kind)):
        raise InputError(
            f'the scorer "{name}" is for {scorer.kind} models and this one is {kind}; '
            f'use "{default}" (`auto`)'
        )
    return ChosenScorer(name, scorer, _identity(type(scorer)))


def _identity(scorer: type[Scorer]) -> str:
    """Return the hash of the files that define a scorer's class and what it inherits from."""
    whole = hashlib.sha256(scorer.__qualname__.encode())
    for ancestor in scorer.__mro__:
        if ancestor is object or ancestor.__module__ == "typing":
            continue
        try:
            whole.update(Path(inspect.getfile(ancestor)).read_bytes())
        except (OSError, TypeError):
            # Typed into an interpreter: there is no file, but there is code.
            for name, member in sorted(vars(ancestor).items()):
                code = getattr(member, "__code__", None)
                text = repr(member) if code is None else f"{code.co_code!r} {code.co_consts!r}"
                whole.update(f"{name} {text}".encode())
    return whole.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class CandidateScores:
    """Log-probability of each cloze's candidate (n,), and the number of pieces of its word (n,)."""

    log_probability: Floats
    pieces: NDArray[np.int64]


def score(
    model: LanguageModel,
    clozes: Sequence[Cloze],
    *,
    scorer: str = AUTO,
    progress: Progress = silent,
) -> CandidateScores:
    """Return how probable the model finds the candidate of each cloze.

    `progress` counts sentences; each distinct one is run once.
    """
    named = choose_scorer(scorer, model.kind)
    encoded = model.encode(clozes)
    queries = named.queries(encoded)
    total = sums(model, queries, progress=progress)
    pieces = np.array([len(sentence.pieces) for sentence in encoded], dtype=np.int64)
    if not named.scorer.whole_word:
        pairs = zip(clozes, pieces, strict=True)
        warn_of_split({cloze.word for cloze, count in pairs if count > 1}, named.name)
    return CandidateScores(total, pieces)


def sums(
    model: LanguageModel, groups: Sequence[Sequence[TokenQuery]], *, progress: Progress = silent
) -> Floats:
    """Return the sum of the answers to each group of queries (n,); none is asked twice."""
    different = list(dict.fromkeys(query for group in groups for query in group))
    answers = model.log_probabilities(different, progress=progress)
    value = dict(zip(different, answers.tolist(), strict=True))
    return np.array([sum(value[query] for query in group) for group in groups], dtype=np.float64)


def warn_of_split(words: Iterable[str], scorer: str) -> None:
    """Warn, once for all the words, that the scorer saw only a piece of them."""
    listed = ", ".join(sorted(words))
    if listed:
        warnings.warn(
            f"{scorer} scores a part of the pieces only of: {listed}; "
            f"use {kinds.get(scorers.get(scorer).kind).default_scorer} for whole words",
            SplitWordWarning,
            stacklevel=3,
        )


@dataclass(frozen=True, slots=True)
class MassQueries:
    """The log-probability of the mass is the sum of `added` minus the sum of `subtracted`."""

    added: tuple[TokenQuery, ...]
    subtracted: tuple[TokenQuery, ...] = ()


def mass_queries(sentence: EncodedCloze, kind: str) -> MassQueries:
    """Return what to ask for the mass of a candidate.

    Masked models: all that differs, left to right, as `difference-l2r` does.

    Causal models: the first span that differs, as a whole word after what is left of it.
    The tokens' chain rule gives the probability of a text that begins with these letters;
    times P(the next token begins a word) over P(this one does) it is that of the word
    (Pimentel & Meister 2024; Oh & Schuler 2024). The start of a sentence is a boundary.
    """
    if kinds.get(kind).masks:
        return MassQueries(sentence.masked(sentence.differing, left_to_right=True))
    start, end = sentence.differing[0]
    before, after = sentence.boundary
    added = sentence.visible(max(start, sentence.first), end)
    if after:
        added += (TokenQuery(sentence.ids, end, WORD_START),)
    if before and start > sentence.first:
        return MassQueries(added, (TokenQuery(sentence.ids, start, WORD_START),))
    return MassQueries(added)
