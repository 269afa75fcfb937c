"""Remembers which parts of a count are done, so that an interrupted one can go on."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

from lmprobe import atomic
from lmprobe.corpus.parts import Part
from lmprobe.corpus.work import Counts, Job
from lmprobe.errors import DataFileError

_FORMAT = "lmprobe.count/1"
# Often enough to lose little, seldom enough to cost nothing.
_SECONDS = 5.0


@dataclass(slots=True)
class Checkpoint:
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
        if time.monotonic() - self.saved > _SECONDS:
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
        atomic.write_text(self.path, json.dumps(document) + "\n")
        self.saved = time.monotonic()


def open_checkpoint(path: str | Path | None, job: Job, parts: list[Part]) -> Checkpoint:
    """Return the state in `path`, or a new one; a file of another count is refused."""
    if path is None:
        return Checkpoint(None, "")
    path, request = Path(path), _fingerprint(job, parts)
    if not path.exists():
        return Checkpoint(path, request)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != _FORMAT:
            raise ValueError(f"its format is {found['format']!r}")
        counts = {(int(a), int(t)): int(count) for a, t, count in found["counts"]}
        state = Checkpoint(path, str(found["request"]), set(map(int, found["done"])), counts)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DataFileError(
            f"{path}: this is no checkpoint of a count ({problem}); name another file"
        ) from None
    if state.request != request:
        raise DataFileError(
            f"{path}: this checkpoint belongs to another count: the corpus, the words, the rule "
            "or the size of the parts has changed; remove it to start anew, or name another file"
        )
    return state


def _fingerprint(job: Job, parts: list[Part]) -> str:
    """Return what must be equal for counts to be added up: job, parts, the files' state."""
    files = sorted({path for part in parts if (path := getattr(part, "path", None))})
    states = [(str(one), one.stat().st_size, one.stat().st_mtime_ns) for one in files]
    return hashlib.sha256(repr((job, parts, states)).encode()).hexdigest()
