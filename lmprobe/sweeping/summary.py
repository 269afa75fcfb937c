"""From the probes of a sweep to its result: rows, ranks, bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmprobe import __version__
from lmprobe.core.tally import Floats
from lmprobe.intervals.runs import runs_note
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.row import ProbeRow
from lmprobe.results import Interval, Note, NoteKind
from lmprobe.sweeping.jobs import Subject
from lmprobe.sweeping.levels import levels_of
from lmprobe.sweeping.ranking import Contest, bands, rank
from lmprobe.sweeping.result import Failure, Order, Question, SweepResult
from lmprobe.sweeping.row import SweepRow
from lmprobe.sweeping.runs import RunMean
from lmprobe.sweeping.worker import THREADS


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One probe of a sweep."""

    subject: Subject
    templates: str
    result: ProbeResult


def summarise(
    entries: Sequence[Entry],
    *,
    failures: Sequence[Failure] = (),
    settings: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    runs: bool = False,
) -> SweepResult:
    """Return the result of the probes that a sweep made.

    Models are ranked within one template set, base and direction, and only where simultaneous
    paired intervals over all of them separate two models; checkpoints get a band over steps.
    """
    rows = [
        SweepRow.of(entry.subject, entry.templates, row, entry.result.perplexity)
        for entry in entries
        for row in entry.result.rows
    ]
    contests, count = _contests(entries), len({entry.subject.label for entry in entries})
    orders, ranks = _ranked(contests, confidence, seed)
    over_steps = {
        question: contest
        for question, contest in contests.items()
        if all(row.step is not None for row in rows if row.question == question)
    }
    return SweepResult(
        rows=tuple(replace(row, ranks=ranks.get((row.question, row.model))) for row in rows),
        orders=orders,
        bands=_bands(over_steps, confidence, seed),
        levels={question: _levels(entries, question) for question in over_steps},
        failures=tuple(failures),
        provenance={
            "settings": dict(settings or {}),
            "versions": {"lmprobe": __version__},
            "threads": THREADS,
            "probes": [_facts(entry) for entry in entries],
            "seed": seed,
        },
        notes=(*_notes(orders, confidence), *([runs_note(count, "templates")] if runs else [])),
        run_means=_run_means(entries, confidence) if runs else (),
    )


def _run_means(entries: Sequence[Entry], confidence: float) -> tuple[RunMean, ...]:
    """Return the mean over models of every question, in order."""
    grouped: dict[Question, list[ProbeRow]] = {}
    for entry in entries:
        for row in entry.result.rows:
            grouped.setdefault((entry.templates, row.base, row.direction), []).append(row)
    means = [RunMean.of(question[0], rows, confidence) for question, rows in grouped.items()]
    return tuple(one for one in means if one is not None)


def _contests(entries: Sequence[Entry]) -> dict[Question, Contest]:
    """Return the questions that at least two models answered on the same sentences."""
    grouped: dict[Question, list[tuple[Entry, ProbeRow]]] = {}
    for entry in entries:
        for row in entry.result.rows:
            question = (entry.templates, row.base, row.direction)
            grouped.setdefault(question, []).append((entry, row))
    return {
        question: contest
        for question, members in grouped.items()
        if (contest := _contest(question, members)) is not None
    }


def _contest(question: Question, members: list[tuple[Entry, ProbeRow]]) -> Contest | None:
    first, row = members[0]
    same = [
        (entry, one)
        for entry, one in members
        if entry.result.templates == first.result.templates and one.attributes == row.attributes
    ]
    tasks = tuple(task for task in row.tasks if all(task in one.tasks for _, one in same))
    if len(same) < 2 or not tasks:
        return None
    return Contest(
        models=tuple(entry.subject.label for entry, _ in same),
        cells=tuple(_cells(one, tasks) for _, one in same),
        tasks=tasks,
        families=first.result.families,
        templates=question[0],
    )


def _cells(row: ProbeRow, tasks: tuple[str, ...]) -> Floats:
    return row.cells[:, :, [row.tasks.index(task) for task in tasks]]


def _ranked(
    contests: Mapping[Question, Contest], confidence: float, seed: int
) -> tuple[tuple[Order, ...], dict[tuple[Question, str], tuple[int, int]]]:
    if not contests:
        return (), {}
    orders, ranks = [], {}
    rankings = rank(list(contests.values()), confidence=confidence, seed=seed)
    for question, ranking in zip(contests, rankings, strict=True):
        orders.append(Order(*question, ranking.models, ranking.groups))
        for model, span in zip(ranking.models, ranking.ranks, strict=True):
            ranks[question, model] = span
    return tuple(orders), ranks


def _bands(
    contests: Mapping[Question, Contest], confidence: float, seed: int
) -> dict[Question, tuple[Interval, ...]]:
    if not contests:
        return {}
    found = bands(list(contests.values()), confidence=confidence, seed=seed)
    return dict(zip(contests, found, strict=True))


def _levels(entries: Sequence[Entry], question: Question) -> dict[str, float]:
    members = [entry for entry in entries if entry.templates == question[0]]
    first = members[0].result
    row = first.row(question[1], question[2])
    return levels_of(first, row, [entry.subject.model for entry in members])


def _facts(entry: Entry) -> dict[str, Any]:
    facts = entry.result.provenance
    return {
        "model": entry.subject.label,
        "revision": facts.get("revision"),
        "content_hash": facts.get("content_hash"),
        "scorer": facts.get("scorer"),
        "device": facts.get("device"),
        "dtype": facts.get("dtype"),
        "templates": facts["templates"],
    }


def _notes(orders: Sequence[Order], confidence: float) -> tuple[Note, ...]:
    if not orders:
        return ()
    text = (
        f"models are ranked only where simultaneous paired intervals separate them: the chance "
        f"that any two equal models are separated anywhere in the sweep is at most "
        f"{1 - confidence:.2g}; models with a letter in common cannot be told apart"
    )
    return (Note(NoteKind.MULTIPLICITY, text),)
