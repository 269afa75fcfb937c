"""Base rates in which every attribute is equally likely in every task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmprobe.core.association import Association
from lmprobe.sources.source import Provenance, sources

_PROVENANCE: Provenance = {
    "title": "Every attribute and every task equally likely",
    "source": "Wang & Russakovsky 2021, Section 5.3",
    "year": None,
    "licence": "none needed",
    "unit": "probability",
    "method": "1/A for each of A attributes, 1/T for each of T tasks",
    "sha256": None,
    "notes": ("the lean is taken from winobias-majority unless another source is named",),
}


@sources.register("uniform")
class Uniform:
    """Base rates that know nothing: 1/A for every attribute, 1/T for every task.

    Equal rates have no lean, so it comes from `lean_source`, as in the paper
    (which wrote it as 1/2 plus or minus 1e-7; here the rates stay even).
    """

    name = "uniform"
    lean_source = "winobias-majority"
    provenance = _PROVENANCE

    def association(self, attributes: Sequence[str], tasks: Sequence[str]) -> Association:
        """Return equal rates for any labels."""
        even = np.full((len(attributes), len(tasks)), 1 / len(attributes))
        return Association.from_conditional(even, attributes, tasks)
