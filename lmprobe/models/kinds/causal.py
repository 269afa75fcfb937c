"""A causal language model: gives log-probabilities of the next token.

The sentences are read as trees (`prefix_tree`): a beginning that several have in common is run
once, and no token is padding. A network that cannot read trees reads sentences one by one in
batches, sorted by length and padded on the right, where a causal model does not look. The head
is applied only where a token is asked for, and the last token of a sentence is never read,
only predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.models.encoding import encode_causal
from lmprobe.models.forward import (
    BatchSize,
    check_finite,
    logits_at,
    most_positions,
    unless_out_of_memory,
)
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import WORD_START, Cloze, EncodedCloze, TokenQuery
from lmprobe.models.prefix_tree import Ids, PrefixTree, TreeCheck, plant, tree_inputs
from lmprobe.models.transformers_model import TransformersModel


@kinds.register("causal")
class CausalModel(TransformersModel):
    """A model that reads from left to right, such as GPT-2 or Llama; `load_model` makes it."""

    kind = "causal"
    auto_class = "AutoModelForCausalLM"
    architectures = "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"
    masks = False
    default_scorer = "sentence"
    # Such a model expects few pronouns at the beginning of a text, where `fitbert` has them:
    # SmolLM2 gives he and she 4e-5 there, and 0.04 in the sentences of `everyday`.
    default_templates = "everyday"
    sentence_scorer = "sentence"

    @cached_property
    def _tree_check(self) -> TreeCheck:
        return TreeCheck()

    def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Return the tokens of each cloze; raise for words or sentences that do not fit."""
        encoded = encode_causal(self.tokenizer, clozes, self.word_tokens.begins)
        self._check_lengths(clozes, encoded)
        return encoded

    def log_probabilities(
        self, queries: Sequence[TokenQuery], *, progress: Progress = silent
    ) -> Floats:
        """Return log P(token | the tokens before it) of each query (n,).

        `progress` counts sentences; equal ones run once, and so do equal beginnings.
        """
        if not queries:
            return np.empty(0)
        contexts = [query.ids[: query.position] for query in queries]
        asked: dict[Ids, dict[int, None]] = {}
        for context, query in zip(contexts, queries, strict=True):
            asked.setdefault(context, {})[query.token] = None
        sequences = _longest(asked)
        with self.weights.running() as network:
            runner = _Runner(network, asked, self.word_tokens.begins)
            trees = self._tree_check.reads_trees(network, sequences)
            done = 0
            for answered in runner.run(sequences, self._batch_size, trees):
                done += answered
                progress(done, len(sequences))
        pairs = zip(contexts, queries, strict=True)
        answers = [runner.answers[context, query.token] for context, query in pairs]
        return check_finite(np.array(answers))


def _longest(contexts: Mapping[Ids, Any]) -> list[Ids]:
    """Return the contexts that do not begin a longer one."""
    ordered = sorted(contexts)
    pairs = zip(ordered, [*ordered[1:], ()], strict=True)
    return [context for context, after in pairs if after[: len(context)] != context]


class _Runner:
    """Runs sequences of tokens and collects the answers about their contexts.

    `asked` has the tokens asked for after each context.
    """

    def __init__(
        self, network: Any, asked: Mapping[Ids, Mapping[int, None]], word_start: NDArray[np.bool_]
    ) -> None:
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
                    waiting = [sequence for tree in trees for sequence in tree.sequences]

    def _pass(self, trees: Sequence[PrefixTree]) -> bool:
        """Run one batch and note the answers about the contexts in it."""
        import torch

        places = {
            (row, place): context
            for row, tree in enumerate(trees)
            for place, context in enumerate(tree.contexts)
            if context in self._asked
        }
        logits = logits_at(self._network, list(places), **tree_inputs(self._network, trees))
        whole = logits.logsumexp(dim=-1)
        wanted = [
            (row, context, token)
            for row, context in enumerate(places.values())
            for token in self._asked[context]
        ]
        rows = torch.tensor([row for row, _, _ in wanted], device=logits.device)
        tokens = torch.tensor([max(token, 0) for _, _, token in wanted], device=logits.device)
        values = (logits[rows, tokens] - whole[rows]).double().cpu().tolist()
        starts = [number for number, (_, _, token) in enumerate(wanted) if token == WORD_START]
        if starts:
            # A table of logits may be longer than the vocabulary: those tokens are never read.
            begins = np.flatnonzero(self._word_start[: logits.shape[1]])
            columns = torch.from_numpy(begins).to(logits.device)
            part = logits[rows[starts]][:, columns].logsumexp(dim=-1) - whole[rows[starts]]
            for number, value in zip(starts, part.double().cpu().tolist(), strict=True):
                values[number] = value
        for (_, context, token), value in zip(wanted, values, strict=True):
            self.answers[context, token] = value
        return True
