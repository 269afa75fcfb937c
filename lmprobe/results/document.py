"""Opens the JSON document of a result: where it lies, and whether this lmprobe can read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmprobe.errors import DataFileError, InputError, shortened
from lmprobe.io.files import parse_json, refuse_pipe
from lmprobe.results.codec import from_json, to_json
from lmprobe.results.estimate import Estimate
from lmprobe.results.verdict import Interval

VERSION = 3
_FAMILY = "lmprobe.result"
SCHEMA = f"{_FAMILY}/{VERSION}"
RESULT_FILE = "result.json"
"""What a result is called in the folder of a run."""
FILES = (RESULT_FILE, "sweep.json", "comparison.json")
"""What a folder may keep its result as."""


# What a document with wrong values makes a reader of it raise.
_DAMAGED = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, StopIteration,
    TypeError, ValueError,
)  # fmt: skip


@contextmanager
def refusing_damage(where: str) -> Iterator[None]:
    """Turn what a damaged document makes its reader raise into one error that names the file."""
    try:
        yield
    except KeyError as problem:
        raise DataFileError(f"{where}: damaged result, {problem} is missing") from problem
    except _DAMAGED as problem:
        raise DataFileError(f"{where}: damaged result, {problem}") from problem


def read_document(
    text_or_path: str | Path, *, kind: str | None = None
) -> tuple[dict[str, Any], str]:
    """Return the document, as this version writes it, and where it was; refuse another kind."""
    if not isinstance(text_or_path, str | Path):
        raise InputError(
            f"a result, its JSON or its path is expected: found {shortened(repr(text_or_path), 60)}"
        )
    text, where = _text_of(text_or_path)
    try:
        document = parse_json(text)
    except ValueError as problem:
        raise DataFileError(f"{where}: not a JSON document ({problem})") from problem
    schema = document.get("schema") if isinstance(document, dict) else None
    version = {f"{_FAMILY}/{number}": number for number in range(1, VERSION + 1)}.get(str(schema))
    if version is None:
        raise DataFileError(f"{where}: {_refusal(schema)}")
    with refusing_damage(where):
        for upgrade in _UPGRADES[version - 1 :]:
            upgrade(document)
    document["schema"] = SCHEMA
    if kind is not None and document.get("kind") != kind:
        raise DataFileError(
            f"{where}: the result of another job, {document.get('kind')!r}; expected {kind!r}"
        )
    return document, where


def _from_version_1(document: dict[str, Any]) -> None:
    """Version 1 knew only probes; a note was its text, and an interval had no status."""
    document["kind"] = "probe"
    for part in _objects(document):
        if isinstance(notes := part.get("notes"), list):
            part["notes"] = [
                {"kind": "other", "text": note} if isinstance(note, str) else note for note in notes
            ]
        if {"low", "high", "confidence"} <= part.keys():
            # An end that is null was infinite.
            part.setdefault("status", "unbounded" if None in (part["low"], part["high"]) else "ok")


def _from_version_2(document: dict[str, Any]) -> None:
    """Version 2 had more verdicts and figures, and did not always say what forbids a verdict."""
    for part in _objects(document):
        if part.get("plot") == "DotPlot":
            _as_heat_map(part)
        if "verdict" not in part:
            continue
        part["verdict"] = _EARLIER_VERDICTS.get(str(part["verdict"]), part["verdict"])
        if (obstacle := _obstacle(part)) is not None:
            part["obstacle"] = obstacle
        _unite_intervals(part)
        for task in part.get("tasks") or ():
            if isinstance(task, dict) and "interval" not in task:
                level = part["interval"]["confidence"]
                task["interval"] = {
                    "low": None, "high": None, "confidence": level, "method": "bonferroni-t",
                    "status": "undefined",
                }  # fmt: skip


def _as_heat_map(figure: dict[str, Any]) -> None:
    """Version 2 drew the values of a few categories as dots; a heat map shows the same ones."""
    series = figure.pop("dots")
    values = [list(cells) for cells in zip(*(dots["values"] for dots in series), strict=True)]
    block = {"title": "", "columns": [dots["name"] for dots in series], "values": values}
    figure |= {"plot": "HeatMap", "rows": figure.pop("categories"), "blocks": [block]}


def _unite_intervals(part: dict[str, Any]) -> None:
    """Version 2 had an interval over training runs beside the one over rows; one covers both."""
    earlier = part.get("over_runs")
    if not earlier or earlier["interval"] == part["interval"]:
        return
    estimate, over_runs = from_json(Estimate, part), from_json(Interval, earlier["interval"])
    part["interval"] = to_json(estimate.interval.widened(estimate.claimed, over_runs))
    if earlier["verdict"] != part["verdict"]:
        part["verdict"] = "undecided"
    part["over_runs"] = {key: part[key] for key in earlier if key in part}


_UPGRADES = (_from_version_1, _from_version_2)
"""From each earlier version to the next."""

_EARLIER_VERDICTS = {
    "amplifies_more": "higher",
    "amplifies_less": "lower",
    "follows_more": "higher",
    "follows_less": "lower",
}
# The share of an amplification that a base had to show for a verdict.
_SMALL_BASE = 0.5


def _obstacle(part: dict[str, Any]) -> str | None:
    """Return what forbids a verdict in a row that does not say it by name."""
    if part.get("obstacle") is not None:
        return None
    if part["verdict"] == "uninformed":
        return "uninformed"
    if part.get("unevenness") is not None:
        return "no_lean"
    reliability = part.get("base_reliability")
    small = isinstance(reliability, float) and reliability < _SMALL_BASE
    return "small_base" if small and "obstacle" not in part else None


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object within a JSON value."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _text_of(text_or_path: str | Path) -> tuple[str, str]:
    if isinstance(text_or_path, str) and text_or_path.lstrip().startswith(("{", "[")):
        return text_or_path, "result"
    path = Path(text_or_path)
    if path.is_dir():
        path = next((path / name for name in FILES if (path / name).exists()), path / RESULT_FILE)
    refuse_pipe(path)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except FileNotFoundError as problem:
        raise DataFileError(f"{path}: no such result file") from problem
    except (OSError, ValueError) as problem:
        raise DataFileError(f"{path}: cannot be read ({problem})") from problem


def _refusal(schema: object) -> str:
    """Return why a document of this schema is not read, and what to do."""
    family, _, version = str(schema).partition("/")
    if family != _FAMILY:
        return f"not a result of lmprobe: its schema is {schema!r}, not {SCHEMA!r}"
    newer = version.isdecimal() and int(version) > VERSION
    advice = "a newer lmprobe made it" if newer else "make the result again"
    return f"its schema is {schema!r}, this lmprobe reads {SCHEMA!r}; {advice}"
