"""The embedded engine that reads and counts tables: DuckDB, started once per process."""

from __future__ import annotations

import atexit
import os
from functools import cache
from typing import Any

from lmprobe.io.scratch import ScratchFolder


def new_connection() -> Any:
    """Return a connection of its own to the engine of this process."""
    return _database(os.getpid()).cursor()


@cache
def _database(process: int) -> Any:
    """Return the engine of this process: one, so that all tables share its memory limit.

    A forked child starts its own, because the threads of its parent are not in it.
    """
    import duckdb

    # DuckDB gives its files the same names in every process, so each needs its own folder.
    scratch = ScratchFolder()
    atexit.register(lambda: scratch.close() if os.getpid() == process else None)
    return duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "temp_directory": str(scratch.path),
        }
    )
