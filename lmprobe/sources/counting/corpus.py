"""A corpus: what a caller names, cut into parts that any process can read as blocks of lines."""

from __future__ import annotations

import glob
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import parse_qsl

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.files import parse_json
from lmprobe.io.table_files import BLOCK, endings, explaining, open_binary

PART = 32 << 20
"""Bytes of a part: a worker is busy for a tenth of a second, a resume loses no more."""
# Memory stays in proportion to the longest line, so there has to be a longest line.
LONGEST_LINE = 1 << 28

_HUB = "hf://"
_STREAM = 4 << 20
_JSON_LINES = (".jsonl", ".ndjson", ".json")
# What is read from a folder without being named; "" is how WikiExtractor names its files.
_IN_FOLDERS = (".txt", ".text", ".tokens", ".raw", ".parquet", "", *_JSON_LINES)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


class Part(Protocol):
    """Some of a corpus; small enough to send to another process, which reads it there."""

    @property
    def size(self) -> int:
        """How much of the corpus this is, in bytes."""

    def blocks(self) -> Iterator[bytes]:
        """Yield the text as blocks of whole lines."""


@dataclass(frozen=True, slots=True)
class LineSpan:
    """The lines of a file that begin at an offset in [start, end).

    A compressed file can be read from its beginning only, and is one span.
    """

    path: Path
    start: int
    end: int
    field: str = "text"

    @property
    def size(self) -> int:
        """How many bytes of the file this is."""
        return self.end - self.start

    def blocks(self) -> Iterator[bytes]:
        """Yield the lines as blocks."""
        where = str(self.path)
        ending, packed = endings(self.path)
        with explaining(self.path), open_binary(self.path) as stream:
            lines = line_blocks(stream, where, self.start, None if packed else self.end)
            if self.start == 0:
                lines = _without_mark(lines, where)
            # By its name; what is not JSON Lines is plain text.
            if ending in _JSON_LINES:
                lines = text_blocks(_json_texts(lines, self.field, where))
            yield from lines


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group of a Parquet file."""

    path: Path
    number: int
    size: int
    field: str = "text"

    def blocks(self) -> Iterator[bytes]:
        """Yield the texts of the group as blocks."""
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(self.path) as file:
            batches = file.iter_batches(256, row_groups=[self.number], columns=[self.field])
            # An empty cell is a row without text, as in every dataset of web pages.
            texts = (text or "" for batch in batches for text in batch.column(0).to_pylist())
            yield from text_blocks(texts)


@dataclass(frozen=True, slots=True)
class DatasetRows:
    """Some rows of a Hugging Face dataset on disk."""

    path: Path
    start: int
    end: int
    size: int
    field: str = "text"

    def blocks(self) -> Iterator[bytes]:
        """Yield the texts of the rows as blocks."""
        import datasets

        rows = datasets.load_from_disk(str(self.path)).select(range(self.start, self.end))
        yield from text_blocks(_text_of(row, self.field, str(self.path)) for row in rows)


@dataclass(frozen=True, slots=True)
class TextInMemory:
    """A block from a stream that only its reader can see."""

    text: bytes

    @property
    def size(self) -> int:
        """How many bytes of text this is."""
        return len(self.text)

    def blocks(self) -> Iterator[bytes]:
        """Yield the text."""
        yield self.text


def line_blocks(
    stream: BinaryIO, where: str, start: int = 0, end: int | None = None, *, size: int = BLOCK
) -> Iterator[bytes]:
    """Yield in blocks the lines that begin at an offset in [start, end), by default all.

    Spans that touch each other share no line and miss none. Every carriage return becomes a line
    feed; only the last block may lack its line feed.
    """
    if start:
        # A line begins at `start` if the byte before it ends one, so look at that byte too.
        stream.seek(start - 1)
        start += len(_rest_of_line(stream, where)) - 1
    room = math.inf if end is None else end - start
    while room > 0 and (block := stream.read(int(min(size, room)))):
        if not block.endswith(b"\n"):
            block += _rest_of_line(stream, where)
        room -= len(block)
        yield _line_feeds(block)


def text_blocks(texts: Iterable[str], *, size: int = BLOCK) -> Iterator[bytes]:
    """Yield texts joined into blocks; each text begins on a line of its own."""
    batch: list[bytes] = []
    filled = 0
    for text in texts:
        encoded = _line_feeds(text.encode("utf-8", "replace"))
        batch.append(encoded)
        filled += len(encoded) + 1
        if filled >= size:
            yield b"\n".join(batch) + b"\n"
            batch, filled = [], 0
    if batch:
        yield b"\n".join(batch) + b"\n"


def _rest_of_line(stream: BinaryIO, where: str) -> bytes:
    rest = stream.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE:
        raise DataFileError(
            f"{where}: a line is longer than {LONGEST_LINE >> 20} MB, and a line is read as a "
            "whole; is this text? If so, put one document or paragraph on each line"
        )
    return rest


def _line_feeds(block: bytes) -> bytes:
    return block.replace(b"\r", b"\n") if b"\r" in block else block


def _without_mark(blocks: Iterator[bytes], where: str) -> Iterator[bytes]:
    """Yield the blocks of a file without a byte order mark; refuse what is not UTF-8."""
    for number, block in enumerate(blocks):
        if number == 0 and block.startswith(_UTF16):
            raise DataFileError(f"{where}: this is UTF-16; save it as UTF-8")
        yield block.removeprefix(_BOM) if number == 0 else block


def _json_texts(blocks: Iterable[bytes], field: str, where: str) -> Iterator[str]:
    """Yield the text field of each line of JSON."""
    for line in chain.from_iterable(block.split(b"\n") for block in blocks):
        if not line.strip():
            continue
        try:
            row = parse_json(line.decode())
        except ValueError as problem:
            shown = line[:40].decode("utf-8", "replace")
            raise DataFileError(
                f"{where}: the line that begins {shown!r} is not JSON: {problem}; "
                "each line must be one JSON object"
            ) from None
        yield _text_of(row, field, where)


def _text_of(row: Any, field: str, where: str) -> str:
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


@dataclass(frozen=True, slots=True)
class CorpusPlan:
    """The parts of a corpus in order."""

    parts: Iterable[Part]
    names: tuple[str, ...]
    """What the corpus is called, for its provenance."""
    total: int = 0
    """Bytes in all, 0 while unknown."""
    resumable: bool = True
    """Whether the same parts can be read again."""


def plan(corpus: Any, *, field: str = "text", part: int = PART) -> CorpusPlan:
    """Return the parts of a corpus.

    A string is a path, a folder, a glob pattern, "-" for standard input or "hf://NAME" for a
    dataset on the hub; a `Path` is a file or folder; an iterable holds paths (`Path`), texts
    (strings) or rows (mappings with a text `field`).
    """
    if isinstance(corpus, str) and corpus == "-":
        lines = line_blocks(sys.stdin.buffer, "standard input", size=_STREAM)
        return _stream(_without_mark(lines, "standard input"), "standard input")
    if isinstance(corpus, str) and corpus.startswith(_HUB):
        return _row_stream(_hub_rows(corpus), field, corpus)
    if isinstance(corpus, str | Path):
        return _files(_expand(corpus), field, part)
    if not isinstance(corpus, Iterable) or isinstance(corpus, bytes):
        raise InputError(
            f"`corpus` must be a path or an iterable of texts, found {type(corpus).__name__}"
        )
    listed = isinstance(corpus, list | tuple) and len(corpus) > 0
    if listed and all(isinstance(path, Path) for path in corpus):
        return _files([file for path in corpus for file in _expand(path)], field, part)
    return _row_stream(corpus, field, "texts in memory")


def joined(plans: list[CorpusPlan]) -> CorpusPlan:
    """Return several corpora as one."""
    resumable = all(plan.resumable for plan in plans)
    parts: Iterable[Part] = chain.from_iterable(plan.parts for plan in plans)
    return CorpusPlan(
        parts=list(parts) if resumable else parts,
        names=tuple(name for plan in plans for name in plan.names),
        total=sum(plan.total for plan in plans) if all(plan.total for plan in plans) else 0,
        resumable=resumable,
    )


def _stream(blocks: Iterable[bytes], name: str) -> CorpusPlan:
    return CorpusPlan(map(TextInMemory, blocks), (name,), resumable=False)


def _row_stream(rows: Iterable[Any], field: str, name: str) -> CorpusPlan:
    return _stream(text_blocks((_text_of(row, field, name) for row in rows), size=_STREAM), name)


def _files(paths: list[Path], field: str, part: int) -> CorpusPlan:
    parts = [piece for path in paths for piece in _parts_of(path, field, part)]
    return CorpusPlan(parts, tuple(map(str, paths)), sum(piece.size for piece in parts))


def _expand(named: str | Path) -> list[Path]:
    """Return the files and dataset folders that a path, a folder or a pattern means."""
    path = Path(named)
    if path.is_file() or _is_dataset(path):
        return [path]
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file() and _is_text(file)]
        if not files:
            raise DataFileError(f"{path}: no text, JSON Lines or Parquet file in this folder")
        return files
    if isinstance(named, str) and glob.has_magic(named):
        matches = map(Path, sorted(glob.glob(named, recursive=True)))
        files = [file for file in matches if file.is_file()]
        if not files:
            raise DataFileError(f"{named}: no file matches this pattern")
        return files
    raise DataFileError(f"{path}: no such file or folder")


def _is_text(path: Path) -> bool:
    """Tell whether a file in a folder is meant when the folder is named."""
    return not path.name.startswith((".", "_")) and endings(path)[0] in _IN_FOLDERS


def _is_dataset(path: Path) -> bool:
    """Tell whether `Dataset.save_to_disk` made this folder."""
    if (path / "dataset_dict.json").is_file():
        splits = sorted(file.parent for file in path.glob("*/state.json"))
        raise DataFileError(f"{path}: choose a split, such as {splits[0] if splits else ''}")
    return (path / "state.json").is_file()


def _parts_of(path: Path, field: str, part: int) -> Iterator[Part]:
    if path.is_dir():
        yield from _dataset_parts(path, field, part)
        return
    try:
        size = path.stat().st_size
    except OSError as problem:
        raise DataFileError(f"{path}: {problem.strerror}") from None
    ending, packed = endings(path)
    if ending == ".parquet":
        yield from _parquet_parts(path, field)
        return
    step = max(size, 1) if packed else part
    for start in range(0, size, step):
        yield LineSpan(path, start, min(start + step, size), field)


def _parquet_parts(path: Path, field: str) -> Iterator[Part]:
    import pyarrow
    import pyarrow.parquet as parquet

    try:
        meta = parquet.read_metadata(path)
    except (pyarrow.ArrowInvalid, OSError) as problem:
        raise DataFileError(f"{path}: this is no Parquet file: {problem}") from None
    columns = meta.schema.to_arrow_schema()
    _check_column(path, field, columns.names)
    kind = columns.field(field).type
    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    if kind not in (pyarrow.string(), pyarrow.large_string(), pyarrow.null()):
        raise DataFileError(
            f'{path}: the column "{field}" holds {kind}, not text; name the column of the text'
        )
    for number in range(meta.num_row_groups):
        yield RowGroup(path, number, meta.row_group(number).total_byte_size, field)


def _dataset_parts(path: Path, field: str, part: int) -> Iterator[Part]:
    import datasets

    rows = datasets.load_from_disk(str(path))
    _check_column(path, field, rows.column_names)
    each = max(1, rows.data.nbytes // max(1, len(rows)))
    step = max(1, part // each)
    for start in range(0, len(rows), step):
        end = min(start + step, len(rows))
        yield DatasetRows(path, start, end, each * (end - start), field)


def _check_column(path: Path, field: str, names: list[str]) -> None:
    if field not in names:
        raise DataFileError(
            f'{path}: no column is called "{field}" (it has {", ".join(names)}); '
            "name the column of the text"
        )


def _hub_rows(name: str) -> Iterable[Any]:
    """Return the rows of hf://NAME?config=CONFIG&split=SPLIT, streamed."""
    import datasets

    dataset, _, query = name.removeprefix(_HUB).partition("?")
    options = dict(parse_qsl(query))
    unknown = sorted(set(options) - {"config", "split", "revision"})
    if unknown or not dataset:
        raise InputError(
            f'"{name}" is no dataset; write {_HUB}NAME, and after it what is needed of '
            "?config=CONFIG&split=SPLIT&revision=REVISION"
        )
    try:
        rows: Iterable[Any] = datasets.load_dataset(
            dataset,
            options.get("config"),
            split=options.get("split", "train"),
            revision=options.get("revision"),
            streaming=True,
        )
    except Exception as problem:  # the library raises whatever its parts raise
        raise DataFileError(f"{name}: cannot open this dataset: {problem}") from problem
    return rows
