"""Reads the data that an experiment ships, checked against its provenance file."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd

from lmprobe.errors import DataFileError
from lmprobe.io.tables import read_columns

_FOLDER = Path(__file__).parent / "data"


def shipped_table(name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table NAME.csv (or NAME.csv.gz) and where NAME.toml says that it comes from."""
    table, provenance = _FOLDER / f"{name}.csv", _FOLDER / f"{name}.toml"
    packed = table.with_name(f"{table.name}.gz")
    table = packed if packed.is_file() else table
    if not table.is_file() or not provenance.is_file():
        raise DataFileError(f"{table}: this file belongs to lmprobe; install lmprobe again")
    facts: dict[str, Any] = tomllib.loads(provenance.read_text(encoding="utf-8"))
    if hashlib.sha256(table.read_bytes()).hexdigest() != facts["sha256"]:
        raise DataFileError(f"{table}: not the file that {provenance.name} describes (sha256)")
    return read_columns(table), facts
