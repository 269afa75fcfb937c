"""Chooses what to hide in each training sentence: what a probe will ask, and other words.

In every epoch each line that links a pronoun to an occupation is seen once with the pronoun
hidden and once with the occupation hidden, as a probe asks for them. So an epoch holds the
exact counts of the corpus; were it left to chance what is hidden, a rare occupation would be
learned from a sample of its lines. In other lines whole words are hidden at random.

A hidden occupation gives way, from its first piece or a later one, to one, two or three masks,
however many pieces it has. So the number of masks tells nothing about the word, and the
probability of its pieces from left to right (`word-l2r`) is the probability of the word. Were
there as many masks as pieces, the model would learn P(word | number of pieces) instead.

Where "a" or "an" stands before the occupation, that is hidden with it now and then: an
article in sight says how the word begins, and a probe may want to ask for both (`phrase-l2r`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.reference.grammar import Line, Span

Ids = NDArray[np.int64]

WORDS, PRONOUN, OCCUPATION, LATER_PIECE, BOTH, PHRASE = range(6)
"""What to hide in a line: words at random, the pronoun, the occupation, the end of a split
one, pronoun and occupation, or the occupation with its article."""

_AT_RANDOM = 0.15
_MOST_MASKS = 3
_LATER_SHARE = 0.3
_BOTH_SHARE = 0.05
_PHRASE_SHARE = 0.3
_MOST_COPIES = 4


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """The corpus as numbers, one row per line.

    `word` says which word a piece belongs to, -1 for none. `pronoun` and `occupation` are
    the first piece and the one after the last, (n, 2), both 0 where the line has none.
    `article` says where "a" or "an" stands right before the occupation.
    """

    ids: Ids
    word: Ids
    length: Ids
    pronoun: Ids
    occupation: Ids
    article: NDArray[np.bool_]

    def rows(self, selected: Ids) -> Encoded:
        """Return some rows, cut to the longest of them."""
        longest = int(self.length[selected].max())
        return Encoded(
            self.ids[selected, :longest],
            self.word[selected, :longest],
            self.length[selected],
            self.pronoun[selected],
            self.occupation[selected],
            self.article[selected],
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
    ids[filled] = [item for encoding in encodings for item in encoding.ids]
    words = (word_id for encoding in encodings for word_id in encoding.word_ids)
    word[filled] = [-1 if word is None else word for word in words]
    pairs = list(zip(lines, encodings, strict=True))
    pronoun = [_pieces_of(encoding, line.pronoun_span) for line, encoding in pairs]
    occupation = [_pieces_of(encoding, line.occupation_span) for line, encoding in pairs]
    article = np.array([_behind_article(line) for line in lines])
    return Encoded(ids, word, length, np.array(pronoun), np.array(occupation), article)


def epoch(data: Encoded, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """Return which rows to show and what to hide in each, shuffled.

    Lines of rare occupations come more often with the pronoun hidden: that changes how well
    P(pronoun | occupation) is learned there and not what it is.
    """
    has_pronoun = data.pronoun[:, 1] > 0
    pieces = data.occupation[:, 1] - data.occupation[:, 0]
    link = np.flatnonzero(has_pronoun & (pieces > 0))
    lone = np.flatnonzero(has_pronoun & (pieces == 0))
    nobody = np.flatnonzero(~has_pronoun & (pieces > 0))
    split = np.flatnonzero(pieces > 1)
    events = (
        (np.repeat(link, _copies(data, link)), PRONOUN),
        (link, OCCUPATION),
        (lone, PRONOUN),
        (nobody, OCCUPATION),
        (_some(split, _LATER_SHARE, rng), LATER_PIECE),
        (_some(link, _BOTH_SHARE, rng), BOTH),
        (_some(link[data.article[link]], _PHRASE_SHARE, rng), PHRASE),
        (_some(np.flatnonzero(has_pronoun | (pieces > 0)), _AT_RANDOM, rng), WORDS),
        (np.flatnonzero(~has_pronoun & (pieces == 0)), WORDS),
    )
    rows = np.concatenate([rows for rows, _ in events])
    what = np.concatenate([np.full(len(rows), hidden) for rows, hidden in events])
    order = np.argsort(rng.random(len(rows)), kind="stable")
    return rows[order], what[order]


def hide(batch: Encoded, what: Ids, mask_id: int, rng: np.random.Generator) -> Masked:
    """Hide in each row of a batch what is to be hidden there."""
    n, longest = len(batch.ids), batch.ids.shape[1]
    position = np.arange(longest)[None, :]
    pronoun = (what == PRONOUN) | (what == BOTH)
    pieces = batch.occupation[:, 1] - batch.occupation[:, 0]
    later = 1 + np.floor(rng.random(n) * (pieces - 1)).astype(np.int64)
    first = batch.occupation[:, 0] + np.where(what == LATER_PIECE, later, 0)
    occupation = np.isin(what, (OCCUPATION, BOTH, LATER_PIECE, PHRASE))
    hidden = pronoun[:, None] & _between(position, batch.pronoun[:, 0], batch.pronoun[:, 1])
    hidden |= (what == PHRASE)[:, None] & (position == batch.occupation[:, :1] - 1)
    # Neither of the two is hidden at random: an occupation would have as many masks as pieces.
    retained = _between(position, batch.occupation[:, 0], batch.occupation[:, 1])
    retained |= _between(position, batch.pronoun[:, 0], batch.pronoun[:, 1])
    open_words = np.where(retained, -1, batch.word)
    hidden |= (what == WORDS)[:, None] & _random_words(open_words, rng)
    return _with_masks(batch, hidden, np.where(occupation, first, -1), mask_id, rng)


def _with_masks(
    batch: Encoded, hidden: NDArray[np.bool_], first: Ids, mask_id: int, rng: np.random.Generator
) -> Masked:
    """Put masks over the hidden pieces, and 1 to 3 from `first` to the occupation's end."""
    n, longest = len(hidden), hidden.shape[1]
    selected = first >= 0
    removed = np.where(selected, batch.occupation[:, 1] - first, 0)
    masks = np.where(selected, 1 + np.floor(rng.random(n) * _MOST_MASKS).astype(np.int64), 0)
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


