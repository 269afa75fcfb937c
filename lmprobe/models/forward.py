"""Runs a network on batches: their size, padding, the output layer, small memory, silence."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError, ModelError, invalid, plural
from lmprobe.models.language_model import WORD_START, TokenQuery

Position = tuple[int, int]
"""The row of a batch, and the place in it."""

# Of the difference that another sentence makes: far above rounding, far below what a token
# changes that is seen by mistake, not seen, or seen at another distance.
_ROUNDING = {"bfloat16": 5e-2, "float16": 5e-2}

BALANCED = "balanced"
"""The device of a model that is spread over all GPUs, memory and disk."""

# Tokens in one batch of automatic size. More gained nothing on a CPU with a model of
# bert-base's size (benchmarks/models.py); a GPU needs larger batches to be busy.
_TOKENS = {"cpu": 1024, "mps": 8192, "cuda": 32768, BALANCED: 8192}

# A batch of fewer tokens than this share of the budget does not keep the device busy: padding
# costs less than another batch.
_SMALL_BATCH = 1 / 4

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
            raise invalid("batch_size", f' must be "auto" or at least 1, found {wanted!r}')
        self.policy = str(wanted)
        self._fixed = wanted if isinstance(wanted, int) else None
        self._tokens = _TOKENS.get(device, _TOKENS["cpu"])
        self._small = int(self._tokens * _SMALL_BATCH)

    @property
    def tree(self) -> tuple[int, int]:
        """How many sentences, and how many tokens, a tree of them may have."""
        return self._fixed or self._tokens, min(self._tokens, _LARGEST_TREE)

    def rows(self, rows: Sequence[Sized], trees: bool = False) -> int:
        """Return how many of the next rows to take, sentences or trees; the longest is first.

        Sentences of one length, which need no padding, unless there are few of them.
        """
        fixed = 1 if self._fixed and trees else self._fixed
        longest = len(rows[0])
        fitting = min(len(rows), fixed or max(1, self._tokens // longest))
        if trees:
            return fitting
        equal = sum(len(row) == longest for row in rows[:fitting])
        return max(equal, min(fitting, self._small // longest))

    def halve(self, sentences: int, tokens: int) -> None:
        """Take half as many tokens from now on, or say that memory is too small."""
        if self._fixed or sentences == 1:
            raise ModelError(
                f"out of memory with {plural(sentences, 'sentence')}, "
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


def input_device(network: Any) -> Any:
    """Return where a network takes its inputs; layers that are on disk move them themselves."""
    return "cpu" if network.device.type == "meta" else network.device


class Reader(Protocol):
    """How a kind of model reads the sentences of some queries: in which rows of tokens."""

    @property
    def sentences(self) -> Sequence[Any]:
        """The different sentences; each is run once."""

    def rows(self, sentences: Sequence[Any]) -> list[Any]:
        """Return rows that hold the sentences, the longest first.

        A row has its sentences as `sentences`, and the number of its tokens as length.
        """

    def batch_rows(self, rows: Sequence[Any]) -> int:
        """Return how many of the first rows to run together."""

    def batch(self, rows: Sequence[Any]) -> Batch:
        """Return what the network reads, and what is asked about it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The inputs of a network, and where in them each query is answered."""

    inputs: Mapping[str, Any]
    positions: Mapping[TokenQuery, Position]
    word_start: NDArray[np.bool_] | None = None
    """Whether each token begins a word, for queries of `WORD_START`."""


def run_batch(network: Any, batch: Batch) -> dict[TokenQuery, float]:
    """Return log P(token) of each query of a batch."""
    import torch

    # Several tokens may be asked for at one position.
    numbers = {
        place: number for number, place in enumerate(dict.fromkeys(batch.positions.values()))
    }
    logits = logits_at(network, list(numbers), **batch.inputs)
    whole = logits.logsumexp(dim=-1)
    rows = torch.tensor(
        [numbers[place] for place in batch.positions.values()], device=logits.device
    )
    tokens = torch.tensor([max(query.token, 0) for query in batch.positions], device=logits.device)
    values = (logits[rows, tokens] - whole[rows]).double().cpu().tolist()
    starts = [number for number, query in enumerate(batch.positions) if query.token == WORD_START]
    if starts and batch.word_start is not None:
        # A table of logits may be longer than the vocabulary: those tokens are never read.
        begins = np.flatnonzero(batch.word_start[: logits.shape[1]])
        columns = torch.from_numpy(begins).to(logits.device)
        part = logits[rows[starts]][:, columns].logsumexp(dim=-1) - whole[rows[starts]]
        for number, value in zip(starts, part.double().cpu().tolist(), strict=True):
            values[number] = value
    return dict(zip(batch.positions, values, strict=True))


def logits_at(network: Any, places: Sequence[Position], **inputs: Any) -> Any:
    """Run the network and return the logits at the places, (places, vocabulary).

    The output layer is applied to these places only.
    """
    import torch

    where = torch.tensor(list(places)).unbind(1)

    def at_places(table: Any) -> Any:
        # Which may be on another device than the inputs.
        return table[tuple(index.to(table.device) for index in where)]

    def gather(module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        hidden, *rest = inputs
        return (at_places(hidden).unsqueeze(0), *rest) if hidden.dim() == 3 else None

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
    logits = logits[0] if logits.shape[:2] == (1, len(places)) else at_places(logits)
    return logits.float()


@contextmanager
def suppress_out_of_memory() -> Iterator[None]:
    """Leave the block when a batch does not fit in memory."""
    import torch

    try:
        yield
    except RuntimeError as problem:
        if not is_out_of_memory(problem):
            raise
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def is_out_of_memory(problem: Exception) -> bool:
    """Tell whether an error of torch means that a batch does not fit in memory."""
    import torch

    # The allocators of the CPU and of MPS raise the parent class; only their words tell.
    text = str(problem).lower()
    return isinstance(problem, torch.OutOfMemoryError) or (
        isinstance(problem, RuntimeError)
        and ("out of memory" in text or "can't allocate memory" in text)
    )


def resolve_device(name: str) -> str:
    """Return the device that `name` means on this machine; `auto` is a GPU where there is one."""
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = str(name).partition(":")
    if kind not in ("cpu", "cuda", "mps") or (number and not number.isdecimal()):
        raise InputError(f'no device "{name}"; use auto, cpu, cuda, cuda:0, mps or balanced')
    if kind == "cuda" and not torch.cuda.is_available():
        raise ModelError(f'the device "{name}" needs CUDA, which this machine lacks; use cpu')
    if kind == "cuda" and number and int(number) >= torch.cuda.device_count():
        raise ModelError(f'no device "{name}"; this machine has {torch.cuda.device_count()} GPUs')
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ModelError('the device "mps" needs a Mac with an Apple GPU; use cpu')
    return name


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch share a product between so many threads, and restore the number afterwards.

    Small products are fastest on one: threads that share one mostly wait for each other; on a
    busy machine two of them were ten times slower than one.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def fast_products(device: str) -> Iterator[None]:
    """Let torch multiply float32 on a processor by oneDNN, where this keeps the accuracy.

    For the precision "medium" torch takes oneDNN, which on processors of AMD is twice as fast as
    MKL. It may also round to bfloat16, on processors that have units for it: there, and on GPUs,
    nothing is changed.
    """
    import torch

    before = torch.get_float32_matmul_precision()
    if device.startswith("cpu") and _keeps_float32():
        torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@cache
def _keeps_float32() -> bool:
    """Tell whether products have the accuracy of float32 with the precision "medium"."""
    import torch

    before = torch.get_float32_matmul_precision()
    generator = torch.Generator().manual_seed(0)
    try:
        torch.set_float32_matmul_precision("medium")
        # The kernel depends on the number of rows.
        for rows in (1, 16, 256, 1024):
            first, second = (torch.randn(size, 768, generator=generator) for size in (rows, 1024))
            exact = first.double() @ second.double().T
            # Rounding to bfloat16 makes a difference of 0.1 here.
            if not torch.allclose((first @ second.T).double(), exact, rtol=0, atol=1e-3):
                return False
    finally:
        torch.set_float32_matmul_precision(before)
    return True


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the log, the progress bars, deprecations and prints of transformers in the block.

    What its report would say, missing weights above all, lmprobe raises as an error.
    """
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if bars:
        logging.disable_progress_bar()
    try:
        # The reader of GGUF files draws a bar of its own.
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()), _no_standard_output():
            # The caller cannot change what transformers' own code still calls.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def _no_standard_output() -> Iterator[None]:
    """Discard what compiled code writes to standard output, past `sys.stdout`.

    The tokenizers library prints keys of a tokenizer's files that it does not know, as they are: a
    JSON document on standard output would begin with them, and they could control a terminal.
    """
    try:
        saved = os.dup(1)
    except OSError:
        # Standard output is closed: nothing can be written to it.
        yield
        return
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def first_line(problem: BaseException) -> str:
    """Return the first line of an error, cut to a readable length.

    torch refuses a pickle with code in it and explains at length how to load it all the same;
    that advice is not passed on.
    """
    text = str(problem).strip()
    if "weights_only" in text or "Weights only load failed" in text:
        return "it holds more than tensors, and code in a checkpoint is not run"
    if "ignore_mismatched_sizes" in text:
        return "its tensors have other shapes than config.json says"
    lines = text.splitlines()
    line = lines[0].rstrip(".: ") if lines else type(problem).__name__
    return line if len(line) <= 300 else f"{line[:300]}..."
