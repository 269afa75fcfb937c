"""Where parts of a corpus are counted: in this process, in several, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache

from lmprobe.errors import InputError, LmprobeError
from lmprobe.io.work import map_on_ray
from lmprobe.registry import Registry
from lmprobe.sources.counting.corpus import Part, TextInMemory
from lmprobe.sources.counting.lexicon import Lexicon
from lmprobe.sources.counting.rules import Rule, rules

Counts = dict[tuple[int, int], int]
"""How many sentences counted for (attribute, task); pairs without any are left out."""


@dataclass(frozen=True, slots=True)
class CountJob:
    """What is counted, the same for every part."""

    rule: str
    lexicon: Lexicon


NumberedPart = tuple[int, Part]
PartCounts = tuple[int, int, Counts]
"""The number of a part, its size in bytes and its counts."""

Engine = Callable[[CountJob, Iterable[NumberedPart], int], Iterator[PartCounts]]
"""Called with the job, the parts and the number of workers; parts come back in any order."""

engines: Registry[Engine] = Registry("engines", "lmprobe.sources.counting.engines")


def _count(task: tuple[CountJob, int, Part]) -> PartCounts:
    job, number, part = task
    rule = _prepared(job)
    counts: Counter[tuple[int, int]] = Counter()
    for block in part.blocks():
        counts.update(rule.pairs(block))
    return number, part.size, dict(counts)


@lru_cache(maxsize=4)
def _prepared(job: CountJob) -> Rule:
    """Return the rule, made ready once per process and job."""
    return rules.get(job.rule)(job.lexicon)


@engines.register("local")
def local(job: CountJob, parts: Iterable[NumberedPart], workers: int) -> Iterator[PartCounts]:
    """Count part after part, or with `workers` processes several at a time."""
    tasks = ((job, number, part) for number, part in parts)
    if workers == 1:
        yield from map(_count, tasks)
        return
    # A fork would copy the threads' locks of whatever the caller has imported.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _follow_the_parent)
    running: set[Future[PartCounts]] = set()
    try:
        for task in tasks:
            running.add(pool.submit(_count, task))
            # Only so many parts under way at a time: memory stays constant.
            if len(running) == 2 * workers:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in as_completed(running))
    except BrokenProcessPool:
        raise LmprobeError(
            "a counting process was killed (out of memory?); run again with fewer workers, and "
            "with the same checkpoint to go on from where it stopped"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


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
def ray_data(job: CountJob, parts: Iterable[NumberedPart], workers: int) -> Iterator[PartCounts]:
    """Count each part in a Ray task; Ray runs a task again when its worker dies.

    Every node must see the files under the same paths. An address in RAY_ADDRESS, or a
    connection that the caller has made, is used; else `workers` processes start here.
    """
    tasks = [(job, number, part) for number, part in parts]
    if any(isinstance(part, TextInMemory) for _, _, part in tasks):
        raise InputError('the engine "ray" counts files; use the engine "local" for a stream')
    return map_on_ray(_count, tasks, workers)
