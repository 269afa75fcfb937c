"""What a count gives to its reader: the table of sentences, its page, JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lmprobe.core.association import Association
from lmprobe.core.tally import Floats
from lmprobe.report.result import Result
from lmprobe.results import Cell, Column, ColumnKind, Note, NoteKind, Page, Section, Table
from lmprobe.results.format import plural

LIMITS = (
    "A sentence counts if the rule finds exactly one attribute and one task in it: that they go "
    "together in text, not that the person in the sentence does the task.",
    "The counts describe this corpus only; as base rates they measure whether a model exaggerates "
    "this corpus.",
)


@dataclass(frozen=True, slots=True, eq=False)
class CountResult(Result):
    """How many sentences name each attribute with each task, (A, T)."""

    kind: ClassVar[str] = "count"

    counts: Floats
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    rule: str
    size: int
    """Bytes that were read."""
    seconds: float
    provenance: Mapping[str, Any]
    files: tuple[str, ...] = ()
    """Where the table was written as base rates."""

    @property
    def association(self) -> Association:
        """The counts as base rates."""
        return Association.from_counts(self.counts, self.attributes, self.tasks)

    @property
    def never_counted(self) -> tuple[str, ...]:
        """The tasks without a single sentence."""
        pairs = zip(self.tasks, self.counts.sum(axis=0), strict=True)
        return tuple(task for task, sentences in pairs if not sentences)

    def tables(self) -> tuple[Table, ...]:
        """Return one line per task."""
        columns = [Column("task"), *(Column(name, ColumnKind.COUNT) for name in self.attributes)]
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (task, *map(int, line)) for task, line in zip(self.tasks, self.counts.T, strict=True)
        )
        caption = f"{plural(int(self.counts.sum()), 'sentence')} counted"
        if self.never_counted:
            caption += f"; never counted: {', '.join(self.never_counted)}"
        return (Table("counts", tuple(columns), rows, caption=caption),)

    def frames(self) -> dict[str, Any]:
        """Return nothing: the table is written as base rates, with its provenance beside it."""
        return {}

    def page(self) -> Page:
        """Return the report."""
        facts = {key: str(value) for key, value in self.provenance.items() if value}
        speed = self.size / 1e6 / max(self.seconds, 1e-9)
        read = f"{self.size / 1e6:,.1f} MB in {self.seconds:.1f} s, {speed:,.0f} MB/s"
        return Page(
            title="Sentences that name an attribute with a task",
            subtitle=f"rule: {self.rule}",
            headline=(),
            sections=(
                Section("Counts", tables=self.tables(), searchable=True),
                Section("Provenance", facts=facts, notes=(Note(NoteKind.DATA, read),)),
            ),
            limits=LIMITS,
            topic="Counts of text",
        )

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {
            "attributes": list(self.attributes),
            "tasks": list(self.tasks),
            "counts": self.counts.astype(int).tolist(),
            "rows": [
                {"task": task, **dict(zip(self.attributes, line, strict=True))}
                for task, line in zip(self.tasks, self.counts.T.astype(int).tolist(), strict=True)
            ],
            "never_counted": list(self.never_counted),
            "rule": self.rule,
            "bytes": self.size,
            "seconds": self.seconds,
            "provenance": dict(self.provenance),
            "files": list(self.files),
        }

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> CountResult:
        """Read the JSON form."""
        counts = np.array(document["counts"])
        if counts.dtype.kind not in "iu" or not ((counts >= 0) & (counts < 2**53)).all():
            raise ValueError("counts must be whole numbers, none of them negative")
        return cls(
            counts=counts.astype(np.float64),
            attributes=tuple(document["attributes"]),
            tasks=tuple(document["tasks"]),
            rule=document["rule"],
            size=int(document["bytes"]),
            seconds=float(document["seconds"]),
            provenance=document["provenance"],
            files=tuple(document["files"]),
        )
