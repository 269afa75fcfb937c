"""Counts on this machine, in this process or in several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from lmprobe.corpus.engines.engine import Counted, Numbered, engines
from lmprobe.corpus.work import Counts, Job, count_part
from lmprobe.errors import LmprobeError


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
