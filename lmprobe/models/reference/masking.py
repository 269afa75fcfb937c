"""Chooses what to hide in each training sentence: what a probe will ask, and other words.

A sentence that links a pronoun to an occupation mostly has exactly one of the two hidden, as
a probe does it; all other words are hidden whole and at random. What is hidden never depends
on which pronoun or occupation it is.

A hidden occupation gives way, from its first piece or a later one, to one, two or three masks,
however many pieces it has. So the number of masks tells nothing about the word, and the
probability of its pieces from left to right (`word-l2r`) is the probability of the word. Were
there as many masks as pieces, the model would learn P(word | number of pieces) instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.models.reference.grammar import Line, Span

Ids = NDArray[np.int64]

_PRONOUN, _OCCUPATION, _BOTH = 0.45, 0.87, 0.90
"""Below the first hide the pronoun, below the second the occupation, below the third both."""

_AT_RANDOM = 0.15
_MOST_MASKS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """The corpus as numbers, one row per line.

    `word` says which word a piece belongs to, -1 for none. `pronoun` and `occupation` are
    the first piece and the one after the last, (n, 2), both 0 where the line has none.
    """

    ids: Ids
    word: Ids
    length: Ids
    pronoun: Ids
    occupation: Ids

    def rows(self, chosen: Ids) -> Encoded:
        """Return some rows, cut to the longest of them."""
        longest = int(self.length[chosen].max())
        return Encoded(
            self.ids[chosen, :longest],
            self.word[chosen, :longest],
            self.length[chosen],
            self.pronoun[chosen],
            self.occupation[chosen],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """What the model sees, and what it has to say where `guess` is true."""

    ids: Ids
    length: Ids
    guess: NDArray[np.bool_]
    answer: Ids


def encode(tokenizer: Any, lines: Sequence[Line]) -> Encoded:
    """Tokenize the corpus."""
    encodings = tokenizer.backend_tokenizer.encode_batch([line.text for line in lines])
    length = np.array([len(encoding) for encoding in encodings])
    size = (len(lines), int(length.max()))
    ids = np.full(size, tokenizer.pad_token_id, dtype=np.int64)
    word = np.full(size, -1, dtype=np.int64)
    filled = np.arange(size[1])[None, :] < length[:, None]
    ids[filled] = [one for encoding in encodings for one in encoding.ids]
    words = (one for encoding in encodings for one in encoding.word_ids)
    word[filled] = [-1 if one is None else one for one in words]
    pairs = list(zip(lines, encodings, strict=True))
    pronoun = [_pieces_of(encoding, line.pronoun_span) for line, encoding in pairs]
    occupation = [_pieces_of(encoding, line.occupation_span) for line, encoding in pairs]
    return Encoded(ids, word, length, np.array(pronoun), np.array(occupation))


def hide(batch: Encoded, mask_id: int, rng: np.random.Generator) -> Masked:
    """Hide words of a batch."""
    n, longest = batch.ids.shape
    position = np.arange(longest)[None, :]
    chance = rng.random(n)
    has_pronoun = batch.pronoun[:, 1] > 0
    has_occupation = batch.occupation[:, 1] > 0
    pronoun = has_pronoun & ((chance < _PRONOUN) | ((chance >= _OCCUPATION) & (chance < _BOTH)))
    occupation = has_occupation & (chance >= _PRONOUN) & (chance < _BOTH)
    hidden = pronoun[:, None] & _between(position, batch.pronoun[:, 0], batch.pronoun[:, 1])
    # Neither of the two is hidden at random: one shows what the other is asked for, and an
    # occupation would have as many masks as pieces.
    kept = _between(position, batch.occupation[:, 0], batch.occupation[:, 1])
    kept |= _between(position, batch.pronoun[:, 0], batch.pronoun[:, 1])
    open_words = np.where(kept, -1, batch.word)
    hidden |= _random_words(open_words, rng, surely=~(pronoun | occupation))
    return _occupations_hidden(batch, hidden, occupation, mask_id, rng)


def _occupations_hidden(
    batch: Encoded,
    hidden: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
    mask_id: int,
    rng: np.random.Generator,
) -> Masked:
    """Put masks over the hidden pieces, and 1 to 3 in place of the chosen occupations' ends."""
    n, longest = len(hidden), hidden.shape[1]
    begin, end = batch.occupation[:, 0], batch.occupation[:, 1]
    first = begin + np.floor(rng.random(size=n) * (end - begin)).astype(np.int64)
    removed = np.where(chosen, end - first, 0)
    masks = np.where(chosen, 1 + (rng.random(n) * _MOST_MASKS).astype(np.int64), 0)
    position = np.arange(longest + _MOST_MASKS - 1)[None, :]
    inside = _between(position, first, first + masks)
    moved = np.where(position < (first + masks)[:, None], 0, (masks - removed)[:, None])
    origin = np.clip(position - moved, 0, longest - 1)
    length = batch.length - removed + masks
    visible = position < length[:, None]
    answer = np.take_along_axis(batch.ids, origin, axis=1)
    guess = np.take_along_axis(hidden, origin, axis=1) & visible & ~inside
    # The first mask stands for the first hidden piece; the next ones have an answer
    # where there happen to be as many masks as pieces.
    guess |= inside & ((position == first[:, None]) | (masks == removed)[:, None])
    ids = np.where(guess | inside, mask_id, np.where(visible, answer, 0))
    cut = int(length.max())
    return Masked(ids[:, :cut], length, guess[:, :cut], answer[:, :cut])


def _random_words(
    word: Ids, rng: np.random.Generator, *, surely: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Choose whole words at random, at least one in the rows where one must surely be."""
    score = rng.random((len(word), int(word.max()) + 1))
    of_piece = np.where(word >= 0, np.take_along_axis(score, np.maximum(word, 0), axis=1), 2.0)
    lowest = np.where(surely, of_piece.min(axis=1), 0.0)[:, None]
    chosen: NDArray[np.bool_] = (word >= 0) & (of_piece <= np.maximum(_AT_RANDOM, lowest))
    return chosen


def _between(position: Ids, first: Ids, end: Ids) -> NDArray[np.bool_]:
    return (position >= first[:, None]) & (position < end[:, None])


def _pieces_of(encoding: Any, span: Span | None) -> tuple[int, int]:
    if span is None:
        return 0, 0
    return encoding.char_to_token(span[0]), encoding.char_to_token(span[1] - 1) + 1
