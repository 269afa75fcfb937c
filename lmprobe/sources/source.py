"""What a source of base rates is, and the one that every other is compared with: uniform."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from lmprobe.errors import LmprobeError
from lmprobe.metrics.association import Association
from lmprobe.registry import Registry

Provenance = Mapping[str, Any]
"""Where a table comes from; the keys are `PROVENANCE`, an unknown one is None."""

PROVENANCE = (
    "title", "source", "year", "series", "licence", "unit", "method", "sha256", "notes",
)  # fmt: skip


@runtime_checkable
class Source(Protocol):
    """How attributes and tasks go together outside the model.

    A source may also have a `lean_source`, the name of the source that says which way the
    world leans when this one cannot (see `uniform`), and a method `of(model)` that returns
    the source for one model (see `corpus`). A source whose numbers were sampled has
    `sampling` and `sampling_of(attributes, tasks)` (see `BaseTable`); one without is exact. One
    in which tasks share a row of what it was read from has `units_of(tasks)`.
    """

    @property
    def name(self) -> str:
        """What results call this source."""

    @property
    def provenance(self) -> Provenance:
        """Where its numbers come from; missing keys are unknown."""

    def association(self, attributes: Sequence[str], tasks: Sequence[str]) -> Association:
        """Return the association of exactly these labels, or raise `MissingLabels`."""


class MissingLabels(LmprobeError, LookupError):
    """A source was asked for attributes or tasks that it does not have."""

    def __init__(
        self, source: str, *, attributes: Sequence[str] = (), tasks: Sequence[str] = ()
    ) -> None:
        """Keep what is missing, so that a policy can leave it out or fill it in."""
        self.attributes = tuple(attributes)
        self.tasks = tuple(tasks)
        kinds = {"attribute": self.attributes, "task": self.tasks}
        missing = " and ".join(
            f"{len(labels)} {kind}{'s' * (len(labels) > 1)} ({', '.join(labels)})"
            for kind, labels in kinds.items()
            if labels
        )
        super().__init__(
            f'base rates "{source}" lack {missing}; leave the words out, add them to the '
            'table, or choose the policy "drop" or "smooth"'
        )


sources: Registry[Callable[[], Source]] = Registry("sources", "lmprobe.sources.load")
"""Sources that are code: each is called without arguments and gives a `Source`."""


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
