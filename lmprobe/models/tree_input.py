"""Trees of sentences as the input of a network, and whether a network reads them as meant."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from lmprobe.errors import ModelError
from lmprobe.models.forward import logits_at, padded, rounding
from lmprobe.models.prefix_tree import Ids, PrefixTree, plant


def tree_inputs(network: Any, trees: Sequence[PrefixTree]) -> dict[str, Any]:
    """Return the keyword arguments that let a network read a batch of trees."""
    import torch

    tokens = torch.from_numpy(padded([tree.tokens for tree in trees], 0))
    # Padding on the right is read, but no token before it sees it.
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    if any(tree.branches for tree in trees):
        # Padding sees itself alone: a row of nothing but minus infinity has no softmax.
        hidden = ~torch.eye(tokens.shape[1], dtype=torch.bool).repeat(len(trees), 1, 1)
        for row, tree in enumerate(trees):
            size = len(tree.contexts)
            hidden[row, :size, :size] = torch.from_numpy(~tree.visible())
        mask = torch.zeros(hidden.shape, dtype=network.dtype)
        mask.masked_fill_(hidden, torch.finfo(network.dtype).min)
        positions = torch.from_numpy(padded([tree.positions for tree in trees], 0))
        inputs |= {"attention_mask": mask[:, None], "position_ids": positions}
    found: dict[str, Any] = {name: value.to(network.device) for name, value in inputs.items()}
    return found | ({"use_cache": False} if _takes(network, "use_cache") else {})


def _takes(network: Any, argument: str) -> bool:
    inner = network.get_base_model() if hasattr(network, "peft_config") else network
    return argument in inspect.signature(inner.forward).parameters


class TreeCheck:
    """Whether a network reads trees as meant, tried out once for sentences of a length.

    Most do: they attend where the mask says, and count positions as they are told. Recurrent
    ones do not, nor those that count positions themselves or see only the nearest tokens.
    """

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._longest_read = 0
        self._shortest_misread: float = float("inf")

    def reads_trees(self, network: Any, sequences: Sequence[Ids]) -> bool:
        """Tell whether trees of these sequences would be read as the sequences by themselves.

        Raises an error for a network in which a token sees those after it: it would read the
        answer.
        """
        longest = max(sequences, key=len)
        if len(longest) > self._longest_read and len(longest) < self._shortest_misread:
            if _reads_tree(network, longest):
                self._longest_read = len(longest)
            else:
                self._shortest_misread = len(longest)
        return len(longest) <= self._longest_read


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
        found = _log_probabilities(network, trees, both)
    # Whatever an architecture raises at such a mask, it cannot read trees.
    except Exception:
        return False
    return _difference(found, expected) <= least


def _difference(one: Any, other: Any) -> float:
    return float((one - other).abs().max())


def _log_probabilities(network: Any, trees: Sequence[PrefixTree], sequences: Sequence[Ids]) -> Any:
    """Return log P(next token) after each token of sequences of one length (n, length, tokens)."""
    import torch

    places = [
        next(
            (row, tree.contexts.index(one[:end]))
            for row, tree in enumerate(trees)
            if one in tree.sequences
        )
        for one in sequences
        for end in range(1, len(one) + 1)
    ]
    with torch.inference_mode():
        _, logits = logits_at(network, places, **tree_inputs(network, trees))
    return logits.log_softmax(dim=-1).reshape(len(sequences), -1, logits.shape[-1])
