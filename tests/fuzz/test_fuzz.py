"""Every reader reads damaged input or refuses it in one line; what once failed is tried again."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz.harness import CORPUS, examine, inputs
from tests.fuzz.readers import readers

READERS = readers()
FAILED = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("name", READERS)
def test_the_seeds_are_read(name: str, tmp_path: Path) -> None:
    """A reader that refused its seeds would refuse every input, for the wrong reason."""
    reader = READERS[name]
    for seed in reader.seeds():
        path = tmp_path / reader.file
        path.write_bytes(seed)
        reader.read(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_damaged_inputs_are_read_or_refused(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    # Cheap readers get 300 inputs; `make fuzz` gives every reader many more.
    number = 300 if reader.weight == 1 else max(10, round(150 * reader.weight))
    found = [examine(reader, content, tmp_path) for content in inputs(reader, number, seed=1)]
    assert [one.what for one in found if one] == []


@pytest.mark.parametrize("path", FAILED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_inputs_that_once_failed(path: Path, tmp_path: Path) -> None:
    finding = examine(READERS[path.parent.name], path.read_bytes(), tmp_path)
    assert finding is None or finding.what == ""


def test_what_a_reader_prints_is_a_finding(tmp_path: Path) -> None:
    """Also if compiled code prints it, past `sys.stdout`."""
    quiet = replace(READERS["word-list"], read=lambda _: None)
    assert examine(quiet, b"", tmp_path) is None
    finding = examine(replace(quiet, read=lambda _: os.write(1, b"key")), b"", tmp_path)
    assert finding is not None
    assert finding.what == "prints: b'key'"
    log = replace(quiet, read=lambda _: os.write(2, b"a line of a log\n"))
    assert examine(log, b"", tmp_path) is None
    escape = examine(replace(quiet, read=lambda _: os.write(2, b"\x1b[31m")), b"", tmp_path)
    assert escape is not None
    assert "commands the terminal" in escape.what
