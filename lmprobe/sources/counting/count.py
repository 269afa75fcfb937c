"""What a count gives to its reader: the table of sentences, its page, JSON and back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lmprobe import __version__
from lmprobe.errors import InputError
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Association
from lmprobe.metrics.tally import Floats
from lmprobe.results import Cell, Column, ColumnKind, Note, NoteKind, Page, Section, Table
from lmprobe.results.format import plural
from lmprobe.results.result import Result
from lmprobe.sources.counting.engines import Job, engines
from lmprobe.sources.counting.lexicon import (
    Lexicon,
    Named,
    Words,
    built_in_attributes,
    built_in_tasks,
    lexicon,
)
from lmprobe.sources.counting.plan import Plan, open_checkpoint, plan
from lmprobe.sources.counting.rules import rules
from lmprobe.sources.table import BaseTable, Sampling, table_of

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


@dataclass(frozen=True, slots=True, eq=False)
class Count:
    """What was counted: `counts` (A, T) sentences, in how much text, by which rule."""

    counts: Floats
    lexicon: Lexicon
    rule: str
    corpus: tuple[str, ...]
    size: int
    """Bytes read: of the files as they are, or of the text where there is no file."""
    seconds: float

    @property
    def association(self) -> Association:
        """The association of attributes and tasks in the corpus."""
        words = self.lexicon
        return Association.from_counts(self.counts, words.attribute_names, words.task_names)

    def table(
        self,
        name: str,
        *,
        title: str | None = None,
        source: str | None = None,
        year: int | None = None,
        licence: str | None = None,
    ) -> BaseTable:
        """Return the counts as base rates, with what is known about the corpus."""
        words = self.lexicon
        groups = "; ".join(f"{label}: {_listed(forms)}" for label, forms in words.attributes)
        language = "" if words.language == "en" else f', language "{words.language}"'
        totals = zip(words.task_names, self.counts.sum(axis=0), strict=True)
        never = [task for task, sentences in totals if not sentences]
        note = f"{len(never)} of {len(words.tasks)} tasks were never counted: {', '.join(never)}"
        provenance = {
            "title": title,
            "source": source or ", ".join(self.corpus),
            "year": year,
            "licence": licence,
            "unit": "sentences",
            "method": f'lmprobe {__version__} count, rule "{self.rule}"{language}, '
            f"{self.size:,} bytes; words of the attributes: {groups}",
            "notes": (note,) if never else (),
        }
        return table_of(
            name,
            self.counts,
            words.attribute_names,
            words.task_names,
            provenance=provenance,
            sampling=Sampling(),
        )

    def result(self, table: BaseTable, files: Sequence[Path] = ()) -> CountResult:
        """Return the counts as a result; `files` are where `table` was written."""
        return CountResult(
            counts=self.counts,
            attributes=table.attributes,
            tasks=table.tasks,
            rule=self.rule,
            size=self.size,
            seconds=self.seconds,
            provenance=dict(table.provenance),
            files=tuple(map(str, files)),
        )


def _listed(words: Words) -> str:
    if len(words) <= 40:
        return " ".join(words)
    return f"{' '.join(words[:10])} and {len(words) - 10} more"


def count_cooccurrences(
    corpus: Any,
    *,
    tasks: Named | None = None,
    attributes: Named | None = None,
    rule: str = "word",
    language: str = "en",
    workers: int = 1,
    engine: str = "local",
    plurals: bool = False,
) -> Association:
    """Count in how many sentences of a corpus each attribute occurs with each task.

    The `counts` (A, T) of the returned association are numbers of sentences. `corpus` is a
    path, a folder, a glob pattern or an iterable of texts; `attributes` and `tasks` are words,
    or map names to words. By default the attributes are he and she, with the words built in
    for the rule and the language, and the tasks are the 32 occupations of the paper. Languages
    other than English support the rule `word` only.

    >>> text = ["She is a nurse. He met a cook.", "Her nurse came. He saw her cook."]
    >>> words = {"he": ["he", "his"], "she": ["she", "her"]}
    >>> count_cooccurrences(text, attributes=words, tasks=["nurse", "cook"]).counts.tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    words = count_words(
        attributes=attributes, tasks=tasks, rule=rule, language=language, plurals=plurals
    )
    return count(plan(corpus), words, rule=rule, workers=workers, engine=engine).association


def count_words(
    *,
    attributes: Named | None,
    tasks: Named | None,
    rule: str = "word",
    language: str = "en",
    plurals: bool = False,
) -> Lexicon:
    """Return the words of a count; without attributes those of the rule, else of the language."""
    doing = built_in_tasks(language) if tasks is None else tasks
    if attributes is None and language == "en":
        attributes = getattr(rules.get(rule), "default_attributes", None)
    people = built_in_attributes(language, doing) if attributes is None else attributes
    return lexicon(people, doing, plurals=plurals, language=language)


def count(
    corpus: Plan,
    words: Lexicon,
    *,
    rule: str = "word",
    workers: int = 1,
    engine: str = "local",
    checkpoint: str | Path | None = None,
    progress: Progress = silent,
) -> Count:
    """Count a planned corpus; with a `checkpoint` file an interrupted count can go on.

    `progress` counts bytes. The checkpoint stays when the count is complete, so that
    nothing is lost before the caller has put the answer somewhere.
    """
    rules.get(rule)(words)
    run = engines.get(engine)
    if workers < 1:
        raise InputError(f"`workers` must be 1 or more, found {workers}")
    if checkpoint is not None and not corpus.resumable:
        raise InputError(f"a checkpoint needs files; {corpus.names[0]} cannot be read again")
    job = Job(rule, words)
    parts = list(corpus.parts) if corpus.resumable else []
    state = open_checkpoint(checkpoint, job, parts)
    size = sum(parts[number].size for number in state.done)
    waiting = (
        (number, part)
        for number, part in enumerate(parts or corpus.parts)
        if number not in state.done
    )
    begun = time.monotonic()
    counted: Any = run(job, waiting, workers)
    try:
        for number, part_size, part_counts in counted:
            state.add(number, part_counts)
            size += part_size
            progress(size, corpus.total)
    finally:
        # An interrupt or a broken file loses only the parts that were under way.
        counted.close()
        state.save()
    if not state.counts:
        raise InputError(
            f"no sentence of {', '.join(corpus.names[:3])} ({size:,} bytes) counts under the rule "
            f'"{rule}": none names exactly one task and one attribute; check the words, the '
            "language and the format of the text"
        )
    counts = np.zeros((len(words.attributes), len(words.tasks)))
    for pair, sentences in state.counts.items():
        counts[pair] = sentences
    return Count(counts, words, rule, corpus.names, size, time.monotonic() - begun)
