"""What both runners share: batches, padding, the head at chosen places only, small memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError, ModelError
from lmprobe.models.quiet import first_line

T = TypeVar("T")

Place = tuple[int, int]
"""The row of a batch, and the position in it."""

# Of the difference that another sentence makes: far above rounding, far below what a token
# changes that is seen by mistake, not seen, or seen at another distance.
_ROUNDING = {"bfloat16": 5e-2, "float16": 5e-2}

# Tokens in one batch of automatic size. More gained nothing on a CPU with a model of
# bert-base's size (benchmarks/runner.py); a GPU needs larger batches to be busy.
_TOKENS = {"cpu": 1024, "mps": 8192, "cuda": 32768}

# Every token of a tree of sentences is compared with all its others: large ones take long.
_LARGEST_TREE = 512


class BatchSize:
    """Either a fixed number of sentences or, with "auto", as many as a budget of tokens allows.

    The automatic size is halved whenever memory runs out, and stays there.
    """

    def __init__(self, wanted: int | str, device: str) -> None:
        """Check what was asked for; `device` is a type such as "cuda"."""
        if isinstance(wanted, str) and wanted.isdecimal():
            wanted = int(wanted)
        if wanted != "auto" and (
            isinstance(wanted, str | bool) or not isinstance(wanted, int) or wanted < 1
        ):
            raise InputError(f'the batch size must be "auto" or at least 1, found {wanted!r}')
        self.policy = str(wanted)
        self._fixed = wanted if isinstance(wanted, int) else None
        self._tokens = _TOKENS.get(device, _TOKENS["cpu"])

    @property
    def tree(self) -> tuple[int, int]:
        """How many sentences, and how many tokens, a tree of them may have."""
        return self._fixed or self._tokens, min(self._tokens, _LARGEST_TREE)

    def rows(self, lengths: Sequence[int], trees: bool = False) -> int:
        """Return how many of the next rows to take, sentences or trees; their lengths fall."""
        fixed = 1 if self._fixed and trees else self._fixed
        fitting = fixed or max(1, self._tokens // lengths[0])
        return min(len(lengths), fitting)

    def halve(self, sentences: int, tokens: int) -> None:
        """Take half as many tokens from now on, or say that memory is too small."""
        if self._fixed or sentences == 1:
            raise ModelError(
                f"out of memory with {sentences} sentence{'s' if sentences > 1 else ''}, "
                f"{tokens} tokens; "
                + ('use the batch size "auto"' if self._fixed else "use a smaller model or dtype")
            )
        self._tokens = tokens // 2


def rounding(network: Any) -> float:
    """Return the share of a difference between sentences that can be rounding."""
    return _ROUNDING.get(str(network.dtype).removeprefix("torch."), 1e-4)


def most_positions(config: Any) -> int | None:
    """Return how many tokens a network can read; None without a limit (-1 in XLNet)."""
    most: int | None = getattr(config, "max_position_embeddings", None)
    return None if most == -1 else most


def padded(rows: Sequence[Sequence[int]], value: int) -> NDArray[np.int64]:
    """Return the rows as a table, filled up on the right."""
    table = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


def logits_at(network: Any, places: Sequence[Place], **inputs: Any) -> Any:
    """Run the network and return the logits at the places, (places, vocabulary).

    The output layer is applied to these places only.
    """
    import torch

    where = torch.tensor(list(places), device=network.device).unbind(1)

    def gather(module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        hidden, *rest = inputs
        return (hidden[where].unsqueeze(0), *rest) if hidden.dim() == 3 else None

    head = network.get_output_embeddings()
    hook = None if head is None else head.register_forward_pre_hook(gather)
    try:
        logits = network(**inputs).logits
    except Exception as problem:
        if is_out_of_memory(problem):
            raise
        # It may read more than sentences, as TAPAS does.
        name = type(network).__name__
        raise ModelError(f"{name} failed on a plain sentence: {first_line(problem)}") from problem
    finally:
        if hook is not None:
            hook.remove()
    # An architecture that does not call its output layer as a module leaves the hook
    # unused and gives logits at every position.
    logits = logits[0] if logits.shape[:2] == (1, len(places)) else logits[where]
    return logits.float()


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
