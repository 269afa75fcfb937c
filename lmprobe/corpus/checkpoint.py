"""Remembers which parts of a count are done, so that an interrupted one can go on."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path

from lmprobe.corpus.parts import Part
from lmprobe.corpus.work import Counts, Job
from lmprobe.errors import DataFileError
from lmprobe.io import atomic
from lmprobe.io.problems import refuse_pipe
from lmprobe.io.sealed import seal, unseal

_FORMAT = "lmprobe.count/2"
SECONDS_BETWEEN_SAVES = 5.0
"""Often enough to lose little, seldom enough to cost nothing."""


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
        atomic.write_text(self.path, seal(document, "") + "\n")
        self.saved = time.monotonic()


def open_checkpoint(path: str | Path | None, job: Job, parts: list[Part]) -> Checkpoint:
    """Return the state in `path`, or a new one; a file of another count is refused."""
    if path is None:
        return Checkpoint(None, "")
    path, request = Path(path), _fingerprint(job, parts)
    if not path.exists():
        return Checkpoint(path, request)
    refuse_pipe(path)
    try:
        state = unseal(path.read_text(encoding="utf-8", errors="replace"), "")
    except OSError as problem:
        raise DataFileError(f"{path}: {problem.strerror}") from None
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
    return Checkpoint(path, request, set(state["done"]), counts)


def _fingerprint(job: Job, parts: list[Part]) -> str:
    """Return what must be equal for counts to be added up: job, parts, the files' state."""
    files = sorted({path for part in parts if (path := getattr(part, "path", None))})
    states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr((job, parts, states)).encode()).hexdigest()
