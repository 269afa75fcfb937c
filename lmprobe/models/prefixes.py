"""Plans which sequences of tokens share the computation of the tokens they begin with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

Ids = tuple[int, ...]

# A further prefix costs a pass of its own through the network, which is slow for few tokens.
# It must save this share of the tokens.
_LEAST_SAVED = 0.1


@dataclass(frozen=True, slots=True)
class PrefixGroup:
    """Sequences that begin with the same tokens, and how many of these are run only once."""

    sequences: tuple[Ids, ...]
    shared: int

    @property
    def prefix(self) -> Ids:
        """The tokens that are run once."""
        return self.sequences[0][: self.shared]

    @property
    def tokens(self) -> int:
        """How many tokens are run for the whole group."""
        return self.shared + sum(len(one) - self.shared for one in self.sequences)


def share_prefixes(sequences: Iterable[Ids]) -> list[PrefixGroup]:
    """Return all the sequences in groups, so that few tokens have to be run.

    Every sequence keeps at least one token of its own. The order in which the sequences come
    changes nothing.

    >>> groups = share_prefixes([(1, 5, 7, 8), (1, 5, 7, 9), (1, 6, 7, 8), (1, 6, 7, 9)])
    >>> [(group.prefix, len(group.sequences)) for group in groups]
    [((1, 5, 7), 2), ((1, 6, 7), 2)]
    """
    ordered = sorted(set(sequences))
    return _grouped(ordered) if ordered else []


def _grouped(ordered: Sequence[Ids]) -> list[PrefixGroup]:
    if len(ordered) == 1:
        return [PrefixGroup((ordered[0],), 0)]
    common = _common(ordered[0], ordered[-1])
    shared = min(common, min(map(len, ordered)) - 1)
    together = PrefixGroup(tuple(ordered), shared)
    # A sequence that ends where the others go on has no token there.
    branches = [
        list(branch) for _, branch in groupby(ordered, key=lambda one: one[common : common + 1])
    ]
    apart = [group for branch in branches for group in _grouped(branch)]
    fewer = sum(group.tokens for group in apart)
    return apart if fewer < (1 - _LEAST_SAVED) * together.tokens else [together]


def _common(first: Ids, second: Ids) -> int:
    for place, (mine, theirs) in enumerate(zip(first, second, strict=False)):
        if mine != theirs:
            return place
    return min(len(first), len(second))
