"""Every reader reads damaged input or refuses it in one line; what once failed is tried again."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz.harness import CORPUS, examine, inputs, readers

READERS = readers()
FAILED = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


def findings(name: str, number: int, seed: int, folder: Path) -> list[str]:
    reader = READERS[name]
    actual = (examine(reader, content, folder) for content in inputs(reader, number, seed))
    return [finding.what for finding in actual if finding is not None]


@pytest.mark.parametrize("name", READERS)
def test_the_seeds_are_read_and_a_little_damage_is_refused(name: str, tmp_path: Path) -> None:
    """A reader that refused its seeds would refuse every input, for the wrong reason."""
    reader = READERS[name]
    for seed in reader.seeds():
        path = tmp_path / reader.file
        path.write_bytes(seed)
        reader.read(path)
    assert findings(name, 2, 2, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_damaged_inputs_are_read_or_refused(name: str, tmp_path: Path) -> None:
    # Cheap readers get 300 inputs; `make fuzz` gives every reader many more.
    weight = READERS[name].weight
    assert findings(name, 300 if weight == 1 else max(10, round(150 * weight)), 1, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", FAILED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_inputs_that_once_failed(path: Path, tmp_path: Path) -> None:
    assert examine(READERS[path.parent.name], path.read_bytes(), tmp_path) is None


def test_what_a_reader_prints_is_a_finding(tmp_path: Path) -> None:
    """Also if compiled code prints it, past `sys.stdout`."""
    quiet = replace(READERS["word-list"], read=lambda _: None)
    assert examine(quiet, b"", tmp_path) is None
    for stream, text, expected in (
        (1, b"key", "prints: b'key'"),
        (2, b"a line of a log\n", None),
        (2, b"\x1b[31m", "commands the terminal"),
    ):
        loud = replace(quiet, read=lambda _, to=stream, text=text: os.write(to, text))
        finding = examine(loud, b"", tmp_path)
        assert finding is None if expected is None else expected in finding.what  # type: ignore[union-attr]