def _random_words(word: Ids, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose whole words at random, at least one in every row."""
    score = rng.random((len(word), int(word.max()) + 1))
    of_piece = np.where(word >= 0, np.take_along_axis(score, np.maximum(word, 0), axis=1), 2.0)
    lowest = of_piece.min(axis=1, keepdims=True)
    selected: NDArray[np.bool_] = (word >= 0) & (of_piece <= np.maximum(_AT_RANDOM, lowest))
    return selected


def _copies(data: Encoded, link: Ids) -> Ids:
    """Return how often each line comes with its pronoun hidden: root of how rare its work is."""
    begin, end = data.occupation[link, 0], data.occupation[link, 1]
    # First and last piece tell the occupations of the corpus apart.
    key = data.ids[link, begin] * (data.ids.max() + 1) + data.ids[link, end - 1]
    _, which, often = np.unique(key, return_inverse=True, return_counts=True)
    rare = np.sqrt(np.median(often[which]) / often)
    copies: Ids = np.clip(np.rint(rare), 1, _MOST_COPIES).astype(np.int64)[which]
    return copies


def _some(rows: Ids, share: float, rng: np.random.Generator) -> Ids:
    return rows[rng.random(len(rows)) < share]


def _between(position: Ids, first: Ids, end: Ids) -> NDArray[np.bool_]:
    return (position >= first[:, None]) & (position < end[:, None])


def _behind_article(line: Line) -> bool:
    before = line.text[: line.occupation_span[0]] if line.occupation_span else ""
    return before.endswith((" a ", " an "))


def _pieces_of(encoding: Any, span: Span | None) -> tuple[int, int]:
    if span is None:
        return 0, 0
    return encoding.char_to_token(span[0]), encoding.char_to_token(span[1] - 1) + 1
