"""Scorers: which tokens are asked for to score a candidate, and the score of a sentence."""

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
    """Changes with the code of the scorer, so that answers are asked for again."""


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

    `progress` counts sentences; equal ones are run once, whichever cloze needs them.
    """
    chosen = choose_scorer(scorer, model.kind)
    encoded = model.encode(clozes)
    queries = [chosen.scorer.queries(sentence) for sentence in encoded]
    total = sums(model, queries, progress=progress)
    pieces = np.array([len(sentence.pieces) for sentence in encoded], dtype=np.int64)
    if not chosen.scorer.whole_word:
        pairs = zip(clozes, pieces, strict=True)
        warn_of_split({cloze.word for cloze, count in pairs if count > 1}, chosen.name)
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
            f"{scorer} gives the probability of the first piece only of: {listed}; "
            f"use {kinds.get(scorers.get(scorer).kind).default_scorer} for whole words",
            SplitWordWarning,
            stacklevel=3,
        )


@scorers.register("first-piece")
class FirstPiece:
    """P(first piece) at one mask: P("janitor") is P("jan"). Only to reproduce the paper."""

    kind = "masked"
    whole_word = False
    hides_articles = False
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for the first piece at one mask in place of the whole word."""
        return (sentence.one_mask(),)


@scorers.register("word-l2r")
class WordLeftToRight:
    """Product of P(piece | pieces to its left), the pieces to its right masked.

    The chain rule within the word. A word of n pieces is asked for in a sentence with n
    masks, so its probability is that of the word given that it has n pieces.
    """

    kind = "masked"
    whole_word = True
    hides_articles = False
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for each piece with those before it visible."""
        return sentence.masked([sentence.word], left_to_right=True)


@scorers.register("phrase-l2r")
class PhraseLeftToRight:
    """P(article) x P(word | article), each from left to right.

    A visible "an" rules out most words: after it, P(auditor) is its share of the few words
    that begin with a vowel, and not comparable with P(nurse) after "a". With the article
    masked as well, all candidates are asked for in the same sentence. A word that has no
    article of its own is scored as `word-l2r` does.
    """

    kind = "masked"
    whole_word = True
    hides_articles = True
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for the article, then for each piece of the word."""
        return sentence.masked([sentence.phrase], left_to_right=True)


@scorers.register("difference-l2r")
class DifferenceLeftToRight:
    """Product of P(piece | pieces to its left) over all that differs between candidates.

    The word, its article, words that agree with it: what differs from candidate to candidate
    would give the answer away if it stayed visible. All of it is masked at once and asked
    for from left to right. Where candidates differ in one word this is `word-l2r`, with an
    article `phrase-l2r`.
    """

    kind = "masked"
    whole_word = True
    hides_articles = True
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for each piece of each span that differs, in the order of the sentence."""
        return sentence.masked(sentence.differing, left_to_right=True)


@scorers.register("joint")
class Joint:
    """Product of P(piece) with every piece masked: the pieces do not see each other."""

    kind = "masked"
    whole_word = True
    hides_articles = False
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for every piece in one sentence with as many masks."""
        return sentence.masked([sentence.word], left_to_right=False)


@scorers.register("pll")
class PseudoLogLikelihood:
    """Sum over all words of log P(word | the rest of the sentence), pieces left to right.

    `PLL-word-l2r` of Kauf & Ivanova 2023: a piece is asked for with the later pieces of its
    word masked as well, because visible ones would give it away. Not the logarithm of a
    probability: every word is predicted from all others, so the factors do not multiply to
    P(sentence).
    """

    kind = "masked"
    whole_word = True
    hides_articles = True
    whole_sentence = True

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for every word of the sentence, the others visible."""
        return tuple(
            query
            for word in sentence.words
            for query in sentence.masked([word], left_to_right=True)
        )


@scorers.register("sentence")
class SentenceLikelihood:
    """log P(sentence): the sum of log P(token | tokens to its left).

    It begins after the beginning-of-text token and has no end token. Over the finished
    sentences of all candidates, normalised, it is P(candidate | the rest of the sentence)
    by Bayes' rule.
    """

    kind = "causal"
    whole_word = True
    hides_articles = True
    whole_sentence = True

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for every token of the sentence."""
        return sentence.visible(sentence.first, len(sentence.ids))


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
