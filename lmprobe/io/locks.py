"""Locks between processes; a lock ends with the process that has it, however that ends."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lmprobe.errors import InputError

if sys.platform != "win32":
    import fcntl

PATIENCE = 30.0
"""Seconds that a process waits for another one; what is locked is written in milliseconds."""


@contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Keep out other processes that lock the same folder until the block ends.

    The folder itself is locked, so that no file of the lock is left. Where the file system knows
    no locks the block runs without one. With `shared`, others with `shared` may enter.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        # What is done in the block fails in the same way, and says what it wanted to do.
        yield
        return
    try:
        _wait(handle, folder, shared=shared)
        yield
    finally:
        os.close(handle)


def try_lock(handle: int, *, shared: bool = False) -> bool | None:
    """Return whether an open file could be locked at once; None if it cannot be locked at all."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as problem:
        return False if problem.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def _wait(handle: int, folder: Path, *, shared: bool) -> None:
    end = time.monotonic() + PATIENCE
    while try_lock(handle, shared=shared) is False:
        if time.monotonic() > end:
            raise InputError(
                f"{folder}: another process has kept this folder locked for {PATIENCE:.0f} s; "
                "wait for it or end it, then try again"
            )
        time.sleep(0.01)
