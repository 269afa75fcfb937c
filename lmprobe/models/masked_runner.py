"""Answers queries about masked tokens with as few and as full batches as it can.

Sentences are sorted by length and padded within a batch only, or not at all for a network that
notices padding; no masked sentence is run twice, and the language-model head is applied at the
masked positions that are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.io.progress import Progress, silent
from lmprobe.models.batch import BatchSize
from lmprobe.models.cloze import TokenQuery
from lmprobe.models.forward import (
    check_finite,
    logits_at,
    padded,
    rounding,
    unless_out_of_memory,
)


def log_probabilities(
    network: Any,
    queries: Sequence[TokenQuery],
    *,
    batch_size: BatchSize,
    pad: int,
    check: PaddingCheck,
    progress: Progress = silent,
) -> Floats:
    """Return log P(token at its position | the masked sentence) of each query (n,).

    `check` remembers whether the network ignores padding.
    """
    sentences: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for number, query in enumerate(queries):
        sentences.setdefault((query.ids, query.segments), []).append(number)
    # Longest first: if memory is too small, it is too small at the start.
    asked = sorted(sentences.values(), key=lambda numbers: -len(queries[numbers[0]].ids))
    lengths = [len(queries[numbers[0]].ids) for numbers in asked]
    ends = [queries[asked[place][0]] for place in (-1, 0)]
    may_pad = lengths[-1] == lengths[0] or check.ignores_padding(network, ends[0], ends[1], pad)
    answers = np.full(len(queries), np.nan)
    done = 0
    while done < len(asked):
        count = batch_size.rows(lengths[done:])
        if not may_pad:
            count = lengths[done : done + count].count(lengths[done])
        batch = asked[done : done + count]
        rows = [[queries[number] for number in row] for row in batch]
        values = unless_out_of_memory(lambda rows=rows: _run(network, rows, pad))  # type: ignore[misc]
        if values is None:
            batch_size.halve(count, count * lengths[done])
            continue
        answers[[number for row in batch for number in row]] = values
        done += count
        progress(done, len(asked))
    return check_finite(answers)


class PaddingCheck:
    """Whether a network ignores padding, tried out once.

    Most do, because it is masked out of attention. Those that do more than attend, such as
    convolve (ConvBERT, MobileBERT) or mix all positions (FNet), do not.
    """

    def __init__(self) -> None:
        """Begin with nothing known."""
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

    device = network.device
    sentences = [row[0] for row in rows]
    inputs = {
        "input_ids": padded([one.ids for one in sentences], pad),
        "attention_mask": padded([(1,) * len(one.ids) for one in sentences], 0),
    }
    if sentences[0].segments:
        inputs["token_type_ids"] = padded([one.segments for one in sentences], 0)
    asked = [(number, one.position) for number, row in enumerate(rows) for one in row]
    places = {place: number for number, place in enumerate(dict.fromkeys(asked))}
    tensors = {name: torch.from_numpy(table).to(device) for name, table in inputs.items()}
    _, logits = logits_at(network, list(places), **tensors)
    place = torch.tensor([places[one] for one in asked], device=device)
    token = torch.tensor([one.token for row in rows for one in row], device=device)
    values = logits[place, token] - logits.logsumexp(dim=-1)[place]
    answers: Floats = values.double().cpu().numpy()
    return answers
