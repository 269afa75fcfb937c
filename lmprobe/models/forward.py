"""What both runners share: padding, the head at chosen places only, and small memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats
from lmprobe.errors import ModelError
from lmprobe.models.problems import first_line

T = TypeVar("T")

Place = tuple[int, int]
"""The row of a batch, and the position in it."""

# Of the difference that another sentence makes: far above rounding, far below what a token
# changes that is seen by mistake, not seen, or seen at another distance.
_ROUNDING = {"bfloat16": 5e-2, "float16": 5e-2}


def rounding(network: Any) -> float:
    """Return the share of a difference between sentences that can be rounding."""
    return _ROUNDING.get(str(network.dtype).removeprefix("torch."), 1e-4)


def most_positions(config: Any) -> int | None:
    """Return how many tokens a network can read; None without a limit (-1 in XLNet)."""
    found: int | None = getattr(config, "max_position_embeddings", None)
    return None if found == -1 else found


def padded(rows: Sequence[Sequence[int]], value: int) -> NDArray[np.int64]:
    """Return the rows as a table, filled up on the right."""
    table = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


def logits_at(network: Any, places: Sequence[Place], **inputs: Any) -> tuple[Any, Any]:
    """Run the network and return its output and the logits at the places, (places, vocabulary)."""
    import torch

    where = torch.tensor(list(places), device=network.device).unbind(1)
    with _head_only_at(network, where):
        output = _run(network, inputs)
    logits = output.logits
    # An architecture that does not call its output layer as a module leaves the hook
    # unused and gives logits at every position.
    logits = logits[0] if logits.shape[:2] == (1, len(places)) else logits[where]
    return output, logits.float()


def _run(network: Any, inputs: Mapping[str, Any]) -> Any:
    """Return the output of the network; raise if it cannot read sentences, as TAPAS cannot."""
    try:
        return network(**inputs)
    except Exception as problem:
        if is_out_of_memory(problem):
            raise
        name = type(network).__name__
        raise ModelError(f"{name} failed on a plain sentence: {first_line(problem)}") from problem


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


def unless_out_of_memory(run: Callable[[], T]) -> T | None:
    """Return what `run` returns, or None when the batch does not fit in memory."""
    import torch

    try:
        with torch.inference_mode():
            return run()
    except RuntimeError as problem:
        if not is_out_of_memory(problem):
            raise
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def is_out_of_memory(problem: Exception) -> bool:
    """Tell whether an error of torch means that a batch does not fit in memory."""
    import torch

    # The allocators of the CPU and of MPS raise the parent class; only their words tell.
    text = str(problem).lower()
    return isinstance(problem, torch.OutOfMemoryError) or (
        isinstance(problem, RuntimeError)
        and ("out of memory" in text or "can't allocate memory" in text)
    )


def check_finite(answers: Floats) -> Floats:
    """Return the answers, or raise if any is not a number or minus infinity."""
    if not np.isfinite(answers).all():
        raise ModelError(
            f"the model gave {int((~np.isfinite(answers)).sum())} probabilities that are not "
            "numbers or are zero; its weights are damaged or need the dtype float32"
        )
    return answers
