"""Everything that lmprobe reads, by name."""

from __future__ import annotations

from tests.fuzz import (
    annotation_files,
    data_files,
    model_files,
    result_files,
    state_files,
    table_files,
)
from tests.fuzz.reader import Reader

_PARTS = (data_files, result_files, table_files, state_files, annotation_files, model_files)


def readers() -> dict[str, Reader]:
    """Return every reader by name."""
    return {reader.name: reader for part in _PARTS for reader in part.readers()}
