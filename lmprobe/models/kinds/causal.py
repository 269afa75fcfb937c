"""A causal language model: gives log-probabilities of the next token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.io.progress import Progress, silent
from lmprobe.models.causal_encoding import encode_causal
from lmprobe.models.causal_runner import log_probabilities
from lmprobe.models.cloze import Cloze, EncodedCloze, TokenQuery
from lmprobe.models.kind import kinds
from lmprobe.models.transformers_model import TransformersModel
from lmprobe.models.tree_input import TreeCheck


@kinds.register("causal")
class CausalModel(TransformersModel):
    """A model that reads from left to right, such as GPT-2 or Llama; `load_model` makes it."""

    kind = "causal"
    auto_class = "AutoModelForCausalLM"
    architectures = "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"
    masks = False
    default_scorer = "sentence"
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
        with self.weights.running() as network:
            return log_probabilities(
                network,
                queries,
                batch_size=self._batch_size,
                word_start=self.word_tokens.begins,
                check=self._tree_check,
                progress=progress,
            )
