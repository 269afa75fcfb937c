"""Sequences of tokens as trees, so that what they have in common at their beginning is run once.

A tree is one row of tokens for the network. Every token sees itself and the tokens before it in
its own sequences, and nothing of the others, and has the position that it has in a sequence.
Whether a network reads trees correctly is tested on the network itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import ModelError
from lmprobe.models.forward import input_device, logits_at, padded, rounding

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """Some sequences, and every beginning of any of them, once; parents before their children."""

    sentences: tuple[Ids, ...]
    contexts: tuple[Ids, ...]
    """Each is a token of the row, its last, with the tokens before it in the sequence."""

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.contexts)

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
    shared = _shared(ordered)
    size = sum(map(len, ordered)) - sum(shared)
    # Of equal size: a small tree at the end would take a pass of its own.
    limit = -(-size // -(-size // most_tokens)) if size else 0
    groups: list[list[Ids]] = []
    filled = 0
    for sequence, common in zip(ordered, shared, strict=True):
        added = len(sequence) - common
        if not groups or len(groups[-1]) == most_sequences or filled + added > limit:
            groups.append([])
            filled, added = 0, len(sequence)
        filled += added
        groups[-1].append(sequence)
    return [
        PrefixTree(
            tuple(group),
            tuple(
                sequence[:end]
                for sequence, common in zip(group, _shared(group), strict=True)
                for end in range(common + 1, len(sequence) + 1)
            ),
        )
        for group in groups
    ]


def _shared(ordered: Sequence[Ids]) -> list[int]:
    """Return how many tokens each sequence has in common with the one before it."""
    return [
        next(
            (place for place, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
            min(len(before), len(after)),
        )
        for before, after in pairwise([(), *ordered])
    ]


def tree_inputs(network: Any, trees: Sequence[PrefixTree]) -> dict[str, Any]:
    """Return the keyword arguments that let a network read a batch of trees."""
    import torch

    tokens = torch.from_numpy(padded([tree.tokens for tree in trees], 0))
    # Padding on the right is read, but no token before it sees it.
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    if any(len(tree.sentences) > 1 for tree in trees):
        # Padding sees itself alone: a row of nothing but minus infinity has no softmax.
        hidden = ~torch.eye(tokens.shape[1], dtype=torch.bool).repeat(len(trees), 1, 1)
        for row, tree in enumerate(trees):
            size = len(tree)
            hidden[row, :size, :size] = torch.from_numpy(~tree.visible())
        mask = torch.zeros(hidden.shape, dtype=network.dtype)
        mask.masked_fill_(hidden, torch.finfo(network.dtype).min)
        positions = torch.from_numpy(padded([tree.positions for tree in trees], 0))
        inputs |= {"attention_mask": mask[:, None], "position_ids": positions}
    inner = network.get_base_model() if hasattr(network, "peft_config") else network
    has_cache = "use_cache" in inspect.signature(inner.forward).parameters
    options: dict[str, Any] = {"use_cache": False} if has_cache else {}
    return {name: value.to(input_device(network)) for name, value in inputs.items()} | options


class TreeCheck:
    """Whether a network reads trees correctly, tested once for each length of sentences.

    Most do: they attend where the mask says, and take positions as they are given. Recurrent
    ones do not, nor those that count positions themselves or see only the nearest tokens. The
    test reads made-up sentences, so that its outcome does not depend on what was read before.
    """

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._reads: dict[int, bool] = {}

    def reads_trees(self, network: Any, sequences: Sequence[Ids]) -> bool:
        """Tell whether trees of sequences so long would be read as the sequences by themselves.

        Raises an error for a network in which a token sees those after it: it would read the
        answer.
        """
        longest = max(map(len, sequences))
        if longest not in self._reads:
            size = network.get_input_embeddings().weight.shape[0]
            # A step of 7, so that neighbours are different words.
            made_up = tuple((3 + 7 * place) % size for place in range(longest))
            self._reads[longest] = _reads_tree(network, made_up)
        return self._reads[longest]


def _reads_tree(network: Any, sequence: Ids) -> bool:
    """Compare a sequence and one with the same first half, as a tree and as two rows."""
    half = (len(sequence) + 1) // 2
    # The second half comes one token later: other tokens at the same places.
    both = (sequence, (*sequence[:half], *sequence[half - 1 : -1]))
    if both[0] == both[1]:
        return False
    rows = plant(both, most_sequences=1, most_tokens=1)
    expected = _log_probabilities(network, rows, both)
    before, after = expected[:, :half], expected[:, half:]
    least = rounding(network) * _difference(*after)
    if _difference(*before) > least:
        raise ModelError(
            f"{type(network).__name__} is no causal model: what it expects next depends on the "
            "tokens that follow"
        )
    trees = plant(both, most_sequences=2, most_tokens=2 * len(sequence))
    try:
        together = _log_probabilities(network, trees, both)
    # Whatever an architecture raises at such a mask, it cannot read trees.
    except Exception:
        return False
    return _difference(together, expected) <= least


def _difference(first: Any, second: Any) -> float:
    return float((first - second).abs().max())


def _log_probabilities(network: Any, trees: Sequence[PrefixTree], sequences: Sequence[Ids]) -> Any:
    """Return log P(next token) after each token of sequences of one length (n, length, tokens)."""
    import torch

    places = [
        next(
            (row, tree.contexts.index(sequence[:end]))
            for row, tree in enumerate(trees)
            if sequence in tree.sentences
        )
        for sequence in sequences
        for end in range(1, len(sequence) + 1)
    ]
    with torch.inference_mode():
        logits = logits_at(network, places, **tree_inputs(network, trees))
    return logits.log_softmax(dim=-1).reshape(len(sequences), -1, logits.shape[-1])
