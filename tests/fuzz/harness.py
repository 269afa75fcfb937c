"""Gives one input to a reader and says whether that is a finding."""

from __future__ import annotations

import hashlib
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lmprobe.errors import LmprobeError
from tests.fuzz import data_files, state_files, table_files
from tests.fuzz.reader import Reader

_PARTS = (data_files, table_files, state_files)

MOST_SECONDS = 60.0
MOST_BYTES = 1_000_000_000
LONGEST_MESSAGE = 1000
CORPUS = Path(__file__).parent / "corpus"
"""Every input that ever was a finding, by reader; the tests give them to it again."""


class Hang(BaseException):
    """Raised in a reader that does not come back."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that a reader neither read nor refused in one clear line."""

    reader: str
    content: bytes
    what: str

    def save(self, folder: Path = CORPUS) -> Path:
        """Keep the input under its hash."""
        name = hashlib.sha256(self.content).hexdigest()[:16]
        path = folder / self.reader / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content)
        return path


def readers() -> dict[str, Reader]:
    """Return everything that lmprobe reads, by name."""
    return {reader.name: reader for part in _PARTS for reader in part.readers()}


def inputs(reader: Reader, number: int, seed: int) -> Iterator[bytes]:
    """Yield the same damaged inputs for the same seed."""
    rng, seeds = random.Random(f"{reader.name} {seed}"), reader.seeds()
    for _ in range(number):
        yield reader.damage(rng, rng.choice(seeds))


def examine(reader: Reader, content: bytes, folder: Path) -> Finding | None:
    """Return what is wrong with how the reader takes the input, or None."""
    path = folder / reader.file
    path.write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _written_to(out, 1), _written_to(err, 2):
            problem = _problem(reader, path)
        problem = problem or _written_problem(out, err)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if problem is None and grown > MOST_BYTES:
        problem = f"took {grown / 1e9:.1f} GB"
    return None if problem is None else Finding(reader.name, content, problem)


def _problem(reader: Reader, path: Path) -> str | None:
    def stop(*_: object) -> None:
        raise Hang

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(path)
    except LmprobeError as refusal:
        return _message_problem(str(refusal))
    except Hang:
        return "hangs"
    # Everything else that a reader raises is a finding.
    except Exception as problem:
        place = traceback.extract_tb(problem.__traceback__)
        ours = [item for item in place if "/lmprobe/" in item.filename or "fuzz" in item.filename]
        last = ours[-1] if ours else place[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return f"{type(problem).__name__} at {where}: {str(problem)[:200]!r}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    return None


@contextmanager
def _written_to(file: BinaryIO, number: int) -> Iterator[None]:
    """Send a standard stream to a file, also what compiled code writes to it."""
    stream = {1: sys.stdout, 2: sys.stderr}[number]
    stream.flush()
    retained = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        stream.flush()
        os.dup2(retained, number)
        os.close(retained)


def _written_problem(out: BinaryIO, err: BinaryIO) -> str | None:
    """Return what is wrong with what was printed: a document on standard output stands alone."""
    out.seek(0)
    err.seek(0)
    if printed := out.read():
        return f"prints: {printed[:200]!r}"
    lines = err.read().decode(errors="replace").splitlines()
    return next((actual for line in lines if (actual := _message_problem(line))), None)


def _message_problem(message: str) -> str | None:
    if len(message) > LONGEST_MESSAGE:
        return f"a message of {len(message)} characters"
    if any(unicodedata.category(item) in ("Cc", "Cs", "Zl", "Zp") for item in message):
        return f"a message that commands the terminal: {message[:200]!r}"
    return None
