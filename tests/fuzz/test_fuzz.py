"""Every reader reads damaged input or refuses it in one line; what once failed is tried again."""

from __future__ import annotations

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
    # Cheap readers get 100 inputs; `make fuzz` gives every reader many more.
    number = 100 if reader.weight == 1 else max(10, round(50 * reader.weight))
    found = [examine(reader, content, tmp_path) for content in inputs(reader, number, seed=1)]
    assert [one.what for one in found if one] == []


@pytest.mark.parametrize("path", FAILED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_inputs_that_once_failed(path: Path, tmp_path: Path) -> None:
    finding = examine(READERS[path.parent.name], path.read_bytes(), tmp_path)
    assert finding is None or finding.what == ""
