"""Counts with Ray Data, on this machine or on a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from lmprobe.corpus.engines.engine import Counted, Numbered, engines
from lmprobe.corpus.parts import Held
from lmprobe.corpus.work import Job, count_part
from lmprobe.errors import InputError
from lmprobe.io.ray_session import ray_session


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
