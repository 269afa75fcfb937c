"""Counts a table file by file with Ray Data: counts and sums of files are additive."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmprobe.errors import InputError
from lmprobe.io.tables import TableSource
from lmprobe.io.work import map_on_ray
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
    tasks = [(number, str(path), layout, plan) for number, path in files]
    parts = dict(map_on_ray(_count_file, tasks, os.cpu_count() or 1))
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


def _count_file(part: Part) -> tuple[int, pd.DataFrame]:
    number, path, layout, plan = part
    with TableSource(path) as source:
        return number, plan.of_file(number).run(source, layout)
