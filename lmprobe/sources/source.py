"""Sources of base rates: what one is, uniform rates, and tables of counts or weights."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from lmprobe.errors import Argument, DataFileError, InputError, LmprobeError, plural
from lmprobe.metrics.association import Association, Floats
from lmprobe.registry import Registry

if TYPE_CHECKING:
    import pandas as pd

Provenance = Mapping[str, Any]
"""Where a table comes from; the keys are `PROVENANCE`, an unknown one is None."""

PROVENANCE = (
    "title", "source", "year", "series", "licence", "unit", "method", "sha256", "notes",
)  # fmt: skip

UNIT = "unit"
"""The column of a table that names the row of the source; it is not an attribute."""


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
            f"{plural(len(labels), kind)} ({', '.join(labels)})"
            for kind, labels in kinds.items()
            if labels
        )
        super().__init__(
            f'base rates "{source}" lack {missing}; leave the words out, add them to the table, or '
            "give ",
            Argument("missing", "drop"),
            " or ",
            Argument("missing", "smooth"),
        )


sources: Registry[Callable[[], Source]] = Registry("sources", "lmprobe.sources.load")
"""Sources that are code: each is called without arguments and gives a `Source`."""


@sources.register("uniform")
class Uniform:
    """Base rates that know nothing: 1/A for every attribute, 1/T for every task.

    Equal rates have no lean, so it comes from `lean_source`, as in the paper
    (which wrote it as 1/2 plus or minus 1e-7; here the rates stay even).
    """

    name = "uniform"
    lean_source = "winobias-majority"
    provenance: ClassVar[Provenance] = {
        "title": "Every attribute and every task equally likely",
        "source": "Wang & Russakovsky 2021, Section 5.3",
        "year": None,
        "licence": "none needed",
        "unit": "probability",
        "method": "1/A for each of A attributes, 1/T for each of T tasks",
        "sha256": None,
        "notes": ("the lean is taken from winobias-majority unless another source is named",),
    }

    def association(self, attributes: Sequence[str], tasks: Sequence[str]) -> Association:
        """Return equal rates for any labels."""
        even = np.full((len(attributes), len(tasks)), 1 / len(attributes))
        return Association.from_conditional(even, attributes, tasks)


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """How the numbers of a table were sampled: as counts, or with known standard errors."""

    standard_errors: Floats | None = None
    """(A, T), in the unit of the table; None if the numbers are counts of what was sampled."""

    @property
    def counts(self) -> bool:
        """Whether the numbers are counts of independent observations."""
        return self.standard_errors is None


@dataclass(frozen=True, slots=True, eq=False)
class BaseTable:
    """A source made of `counts` (A, T): counts, or weights such as thousands of people."""

    name: str
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    counts: Floats
    provenance: Provenance
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other spellings that mean a task of the table; nothing else is matched loosely."""
    sampling: Sampling | None = None
    """How the numbers were sampled; None if unknown, and they are taken as exact."""
    units: Mapping[str, str] = field(default_factory=dict)
    """The row of the source that a task was read from; tasks of one row are one unit."""
    complete: bool = False
    """Whether the table counts everything there is, such as a model's whole training text."""

    def association(self, attributes: Sequence[str], tasks: Sequence[str]) -> Association:
        """Return the association of exactly these labels, or raise `MissingLabels`."""
        no_attribute = set(attributes) - set(self.attributes)
        no_task = set(tasks) - {*self.tasks, *self.aliases}
        if no_attribute or no_task:
            raise MissingLabels(
                self.name,
                attributes=[name for name in attributes if name in no_attribute],
                tasks=[task for task in tasks if task in no_task],
            )
        counts = self._selected(self.counts, attributes, tasks)
        if not counts.sum() > 0:
            raise InputError(f'base rates "{self.name}": every count of the words asked is zero')
        return Association.from_counts(counts, attributes, tasks)

    def sampling_of(self, attributes: Sequence[str], tasks: Sequence[str]) -> Sampling | None:
        """Return the sampling of labels that the table has, in their order."""
        if self.sampling is None or self.sampling.standard_errors is None:
            return self.sampling
        return Sampling(self._selected(self.sampling.standard_errors, attributes, tasks))

    def units_of(self, tasks: Sequence[str]) -> tuple[str, ...]:
        """Return the unit of each task; a task that shares no row is its own."""
        return tuple(self.units.get(task) or task for task in self._resolved(tasks))

    def _resolved(self, tasks: Sequence[str]) -> list[str]:
        """Return the tasks with each alias replaced by the task that it means."""
        own = set(self.tasks)
        return [task if task in own else self.aliases.get(task, task) for task in tasks]

    def _selected(self, values: Floats, attributes: Sequence[str], tasks: Sequence[str]) -> Floats:
        row = {name: place for place, name in enumerate(self.attributes)}
        column = {task: place for place, task in enumerate(self.tasks)}
        rows = [row[name] for name in attributes]
        return values[np.ix_(rows, [column[task] for task in self._resolved(tasks)])]

    def csv(self) -> str:
        """Return the table as the text of a base-rate CSV."""
        lines = [",".join(("task", *map(_cell, self.attributes)))]
        for task, column in zip(self.tasks, self.counts.T, strict=True):
            lines.append(",".join((_cell(task), *map(_number, column))))
        return "\n".join(lines) + "\n"


