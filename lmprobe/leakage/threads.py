"""Keeps torch from sharing small products out between threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Make torch compute every product on the thread that asks for it.

    An attacker's products are so small that threads which share one mostly wait for each
    other: on a busy machine two of them were ten times slower than one.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
