"""From the probes of a sweep to its result: rows, ranks, bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lmprobe import __version__
from lmprobe.probing.result import ProbeResult, ProbeRow
from lmprobe.results import Note, NoteKind, Obstacle, Verdict
from lmprobe.stats.verdicts import Choices, mean_of_runs, runs_note
from lmprobe.sweeping.jobs import Subject
from lmprobe.sweeping.ranking import Contest, bands, levels_of, rank
from lmprobe.sweeping.result import (
    Curve,
    Failure,
    Order,
    Question,
    RunMean,
    SweepResult,
    SweepRow,
)
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
    members = _by_question(entries)
    choices = Choices(confidence=confidence, simultaneous=True, seed=seed)
    orders, ranks = _ranked(members, choices)
    rows = [
        SweepRow.of(entry.subject, entry.templates, row, entry.result.perplexity)
        for entry in entries
        for row in entry.result.rows
    ]
    means = [
        run_mean(question, [row for _, row in answers])
        for question, answers in (members if runs else {}).items()
    ]
    count = len({entry.subject.label for entry in entries})
    return SweepResult(
        rows=tuple(replace(row, ranks=ranks.get((row.question, row.model))) for row in rows),
        orders=orders,
        curves=_curves(members, choices),
        failures=tuple(failures),
        provenance={
            "settings": dict(settings or {}),
            "versions": {"lmprobe": __version__},
            "threads": THREADS,
            "probes": [_facts(entry) for entry in entries],
            "seed": seed,
        },
        notes=(
            *_notes(orders, confidence),
            *_unranked(members),
            *([runs_note(count, "templates")] if runs else []),
        ),
        run_means=tuple(filter(None, means)),
    )


Members = list[tuple[Entry, ProbeRow]]
"""The models that answered one question, each with its row."""


def _by_question(entries: Sequence[Entry]) -> dict[Question, Members]:
    grouped: dict[Question, Members] = {}
    for entry in entries:
        for row in entry.result.rows:
            question = Question(entry.templates, row.base, row.direction)
            grouped.setdefault(question, []).append((entry, row))
    return grouped


def _contest(members: Members, seed: int) -> Contest | None:
    """Return the models that answered on the same sentences; None if they are fewer than two.

    A model about which no verdict is possible, such as an uninformed one, takes no part.
    """
    able = [(entry, row) for entry, row in members if row.obstacle is None]
    if not able:
        return None
    first, row = able[0]
    same = [
        (entry, other)
        for entry, other in able
        if entry.result.templates == first.result.templates and other.attributes == row.attributes
    ]
    tasks = tuple(task for task in row.tasks if all(task in other.tasks for _, other in same))
    if len(same) < 2 or not tasks:
        return None
    return Contest(
        tuple(entry.subject.label for entry, _ in same),
        tuple(
            other.tables(seed).chosen(row.attributes, other.attributes, tasks) for _, other in same
        ),
    )


def _ranked(
    members: Mapping[Question, Members], choices: Choices
) -> tuple[tuple[Order, ...], dict[tuple[Question, str], tuple[int, int]]]:
    """Return the order of the models of each question, and the ranks that each may have."""
    made = {question: _contest(answers, choices.seed) for question, answers in members.items()}
    contests = {question: contest for question, contest in made.items() if contest is not None}
    if not contests:
        return (), {}
    rankings = rank(list(contests.values()), choices)
    orders: list[Order] = []
    ranks: dict[tuple[Question, str], tuple[int, int]] = {}
    for question, ranking in zip(contests, rankings, strict=True):
        orders.append(Order(question, ranking.models, ranking.groups))
        ranks |= {
            (question, model): span
            for model, span in zip(ranking.models, ranking.ranks, strict=True)
        }
    return tuple(orders), ranks


def _curves(members: Mapping[Question, Members], choices: Choices) -> tuple[Curve, ...]:
    """Return every training run in every question, checkpoints by step."""
    runs: list[tuple[Question, str, Members, Contest]] = []
    for question, answers in members.items():
        for run in dict.fromkeys(entry.subject.run for entry, _ in answers):
            own = [answer for answer in answers if answer[0].subject.run == run]
            own.sort(key=lambda answer: answer[0].subject.step or 0)
            if run is not None and (contest := _contest(own, choices.seed)) is not None:
                runs.append((question, run, own, contest))
    if not runs:
        return ()
    made = bands([contest for *_, contest in runs], choices)
    curves = []
    for (question, run, own, contest), band in zip(runs, made, strict=True):
        (entry, row), models = own[0], [one.subject.model for one, _ in own]
        levels = levels_of(entry.result, row, models)
        curves.append(Curve(question, run, contest.models, band, levels))
    return tuple(curves)


def _facts(entry: Entry) -> dict[str, Any]:
    facts, names = (
        entry.result.provenance,
        ("revision", "content_hash", "scorer", "device", "dtype"),
    )
    return {
        "model": entry.subject.label,
        **{name: facts.get(name) for name in names},
        "templates": facts["templates"],
    }


def _unranked(members: Mapping[Question, Members]) -> tuple[Note, ...]:
    """Return which models have no rank, and why."""
    reasons: dict[Obstacle, list[str]] = {}
    for question, answers in members.items():
        for entry, row in answers:
            if row.obstacle is not None:
                where = f"{entry.subject.label} ({question.base}, {question.direction.short})"
                reasons.setdefault(row.obstacle, []).append(where)
    return tuple(
        Note(NoteKind.LEFT_OUT, f"without a rank, because {reason.reason}: {', '.join(models)}")
        for reason, models in reasons.items()
    )


def _notes(orders: Sequence[Order], confidence: float) -> tuple[Note, ...]:
    if not orders:
        return ()
    text = (
        f"models are ranked only where simultaneous paired intervals separate them: the chance "
        f"that any two equal models are separated anywhere in the sweep is at most "
        f"{1 - confidence:.2g}; models with a letter in common cannot be told apart, all others can"
    )
    return (Note(NoteKind.MULTIPLICITY, text),)


def run_mean(question: Question, rows: Sequence[ProbeRow]) -> RunMean | None:
    """Return the mean of the same row of several runs; None where a value is undefined."""
    estimates = [row.estimate for row in rows]
    if len(rows) < 2 or not np.isfinite([estimate.claimed for estimate in estimates]).all():
        return None
    above, below = Verdict.AMPLIFIES, Verdict.REDUCES
    if any(row.foreign_lean for row in rows):
        above, below = Verdict.FOLLOWS, Verdict.OPPOSES
    mean = mean_of_runs(estimates, above=above, below=below, span=(-1.0, 1.0))
    return RunMean(question, len(rows), mean)
