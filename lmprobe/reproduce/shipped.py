"""Reads the data that an experiment ships, checked against its provenance file."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd

from lmprobe.errors import DataFileError
from lmprobe.tables import read_columns

_FOLDER = Path(__file__).parent / "data"


def shipped_table(name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table NAME.csv and what NAME.toml says about where it comes from."""
    table, provenance = _FOLDER / f"{name}.csv", _FOLDER / f"{name}.toml"
    if not table.is_file() or not provenance.is_file():
        raise DataFileError(f"{table}: this file belongs to lmprobe; install lmprobe again")
    said: dict[str, Any] = tomllib.loads(provenance.read_text(encoding="utf-8"))
    if hashlib.sha256(table.read_bytes()).hexdigest() != said["sha256"]:
        raise DataFileError(f"{table}: not the file that {provenance.name} describes (sha256)")
    return read_columns(table), said
