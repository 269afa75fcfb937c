"""Sequences of tokens as trees, so that what they have in common at their beginning is run once.

A tree is one row of tokens for the network. Every token sees itself and the tokens before it in
its own sequences, and nothing of the others, and has the position that it has in a sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """Some sequences, and every beginning of any of them, once; parents before their children."""

    sequences: tuple[Ids, ...]
    contexts: tuple[Ids, ...]
    """Each is a token of the row, its last, with the tokens before it in the sequence."""

    @property
    def branches(self) -> bool:
        """Whether there is more than one sequence."""
        return len(self.sequences) > 1

    @property
    def tokens(self) -> list[int]:
        """The row of tokens."""
        return [context[-1] for context in self.contexts]

    @property
    def positions(self) -> list[int]:
        """The position of each token in its sequences."""
        return [len(context) - 1 for context in self.contexts]

    def visible(self) -> NDArray[np.bool_]:
        """Return which tokens (columns) each token (row) sees."""
        places = {context: place for place, context in enumerate(self.contexts)}
        seen = np.eye(len(self.contexts), dtype=bool)
        for context, place in places.items():
            if len(context) > 1:
                seen[place] |= seen[places[context[:-1]]]
        return seen


def plant(sequences: Iterable[Ids], *, most_sequences: int, most_tokens: int) -> list[PrefixTree]:
    """Return trees that hold all the sequences; none is much larger than the others.

    The order in which the sequences come changes nothing. A single sequence may have more
    tokens than `most_tokens`.

    >>> for tree in plant([(1, 5, 7), (1, 5, 8), (1, 6)], most_sequences=8, most_tokens=9):
    ...     print(tree.tokens, tree.positions)
    [1, 5, 7, 8, 6] [0, 1, 2, 2, 1]
    """
    ordered = sorted(set(sequences))
    size = sum(len(one) - shared for one, shared in zip(ordered, _shared(ordered), strict=True))
    # Of equal size: a small tree at the end would take a pass of its own.
    limit = -(-size // -(-size // most_tokens)) if size else 0
    return [_tree(some) for some in _split(ordered, most_sequences, limit)]


def _split(ordered: Sequence[Ids], most_sequences: int, limit: int) -> Iterator[list[Ids]]:
    """Yield runs of the sequences that make trees of about `limit` tokens."""
    some: list[Ids] = []
    size = 0
    for one, shared in zip(ordered, _shared(ordered), strict=True):
        if some and (len(some) == most_sequences or size + len(one) - shared > limit):
            yield some
            some, size = [], 0
        size += len(one) - (shared if some else 0)
        some.append(one)
    if some:
        yield some


def _tree(ordered: Sequence[Ids]) -> PrefixTree:
    contexts = [
        one[:end]
        for one, shared in zip(ordered, _shared(ordered), strict=True)
        for end in range(shared + 1, len(one) + 1)
    ]
    return PrefixTree(tuple(ordered), tuple(contexts))


def _shared(ordered: Sequence[Ids]) -> list[int]:
    """Return how many tokens each sequence has in common with the one before it."""
    before: Ids = ()
    found = []
    for one in ordered:
        pairs = zip(before, one, strict=False)
        alike = (place for place, (mine, theirs) in enumerate(pairs) if mine != theirs)
        found.append(next(alike, min(len(before), len(one))))
        before = one
    return found
