"""Stores what models answered, filed by content, so that no query is run twice.

One JSON file per chunk of templates, and one per model that answered before. The name of a file is
the hash of everything that decides the numbers, so nothing goes stale; it is written whole or not
at all, so processes may share the folder; it carries a checksum, so a damaged one is noticed and
made again.
"""

from __future__ import annotations

import hashlib
import json
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Any

from lmprobe.errors import InputError, LmprobeError
from lmprobe.io.files import cache_folder, read_sealed, remove_leftovers, write_sealed
from lmprobe.io.work import Progress, silent
from lmprobe.models.language_model import LanguageModel

# Reading a smaller file takes no longer than remembering it.
_SMALL = 4_000_000


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file.

    A large file that has the size and the times of change it had before is not read again.
    """
    facts = path.stat()
    if facts.st_size < _SMALL:
        return _sha256(path)
    state = {
        "path": str(path.resolve()),
        "size": facts.st_size,
        "changed": facts.st_mtime_ns,
        # Copying and unpacking set the time above; no program sets this one.
        "status_changed": facts.st_ctime_ns,
        "inode": facts.st_ino,
    }
    name = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    memo = cache_folder() / "hashes" / f"{name}.json"
    memory = read_sealed(memo, name)
    if memory is not None:
        return str(memory["content"])
    digest = _sha256(path)
    # Where nothing can be written, the file is read again next time.
    with suppress(OSError, LmprobeError):
        write_sealed(memo, {**state, "content": digest}, name)
    return digest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Part of every key: raise it when masking or running change what is computed.
_FORMAT = 4


def key_of(parts: Mapping[str, Any]) -> str:
    """Return the name under which scores of `parts` are filed.

    The versions of torch and transformers belong to it: a result names the versions that
    its numbers were made with.
    """
    whole = {**parts, "format": _FORMAT, **_made_with()}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


@lru_cache
def _made_with() -> dict[str, str]:
    return {name: version(name) for name in ("torch", "transformers")}


class CacheWarning(UserWarning):
    """Answers could not be kept in the cache."""


Numbers = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """Answers of a model: lists of numbers by name. `model` and `threads` are for people."""

    model: str
    numbers: Numbers
    threads: int = 1
    """How many threads the answers were computed with."""


@dataclass(frozen=True, slots=True)
class Computation:
    """Numbers that a model can answer, and what they depend on."""

    facts: Mapping[str, Any]
    """All that decides the numbers besides the model."""
    compute: Callable[[Progress], Numbers]
    """Called where the cache has no entry."""
    size: int
    """Its share of the work."""


def cached_answers(
    model: LanguageModel,
    computations: Sequence[Computation],
    *,
    cache: bool,
    progress: Progress = silent,
) -> tuple[list[CacheEntry], bool]:
    """Return the entry of each computation, and whether the cache had all of them."""
    facts = {
        "model": model.content_hash,
        "kind": model.kind,
        "dtype": model.dtype,
        "device": model.device.split(":")[0],
    }
    keys = [key_of({**facts, **work.facts}) for work in computations] if cache else []
    entries = dict(enumerate(map(read, keys)))
    missing = [number for number in range(len(computations)) if entries.get(number) is None]
    whole = sum(computations[number].size for number in missing)
    done = 0
    for number in missing:
        work = computations[number]
        numbers = work.compute(_part(progress, done, work.size, whole))
        done += work.size
        entry = entries[number] = CacheEntry(model.name, numbers, model.threads)
        if cache:
            cache = write(keys[number], entry)
    if missing and cache:
        model.remember()
    return [entry for _, entry in sorted(entries.items()) if entry is not None], not missing


def _part(progress: Progress, before: int, size: int, whole: int) -> Progress:
    """Return the progress of a computation of `size` sentences as part of the whole."""
    return lambda done, total: progress(before + size * done // total, whole)


def read(key: str, path: Path | None = None) -> CacheEntry | None:
    """Return the entry of a key; None if there is none, or it is damaged or another key's."""
    content = read_sealed(path or _path(key), key)
    try:
        if content is None:
            return None
        numbers = {name: _finite(row) for name, row in content["numbers"].items()}
        return CacheEntry(str(content["model"]), numbers, int(content["threads"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _finite(row: Any) -> tuple[float, ...]:
    if not isinstance(row, list) or not all(
        isinstance(value, int | float) and isfinite(value) for value in row
    ):
        raise ValueError("not a list of numbers")
    return tuple(map(float, row))


def write(key: str, entry: CacheEntry) -> bool:
    """File an entry, whole or not at all; where that cannot be done, warn and return false."""
    numbers = {name: list(row) for name, row in entry.numbers.items()}
    content = {"model": entry.model, "threads": entry.threads, "numbers": numbers}
    try:
        write_sealed(_path(key), content, key)
    except (OSError, LmprobeError) as problem:
        why = getattr(problem.__cause__ or problem, "strerror", None) or problem
        # The same words for every entry, so that the warning is shown once.
        warnings.warn(
            f"the scores cannot be kept for the next run in {cache_folder()} ({why}); set "
            "LMPROBE_CACHE to a folder that can be written, or do without the cache "
            "(`cache=False`, --no-cache)",
            CacheWarning,
            stacklevel=2,
        )
        return False
    return True


def contents() -> list[tuple[Path, CacheEntry | None]]:
    """Return every file of the cache with what is in it; None marks a damaged one."""
    paths = sorted(cache_folder().glob("scores/*/*.json"))
    return [(path, read(path.stem)) for path in paths]


def clear() -> tuple[int, int]:
    """Remove every entry and what killed writers left; return how many files and bytes."""
    sizes = []
    for path in cache_folder().glob("scores/*/*.json"):
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            continue  # Another process was faster.
        except OSError as problem:
            raise InputError(f"cannot remove {path}: {problem.strerror}") from problem
        sizes.append(size)
    for folder in cache_folder().glob("scores/*"):
        sizes += remove_leftovers(folder)
    return len(sizes), sum(sizes)


def _path(key: str) -> Path:
    return cache_folder() / "scores" / key[:2] / f"{key}.json"


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What is needed to use the answers of a model that answered before, without opening it.

    Its kind, the class of its tokenizer, and the device it ran on here.
    """

    kind: str
    tokenizer_name: str
    device: str


def record_key(content_hash: str, kind: str, device: str) -> str:
    """Return the name of the record of a model that was loaded with these options.

    The machine belongs to it: what "auto" means as a device depends on it.
    """
    machine = platform.node()
    return key_of({"model": content_hash, "kind": kind, "device": device, "machine": machine})


def read_record(key: str) -> ModelRecord | None:
    """Return the record, or None if there is none or it is damaged."""
    content = read_sealed(_record_path(key), key)
    try:
        return None if content is None else ModelRecord(**content)
    except TypeError:
        return None


def write_record(key: str, record: ModelRecord) -> None:
    """Store a record; where nothing can be written, the model is opened again next time."""
    with suppress(OSError, LmprobeError):
        write_sealed(_record_path(key), asdict(record), key)


def _record_path(key: str) -> Path:
    return cache_folder() / "models" / f"{key}.json"
