"""A masked language model: gives log-probabilities of tokens at masks.

It answers with as few and as full batches as it can. Sentences are sorted by length and padded
within a batch only, or not at all for a network that notices padding; each masked sentence is run
once, and the language-model head is applied only at the masked positions that are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.models.encoding import encode_masked
from lmprobe.models.forward import (
    check_finite,
    logits_at,
    padded,
    rounding,
    unless_out_of_memory,
)
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import Cloze, EncodedCloze, TokenQuery
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
    def _padding_check(self) -> _PaddingCheck:
        return _PaddingCheck()

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
        with self.weights.running() as network:
            return check_finite(self._answers(network, queries, progress))

    def _answers(self, network: Any, queries: Sequence[TokenQuery], progress: Progress) -> Floats:
        # Padding is masked out of attention, so any token would do where there is none.
        pad = self.tokenizer.pad_token_id
        pad = self.tokenizer.mask_token_id if pad is None else pad
        sentences: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
        for number, query in enumerate(queries):
            sentences.setdefault((query.ids, query.segments), []).append(number)
        # Longest first: if memory is too small, it is too small at the start.
        rows = sorted(sentences.values(), key=lambda numbers: -len(queries[numbers[0]].ids))
        lengths = [len(queries[numbers[0]].ids) for numbers in rows]
        short, long = (queries[rows[place][0]] for place in (-1, 0))
        may_pad = lengths[-1] == lengths[0] or self._padding_check.ignores_padding(
            network, short, long, pad
        )
        answers = np.full(len(queries), np.nan)
        done = 0
        while done < len(rows):
            count = self._batch_size.rows(lengths[done:])
            if not may_pad:
                count = lengths[done : done + count].count(lengths[done])
            batch = [[queries[number] for number in row] for row in rows[done : done + count]]
            values = unless_out_of_memory(lambda batch=batch: _run(network, batch, pad))  # type: ignore[misc]
            if values is None:
                self._batch_size.halve(count, count * lengths[done])
                continue
            answers[[number for row in rows[done : done + count] for number in row]] = values
            done += count
            progress(done, len(rows))
        return answers


class _PaddingCheck:
    """Whether a network ignores padding, tried out once.

    Most do, because it is masked out of attention. Those that do more than attend, such as
    convolve (ConvBERT, MobileBERT) or mix all positions (FNet), do not.
    """

    def __init__(self) -> None:
        self._ignores: bool | None = None

    def ignores_padding(self, network: Any, short: TokenQuery, long: TokenQuery, pad: int) -> bool:
        """Tell whether a short sentence gets the same answers in a batch with a longer one."""
        if self._ignores is None:
            everywhere = [replace(short, position=place) for place in range(len(short.ids))]
            alone, together = (
                unless_out_of_memory(lambda rows=rows: _run(network, rows, pad))  # type: ignore[misc]
                for rows in ([everywhere], [everywhere, [long]])
            )
            if alone is None or together is None:
                return True
            error = np.abs(alone - together[: len(alone)]).max()
            self._ignores = bool(error <= rounding(network) * np.ptp(alone))
        return self._ignores


def _run(network: Any, rows: Sequence[Sequence[TokenQuery]], pad: int) -> Floats:
    """Run one batch; `rows` are the queries about each masked sentence."""
    import torch

    sentences = [row[0] for row in rows]
    inputs = {
        "input_ids": padded([sentence.ids for sentence in sentences], pad),
        "attention_mask": padded([(1,) * len(sentence.ids) for sentence in sentences], 0),
    }
    if sentences[0].segments:
        inputs["token_type_ids"] = padded([sentence.segments for sentence in sentences], 0)
    asked = [(number, query.position) for number, row in enumerate(rows) for query in row]
    places = {place: number for number, place in enumerate(dict.fromkeys(asked))}
    tensors = {name: torch.from_numpy(table).to(network.device) for name, table in inputs.items()}
    logits = logits_at(network, list(places), **tensors)
    place = torch.tensor([places[position] for position in asked], device=network.device)
    token = torch.tensor([query.token for row in rows for query in row], device=network.device)
    values = logits[place, token] - logits.logsumexp(dim=-1)[place]
    answers: Floats = values.double().cpu().numpy()
    return answers
