"""A result as a `datasets.Dataset`: to filter, to share on the hub, to join with others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from lmprobe.errors import InputError, did_you_mean
from lmprobe.probing.result import ProbeResult

if TYPE_CHECKING:
    from datasets import Dataset


def to_dataset(result: ProbeResult, table: Literal["pairs", "rows"] = "pairs") -> Dataset:
    """Return the pairs (one line per template and pair) or the rows (one per base and direction).

    The dataset's description is the provenance of the result as JSON.
    """
    from datasets import Dataset, DatasetInfo

    frames = {"pairs": result.pairs, "rows": result.to_frame}
    if table not in frames:
        raise InputError(f'no table "{table}"; {did_you_mean(table, frames)}')
    about = json.dumps(dict(result.provenance), ensure_ascii=False)
    return Dataset.from_pandas(
        frames[table](), info=DatasetInfo(description=about), preserve_index=False
    )
