"""The units that a claim about templates rests on: templates, or their paraphrase families."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.metrics.directional import defined_mean


def unit_task_means(cells: Floats, families: Sequence[str] | None) -> Floats:
    """Return the mean of each family (or template) and task, (F, T), of cells (K, A, T).

    A family in which nothing is defined is left out; a single undefined mean is NaN.
    """
    names = np.arange(len(cells)) if families is None else np.asarray(families, dtype=str)
    units, family = np.unique(names, return_inverse=True)
    means = [defined_mean(cells[family == one], axis=(0, 1)) for one in range(len(units))]
    table: Floats = np.stack(means)
    return table[~np.isnan(table).all(axis=1)]
