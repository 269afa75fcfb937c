"""What happens to words that a source lacks, and to words that it never counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.errors import InputError, did_you_mean
from lmprobe.metrics.association import Association
from lmprobe.metrics.direction import MISSING, Missing
from lmprobe.results.estimate import Note, NoteKind
from lmprobe.results.format import plural
from lmprobe.sources.source import MissingLabels, Provenance, Source
from lmprobe.sources.table import BaseTable, Sampling


@dataclass(frozen=True, slots=True, eq=False)
class AlignedBaseRates:
    """The base rates that a source has for some labels, and what had to be done to get them."""

    name: str
    association: Association
    """Over the labels kept, in the order asked."""
    dropped_attributes: tuple[str, ...]
    dropped_tasks: tuple[str, ...]
    notes: tuple[Note, ...]
    provenance: Provenance
    empty_attributes: tuple[str, ...] = ()
    """Never counted; among those dropped, unless the policy is `keep`."""
    empty_tasks: tuple[str, ...] = ()
    """Never counted; among those dropped, unless the policy is `keep`."""
    smoothed_cells: int = 0
    """How many cells hold nothing but the pseudo-count."""
    sampling: Sampling | None = None
    """How the numbers were sampled; None where they are not, or nobody says."""
    taken_as_exact: bool = False
    """Whether they are a table of a sample, perhaps, that does not say how it was drawn."""
    task_units: tuple[str, ...] = ()
    """For each task of the association the row of the source that it was read from; tasks of
    one row are resampled together."""

    def merged(self, owner: Mapping[str, str]) -> AlignedBaseRates:
        """Return the rates with the attributes of one owner taken together."""
        old, association = self.association, self.association.merged(owner)
        sampling = self.sampling
        if sampling is not None and sampling.standard_errors is not None:
            rows = [
                [owner[one] == name for one in old.attributes] for name in association.attributes
            ]
            # Errors of different groups are independent, so their variances add up.
            sampling = Sampling(np.sqrt(np.array(rows, dtype=float) @ sampling.standard_errors**2))
        return replace(self, association=association, sampling=sampling)


def align_base_rates(
    source: Source,
    attributes: Sequence[str],
    tasks: Sequence[str],
    *,
    missing: Missing = "drop",
    pseudo_count: float = 0.5,
) -> AlignedBaseRates:
    """Return the base rates of `source` for these labels under a policy for what it lacks.

    `error` raises for a label that the source lacks and for one that it never counted.
    `drop` leaves out labels that it lacks or never counted: they take part in no comparison.
    `smooth` counts a label that it lacks as zero and then adds `pseudo_count` to every cell.
    `keep` leaves out labels that it lacks; labels never counted stay among the candidates, as
    in the published code, and are undefined when given.
    """
    if missing not in MISSING:
        raise InputError(
            f'no policy "{missing}" for missing words; {did_you_mean(missing, MISSING)}'
        )
    if not (np.isfinite(pseudo_count) and pseudo_count > 0):
        raise InputError(f"`pseudo_count` must be a positive number, found {pseudo_count}")
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
    dropped_attributes, dropped_tasks = lacking.attributes, lacking.tasks
    if missing == "drop" and (empty_attributes or empty_tasks):
        found = _without_empty(source, found, empty_attributes, empty_tasks)
        dropped_attributes += empty_attributes
        dropped_tasks += empty_tasks
    return AlignedBaseRates(
        source.name,
        found,
        dropped_attributes,
        dropped_tasks,
        _left_out_notes(lacking, (empty_attributes, empty_tasks), missing),
        source.provenance,
        empty_attributes,
        empty_tasks,
        sampling=_sampling(source, found),
        taken_as_exact=_taken_as_exact(source),
        task_units=_units(source, found.tasks),
    )


def _without_empty(
    source: Source, found: Association, attributes: tuple[str, ...], tasks: tuple[str, ...]
) -> Association:
    """Return the base rates of the labels that were counted."""
    kept_attributes = tuple(name for name in found.attributes if name not in attributes)
    kept_tasks = tuple(task for task in found.tasks if task not in tasks)
    if len(kept_attributes) < 2:
        raise InputError(
            f'base rates "{source.name}" never counted {", ".join(attributes)}; fewer than two '
            "attributes are left, and one alone cannot be compared"
        )
    return source.association(kept_attributes, kept_tasks)


def _left_out_notes(
    lacking: MissingLabels, empty: tuple[tuple[str, ...], tuple[str, ...]], missing: Missing
) -> tuple[Note, ...]:
    kind, what = NoteKind.LEFT_OUT, "never counted, left out"
    if missing == "keep":
        kind, what = NoteKind.UNDEFINED, "never counted, undefined when given"
    return (
        *_note(NoteKind.LEFT_OUT, "attribute", lacking.attributes, "without a column, left out"),
        *_note(NoteKind.LEFT_OUT, "task", lacking.tasks, "without a row, left out"),
        *_note(kind, "attribute", empty[0], what),
        *_note(kind, "task", empty[1], what),
    )


def _sampling(source: Source, found: Association) -> Sampling | None:
    """Return how the numbers of these labels were sampled, where the source says so."""
    if getattr(source, "sampling", None) is None:
        return None
    chosen = source.sampling_of(found.attributes, found.tasks)  # type: ignore[attr-defined]
    return chosen if isinstance(chosen, Sampling) else None


def _units(source: Source, tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the unit of each task; one of a source that does not say is its own."""
    return tuple(source.units_of(tasks)) if hasattr(source, "units_of") else tasks


def _taken_as_exact(source: Source) -> bool:
    return isinstance(source, BaseTable) and source.sampling is None and not source.complete


def _lacking(source: Source, attributes: Sequence[str], tasks: Sequence[str]) -> MissingLabels:
    """Ask the source what it lacks."""
    if not attributes or not tasks:
        raise InputError("base rates need at least one attribute and one task")
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
) -> AlignedBaseRates:
    """Return the base rates with `pseudo_count` more in every cell, labels it lacks included."""
    if found.counts is None:
        if (attributes, tasks) != (found.attributes, found.tasks) or not found.joint.all():
            raise InputError(
                f'base rates "{source.name}" are not counts, so no pseudo-count can be added; '
                'choose the policy "drop"'
            )
        smoothed, cells = found, 0
        text = f"{source.name} holds no counts and lacks nothing: no pseudo-count added"
    else:
        counts = np.zeros((len(attributes), len(tasks)))
        rows = [attributes.index(name) for name in found.attributes]
        columns = [tasks.index(task) for task in found.tasks]
        counts[np.ix_(rows, columns)] = found.counts
        smoothed = Association.from_counts(counts + pseudo_count, attributes, tasks)
        cells = int((counts == 0).sum())
        text = (
            f"{pseudo_count:g} added to each of the {counts.size} cells of {source.name}; "
            f"{cells} of them held nothing else"
        )
    return AlignedBaseRates(
        source.name,
        smoothed,
        (),
        (),
        (Note(NoteKind.SMOOTHED, text),),
        source.provenance,
        smoothed_cells=cells,
        taken_as_exact=_taken_as_exact(source),
        task_units=_units(source, smoothed.tasks),
    )


def _note(kind: NoteKind, noun: str, labels: tuple[str, ...], what: str) -> tuple[Note, ...]:
    text = f"{plural(len(labels), noun)} {what}: {', '.join(labels)}"
    return (Note(kind, text),) if labels else ()
