"""Where parts of a corpus are counted: in this process, in several, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lmprobe.errors import InputError, LmprobeError
from lmprobe.io.work import ray_session
from lmprobe.registry import Registry
from lmprobe.sources.counting.lexicon import Lexicon
from lmprobe.sources.counting.parts import Held, Part
from lmprobe.sources.counting.rules import Rule, rules

Counts = dict[tuple[int, int], int]
"""How many sentences counted for (attribute, task); pairs without any are left out."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is counted, the same for every part."""

    rule: str
    lexicon: Lexicon


def count_part(job: Job, part: Part) -> Counts:
    """Return the counts of one part."""
    rule = _prepared(job)
    counts: Counter[tuple[int, int]] = Counter()
    for block in part.blocks():
        counts.update(rule.pairs(block))
    return dict(counts)


@lru_cache(maxsize=4)
def _prepared(job: Job) -> Rule:
    """Return the rule, made ready once per process and job."""
    return rules.get(job.rule)(job.lexicon)


Numbered = tuple[int, Part]
Counted = tuple[int, int, Counts]
"""The number of a part, its size in bytes and its counts."""

Engine = Callable[[Job, Iterable[Numbered], int], Iterator[Counted]]
"""Called with the job, the parts and the number of workers; parts come back in any order."""

engines: Registry[Engine] = Registry("engines", "lmprobe.sources.counting.engines")


@engines.register("local")
def local(job: Job, parts: Iterable[Numbered], workers: int) -> Iterator[Counted]:
    """Count part after part, or with `workers` processes several at a time."""
    if workers == 1:
        for number, part in parts:
            yield number, part.size, count_part(job, part)
        return
    # A fork would copy the threads' locks of whatever the caller has imported.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _follow_the_parent)
    try:
        yield from _spread(pool, job, parts, 2 * workers)
    except BrokenProcessPool:
        raise LmprobeError(
            "a counting process was killed (out of memory?); run again with fewer workers, and "
            "with the same checkpoint to go on from where it stopped"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _spread(
    pool: ProcessPoolExecutor, job: Job, parts: Iterable[Numbered], ahead: int
) -> Iterator[Counted]:
    """Yield counts as they come, with only so many parts under way: memory stays constant."""
    running: dict[Future[Counts], tuple[int, int]] = {}
    for number, part in parts:
        running[pool.submit(count_part, job, part)] = (number, part.size)
        if len(running) == ahead:
            yield from _completed(running)
    while running:
        yield from _completed(running)


def _completed(running: dict[Future[Counts], tuple[int, int]]) -> Iterator[Counted]:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        yield (*running.pop(future), future.result())


def _follow_the_parent() -> None:
    """Leave interrupts to the parent, and go when it is gone: a killed one cannot say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@engines.register("ray")
def ray_data(job: Job, parts: Iterable[Numbered], workers: int) -> Iterator[Counted]:
    """Count each part in a Ray task; Ray runs a task again when its worker dies.

    Every node must see the files under the same paths. An address in RAY_ADDRESS, or a
    connection that the caller has made, is used; else `workers` processes start here.
    """
    listed = list(parts)
    if any(isinstance(part, Held) for _, part in listed):
        raise InputError('the engine "ray" counts files; use the engine "local" for a stream')
    with ray_session(workers):
        yield from _counted(job, listed)


def _counted(job: Job, parts: list[Numbered]) -> Iterator[Counted]:
    import ray.data

    if not parts:
        return
    context = ray.data.DataContext.get_current()
    bars, context.enable_progress_bars = context.enable_progress_bars, False
    items = [{"part": pickle.dumps((job, number, part))} for number, part in parts]
    # One block per part, so that a lost worker costs one part.
    rows = ray.data.from_items(items, override_num_blocks=len(items)).map(_count_row)
    try:
        for row in rows.iter_rows():
            yield pickle.loads(row["counts"])
    finally:
        context.enable_progress_bars = bars


def _count_row(row: dict[str, Any]) -> dict[str, Any]:
    job, number, part = pickle.loads(row["part"])
    return {"counts": pickle.dumps((number, part.size, count_part(job, part)))}
