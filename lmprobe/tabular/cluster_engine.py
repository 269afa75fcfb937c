"""Counts a table file by file with Ray Data: counts and sums of files are additive."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lmprobe.errors import InputError, LmprobeError
from lmprobe.io.tables import TableSource
from lmprobe.io.work import ray_session
from lmprobe.tabular.columns import Layout
from lmprobe.tabular.engine import Plan

if TYPE_CHECKING:
    import pandas as pd


def run_on_ray(source: TableSource, layout: Layout, plan: Plan) -> pd.DataFrame:
    """Count each file in a Ray task and add up; every node must see the same paths.

    An address in RAY_ADDRESS, or a connection that the caller has made, is used; else as many
    processes start here as there are cores.
    """
    if source.files is None:
        raise InputError('the engine "ray" counts files; use "local" for a table in memory')
    files = list(enumerate(source.files.paths))
    with ray_session(os.cpu_count() or 1):
        parts = dict(_counted([(number, str(path), layout, plan) for number, path in files]))
    # In the order of the files, so that sums are the same however the tasks finish.
    return added_up([parts[number] for number, _ in files], layout, plan)


def added_up(parts: Sequence[pd.DataFrame], layout: Layout, plan: Plan) -> pd.DataFrame:
    """Return the lines of the whole table from those of its files."""
    import pandas as pd

    lines = pd.concat(parts)
    keys = [*layout.keys, *(["unit"] if "unit" in lines else [])]
    lines[keys] = lines[keys].astype(str)
    if not plan.added:
        keys = [name for name in lines.columns if name != "n"]
    if not keys:
        return lines.sum().to_frame().T
    return lines.groupby(keys, sort=True, as_index=False).sum()


Part = tuple[int, str, Layout, Plan]


def _counted(parts: list[Part]) -> Iterator[tuple[int, pd.DataFrame]]:
    import ray.data

    context = ray.data.DataContext.get_current()
    bars, context.enable_progress_bars = context.enable_progress_bars, False
    items = [{"part": pickle.dumps(part)} for part in parts]
    # One block per file, so that a lost worker costs one file.
    rows = ray.data.from_items(items, override_num_blocks=len(items)).map(_count_file)
    try:
        for row in rows.iter_rows():
            found = pickle.loads(row["lines"])
            if isinstance(found, Exception):
                raise found
            yield found
    finally:
        context.enable_progress_bars = bars


def _count_file(row: dict[str, Any]) -> dict[str, Any]:
    """Count one file in a worker; what is wrong with it comes back as it is."""
    import duckdb

    number, path, layout, plan = pickle.loads(row["part"])
    try:
        with TableSource(path) as source:
            found: Any = (number, plan.of_file(number).run(source, layout))
    except (LmprobeError, duckdb.ConversionException) as problem:
        found = problem
    return {"lines": pickle.dumps(found)}
