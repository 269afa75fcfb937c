"""Opens the kinds of file that a corpus comes in."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

from lmprobe.corpus.blocks import BLOCK
from lmprobe.errors import DataFileError
from lmprobe.io.documents import parse_json

Kind = Literal["text", "jsonl", "parquet"]

_COMPRESSED = (".gz", ".zst")
_JSON_LINES = (".jsonl", ".ndjson", ".json")
# What is read from a folder without being named; "" is how WikiExtractor names its files.
_IN_FOLDERS = (".txt", ".text", ".tokens", ".raw", ".parquet", "", *_JSON_LINES)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


def is_compressed(path: Path) -> bool:
    """Tell whether the file must be read from its beginning."""
    return path.suffix in _COMPRESSED


def kind_of(path: Path) -> Kind:
    """Return what a file holds, by its name; all that is not known is plain text."""
    suffix = _inner_suffix(path)
    if suffix in _JSON_LINES:
        return "jsonl"
    return "parquet" if suffix == ".parquet" else "text"


def is_corpus_file(path: Path) -> bool:
    """Tell whether a file in a folder is meant when the folder is named."""
    return not path.name.startswith((".", "_")) and _inner_suffix(path) in _IN_FOLDERS


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed; a broken one is a `DataFileError`."""
    import zstandard

    try:
        with path.open("rb") as raw:
            if path.suffix == ".gz":
                with gzip.open(raw) as stream:
                    yield stream  # type: ignore[misc]
            elif path.suffix == ".zst":
                reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
                with io.BufferedReader(reader, BLOCK) as stream:
                    yield stream
            else:
                yield raw
    except (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError) as problem:
        raise DataFileError(f"{path}: the compressed data is broken: {problem}") from None
    except OSError as problem:
        raise DataFileError(f"{path}: {problem.strerror or problem}") from None


def without_mark(blocks: Iterable[bytes], where: str) -> Iterator[bytes]:
    """Yield the blocks of a file without a byte order mark; refuse what is not UTF-8."""
    for number, block in enumerate(blocks):
        if number == 0:
            if block.startswith(_UTF16):
                raise DataFileError(f"{where}: this is UTF-16; save it as UTF-8")
            yield block.removeprefix(_BOM)
        else:
            yield block


def json_texts(blocks: Iterable[bytes], field: str, where: str) -> Iterator[str]:
    """Yield the text field of each line of JSON."""
    for block in blocks:
        for line in block.split(b"\n"):
            if line.strip():
                yield text_of(_json_object(line, where), field, where)


def text_of(row: Any, field: str, where: str) -> str:
    """Return the text of one row of a dataset; an empty cell is a row without text."""
    if isinstance(row, str):
        return row
    if not isinstance(row, Mapping) or field not in row:
        has = f"it has {', '.join(map(str, row))}" if isinstance(row, Mapping) else f"found {row!r}"
        raise DataFileError(
            f'{where}: a row has no text in the field "{field}" ({has}); name the field of the text'
        )
    text = row[field]
    if text is not None and not isinstance(text, str):
        raise DataFileError(
            f'{where}: the field "{field}" of a row holds a {type(text).__name__}, not text; '
            "name the field of the text"
        )
    return text or ""


def _json_object(line: bytes, where: str) -> Any:
    try:
        return parse_json(line.decode())
    except ValueError as problem:
        shown = line[:40].decode("utf-8", "replace")
        raise DataFileError(
            f"{where}: the line that begins {shown!r} is not JSON: {problem}; "
            "each line must be one JSON object"
        ) from None


def _inner_suffix(path: Path) -> str:
    return (path.with_suffix("") if is_compressed(path) else path).suffix
