"""A masked language model: gives log-probabilities of tokens at masks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.io.progress import Progress, silent
from lmprobe.models.cloze import Cloze, EncodedCloze, TokenQuery
from lmprobe.models.encoding import encode_masked
from lmprobe.models.kind import kinds
from lmprobe.models.masked_runner import PaddingCheck, log_probabilities
from lmprobe.models.transformers_model import TransformersModel


@kinds.register("masked")
class MaskedModel(TransformersModel):
    """A model that fills masks, such as BERT; `load_model` makes it."""

    kind = "masked"
    auto_class = "AutoModelForMaskedLM"
    architectures = "MODEL_FOR_MASKED_LM_MAPPING_NAMES"
    masks = True
    default_scorer = "difference-l2r"
    sentence_scorer = "pll"

    @cached_property
    def _padding_check(self) -> PaddingCheck:
        return PaddingCheck()

    def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Return the tokens of each cloze; raise for words or sentences that do not fit."""
        encoded = encode_masked(self.tokenizer, clozes)
        self._check_lengths(clozes, encoded)
        return encoded

    def log_probabilities(
        self, queries: Sequence[TokenQuery], *, progress: Progress = silent
    ) -> Floats:
        """Return log P(token | masked sentence) of each query (n,).

        `progress` counts the masked sentences that were run; equal ones run once.
        """
        if not queries:
            return np.empty(0)
        # Padding is masked out of attention, so any token would do where there is none.
        pad = self.tokenizer.pad_token_id
        with self.weights.running() as network:
            return log_probabilities(
                network,
                queries,
                batch_size=self._batch_size,
                pad=self.tokenizer.mask_token_id if pad is None else pad,
                check=self._padding_check,
                progress=progress,
            )
