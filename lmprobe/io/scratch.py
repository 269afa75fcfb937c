"""A folder for what one process needs for a while; a killed process's one goes with the next."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from lmprobe.errors import InputError
from lmprobe.io.locks import try_lock

# No folder of anybody else is called so: folders of this name are removed.
_PREFIX = "lmprobe-scratch-"


class ScratchFolder:
    """A new folder among the temporary files, locked as long as this process needs it."""

    def __init__(self) -> None:
        """Remove what killed processes left, then make the folder."""
        top = Path(tempfile.gettempdir())
        _remove_leftovers(top)
        while True:
            try:
                self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=top))
            except OSError as problem:
                reason = problem.strerror
                raise InputError(f"cannot write to {top}: {reason}; set TMPDIR") from problem
            # Before it was locked, another process may have taken it for a leftover.
            with suppress(FileNotFoundError):
                self._handle = os.open(self.path, os.O_RDONLY)
                if try_lock(self._handle) is not False and self.path.is_dir():
                    return
                os.close(self._handle)

    def __enter__(self) -> Path:
        """Give the path."""
        return self.path

    def __exit__(self, *problem: object) -> None:
        """Remove the folder."""
        self.close()

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._handle)


def _remove_leftovers(top: Path) -> None:
    """Remove the folders whose process is gone, as far as they are this user's."""
    for folder in top.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                if folder.lstat().st_uid == os.fstat(handle).st_uid == _user() and try_lock(handle):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1
