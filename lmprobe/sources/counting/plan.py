"""Turns what a caller calls a corpus into parts to be counted."""

from __future__ import annotations

import glob
import hashlib
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.atomic import read_sealed, write_sealed
from lmprobe.io.documents import refuse_pipe
from lmprobe.io.table_files import endings
from lmprobe.sources.counting.engines import CountJob, Counts
from lmprobe.sources.counting.parts import Held, LineSpan, Part, RowGroup, Rows
from lmprobe.sources.counting.text import (
    is_corpus_file,
    line_blocks,
    text_blocks,
    text_of,
    without_mark,
)

PART = 32 << 20
"""Bytes of a part: a worker is busy for a tenth of a second, a resume loses no more."""

_HUB = "hf://"
_STREAM = 4 << 20


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
        return _standard_input()
    if isinstance(corpus, str) and corpus.startswith(_HUB):
        return _stream(_hub_rows(corpus), field, corpus)
    if isinstance(corpus, str | Path):
        return _files(_expand(corpus), field, part)
    if not isinstance(corpus, Iterable) or isinstance(corpus, bytes):
        raise InputError(
            f"`corpus` must be a path or an iterable of texts, found {type(corpus).__name__}"
        )
    listed = list(corpus) if isinstance(corpus, list | tuple) else None
    if listed and all(isinstance(one, Path) for one in listed):
        return _files([path for one in listed for path in _expand(one)], field, part)
    return _stream(corpus, field, "texts in memory")


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


def _expand(named: str | Path) -> list[Path]:
    """Return the files and dataset folders that a path, a folder or a pattern means."""
    path = Path(named)
    if path.is_file() or _is_dataset(path):
        return [path]
    if path.is_dir():
        found = [one for one in sorted(path.rglob("*")) if one.is_file() and is_corpus_file(one)]
        if not found:
            raise DataFileError(f"{path}: no text, JSON Lines or Parquet file in this folder")
        return found
    if isinstance(named, str) and glob.has_magic(named):
        found = [Path(one) for one in sorted(glob.glob(named, recursive=True))]
        found = [one for one in found if one.is_file()]
        if not found:
            raise DataFileError(f"{named}: no file matches this pattern")
        return found
    raise DataFileError(f"{path}: no such file or folder")


def _files(paths: list[Path], field: str, part: int) -> CorpusPlan:
    parts = [one for path in paths for one in _parts_of(path, field, part)]
    return CorpusPlan(parts, tuple(map(str, paths)), sum(one.size for one in parts))


def _parts_of(path: Path, field: str, part: int) -> Iterator[Part]:
    if path.is_dir():
        yield from _dataset_parts(path, field, part)
        return
    try:
        size = path.stat().st_size
    except OSError as problem:
        raise DataFileError(f"{path}: {problem.strerror}") from None
    if endings(path)[0] == ".parquet":
        yield from _parquet_parts(path, field)
    else:
        step = max(size, 1) if endings(path)[1] else part
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


def _check_column(path: Path, field: str, names: list[str]) -> None:
    if field not in names:
        raise DataFileError(
            f'{path}: no column is called "{field}" (it has {", ".join(names)}); '
            "name the column of the text"
        )


def _is_dataset(path: Path) -> bool:
    """Tell whether `Dataset.save_to_disk` made this folder."""
    if (path / "dataset_dict.json").is_file():
        splits = sorted(one.name for one in path.iterdir() if (one / "state.json").is_file())
        raise DataFileError(f"{path}: choose a split, such as {path / splits[0] if splits else ''}")
    return (path / "state.json").is_file()


def _dataset_parts(path: Path, field: str, part: int) -> Iterator[Part]:
    import datasets

    rows = datasets.load_from_disk(str(path))
    _check_column(path, field, rows.column_names)
    each = max(1, rows.data.nbytes // max(1, len(rows)))
    step = max(1, part // each)
    for start in range(0, len(rows), step):
        end = min(start + step, len(rows))
        yield Rows(path, start, end, each * (end - start), field)


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
        found: Iterable[Any] = datasets.load_dataset(
            dataset,
            options.get("config"),
            split=options.get("split", "train"),
            revision=options.get("revision"),
            streaming=True,
        )
    except Exception as problem:  # the library raises whatever its parts raise
        raise DataFileError(f"{name}: cannot open this dataset: {problem}") from problem
    return found


def _stream(rows: Iterable[Any], field: str, name: str) -> CorpusPlan:
    texts = (text_of(row, field, name) for row in rows)
    return CorpusPlan(
        (Held(block) for block in text_blocks(texts, size=_STREAM)), (name,), 0, False
    )


def _standard_input() -> CorpusPlan:
    where = "standard input"
    lines = line_blocks(sys.stdin.buffer, where, size=_STREAM)
    return CorpusPlan((Held(one) for one in without_mark(lines, where)), (where,), 0, False)


_FORMAT = "lmprobe.count/2"


SECONDS_BETWEEN_SAVES = 5.0
"""Often enough to lose little, seldom enough to cost nothing."""


@dataclass(slots=True)
class CountCheckpoint:
    """The parts done so far and the sum of their counts; kept in a file if there is one."""

    path: Path | None
    request: str
    done: set[int] = field(default_factory=set)
    counts: Counts = field(default_factory=dict)
    saved: float = 0.0

    def add(self, number: int, counts: Counts) -> None:
        """Add the counts of a part, unless they are already in."""
        if number in self.done:
            return
        self.done.add(number)
        for pair, count in counts.items():
            self.counts[pair] = self.counts.get(pair, 0) + count
        if time.monotonic() - self.saved > SECONDS_BETWEEN_SAVES:
            self.save()

    def save(self) -> None:
        """Write the state, whole or not at all."""
        if self.path is None:
            return
        document = {
            "format": _FORMAT,
            "request": self.request,
            "done": sorted(self.done),
            "counts": [[*pair, count] for pair, count in sorted(self.counts.items())],
        }
        write_sealed(self.path, document)
        self.saved = time.monotonic()


def open_checkpoint(path: str | Path | None, job: CountJob, parts: list[Part]) -> CountCheckpoint:
    """Return the state in `path`, or a new one; a file of another count is refused."""
    if path is None:
        return CountCheckpoint(None, "")
    path, request = Path(path), _fingerprint(job, parts)
    if not path.exists():
        return CountCheckpoint(path, request)
    refuse_pipe(path)
    state = read_sealed(path, strict=True)
    advice = "remove it to start anew, or name another file"
    if state is None or state.get("format") != _FORMAT:
        raise DataFileError(
            f"{path}: this is no checkpoint of a count, or it was changed; {advice}"
        )
    if state["request"] != request:
        raise DataFileError(
            f"{path}: this checkpoint belongs to another count: the corpus, the words, the rule "
            f"or the size of the parts has changed; {advice}"
        )
    counts = {(attribute, task): count for attribute, task, count in state["counts"]}
    return CountCheckpoint(path, request, set(state["done"]), counts)


def _fingerprint(job: CountJob, parts: list[Part]) -> str:
    """Return what must be equal for counts to be added up: job, parts, the files' state."""
    files = sorted({path for part in parts if (path := getattr(part, "path", None))})
    states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr((job, parts, states)).encode()).hexdigest()
