"""What happens to words that a source lacks, and to words that it never counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from lmprobe.association import Association
from lmprobe.errors import InputError, did_you_mean
from lmprobe.sources.source import MissingLabels, Provenance, Source

Missing = Literal["error", "drop", "smooth"]
MISSING: tuple[Missing, ...] = get_args(Missing)


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """The world that a source gives for some labels, and what had to be done to get it."""

    name: str
    association: Association
    """Over the labels kept, in the order asked."""
    dropped_attributes: tuple[str, ...]
    dropped_tasks: tuple[str, ...]
    empty_attributes: tuple[str, ...]
    """Kept, but never counted: P(t|a) is undefined."""
    empty_tasks: tuple[str, ...]
    """Kept, but never counted: P(a|t) is undefined."""
    smoothed_cells: int
    """How many cells hold nothing but the pseudo-count."""
    notes: tuple[str, ...]
    provenance: Provenance


def world(
    source: Source,
    attributes: Sequence[str],
    tasks: Sequence[str],
    *,
    missing: Missing = "drop",
    pseudo_count: float = 0.5,
) -> World:
    """Return the world of `source` for these labels under a policy for what it lacks.

    `error` raises for a label that the source lacks and for one that it never counted.
    `drop` leaves out labels that it lacks; labels never counted stay and are undefined.
    `smooth` counts a label that it lacks as zero and then adds `pseudo_count` to every cell.
    """
    if missing not in MISSING:
        raise InputError(
            f'no policy "{missing}" for missing words; {did_you_mean(missing, MISSING)}'
        )
    if not (np.isfinite(pseudo_count) and pseudo_count > 0):
        raise InputError(f"the pseudo-count must be a positive number, found {pseudo_count}")
    lacking = _lacking(source, attributes, tasks)
    if missing == "error" and (lacking.attributes or lacking.tasks):
        raise lacking
    kept_attributes = [name for name in attributes if name not in lacking.attributes]
    kept_tasks = [task for task in tasks if task not in lacking.tasks]
    _check_enough(source.name, lacking, kept_attributes, kept_tasks)
    found = source.association(tuple(kept_attributes), tuple(kept_tasks))
    if missing == "smooth":
        return _smoothed(source, found, tuple(attributes), tuple(tasks), pseudo_count)
    empty_attributes, empty_tasks = _empty(found)
    if missing == "error" and (empty_attributes or empty_tasks):
        never = ", ".join(empty_attributes + empty_tasks)
        raise InputError(
            f'base rates "{source.name}" never counted {never}; '
            'choose the policy "drop" to leave these undefined or "smooth" to add a pseudo-count'
        )
    notes = (
        *_note(lacking.attributes, "without a column, left out"),
        *_note(lacking.tasks, "without a row, left out"),
        *_note(empty_attributes, "never counted, undefined when given"),
        *_note(empty_tasks, "never counted, undefined when given"),
    )
    return World(
        source.name, found, lacking.attributes, lacking.tasks, empty_attributes, empty_tasks,
        0, notes, source.provenance,
    )  # fmt: skip


def _lacking(source: Source, attributes: Sequence[str], tasks: Sequence[str]) -> MissingLabels:
    """Ask the source what it lacks."""
    if not attributes or not tasks:
        raise InputError("a world needs at least one attribute and one task")
    try:
        source.association(tuple(attributes), tuple(tasks))
    except MissingLabels as lacking:
        return lacking
    return MissingLabels(source.name)


def _check_enough(
    name: str, lacking: MissingLabels, attributes: Sequence[str], tasks: Sequence[str]
) -> None:
    if not tasks:
        raise InputError(f'base rates "{name}" have none of the tasks: {", ".join(lacking.tasks)}')
    if lacking.attributes and len(attributes) < 2:
        raise InputError(
            f'base rates "{name}" lack {", ".join(lacking.attributes)}; fewer than two '
            "attributes are left, and one alone cannot be compared"
        )


def _empty(found: Association) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the attributes and the tasks that never occur."""
    return (
        tuple(name for name, p in zip(found.attributes, found.p_attribute, strict=True) if not p),
        tuple(task for task, p in zip(found.tasks, found.p_task, strict=True) if not p),
    )


def _smoothed(
    source: Source,
    found: Association,
    attributes: tuple[str, ...],
    tasks: tuple[str, ...],
    pseudo_count: float,
) -> World:
    """Return the world with `pseudo_count` more in every cell, labels it lacks included."""
    if found.counts is None:
        if (attributes, tasks) != (found.attributes, found.tasks) or not found.joint.all():
            raise InputError(
                f'base rates "{source.name}" are not counts, so no pseudo-count can be added; '
                'choose the policy "drop"'
            )
        note = f"{source.name} holds no counts and lacks nothing: no pseudo-count added"
        return World(source.name, found, (), (), (), (), 0, (note,), source.provenance)
    counts = np.zeros((len(attributes), len(tasks)))
    rows = [attributes.index(name) for name in found.attributes]
    columns = [tasks.index(task) for task in found.tasks]
    counts[np.ix_(rows, columns)] = found.counts
    cells = int((counts == 0).sum())
    note = (
        f"{pseudo_count:g} added to each of the {counts.size} cells of {source.name}; "
        f"{cells} of them held nothing else"
    )
    smoothed = Association.from_counts(counts + pseudo_count, attributes, tasks)
    return World(source.name, smoothed, (), (), (), (), cells, (note,), source.provenance)


def _note(labels: tuple[str, ...], what: str) -> tuple[str, ...]:
    return (f"{len(labels)} {what}: {', '.join(labels)}",) if labels else ()
