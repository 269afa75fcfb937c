"""Answers questions about masked tokens with as few and as full batches as it can.

Sentences are sorted by length and padded within a batch only, no masked sentence is run
twice, and the language-model head is applied at the masked positions that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import ModelError
from lmprobe.models.batch import BatchSize
from lmprobe.models.blank import Question
from lmprobe.progress import Progress, silent
from lmprobe.tally import Floats


def log_probabilities(
    network: Any,
    questions: Sequence[Question],
    *,
    batch_size: BatchSize,
    pad: int,
    progress: Progress = silent,
) -> Floats:
    """Return log P(token at its position | the masked sentence) of each question (n,)."""
    sentences: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for number, question in enumerate(questions):
        sentences.setdefault((question.ids, question.segments), []).append(number)
    # Longest first: if memory is too small, it is too small at the start.
    asked = sorted(sentences.values(), key=lambda numbers: -len(questions[numbers[0]].ids))
    lengths = [len(questions[numbers[0]].ids) for numbers in asked]
    answers = np.full(len(questions), np.nan)
    done = 0
    while done < len(asked):
        count = batch_size.rows(lengths[done:])
        batch = asked[done : done + count]
        values = _unless_out_of_memory(network, [[questions[n] for n in row] for row in batch], pad)
        if values is None:
            batch_size.halve(count, lengths[done])
            continue
        answers[[number for row in batch for number in row]] = values
        done += count
        progress(done, len(asked))
    if not np.isfinite(answers).all():
        raise ModelError(
            f"the model gave {int((~np.isfinite(answers)).sum())} probabilities that are not "
            "numbers or are zero; its weights are damaged or need the dtype float32"
        )
    return answers


def _unless_out_of_memory(
    network: Any, rows: Sequence[Sequence[Question]], pad: int
) -> Floats | None:
    """Return the answers, row after row, or None when the batch does not fit in memory."""
    import torch

    try:
        with torch.inference_mode():
            return _run(network, rows, pad)
    except torch.OutOfMemoryError:
        pass
    except RuntimeError as problem:
        # The CPU's and MPS's allocators raise the parent class; only their words tell.
        text = str(problem).lower()
        if "out of memory" not in text and "can't allocate memory" not in text:
            raise
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def _run(network: Any, rows: Sequence[Sequence[Question]], pad: int) -> Floats:
    """Run one batch; `rows` are the questions about each masked sentence."""
    import torch

    device = network.device
    sentences = [row[0] for row in rows]
    inputs = {
        "input_ids": _padded([one.ids for one in sentences], pad),
        "attention_mask": _padded([(1,) * len(one.ids) for one in sentences], 0),
    }
    if sentences[0].segments:
        inputs["token_type_ids"] = _padded([one.segments for one in sentences], 0)
    asked = [(number, one.position) for number, row in enumerate(rows) for one in row]
    places = {place: number for number, place in enumerate(dict.fromkeys(asked))}
    where = torch.tensor(list(places), device=device).unbind(1)
    with _head_only_at(network, where):
        output = network(**{name: torch.from_numpy(ids).to(device) for name, ids in inputs.items()})
    logits = output.logits
    # An architecture that does not call its output layer as a module leaves the hook
    # unused and gives logits at every position.
    logits = logits[0] if logits.shape[:2] == (1, len(places)) else logits[where]
    logits = logits.float()
    place = torch.tensor([places[one] for one in asked], device=device)
    token = torch.tensor([one.token for row in rows for one in row], device=device)
    values = logits[place, token] - logits.logsumexp(dim=-1)[place]
    answers: Floats = values.double().cpu().numpy()
    return answers


def _padded(rows: Sequence[Sequence[int]], value: int) -> NDArray[np.int64]:
    table = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


@contextmanager
def _head_only_at(network: Any, where: Sequence[Any]) -> Iterator[None]:
    """Let the output layer see the hidden states at the places `where` (rows, positions) only."""
    head = network.get_output_embeddings()
    if head is None:
        yield
        return

    def gather(module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        hidden, *rest = inputs
        return (hidden[tuple(where)].unsqueeze(0), *rest) if hidden.dim() == 3 else None

    hook = head.register_forward_pre_hook(gather)
    try:
        yield
    finally:
        hook.remove()
