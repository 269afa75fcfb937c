"""Counts of sentences: the job, its checkpoint, and the result with its page and its table."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lmprobe import __version__
from lmprobe.errors import DataFileError, InputError
from lmprobe.io.files import read_sealed, refuse_pipe, write_sealed
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Association
from lmprobe.results import (
    ColumnKind,
    ColumnOf,
    Note,
    NoteKind,
    Page,
    Section,
    Table,
    closing_sections,
    json_field,
    table_of as result_table,
)
from lmprobe.results.format import plural
from lmprobe.results.result import Result
from lmprobe.sources.counting.corpus import CorpusPlan, Part, plan
from lmprobe.sources.counting.engines import CountJob, Counts, engines
from lmprobe.sources.counting.lexicon import (
    Lexicon,
    Named,
    built_in_attributes,
    built_in_tasks,
    lexicon,
)
from lmprobe.sources.counting.rules import rules
from lmprobe.sources.source import BaseTable, Sampling, table_of

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
    json_keys: ClassVar[tuple[str, ...]] = (
        "attributes", "tasks", "counts", "rows", "never_counted", "rule", "size", "seconds",
        "provenance", "files",
    )  # fmt: skip

    counts: NDArray[np.int64]
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    rule: str
    seconds: float
    provenance: Mapping[str, Any]
    size: int = json_field(key="bytes")
    """Bytes read: of the files as they are, or of the text where there is no file."""
    files: tuple[str, ...] = ()
    """Where the table was written as base rates."""

    def validate(self) -> None:
        """Refuse a table that cannot be one of counts."""
        if self.counts.shape != (len(self.attributes), len(self.tasks)):
            raise ValueError("counts must have a row per attribute and a column per task")
        if not ((self.counts >= 0) & (self.counts < 2**53)).all():
            raise ValueError("counts must be whole numbers, none of them negative")

    @property
    def association(self) -> Association:
        """The counts as base rates."""
        return Association.from_counts(self.counts, self.attributes, self.tasks)

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """For each task its number of sentences with each attribute."""
        return tuple(
            {"task": task, **dict(zip(self.attributes, numbers, strict=True))}
            for task, numbers in zip(self.tasks, self.counts.T.tolist(), strict=True)
        )

    @property
    def never_counted(self) -> tuple[str, ...]:
        """The tasks without a single sentence."""
        totals = zip(self.tasks, self.counts.sum(axis=0), strict=True)
        return tuple(task for task, sentences in totals if not sentences)

    def base_table(self, name: str, **provenance: str | int | None) -> BaseTable:
        """Return the counts as base rates; what is given replaces entries of the provenance."""
        given = {key: value for key, value in provenance.items() if value}
        facts = {**self.provenance, **given}
        words = (self.attributes, self.tasks)
        return table_of(name, self.counts, *words, provenance=facts, sampling=Sampling())

    def tables(self) -> tuple[Table, ...]:
        """Return one line per task."""
        columns = [ColumnOf("task", itemgetter("task"))]
        columns += [ColumnOf(name, itemgetter(name), ColumnKind.COUNT) for name in self.attributes]
        caption = f"{plural(int(self.counts.sum()), 'sentence')} counted"
        if self.never_counted:
            caption += f"; {plural(len(self.never_counted), 'task')} never counted"
        return (result_table("counts", self.rows, columns, caption=caption),)

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
                *closing_sections((Note(NoteKind.METHOD, read),), facts),
            ),
            limits=LIMITS,
            topic="Counts of text",
        )


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
    corpus: CorpusPlan,
    words: Lexicon,
    *,
    rule: str = "word",
    workers: int = 1,
    engine: str = "local",
    checkpoint: str | Path | None = None,
    progress: Progress = silent,
) -> CountResult:
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
    job = CountJob(rule, words)
    parts = list(corpus.parts) if corpus.resumable else []
    state = _open_checkpoint(checkpoint, job, parts)
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
            f"no sentence of {', '.join(corpus.names[:3])} ({plural(size, 'byte')}) counts under "
            f'the rule "{rule}": none names exactly one task and one attribute; check the words, '
            "the language and the format of the text"
        )
    counts = np.zeros((len(words.attributes), len(words.tasks)), dtype=np.int64)
    for pair, sentences in state.counts.items():
        counts[pair] = sentences
    seconds = time.monotonic() - begun
    names = (words.attribute_names, words.task_names)
    result = CountResult(counts, *names, rule, seconds, {}, size)
    return replace(result, provenance=_provenance(result, words, corpus.names))


_FORMAT = "lmprobe.count/2"
SECONDS_BETWEEN_SAVES = 5.0
"""Often enough to lose little, seldom enough to cost nothing."""


@dataclass(slots=True)
class CountCheckpoint:
    """The parts done so far and the sum of their counts; kept in a file if there is one."""

    path: Path | None
    request: str
    done: set[int] = field(default_factory=set)
    counts: Counter[tuple[int, int]] = field(default_factory=Counter)
    saved: float = 0.0

    def add(self, number: int, counts: Counts) -> None:
        """Add the counts of a part."""
        self.done.add(number)
        self.counts.update(counts)
        if time.monotonic() - self.saved > SECONDS_BETWEEN_SAVES:
            self.save()

    def save(self) -> None:
        """Write the state, whole or not at all."""
        if self.path is None:
            return
        document = {
            "format": _FORMAT,
            "request": self.request,
            "done": sorted(self.done),
            "counts": [[*pair, count] for pair, count in sorted(self.counts.items())],
        }
        write_sealed(self.path, document)
        self.saved = time.monotonic()


def _open_checkpoint(path: str | Path | None, job: CountJob, parts: list[Part]) -> CountCheckpoint:
    """Return the state in `path`, or a new one; a file of another count is refused."""
    if path is None:
        return CountCheckpoint(None, "")
    path, request = Path(path), _fingerprint(job, parts)
    if not path.exists():
        return CountCheckpoint(path, request)
    refuse_pipe(path)
    state = read_sealed(path, strict=True)
    advice = "remove it to start anew, or name another file"
    if state is None or state.get("format") != _FORMAT:
        raise DataFileError(
            f"{path}: this is no checkpoint of a count, or it was changed; {advice}"
        )
    if state["request"] != request:
        raise DataFileError(
            f"{path}: this checkpoint belongs to another count: the corpus, the words, the rule "
            f"or the size of the parts has changed; {advice}"
        )
    counts = {(attribute, task): count for attribute, task, count in state["counts"]}
    return CountCheckpoint(path, request, set(state["done"]), Counter(counts))


def _fingerprint(job: CountJob, parts: list[Part]) -> str:
    """Return what must be equal for counts to be added up: job, parts, the files' state."""
    files = sorted({path for part in parts if (path := getattr(part, "path", None))})
    states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr((job, parts, states)).encode()).hexdigest()


def _provenance(result: CountResult, words: Lexicon, corpus: tuple[str, ...]) -> dict[str, Any]:
    """Return what is known about the counts: corpus, unit, method and the tasks without any."""
    groups = "; ".join(f"{label}: {_listed(forms)}" for label, forms in words.attributes)
    language = "" if words.language == "en" else f', language "{words.language}"'
    never = result.never_counted
    note = f"never counted: {plural(len(never), 'task', of=len(result.tasks))}: {', '.join(never)}"
    return {
        "source": ", ".join(corpus),
        "unit": "sentences",
        "method": f'lmprobe {__version__} count, rule "{result.rule}"{language}, '
        f"{result.size:,} bytes; words of the attributes: {groups}",
        "notes": (note,) if never else (),
    }


def _listed(words: tuple[str, ...]) -> str:
    if len(words) <= 40:
        return " ".join(words)
    return f"{' '.join(words[:10])} and {len(words) - 10} more"
