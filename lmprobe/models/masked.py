"""A masked language model that answers questions about words in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe.errors import ModelError
from lmprobe.models.batch import BatchSize
from lmprobe.models.blank import Blank, Encoded, Question, encode
from lmprobe.models.checkpoint import Checkpoint
from lmprobe.models.quiet import quiet_transformers
from lmprobe.models.runner import log_probabilities
from lmprobe.progress import Progress, silent
from lmprobe.tally import Floats


class MaskedModel:
    """A checkpoint ready to be probed; `load_model` makes it.

    The weights are read when the first question comes, so that a run whose scores are all
    in the cache reads none.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        config: Any,
        tokenizer: Any,
        device: str,
        dtype: str,
        batch_size: int | str,
    ) -> None:
        """Keep what `load_model` found and checked."""
        self.name = checkpoint.name
        self.revision = checkpoint.revision
        self.content_hash = checkpoint.content_hash
        self.folder: Path = checkpoint.folder
        self.device = device
        self.dtype = dtype
        self._config = config
        self.tokenizer = tokenizer
        self._batch_size = BatchSize(batch_size, device.split(":")[0])

    def __repr__(self) -> str:
        """Return the name and where it runs."""
        return f"MaskedModel({self.name!r}, device={self.device!r}, dtype={self.dtype!r})"

    @property
    def tokenizer_name(self) -> str:
        """The class of the tokenizer, such as BertTokenizer."""
        return type(self.tokenizer).__name__

    @property
    def batch_policy(self) -> str:
        """What was asked for: "auto" or a number of sentences."""
        return self._batch_size.policy

    def encode(self, blanks: Sequence[Blank]) -> list[Encoded]:
        """Return the tokens of each blank; raise for words or sentences that do not fit."""
        encoded = encode(self.tokenizer, blanks)
        longest = max(range(len(blanks)), key=lambda n: len(encoded[n].ids), default=None)
        if longest is not None:
            self._check_length(blanks[longest].text, len(encoded[longest].ids))
        return encoded

    def log_probabilities(
        self, questions: Sequence[Question], *, progress: Progress = silent
    ) -> Floats:
        """Return log P(token | masked sentence) of each question (n,).

        `progress` counts the masked sentences that were run; equal ones run once.
        """
        if not questions:
            return np.empty(0)
        # Padding is masked out of attention, so any token would do where there is none.
        pad = self.tokenizer.pad_token_id
        return log_probabilities(
            self.network,
            questions,
            batch_size=self._batch_size,
            pad=self.tokenizer.mask_token_id if pad is None else pad,
            progress=progress,
        )

    @cached_property
    def network(self) -> Any:
        """The torch module, in evaluation mode on its device."""
        import torch
        from transformers import AutoModelForMaskedLM

        with quiet_transformers():
            try:
                network, report = AutoModelForMaskedLM.from_pretrained(
                    self.folder,
                    config=self._config,
                    dtype=getattr(torch, self.dtype),
                    local_files_only=True,
                    trust_remote_code=False,
                    weights_only=True,
                    output_loading_info=True,
                )
            # Whatever a damaged or foreign file makes transformers raise, it is the file.
            except Exception as problem:
                lines = str(problem).strip().splitlines() or [type(problem).__name__]
                raise ModelError(
                    f"{self.name}: the weights cannot be read: {lines[0]}"
                ) from problem
        missing = sorted(report["missing_keys"])
        if missing:
            raise ModelError(
                f"{self.name}: the checkpoint lacks {len(missing)} weights of a masked language "
                f"model, such as {missing[0]}; random ones would answer. It was saved for "
                f"another purpose ({', '.join(self._config.architectures or ['unknown'])})"
            )
        return network.eval().to(self.device)

    def _check_length(self, text: str, length: int) -> None:
        """Raise if a sentence of `length` tokens is longer than the model allows."""
        positions = getattr(self._config, "max_position_embeddings", None) or length
        limit = min(self.tokenizer.model_max_length, positions)
        if limit // 2 < length <= limit:
            # Where positions are counted from the padding token's (as in RoBERTa), fewer
            # are left than the table has; only the network tells.
            tables = [
                module
                for name, module in self.network.named_modules()
                if name.endswith("position_embeddings")
                and getattr(module, "padding_idx", None) is not None
            ]
            limit = min([limit, *(len(one.weight) - one.padding_idx - 1 for one in tables)])
        if length > limit:
            raise ModelError(
                f"{self.name} reads at most {limit} tokens; a sentence has {length}: "
                f"{text if len(text) <= 80 else text[:77] + '...'!r}"
            )
