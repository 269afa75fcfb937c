"""What a probe is compared with: base rates, and a lean that may come from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.core.choices import LeanWeighting, Missing
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.metrics.lean import lean as lean_of_association
from lmprobe.results import Note, NoteKind
from lmprobe.sources import AlignedBaseRates, Source, align_base_rates, load_base_rates

NO_LEAN = "none"
"""The name of the lean's source in results that have none."""
_NO_LEAN = (
    "no source has a lean for these words, so the value is undefined; `absolute` measures how "
    "unevenly the model treats the groups, without a sign. Name a table that has a lean to "
    "measure the value too: --lean own.csv"
)


@dataclass(frozen=True, slots=True)
class Baseline:
    """Base rates from one source, the direction of bias from the same or another."""

    name: str
    rates: AlignedBaseRates
    lean_name: str
    lean_rates: AlignedBaseRates | None
    """None if no source has a lean for these words."""

    def lean(self, direction: Direction, weighting: LeanWeighting) -> Floats:
        """Return the lean (A, T) in the order of the base.

        A group without a lean, such as "they" in WinoBias, leans nowhere; a task about which
        nothing is known is undefined.
        """
        own = self.rates.association
        if self.lean_rates is None:
            return np.full(own.joint.shape, np.nan)
        other = self.lean_rates.association
        lean = lean_of_association(other, direction, weighting)
        table = np.zeros(own.joint.shape)
        for column, task in enumerate(own.tasks):
            if task not in other.tasks:
                table[:, column] = np.nan
                continue
            for row, attribute in enumerate(own.attributes):
                if attribute in other.attributes:
                    cell = other.attributes.index(attribute), other.tasks.index(task)
                    table[row, column] = lean[cell]
        return table

    @property
    def foreign_lean(self) -> bool:
        """Whether the lean comes from another source than the base."""
        return self.lean_name != self.name

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know of these base rates and their lean."""
        own = self.rates.notes
        if self.rates.taken_as_exact:
            text = (
                f"the base rates of {self.name} are taken as exact: their description has neither "
                "`counts = true` nor standard errors"
            )
            own = (*own, Note(NoteKind.BASE, text))
        if self.lean_rates is None:
            return (*own, Note(NoteKind.LEAN, _NO_LEAN))
        if not self.foreign_lean:
            return own
        texts = [f"the lean comes from {self.lean_name}"]
        if self.lean_rates.dropped_attributes:
            groups = ", ".join(self.lean_rates.dropped_attributes)
            texts.append(f"{self.lean_name} has no lean for {groups}: 0 is used")
        if self.lean_rates.dropped_tasks:
            unknown = len(self.lean_rates.dropped_tasks)
            tasks = "task" if unknown == 1 else "tasks"
            texts.append(f"{self.lean_name} has no lean for {unknown} {tasks}: undefined")
        return (*own, *(Note(NoteKind.LEAN, text) for text in texts))

    def merged(self, owner: Mapping[str, str]) -> Baseline:
        """Return the same base rates with the attributes of one owner taken together."""
        rates = self.rates.merged(owner)
        lean_rates = self.lean_rates
        if lean_rates is not None:
            lean_rates = rates if lean_rates is self.rates else lean_rates.merged(owner)
        return replace(self, rates=rates, lean_rates=lean_rates)


def baseline(
    source: Source,
    attributes: Sequence[str],
    tasks: Sequence[str],
    *,
    lean_from: Source | None = None,
    missing: Missing = "drop",
    pseudo_count: float = 0.5,
) -> Baseline:
    """Return the base rates of `source`, with the lean of `lean_from` or the source's own."""
    rates = align_base_rates(source, attributes, tasks, missing=missing, pseudo_count=pseudo_count)
    declared = getattr(source, "lean_source", None)
    by_default = lean_from is None
    if lean_from is None and declared is not None:
        lean_from = load_base_rates(declared)
    if lean_from is None:
        return Baseline(source.name, rates, source.name, rates)
    labels = rates.association
    try:
        # A word without a lean is undefined, not an error: it is counted with the rest.
        lean_rates = align_base_rates(lean_from, labels.attributes, labels.tasks, missing="drop")
    except InputError as problem:
        if by_default:
            return Baseline(source.name, rates, NO_LEAN, None)
        raise InputError(
            f'{problem}; "{source.name}" takes its lean from there: choose another source of the '
            "lean (`lean`, --lean)"
        ) from problem
    return Baseline(source.name, rates, lean_from.name, lean_rates)
