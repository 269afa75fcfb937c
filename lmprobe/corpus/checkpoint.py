"""Remembers which parts of a count are done, so that an interrupted one can go on."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmprobe.corpus.parts import Part
from lmprobe.corpus.work import Counts, Job
from lmprobe.errors import DataFileError
from lmprobe.io import atomic
from lmprobe.io.documents import parse_json
from lmprobe.io.problems import refuse_pipe
from lmprobe.io.sealed import checksum

_FORMAT = "lmprobe.count/2"
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
        document["sha256"] = checksum(document)
        atomic.write_text(self.path, json.dumps(document) + "\n")
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
        found = parse_json(path.read_text(encoding="utf-8"))
        _check(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        reason = str(problem) or type(problem).__name__
        raise DataFileError(
            f"{path}: this is no checkpoint of a count, or it was changed ({reason}); "
            "remove it to start anew, or name another file"
        ) from None
    if found["request"] != request:
        raise DataFileError(
            f"{path}: this checkpoint belongs to another count: the corpus, the words, the rule "
            "or the size of the parts has changed; remove it to start anew, or name another file"
        )
    done, counts = found["done"], {(a, t): count for a, t, count in found["counts"]}
    shape = len(job.lexicon.attributes), len(job.lexicon.tasks)
    _check_ranges(path, done, counts, parts=len(parts), shape=shape)
    return Checkpoint(path, request, set(done), counts)


def _check(found: dict[str, Any]) -> None:
    """Raise a ValueError unless this is a checkpoint as it was written."""
    if found["format"] != _FORMAT:
        raise ValueError(f"its format is {str(found['format'])[:40]!r}, expected {_FORMAT!r}")
    written = found.pop("sha256")
    if written != checksum(found):
        raise ValueError("its checksum does not fit its content")
    whole = [*found["done"], *(number for row in found["counts"] for number in row)]
    if not all(type(number) is int for number in whole):
        raise ValueError("it has numbers that are not whole")
    if len(found["done"]) > len(set(found["done"])):
        raise ValueError("it names a part twice")
    pairs = [(a, t) for a, t, _ in found["counts"]]
    if len(pairs) > len(set(pairs)):
        raise ValueError("it counts a pair twice")


def _check_ranges(
    path: Path, done: list[int], counts: Counts, *, parts: int, shape: tuple[int, int]
) -> None:
    """Refuse parts that the corpus does not have, pairs without words and impossible counts."""
    strange = [number for number in done if not 0 <= number < parts]
    if strange:
        raise DataFileError(
            f"{path}: this checkpoint names part {strange[0]} of a corpus that has {parts}; "
            "remove it to start anew"
        )
    for (attribute, task), count in counts.items():
        if not (0 <= attribute < shape[0] and 0 <= task < shape[1] and count > 0 and done):
            raise DataFileError(
                f"{path}: this checkpoint counts {count} sentences of attribute {attribute} with "
                f"task {task}, which cannot be; remove it to start anew"
            )


def _fingerprint(job: Job, parts: list[Part]) -> str:
    """Return what must be equal for counts to be added up: job, parts, the files' state."""
    files = sorted({path for part in parts if (path := getattr(part, "path", None))})
    states = [(str(one), one.stat().st_size, one.stat().st_mtime_ns) for one in files]
    return hashlib.sha256(repr((job, parts, states)).encode()).hexdigest()
