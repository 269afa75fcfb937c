"""What a scorer is, and how blanks are scored with one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lmprobe.models.blank import Blank, Encoded, Question
from lmprobe.models.masked import MaskedModel
from lmprobe.progress import Progress, silent
from lmprobe.registry import Registry
from lmprobe.tally import Floats


class Scorer(Protocol):
    """Turns token probabilities into the probability of a word."""

    whole_word: bool
    """False if the later pieces of a split word do not count: using it on one warns."""

    def questions(self, sentence: Encoded) -> tuple[Question, ...]:
        """Return the questions whose log-probabilities add up to that of the word."""


scorers: Registry[type[Scorer]] = Registry("scorers", "lmprobe.scorers")


class SplitWordWarning(UserWarning):
    """A word that the tokenizer splits was scored by one of its pieces."""


@dataclass(frozen=True, slots=True, eq=False)
class WordScores:
    """Log-probability of each blank's word given the rest (n,), and its number of pieces (n,)."""

    log_probability: Floats
    pieces: NDArray[np.int64]


def score(
    model: MaskedModel,
    blanks: Sequence[Blank],
    *,
    scorer: str = "word-l2r",
    progress: Progress = silent,
) -> WordScores:
    """Return how probable the model finds the word of each blank.

    `progress` counts masked sentences; equal ones are run once, whichever blank needs them.
    """
    found = scorers.get(scorer)()
    encoded = model.encode(blanks)
    total = answer(model, [found.questions(one) for one in encoded], progress=progress)
    pieces = np.array([len(sentence.pieces) for sentence in encoded], dtype=np.int64)
    if not found.whole_word:
        warn_of_split({b.word for b, n in zip(blanks, pieces, strict=True) if n > 1}, scorer)
    return WordScores(total, pieces)


def answer(
    model: MaskedModel, asked: Sequence[tuple[Question, ...]], *, progress: Progress = silent
) -> Floats:
    """Return the log-probability of each word (n,): the sum over the questions about it."""
    questions = [one for group in asked for one in group]
    owner = np.repeat(np.arange(len(asked)), [len(group) for group in asked])
    values = model.log_probabilities(questions, progress=progress)
    total = np.zeros(len(asked))
    np.add.at(total, owner, values)
    return total


def warn_of_split(words: Iterable[str], scorer: str) -> None:
    """Warn, once for all the words, that the scorer saw only a piece of them."""
    listed = ", ".join(sorted(words))
    if listed:
        warnings.warn(
            f"{scorer} gives the probability of the first piece only of: {listed}; "
            "use word-l2r for whole words",
            SplitWordWarning,
            stacklevel=3,
        )
