"""The world that a probe is compared with: base rates, and a lean that may come from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmprobe.association import Direction
from lmprobe.errors import InputError
from lmprobe.metrics.lean import LeanWeighting
from lmprobe.metrics.lean import lean as lean_of_world
from lmprobe.sources import Missing, Source, World, load_base_rates, world
from lmprobe.tally import Floats


@dataclass(frozen=True, slots=True)
class Baseline:
    """Base rates from one source, the direction of bias from the same or another."""

    name: str
    world: World
    lean_name: str
    lean_world: World

    def lean(self, direction: Direction, weighting: LeanWeighting) -> Floats:
        """Return the lean (A, T) in the order of the base.

        A group without a lean, such as "they" in WinoBias, leans nowhere; a task about which
        nothing is known is undefined.
        """
        there, leaning = self.world.association, self.lean_world.association
        known = lean_of_world(leaning, direction, weighting)
        table = np.zeros(there.joint.shape)
        for column, task in enumerate(there.tasks):
            if task not in leaning.tasks:
                table[:, column] = np.nan
                continue
            for row, attribute in enumerate(there.attributes):
                if attribute in leaning.attributes:
                    place = leaning.attributes.index(attribute), leaning.tasks.index(task)
                    table[row, column] = known[place]
        return table

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of this world."""
        if self.lean_name == self.name:
            return self.world.notes
        notes = [f"the lean comes from {self.lean_name}"]
        if self.lean_world.dropped_attributes:
            groups = ", ".join(self.lean_world.dropped_attributes)
            notes.append(f"{self.lean_name} has no lean for {groups}: it counts 0")
        if self.lean_world.dropped_tasks:
            unknown = len(self.lean_world.dropped_tasks)
            notes.append(f"{self.lean_name} has no lean for {unknown} tasks: undefined")
        return (*self.world.notes, *notes)


def baseline(
    source: Source,
    attributes: Sequence[str],
    tasks: Sequence[str],
    *,
    lean_from: Source | None = None,
    missing: Missing = "drop",
    pseudo_count: float = 0.5,
) -> Baseline:
    """Return the world of `source`, leaning as `lean_from` does, or as it says itself."""
    there = world(source, attributes, tasks, missing=missing, pseudo_count=pseudo_count)
    own = getattr(source, "lean_source", None)
    if lean_from is None and own is not None:
        lean_from = load_base_rates(own)
    if lean_from is None:
        return Baseline(source.name, there, source.name, there)
    kept = there.association
    try:
        # A word without a lean is undefined, not an error: it is counted with the rest.
        elsewhere = world(lean_from, kept.attributes, kept.tasks, missing="drop")
    except InputError as problem:
        raise InputError(
            f'{problem}; "{source.name}" takes its lean from there: choose another source of the '
            "lean (`lean`, --lean)"
        ) from problem
    return Baseline(source.name, there, lean_from.name, elsewhere)