def provenance_of(entries: Mapping[str, Any], *, title: str, sha256: str) -> Provenance:
    """Return the entries with every key of a provenance among them, unknown ones None."""
    notes = entries.get("notes") or ()
    return {
        **{key: entries.get(key) for key in PROVENANCE},
        "title": entries.get("title") or title,
        "sha256": sha256,
        "notes": (notes,) if isinstance(notes, str) else tuple(notes),
    }


def table_of(
    name: str,
    counts: Any,
    attributes: Sequence[str],
    tasks: Sequence[str],
    *,
    provenance: Provenance | None = None,
    sampling: Sampling | None = None,
) -> BaseTable:
    """Return a table of numbers that are in memory; its sha256 is that of its CSV text."""
    world = Association.from_counts(counts, attributes, tasks)
    assert world.counts is not None
    bare = BaseTable(name, world.attributes, world.tasks, world.counts, {}, sampling=sampling)
    sha256 = hashlib.sha256(bare.csv().encode()).hexdigest()
    return replace(bare, provenance=provenance_of(provenance or {}, title=name, sha256=sha256))


def from_frame(frame: pd.DataFrame, name: str = "DataFrame") -> BaseTable:
    """Return the table in a DataFrame: a column `task` or tasks as index, attributes beside."""
    if "task" in frame.columns:
        frame = frame.set_index("task")
    units: Mapping[Any, Any] = {}
    if list(frame.columns).count(UNIT) == 1:
        units, frame = dict(frame[UNIT].dropna()), frame.drop(columns=UNIT)
    if len(frame.columns) < 2:
        raise DataFileError(
            f"{name}: found {len(frame.columns)} attribute columns; rates need at least two"
        )
    if frame.empty or frame.index.hasnans:
        raise DataFileError(f"{name}: found {len(frame)} rows; each must name a task")
    tasks, attributes = ([_label(label) for label in labels] for labels in (frame.index, frame))
    for kind, labels in (("task", tasks), ("column", attributes)):
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise DataFileError(f'{name}: the {kind} "{twice[0]}" appears twice; keep one of them')
    try:
        counts = frame.to_numpy(dtype=np.float64).T
    except (TypeError, ValueError) as problem:
        lacks = "" if frame.index.name == "task" else ", and no column is called task"
        raise DataFileError(
            f"{name}: every column but `task` must hold numbers{lacks}: {problem}"
        ) from None
    bad = np.argwhere(~(np.isfinite(counts) & (counts >= 0)))
    if len(bad):
        row, column = bad[0]
        raise DataFileError(
            f'{name}: task "{tasks[column]}", column "{attributes[row]}": found '
            f"{counts[row, column]}; counts must be finite and not negative"
        )
    named = {_label(task): _label(unit) for task, unit in units.items()}
    return replace(table_of(name, counts, attributes, tasks), units=named)


def _label(value: Any) -> str:
    """Return a label composed, as the words of templates are, so that equal words are equal."""
    return unicodedata.normalize("NFC", str(value))


def _cell(text: str) -> str:
    """Quote a label that the CSV would read as more than one cell."""
    special = any(mark in text for mark in ',"\n\r') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if special else text


def _number(value: float) -> str:
    """Write a count as a whole number and a weight with all its digits."""
    return str(int(value)) if value == int(value) else repr(float(value))
