"""The embedded engine that reads and counts tables, DuckDB, and what its errors mean."""

from __future__ import annotations

import atexit
import os
import re
from functools import cache
from typing import Any

from lmprobe.io.scratch import ScratchFolder

CSV_LINE = re.compile(r"CSV Error on Line: (\d+)")
"""How DuckDB says in which line of a CSV it found a mistake."""
_WIDTH = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_FILE = re.compile(r"^\s*file = (.+)$", re.MULTILINE)


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


def explained(message: str, name: str) -> str:
    """Return what DuckDB says is wrong with a table in one line that names the file."""
    place = _FILE.search(message)
    name = place[1].strip() if place else name
    if "utf-8" in message.lower():
        return f"{name}: not UTF-8; save it as UTF-8"
    line, width = CSV_LINE.search(message), _WIDTH.search(message)
    if line and width:
        return f"{name}: Row #{line[1]}: Expected {width[1]} columns, got {width[2]}"
    if line and "unterminated quote" in message:
        return (
            f"{name}: line {line[1]}: a quoted cell has no end, or text after it; a quote within "
            'a cell is written ""'
        )
    if "state machine" in message:
        return (
            f"{name}: not a CSV as RFC 4180 has it: check that all lines end alike (LF or CRLF) "
            "and that quotes come in pairs"
        )
    lines = [one for one in message.splitlines() if one and not one.startswith("Original")]
    plain = " ".join(lines[: 2 if line else 1])
    return f"{name}: {re.sub(r'^[A-Z][A-Za-z ]* Error: ', '', plain)}"
