"""Reads what comes with the experiments: the data, and what the papers printed."""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from lmprobe.errors import DataFileError

_FOLDER = Path(__file__).parent / "data"


def shipped_table(name: str) -> tuple[Any, dict[str, Any]]:
    """Return the DataFrame NAME.csv (or NAME.csv.gz) and where NAME.toml says it comes from."""
    from lmprobe.io.tables import read_columns

    table = next(_FOLDER.glob(f"{name}.csv*"), _FOLDER / f"{name}.csv")
    facts = tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    if hashlib.sha256(table.read_bytes()).hexdigest() != facts["sha256"]:
        raise DataFileError(f"{table}: not the file that {name}.toml describes (sha256)")
    return read_columns(table), facts


@cache
def published(name: str) -> Any:
    """Return what the papers printed in the experiment of that name, and our notes about it."""
    return tomllib.loads((_FOLDER / "published.toml").read_text(encoding="utf-8"))[name]


def figure_texts(experiment: str, figure: str, **values: Any) -> dict[str, Any]:
    """Return the name, title, labels and description of a figure, filled with `values`."""
    texts = published(experiment)["figure"][figure]
    return {"name": figure, **{key: text.format(**values) for key, text in texts.items()}}
