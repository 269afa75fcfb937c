"""A disk that is full, a folder that cannot be written, and commands in processes to be killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

# A process that is forked has these loaded already: a command costs what it computes.
PRELOADED = (
    "torch", "transformers.models.bert.modeling_bert", "scipy.stats", "pandas",
    "lmprobe.cli.main", "lmprobe.probing.probe", "lmprobe.probing.page",
    "lmprobe.models.kinds.masked", "lmprobe.sources.counting.count", "lmprobe.sweeping.sweep",
)  # fmt: skip
TEMPLATES = """
name = "mini"
description = "a few sentences"
source = "made up"
language = "en"
attribute = "pronoun"
task = "occupation"
sentences = ["{pronoun} {verb} a {occupation}."]

[slots]
pronoun = { lexicon = "pronouns" }
occupation = ["nurse", "cook", "driver", "writer"]
verb = ["is", "was", "sees", "saw", "likes", "knows"]
"""
_NOBODY = 65534


@contextmanager
def full_disk(room: int = 0) -> Iterator[None]:
    """Let no file grow over so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Let the modes of folders hold for this process, even if it is root's."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder; what depends on the clock is taken out."""
    return {
        str(path.relative_to(folder)): _timeless(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _timeless(content: bytes) -> bytes:
    content = re.sub(rb'"seconds": [0-9.e+-]+', b'"seconds": 0', content)
    return re.sub(rb"in [0-9.]+ s, [0-9,]+ MB/s", b"", content)


def start(words: Sequence[str | Path], folder: Path) -> BaseProcess:
    """Run a command of lmprobe in a folder, in a process of its own; what it says is in a log."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    process = context.Process(target=_command, args=(list(map(str, words)), str(folder)))
    process.start()
    return process


def _command(words: list[str], folder: str) -> None:
    from lmprobe.cli.main import main
    from lmprobe.sources.counting import count as checkpoint

    # A checkpoint after every part: the more is written, the more a kill can hit.
    checkpoint.SECONDS_BETWEEN_SAVES = 0.0
    with _log(folder).open("ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.environ |= {"LMPROBE_CACHE": f"{folder}/cache", "OMP_NUM_THREADS": "1"}
    tempfile.tempdir = os.environ["TMPDIR"] = f"{folder}/tmp"
    os.chdir(folder)
    sys.argv = ["lmprobe", *words]
    main()


def _log(folder: str | Path) -> Path:
    return Path(f"{folder}.log")


def finish(process: BaseProcess, folder: Path) -> None:
    """Wait for a command that must succeed."""
    process.join(600)
    assert process.exitcode == 0, _log(folder).read_text()


def kill_at_random(process: BaseProcess, longest: float, rng: random.Random) -> bool:
    """End a process with SIGKILL at a random moment; return whether it was still running."""
    time.sleep(rng.uniform(0, longest))
    alive = process.is_alive()
    assert process.pid is not None
    if alive:
        os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    return alive
