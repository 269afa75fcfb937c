"""Keeps what models said, filed by content: the same question is never run twice.

One small JSON file per template. Its name is the hash of everything that decides the
numbers, so nothing goes stale; it is written whole or not at all, so processes may share
the folder; it carries a checksum, so a damaged one is noticed and made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lmprobe import atomic
from lmprobe.errors import InputError, LmprobeError

# Part of every key: raise it when scorers or masking change what they compute.
_FORMAT = 1


def cache_folder() -> Path:
    """Return where scores are kept: $LMPROBE_CACHE, or the platform's folder for caches."""
    chosen = os.environ.get("LMPROBE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "lmprobe"


def key_of(parts: Mapping[str, Any]) -> str:
    """Return the name under which scores of `parts` are filed.

    The versions of torch and transformers belong to it: a result names the versions that
    its numbers were made with.
    """
    made_with = {name: version(name) for name in ("torch", "transformers")}
    whole = {**parts, "format": _FORMAT, **made_with}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """The scores of one template, in the order of its blanks; `model` is for people."""

    model: str
    log_probability: tuple[float, ...]
    log_prior: tuple[float, ...] | None
    pieces: tuple[int, ...]

    def to_json(self) -> str:
        """Return the file's text, checksum first."""
        content = {
            "model": self.model,
            "log_probability": self.log_probability,
            "log_prior": self.log_prior,
            "pieces": self.pieces,
        }
        return json.dumps({"sha256": _checksum(content), **content})

    @classmethod
    def from_json(cls, text: str) -> Entry | None:
        """Return the entry, or None if a single character of it has changed."""
        try:
            content = json.loads(text)
            if content.pop("sha256") != _checksum(content):
                return None
            prior = content["log_prior"]
            return cls(
                content["model"],
                tuple(content["log_probability"]),
                None if prior is None else tuple(prior),
                tuple(content["pieces"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read(key: str) -> Entry | None:
    """Return the entry filed under `key`, or None if there is none or it is damaged."""
    try:
        return Entry.from_json(_path(key).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def write(key: str, entry: Entry) -> None:
    """File an entry; what is read under `key` is the old one or the new one, whole."""
    try:
        atomic.write_text(_path(key), entry.to_json())
    except (OSError, LmprobeError) as problem:
        raise InputError(
            f"the scores cannot be kept ({problem}); set LMPROBE_CACHE to a folder that can be "
            "written, or do without the cache (cache=False, --no-cache)"
        ) from problem


def contents() -> list[tuple[Path, Entry | None]]:
    """Return every file of the cache with what is in it; None marks a damaged one."""
    paths = sorted(cache_folder().glob("scores/*/*.json"))
    return [(path, read(path.stem)) for path in paths]


def clear() -> tuple[int, int]:
    """Remove every entry; return how many files and bytes that were."""
    sizes = [_remove(path) for path in _files()]
    return len(sizes), sum(sizes)


def _files() -> Iterable[Path]:
    # Leftovers of a killed writer begin with a dot and end in no suffix.
    return [*cache_folder().glob("scores/*/*.json"), *cache_folder().glob("scores/*/.*")]


def _remove(path: Path) -> int:
    size = path.stat().st_size
    path.unlink()
    return size


def _path(key: str) -> Path:
    return cache_folder() / "scores" / key[:2] / f"{key}.json"
