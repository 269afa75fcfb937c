"""Answers queries about masked tokens with as few and as full batches as it can.

Sentences are sorted by length and padded within a batch only, no masked sentence is run
twice, and the language-model head is applied at the masked positions that are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.io.progress import Progress, silent
from lmprobe.models.batch import BatchSize
from lmprobe.models.cloze import TokenQuery
from lmprobe.models.forward import check_finite, logits_at, padded, unless_out_of_memory


def log_probabilities(
    network: Any,
    queries: Sequence[TokenQuery],
    *,
    batch_size: BatchSize,
    pad: int,
    progress: Progress = silent,
) -> Floats:
    """Return log P(token at its position | the masked sentence) of each query (n,)."""
    sentences: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for number, query in enumerate(queries):
        sentences.setdefault((query.ids, query.segments), []).append(number)
    # Longest first: if memory is too small, it is too small at the start.
    asked = sorted(sentences.values(), key=lambda numbers: -len(queries[numbers[0]].ids))
    lengths = [len(queries[numbers[0]].ids) for numbers in asked]
    answers = np.full(len(queries), np.nan)
    done = 0
    while done < len(asked):
        count = batch_size.rows(lengths[done:])
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
