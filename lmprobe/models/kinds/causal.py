"""A causal language model: gives log-probabilities of the next token.

The sentences are read as trees (`prefix_tree`): a beginning that several have in common is run
once, and no token is padding. A network that cannot read trees reads sentences one by one in
batches, sorted by length and padded on the right, where a causal model does not look. The last
token of a sentence is never read, only predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import Argument, ModelError
from lmprobe.models.forward import Batch, BatchSize, first_line, most_positions
from lmprobe.models.kind import BatchedModel, kinds
from lmprobe.models.language_model import (
    TEMPLATE_OPTIONS,
    Cloze,
    EncodedCloze,
    TokenQuery,
    chat_messages,
    encode_causal,
)
from lmprobe.models.prefix_tree import Ids, PrefixTree, TreeCheck, plant, tree_inputs


@kinds.register("causal")
class CausalModel(BatchedModel):
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

    def chat_prompt(self, turn: str, system: str | None = None) -> str:
        """Return what the model reads before its answer, as its chat template writes it."""
        if not self.tokenizer.chat_template:
            raise ModelError(
                f"{self.name} has no chat template, so no turn can stand before its sentences; "
                "leave out the turns (",
                Argument("chat"),
                "), choose a template set without the key `chat`, or give the tokenizer of a chat "
                "model (",
                Argument("tokenizer"),
                ")",
            )
        try:
            messages = chat_messages(turn, system)
            written = self.tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=False, **TEMPLATE_OPTIONS
            )
        # Templates are code of others, and raise what they like for roles that they do not know.
        except Exception as problem:
            said = f"with the system text {system!r}" if system is not None else f"with {turn!r}"
            raise ModelError(
                f"{self.name}: its chat template fails {said}: {first_line(problem)}"
            ) from problem
        return str(written)

    def _encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        return encode_causal(self.tokenizer, clozes, self.word_tokens.begins)

    def _as_read(self, query: TokenQuery) -> TokenQuery:
        return TokenQuery(query.ids[: query.position], query.position, query.token)

    def _reader(self, network: Any, queries: Sequence[TokenQuery]) -> _CausalReader:
        reader = _CausalReader(network, queries, self.word_tokens.begins, self._batch_size)
        reader.as_trees = self._tree_check.reads_trees(network, reader.sentences)
        return reader


class _CausalReader:
    """Reads trees of sequences of tokens, or each sequence in a row of its own."""

    def __init__(
        self,
        network: Any,
        queries: Sequence[TokenQuery],
        word_start: NDArray[np.bool_],
        batch_size: BatchSize,
    ) -> None:
        self._network = network
        self._word_start = word_start
        self._batch_size = batch_size
        self._queries: dict[Ids, dict[TokenQuery, None]] = {}
        for query in queries:
            self._queries.setdefault(query.ids, {})[query] = None
        self.sentences = _longest(self._queries)
        self.as_trees = False

    def rows(self, sentences: Sequence[Ids]) -> list[PrefixTree]:
        most_sequences, most_tokens = self._batch_size.tree if self.as_trees else (1, 1)
        # Some networks have tables of that length, whatever the positions.
        most_tokens = min(most_tokens, most_positions(self._network.config) or most_tokens)
        trees = plant(sentences, most_sequences=most_sequences, most_tokens=most_tokens)
        return sorted(trees, key=len, reverse=True)

    def batch_rows(self, rows: Sequence[PrefixTree]) -> int:
        return self._batch_size.rows(rows, self.as_trees)

    def batch(self, rows: Sequence[PrefixTree]) -> Batch:
        positions = {
            query: (row, place)
            for row, tree in enumerate(rows)
            for place, context in enumerate(tree.contexts)
            for query in self._queries.get(context, ())
        }
        return Batch(tree_inputs(self._network, rows), positions, self._word_start)


def _longest(contexts: Iterable[Ids]) -> list[Ids]:
    """Return the contexts that do not begin a longer one."""
    ordered = sorted(contexts)
    pairs = zip(ordered, [*ordered[1:], ()], strict=True)
    return [context for context, after in pairs if after[: len(context)] != context]
