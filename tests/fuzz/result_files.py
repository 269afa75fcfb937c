"""The reader of results, for every job."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from tests.fuzz import mutations
from tests.fuzz.reader import SEEDS, Reader, WrongNumber, stored


def readers() -> list[Reader]:
    """Return one reader per kind of result, and one of version 1."""
    names = [f"results/{path.name}" for path in sorted((SEEDS / "results").glob("*.json"))]
    return [_reader(Path(name).stem, name) for name in [*names, "../../golden/probe-v1.json"]]


def _reader(stem: str, seed: str) -> Reader:
    return Reader(
        f"result-{stem}", "result.json", stored(seed), mutations.damage_json, read_result, 0.2
    )


def read_result(path: Path) -> None:
    """Open a result, make every form of it, and compare its JSON with itself read again."""
    from lmprobe import load_result
    from lmprobe.errors import InputError
    from lmprobe.report.csv import csv_text
    from lmprobe.report.terminal import table_text

    result = load_result(path)
    text = result.to_json()
    if load_result(text).to_dict() != json.loads(text):
        raise WrongNumber("the result changes when it is written and read again")
    result.to_html()
    result.to_markdown()
    result.to_latex()
    repr(result)
    for frame in result.frames().values():
        csv_text(frame)
    for table in result.tables():
        table_text(table)
    with contextlib.suppress(InputError):
        result.claims()
