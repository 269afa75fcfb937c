"""A masked language model: gives log-probabilities of tokens at masks.

Sentences are sorted by length and padded within a batch only, or not at all for a network that
notices padding; each masked sentence is run once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmprobe.models.forward import (
    Batch,
    BatchSize,
    input_device,
    padded,
    rounding,
    run_batch,
    suppress_out_of_memory,
)
from lmprobe.models.kind import BatchedModel, kinds
from lmprobe.models.language_model import Cloze, EncodedCloze, TokenQuery, encode_masked

# Tokens of the made-up sentence that tells whether padding is ignored.
_LONG = 16


@kinds.register("masked")
class MaskedModel(BatchedModel):
    """A model that fills masks, such as BERT; `load_model` makes it."""

    kind = "masked"
    auto_class = "AutoModelForMaskedLM"
    architectures = "MODEL_FOR_MASKED_LM_MAPPING_NAMES"
    masks = True
    default_scorer = "difference-l2r"
    sentence_scorer = "pll"
    _ignores_padding: bool | None = None

    def _encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        return encode_masked(self.tokenizer, clozes)

    def _reader(self, network: Any, queries: Sequence[TokenQuery]) -> _MaskedReader:
        reader = _MaskedReader(input_device(network), self.tokenizer, queries, self._batch_size)
        if len(reader.sentences[-1]) < len(reader.sentences[0]):
            if self._ignores_padding is None:
                with suppress_out_of_memory():
                    self._ignores_padding = _ignores_padding(network, reader, self.tokenizer)
            reader.may_pad = self._ignores_padding is True
        return reader


@dataclass(frozen=True, slots=True)
class _MaskedSentence:
    queries: tuple[TokenQuery, ...]
    """The queries about the sentence; each has its tokens."""

    def __len__(self) -> int:
        return len(self.queries[0].ids)

    @property
    def sentences(self) -> tuple[_MaskedSentence, ...]:
        return (self,)


class _MaskedReader:
    """Reads each masked sentence in a row of its own."""

    def __init__(
        self, device: Any, tokenizer: Any, queries: Sequence[TokenQuery], batch_size: BatchSize
    ) -> None:
        self._device, self._tokenizer, self._batch_size = device, tokenizer, batch_size
        self.may_pad = True
        grouped: dict[tuple[tuple[int, ...], tuple[int, ...]], list[TokenQuery]] = {}
        for query in queries:
            grouped.setdefault((query.ids, query.segments), []).append(query)
        # Longest first: if memory is too small, it is too small at the start.
        sentences = [_MaskedSentence(tuple(same)) for same in grouped.values()]
        self.sentences = sorted(sentences, key=len, reverse=True)

    def rows(self, sentences: Sequence[_MaskedSentence]) -> list[_MaskedSentence]:
        return list(sentences)

    def batch_rows(self, rows: Sequence[_MaskedSentence]) -> int:
        count = self._batch_size.rows(rows)
        lengths = [len(row) for row in rows[:count]]
        return count if self.may_pad else lengths.count(lengths[0])

    def batch(self, rows: Sequence[_MaskedSentence]) -> Batch:
        return Batch(
            masked_inputs([row.queries[0] for row in rows], self._tokenizer, self._device),
            {
                query: (number, query.position)
                for number, row in enumerate(rows)
                for query in row.queries
            },
        )


def masked_inputs(queries: Sequence[TokenQuery], tokenizer: Any, device: Any) -> dict[str, Any]:
    """Return the keyword arguments that let a network read the sentences of these queries."""
    import torch

    # Padding is masked out of attention, so any token would do where there is none.
    pad = tokenizer.pad_token_id
    tables = {
        "input_ids": padded(
            [query.ids for query in queries], tokenizer.mask_token_id if pad is None else pad
        ),
        "attention_mask": padded([(1,) * len(query.ids) for query in queries], 0),
    }
    if queries[0].segments:
        tables["token_type_ids"] = padded([query.segments for query in queries], 0)
    return {name: torch.from_numpy(table).to(device) for name, table in tables.items()}


def _ignores_padding(network: Any, reader: _MaskedReader, tokenizer: Any) -> bool:
    """Tell whether a sentence gets the same answers in a batch with a longer one.

    Most networks ignore padding, because it is masked out of attention. Those that do more than
    attend, such as convolve (ConvBERT, MobileBERT) or mix all positions (FNet), do not. The
    sentences are made up, so that the outcome does not depend on what the model was asked before.
    """
    words = sorted({*range(len(tokenizer))} - {*tokenizer.all_special_ids})
    ids = tuple(words[:: max(1, len(words) // _LONG)][:_LONG])
    segments = (0,) * len(ids) if reader.sentences[0].queries[0].segments else ()
    long, short = (
        _MaskedSentence(
            tuple(
                TokenQuery(ids[:size], place, ids[place], segments[:size]) for place in range(size)
            )
        )
        for size in (len(ids), len(ids) // 2)
    )
    alone = np.array(list(run_batch(network, reader.batch([short])).values()))
    both = np.array(list(run_batch(network, reader.batch([short, long])).values()))
    together = both[: len(alone)]
    return bool(np.abs(alone - together).max() <= rounding(network) * np.ptp(alone))
