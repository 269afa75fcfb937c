"""What torch computes on: the device that a name means here, and how many threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lmprobe.errors import InputError, ModelError


def resolve_device(name: str) -> str:
    """Return the device that `name` means on this machine; `auto` is a GPU where there is one."""
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = str(name).partition(":")
    if kind not in ("cpu", "cuda", "mps") or (number and not number.isdecimal()):
        raise InputError(f'no device "{name}"; use auto, cpu, cuda, cuda:0 or mps')
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
