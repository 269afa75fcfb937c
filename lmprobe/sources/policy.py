"""Base rates for given labels: what happens to words that a source lacks or never counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.errors import Argument, InputError, did_you_mean, invalid
from lmprobe.metrics.association import Association, Floats
from lmprobe.metrics.direction import MISSING, Missing
from lmprobe.metrics.labels import some_names
from lmprobe.results.estimate import Note, NoteKind
from lmprobe.results.format import plural
from lmprobe.sources.source import BaseTable, MissingLabels, Provenance, Sampling, Source

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AlignedBaseRates:
    """The base rates that a source has for some labels, and what had to be done to get them."""

    name: str
    association: Association
    """Over the remaining labels, in the order asked."""
    dropped_attributes: Labels
    dropped_tasks: Labels
    notes: tuple[Note, ...]
    provenance: Provenance
    sampling: Sampling | None = None
    """How the numbers were sampled; None where they are exact, or taken as exact."""
    taken_as_exact: bool = False
    """Whether they are a table of a sample, perhaps, that does not say how it was drawn."""
    task_units: Labels = ()
    """For each task of the association the row of the source that it was read from; tasks of
    one row are resampled together."""

    def merged(self, owner: Mapping[str, str]) -> AlignedBaseRates:
        """Return the rates with the attributes of one owner taken together."""
        association, sampling = self.association.merged(owner), self.sampling
        if sampling is not None and sampling.standard_errors is not None:
            members = [
                [owner[attribute] == name for attribute in self.association.attributes]
                for name in association.attributes
            ]
            # Errors of different groups are independent, so their variances add up.
            variances = np.array(members, dtype=float) @ sampling.standard_errors**2
            sampling = Sampling(np.sqrt(variances))
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
        raise invalid("pseudo_count", f" must be a positive number, found {pseudo_count}")
    if not attributes or not tasks:
        raise InputError("base rates need at least one attribute and one task")
    lacking = _lacking(source, tuple(attributes), tuple(tasks))
    if missing == "error" and (lacking.attributes or lacking.tasks):
        raise lacking
    rates = _present(source, tuple(attributes), tuple(tasks), lacking)
    if missing == "smooth":
        return _smoothed(source, rates, tuple(attributes), tuple(tasks), pseudo_count)
    empty_attributes = _unseen(rates.attributes, rates.p_attribute)
    empty_tasks = _unseen(rates.tasks, rates.p_task)
    if missing == "error" and (empty_attributes or empty_tasks):
        never = ", ".join(empty_attributes + empty_tasks)
        raise InputError(
            f'base rates "{source.name}" never counted {never}; give ',
            Argument("missing", "drop"),
            " to leave these undefined or ",
            Argument("missing", "smooth"),
            " to add a pseudo-count",
        )
    dropped_attributes, dropped_tasks = lacking.attributes, lacking.tasks
    if missing == "drop" and (empty_attributes or empty_tasks):
        rates = _without_empty(source, rates, empty_attributes, empty_tasks)
        dropped_attributes += empty_attributes
        dropped_tasks += empty_tasks
    left_out = NoteKind.LEFT_OUT
    kind, what = left_out, "never counted, left out"
    if missing == "keep":
        kind, what = NoteKind.UNDEFINED, "never counted, undefined when given"
    sampled = getattr(source, "sampling", None) is not None
    return AlignedBaseRates(
        source.name,
        rates,
        dropped_attributes,
        dropped_tasks,
        (
            *_note(source, left_out, "attribute", lacking.attributes, "without a column, left out"),
            *_note(source, left_out, "task", lacking.tasks, "without a row, left out"),
            *_note(source, kind, "attribute", empty_attributes, what),
            *_note(source, kind, "task", empty_tasks, what),
        ),
        source.provenance,
        sampling=source.sampling_of(rates.attributes, rates.tasks) if sampled else None,  # type: ignore[attr-defined]
        taken_as_exact=_taken_as_exact(source),
        task_units=_units(source, rates.tasks),
    )


def _lacking(source: Source, attributes: Labels, tasks: Labels) -> MissingLabels:
    """Return what the source lacks, as the error that it raises."""
    try:
        source.association(attributes, tasks)
    except MissingLabels as lacking:
        return lacking
    return MissingLabels(source.name)


def _present(
    source: Source, attributes: Labels, tasks: Labels, lacking: MissingLabels
) -> Association:
    """Return the base rates of the labels that the source has."""
    attributes = tuple(name for name in attributes if name not in lacking.attributes)
    tasks = tuple(task for task in tasks if task not in lacking.tasks)
    if not tasks:
        raise InputError(
            f'base rates "{source.name}" have none of the tasks ({some_names(lacking.tasks)})'
            + _own_words(source, "task", lacking.tasks)
        )
    if lacking.attributes:
        own = _own_words(source, "attribute", lacking.attributes)
        _check_two(
            attributes, f'base rates "{source.name}" lack {", ".join(lacking.attributes)}{own}'
        )
    return source.association(attributes, tasks)


def _without_empty(
    source: Source, rates: Association, empty_attributes: Labels, empty_tasks: Labels
) -> Association:
    """Return the base rates of the labels that were counted."""
    attributes = tuple(name for name in rates.attributes if name not in empty_attributes)
    tasks = tuple(task for task in rates.tasks if task not in empty_tasks)
    _check_two(
        attributes, f'base rates "{source.name}" never counted {", ".join(empty_attributes)}'
    )
    return source.association(attributes, tasks)


def _check_two(attributes: Labels, why: str) -> None:
    if len(attributes) < 2:
        raise InputError(
            f"{why}; fewer than two attributes are left to compare: name those of the base with ",
            Argument("attributes"),
            ", rename its columns, or take another base",
        )


def _unseen(labels: Labels, probabilities: Floats) -> Labels:
    return tuple(label for label, p in zip(labels, probabilities, strict=True) if not p)


def _units(source: Source, tasks: Labels) -> Labels:
    """Return the unit of each task; one of a source that does not say is its own."""
    return tuple(source.units_of(tasks)) if hasattr(source, "units_of") else tasks


def _taken_as_exact(source: Source) -> bool:
    return isinstance(source, BaseTable) and source.sampling is None and not source.complete


def _smoothed(
    source: Source, rates: Association, attributes: Labels, tasks: Labels, pseudo_count: float
) -> AlignedBaseRates:
    """Return the base rates with `pseudo_count` more in every cell, labels it lacks included."""
    if rates.counts is None:
        if (attributes, tasks) != (rates.attributes, rates.tasks) or not rates.joint.all():
            raise InputError(
                f'base rates "{source.name}" are not counts, so no pseudo-count can be added; '
                "give ",
                Argument("missing", "drop"),
            )
        smoothed = rates
        text = f"{source.name} holds no counts and lacks nothing: no pseudo-count added"
    else:
        counts = np.zeros((len(attributes), len(tasks)))
        rows = [attributes.index(name) for name in rates.attributes]
        columns = [tasks.index(task) for task in rates.tasks]
        counts[np.ix_(rows, columns)] = rates.counts
        smoothed = Association.from_counts(counts + pseudo_count, attributes, tasks)
        text = (
            f"{pseudo_count:g} added to each of the {counts.size} cells of {source.name}; "
            f"{(counts == 0).sum()} of them held nothing else"
        )
    return AlignedBaseRates(
        source.name,
        smoothed,
        (),
        (),
        (Note(NoteKind.SMOOTHED, text),),
        source.provenance,
        taken_as_exact=_taken_as_exact(source),
        task_units=_units(source, smoothed.tasks),
    )


def _capitals(source: Source, noun: str, lacking: Labels) -> str:
    """Return the words of the source that differ from those it lacks by capitals alone."""
    wanted = {word.casefold() for word in lacking}
    own = [word for word in getattr(source, f"{noun}s", ()) if word not in lacking]
    alike = tuple(word for word in own if word.casefold() in wanted)
    if not alike:
        return ""
    return f"; it has {some_names(alike)}, where only the capitals differ: write the words alike"


def _own_words(source: Source, noun: str, lacking: Labels) -> str:
    """Return a few of the source's own words, to see why it lacks those that are wanted."""
    own = tuple(getattr(source, f"{noun}s", ()))
    hint = f"; its own {noun}s are {some_names(own)}" if own else ""
    return _capitals(source, noun, lacking) or hint


def _note(source: Source, kind: NoteKind, noun: str, labels: Labels, what: str) -> tuple[Note, ...]:
    hint = _capitals(source, noun, labels)
    text = f"{plural(len(labels), noun)} {what}: {', '.join(labels)}{hint}"
    return (Note(kind, text),) if labels else ()
