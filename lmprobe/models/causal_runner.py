"""Answers queries about the next token, sharing the computation of common beginnings.

The sentences are read as trees (`prefix_tree`): a beginning that several have in common is run
once, and no token is padding. A network that cannot read trees reads sentences one by one in
batches, sorted by length and padded on the right, where a causal model does not look. The head
is applied only where a token is asked for, and the last token of a sentence is never read,
only predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats
from lmprobe.io.progress import Progress, silent
from lmprobe.models.batch import BatchSize
from lmprobe.models.cloze import WORD_START, TokenQuery
from lmprobe.models.forward import check_finite, logits_at, most_positions, unless_out_of_memory
from lmprobe.models.prefix_tree import Ids, PrefixTree, plant
from lmprobe.models.tree_input import TreeCheck, tree_inputs

Asked = Mapping[Ids, Sequence[int]]
"""For each context, the tokens asked for after it."""


def log_probabilities(
    network: Any,
    queries: Sequence[TokenQuery],
    *,
    batch_size: BatchSize,
    word_start: NDArray[np.bool_],
    check: TreeCheck,
    progress: Progress = silent,
) -> Floats:
    """Return log P(token at its position | the tokens before it) of each query (n,).

    `word_start` says of each token whether it begins a word; `check` remembers whether the
    network can read trees.
    """
    contexts = [query.ids[: query.position] for query in queries]
    asked: dict[Ids, dict[int, None]] = {}
    for context, query in zip(contexts, queries, strict=True):
        asked.setdefault(context, {})[query.token] = None
    sequences = _longest(asked)
    runner = _Runner(network, {one: list(tokens) for one, tokens in asked.items()}, word_start)
    done = 0
    for answered in runner.run(sequences, batch_size, check.reads_trees(network, sequences)):
        done += answered
        progress(done, len(sequences))
    values = [
        runner.answers[context, query.token]
        for context, query in zip(contexts, queries, strict=True)
    ]
    return check_finite(np.array(values))


def _longest(contexts: Mapping[Ids, Any]) -> list[Ids]:
    """Return the contexts that do not begin a longer one."""
    ordered = sorted(contexts)
    following = [*ordered[1:], ()]
    return [one for one, after in zip(ordered, following, strict=True) if after[: len(one)] != one]


class _Runner:
    """Runs sequences of tokens and collects the answers about their contexts."""

    def __init__(self, network: Any, asked: Asked, word_start: NDArray[np.bool_]) -> None:
        self._network = network
        self._asked = asked
        self._word_start = word_start
        self.answers: dict[tuple[Ids, int], float] = {}

    def run(self, sequences: Sequence[Ids], batch_size: BatchSize, as_trees: bool) -> Iterator[int]:
        """Run everything; yield how many sequences each batch has finished."""
        waiting = sequences
        while waiting:
            most_sequences, most_tokens = batch_size.tree if as_trees else (1, 1)
            # Some networks have tables of that length, whatever the positions.
            limit = most_positions(self._network.config) or most_tokens
            trees = plant(
                waiting, most_sequences=most_sequences, most_tokens=min(most_tokens, limit)
            )
            trees.sort(key=lambda tree: -len(tree.contexts))
            waiting = []
            while trees and not waiting:
                batch = trees[: batch_size.rows([len(tree.contexts) for tree in trees], as_trees)]
                count = sum(len(tree.sequences) for tree in batch)
                if unless_out_of_memory(lambda batch=batch: self._pass(batch)):  # type: ignore[misc]
                    trees = trees[len(batch) :]
                    yield count
                else:
                    batch_size.halve(count, len(batch) * len(batch[0].contexts))
                    waiting = [one for tree in trees for one in tree.sequences]

    def _pass(self, trees: Sequence[PrefixTree]) -> bool:
        """Run one batch and note the answers."""
        places = {
            (row, place): context
            for row, tree in enumerate(trees)
            for place, context in enumerate(tree.contexts)
            if context in self._asked
        }
        _, logits = logits_at(self._network, list(places), **tree_inputs(self._network, trees))
        self._note(list(places.values()), logits)
        return True

    def _note(self, contexts: Sequence[Ids], logits: Any) -> None:
        """Keep the answers about the contexts, one row of logits for each."""
        import torch

        whole = logits.logsumexp(dim=-1)
        wanted = [
            (row, one) for row, context in enumerate(contexts) for one in self._asked[context]
        ]
        rows = torch.tensor([row for row, _ in wanted], device=logits.device)
        tokens = torch.tensor([max(token, 0) for _, token in wanted], device=logits.device)
        values = (logits[rows, tokens] - whole[rows]).double().cpu().tolist()
        starts = [number for number, (_, token) in enumerate(wanted) if token == WORD_START]
        if starts:
            # A table of logits may be longer than the vocabulary: those tokens are never read.
            begins = np.flatnonzero(self._word_start[: logits.shape[1]])
            columns = torch.from_numpy(begins).to(logits.device)
            part = logits[rows[starts]][:, columns].logsumexp(dim=-1) - whole[rows[starts]]
            for number, value in zip(starts, part.double().cpu().tolist(), strict=True):
                values[number] = value
        for (row, token), value in zip(wanted, values, strict=True):
            self.answers[contexts[row], token] = value
