"""Writes a file whole or not at all, and removes what a killed writer left."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lmprobe.errors import InputError
from lmprobe.io.locks import try_lock

# What the names of temporary files end in; a file of anybody else does not.
_SUFFIX = ".lmprobe-tmp"


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary file beside `path` that takes its place when the block succeeds.

    A reader sees the old file or the new one, never half of one; on an error the
    temporary file is removed and the old file stays. An error of the disk is an `InputError`.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target.parent)
        with _temporary(target) as temporary:
            yield temporary
            # mkstemp makes files that only their owner reads; a report is for everybody.
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(target)
    except OSError as problem:
        raise InputError(f"cannot write {target}: {problem.strerror or problem}") from problem


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Give a new file, locked as long as this process needs it."""
    while True:
        handle, name = tempfile.mkstemp(_SUFFIX, f".{target.name}.", target.parent)
        # Before it was locked, another process may have taken it for a leftover.
        if try_lock(handle) is not False and os.fstat(handle).st_nlink:
            break
        os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        os.close(handle)


def remove_leftovers(folder: Path) -> list[int]:
    """Remove temporary files whose writer was killed; return their sizes."""
    try:
        names = [entry.path for entry in os.scandir(folder) if _is_temporary(entry)]
    except OSError:
        return []
    return [size for name in names if (size := _remove_leftover(name)) is not None]


def _is_temporary(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False)


def _remove_leftover(name: str) -> int | None:
    """Remove a temporary file unless its writer is alive; return its size if it was removed."""
    with suppress(OSError):
        handle = os.open(name, os.O_RDWR)
        try:
            if try_lock(handle):
                size = os.fstat(handle).st_size
                os.unlink(name)
                return size
        finally:
            os.close(handle)
    return None


def write_text(path: str | Path, text: str) -> Path:
    """Write `text` to `path` in UTF-8, whole or not at all."""
    return write_bytes(path, text.encode())


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write `content` to `path`, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return Path(path)


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files in UTF-8; none takes its place before all are on the disk."""
    with ExitStack() as stack:
        for path, text in texts.items():
            stack.enter_context(replacing(path)).write_bytes(text.encode())
