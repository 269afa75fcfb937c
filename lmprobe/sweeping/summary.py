"""From the probes of a sweep to its result: rows, ranks, curves over training, means over runs.

All models of a sweep are measured on the same templates and tasks, so every difference is paired,
with the same draws (see `lmprobe.stats`). The intervals cover at once for all pairs of models and
all rows of the sweep (Bonferroni), so that the chance that any two equal models are separated
anywhere is at most 1 - confidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe import __version__
from lmprobe.io.files import parse_json
from lmprobe.metrics.association import Floats
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.models.checkpoint import TRUTH_FILE, TRUTH_SCHEMA
from lmprobe.probing.result import ProbeResult, ProbeRow
from lmprobe.results import Interval, Note, NoteKind, Obstacle, Verdict
from lmprobe.stats.comparison import SMALLEST
from lmprobe.stats.resampling import Replicates
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.rows import mean_of_runs, runs_note
from lmprobe.stats.verdicts import IntervalSettings
from lmprobe.sweeping.jobs import Subject
from lmprobe.sweeping.result import (
    Failure,
    Order,
    Question,
    RunMean,
    SweepResult,
    SweepRow,
    TrainingCurve,
)
from lmprobe.sweeping.worker import THREADS

NO_ASSOCIATION = "no association"
PLANTED = "planted"


@dataclass(frozen=True, slots=True, eq=False)
class SubjectProbe:
    """The probe of one model on one template set."""

    subject: Subject
    templates: str
    result: ProbeResult


def summarise(
    probes: Sequence[SubjectProbe],
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
    answers: dict[Question, list[Answer]] = {}
    for probe in probes:
        for row in probe.result.rows:
            question = Question(probe.templates, row.base, row.direction)
            answers.setdefault(question, []).append((probe, row))
    intervals = IntervalSettings(confidence=confidence, simultaneous=True, seed=seed)
    orders, ranks = _ranked(answers, intervals)
    rows = [
        SweepRow.of(probe.subject, probe.templates, row, probe.result.perplexity)
        for probe in probes
        for row in probe.result.rows
    ]
    means = [
        run_mean(question, [row for _, row in members])
        for question, members in (answers if runs else {}).items()
    ]
    count = len({probe.subject.label for probe in probes})
    return SweepResult(
        rows=tuple(replace(row, ranks=ranks.get((row.question, row.model))) for row in rows),
        orders=orders,
        curves=_curves(answers, intervals),
        failures=tuple(failures),
        provenance={
            "settings": dict(settings or {}),
            "versions": {"lmprobe": __version__},
            "threads": THREADS,
            "probes": [_facts(probe) for probe in probes],
            "seed": seed,
        },
        notes=(
            *([_multiplicity_note(confidence)] if orders else []),
            *_unranked(answers),
            *([runs_note(count, "templates")] if runs else []),
        ),
        run_means=tuple(filter(None, means)),
    )


Answer = tuple[SubjectProbe, ProbeRow]
"""A model that answered a question, with its row."""


def _facts(probe: SubjectProbe) -> dict[str, Any]:
    facts = probe.result.provenance
    names = ("revision", "content_hash", "scorer", "device", "dtype")
    return {
        "model": probe.subject.label,
        **{name: facts.get(name) for name in names},
        "templates": facts["templates"],
    }


def _multiplicity_note(confidence: float) -> Note:
    return Note(
        NoteKind.MULTIPLICITY,
        f"models are ranked only where simultaneous paired intervals separate them: the chance "
        f"that any two equal models are separated anywhere in the sweep is at most "
        f"{1 - confidence:.2g}; models with a letter in common cannot be told apart, all others "
        "can",
    )


def _unranked(answers: Mapping[Question, Sequence[Answer]]) -> tuple[Note, ...]:
    """Return which models have no rank, and why."""
    several = len({question.templates for question in answers}) > 1
    probes = Counter(probe.subject.label for members in answers.values() for probe, _ in members)
    reasons: dict[Obstacle, dict[str, list[str]]] = {}
    for question, members in answers.items():
        where = [question.base, question.direction.short, *[question.templates] * several]
        for probe, row in members:
            if row.obstacle is not None:
                models = reasons.setdefault(row.obstacle, {})
                models.setdefault(probe.subject.label, []).append(", ".join(where))
    return tuple(
        Note(
            NoteKind.LEFT_OUT,
            f"without a rank, because {reason.reason}: "
            + ", ".join(
                f"{model} ({'everywhere' if 1 < len(own) == probes[model] else '; '.join(own)})"
                for model, own in models.items()
            ),
        )
        for reason, models in reasons.items()
    )


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


# ---- which models can be told apart -----------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """The models that answered one question: one template set, base and direction."""

    models: tuple[str, ...]
    tables: tuple[RowTables, ...]
    """One per model, on the same templates, attributes and tasks."""

    def numbers(self, settings: IntervalSettings) -> list[Replicates]:
        """Return the value of each model with its resamples, the same draws for all."""
        return [settings.numbers_of(table, value_alone=True)["value"] for table in self.tables]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The order that the data allow."""

    models: tuple[str, ...]
    """By value, lowest first."""
    separated: NDArray[np.bool_]
    """(M, M): whether two models, in the order of `models`, can be told apart."""

    @property
    def ranks(self) -> tuple[tuple[int, int], ...]:
        """The best and the worst rank that each model may have, 1 the lowest value."""
        count = len(self.models)
        return tuple(
            (1 + int(self.separated[i, :i].sum()), count - int(self.separated[i, i + 1 :].sum()))
            for i in range(count)
        )

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of models of which no two can be told apart, lowest first.

        Any two models that are not separated share a group. Neighbours need not: a model that
        varies much may be like two others that differ from each other.
        """
        together = ~self.separated
        covered = np.zeros_like(together)
        groups: list[list[int]] = []
        for first in range(len(self.models)):
            # From the far end, so that the first group of a model is as long as it can be.
            for last in reversed(range(first, len(self.models))):
                if together[first, last] and not covered[first, last]:
                    group = _completed([first, last], together)
                    covered[np.ix_(group, group)] = True
                    groups.append(group)
        return tuple(tuple(self.models[number] for number in group) for group in groups)


def _completed(members: list[int], together: NDArray[np.bool_]) -> list[int]:
    """Return the members with every model, lowest first, that is together with all so far."""
    group = set(members)
    for number in range(len(together)):
        if together[number, list(group)].all():
            group.add(number)
    return sorted(group)


def rank(contests: Sequence[Contest], settings: IntervalSettings) -> tuple[Ranking, ...]:
    """Return one ranking per contest; their claims hold at once over all contests."""
    pairs = sum(len(contest.models) * (len(contest.models) - 1) // 2 for contest in contests)
    each = 1 - (1 - settings.confidence) / max(pairs, 1)
    return tuple(_ranking(contest, each, settings) for contest in contests)


def _ranking(contest: Contest, confidence: float, settings: IntervalSettings) -> Ranking:
    numbers = contest.numbers(settings)
    order = np.argsort([number.value for number in numbers], kind="stable")
    separated = np.zeros((len(order), len(order)), dtype=bool)
    for i, first in enumerate(order):
        for j, second in enumerate(order[:i]):
            difference = numbers[first].combined(1.0, numbers[second], -1.0)
            ends = difference.spread().interval(confidence)
            apart = ends.bounded and 0.0 not in ends and difference.value >= SMALLEST
            separated[i, j] = separated[j, i] = apart
    return Ranking(tuple(contest.models[number] for number in order), separated)


def band(contest: Contest, settings: IntervalSettings) -> tuple[Interval, ...]:
    """Return simultaneous intervals of all values of a contest: a band over checkpoints."""
    numbers = contest.numbers(settings)
    each, bound = settings.each(numbers), contest.tables[0].bound
    return tuple(settings.interval_of(number, each, bound) for number in numbers)


def _contest(answers: Sequence[Answer], seed: int) -> Contest | None:
    """Return the models that answered on the same sentences; None if they are fewer than two.

    A model about which no verdict is possible, such as an uninformed one, takes no part.
    """
    able = [(probe, row) for probe, row in answers if row.obstacle is None]
    if not able:
        return None
    first, row = able[0]
    same = [
        (probe, other)
        for probe, other in able
        if probe.result.templates == first.result.templates and other.attributes == row.attributes
    ]
    tasks = tuple(task for task in row.tasks if all(task in other.tasks for _, other in same))
    if len(same) < 2 or not tasks:
        return None
    return Contest(
        tuple(probe.subject.label for probe, _ in same),
        tuple(
            other.tables(seed).chosen(row.attributes, other.attributes, tasks) for _, other in same
        ),
    )


def _ranked(
    answers: Mapping[Question, Sequence[Answer]], settings: IntervalSettings
) -> tuple[tuple[Order, ...], dict[tuple[Question, str], tuple[int, int]]]:
    """Return the order of the models of each question, and the ranks that each may have."""
    contests = {
        question: contest
        for question, members in answers.items()
        if (contest := _contest(members, settings.seed)) is not None
    }
    orders: list[Order] = []
    ranks: dict[tuple[Question, str], tuple[int, int]] = {}
    rankings = rank(list(contests.values()), settings)
    for question, ranking in zip(contests, rankings, strict=True):
        orders.append(Order(question, ranking.models, ranking.groups))
        for model, span in zip(ranking.models, ranking.ranks, strict=True):
            ranks[question, model] = span
    return tuple(orders), ranks


# ---- checkpoints of a training run ------------------------------------------------------------


def _curves(
    answers: Mapping[Question, Sequence[Answer]], settings: IntervalSettings
) -> tuple[TrainingCurve, ...]:
    """Return every training run in every question, checkpoints by step."""
    curves = []
    for question, members in answers.items():
        for run in dict.fromkeys(probe.subject.run for probe, _ in members):
            own = [answer for answer in members if answer[0].subject.run == run]
            own.sort(key=lambda answer: answer[0].subject.step or 0)
            if run is None or (contest := _contest(own, settings.seed)) is None:
                continue
            probe, row = own[0]
            levels = levels_of(probe.result, row, [other.subject.model for other, _ in own])
            steps = band(contest, settings)
            curves.append(TrainingCurve(question, run, contest.models, steps, levels))
    return tuple(curves)


def levels_of(result: ProbeResult, row: ProbeRow, models: Sequence[str]) -> dict[str, float]:
    """Return the levels of one base and direction, by name; the base itself is at zero."""
    levels = {}
    without = no_association(result, row)
    if without is not None:
        levels[NO_ASSOCIATION] = without
    planted = {_planted(model, row) for model in models}
    if len(planted) == 1 and (value := planted.pop()) is not None:
        levels[PLANTED] = value
    return levels


def no_association(result: ProbeResult, row: ProbeRow) -> float | None:
    """Return the value of a model that knows how common each word is and no link between them.

    The table of such a model is the product of the base's margins. They follow from the two
    conditionals: P(a|t) / P(t|a) = P(a) / P(t).
    """
    rates = {other.direction: other.base_rate for other in result.rows if other.base == row.base}
    own, reverse = rates.pop(row.direction), next(iter(rates.values()), None)
    if reverse is None or own.shape != reverse.shape:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        margin = _margin(np.moveaxis(own / reverse, row.direction.axis, 0))
    if margin is None:
        return None
    margin = np.expand_dims(margin, row.direction.given_axis)
    cells = amplification(np.broadcast_to(margin, row.base_rate.shape), row.base_rate, row.lean)
    return float(defined_mean(cells))


def _margin(ratio: Floats) -> Floats | None:
    """Return P of the rows, from a table of P(row) / P(column); None where it is not defined."""
    whole = ~np.isnan(ratio).any(axis=0)
    if not whole.any():
        return None
    column = ratio[:, whole][:, 0]
    return np.asarray(column / column.sum())


def _planted(model: str, row: ProbeRow) -> float | None:
    """Return the amplification that a reference model's corpus has, if the model is one.

    The file lies in the model's folder, which may be anybody's: one of another form says nothing.
    """
    path = Path(model) / TRUTH_FILE
    try:
        truth = parse_json(path.read_text(encoding="utf-8")) if path.is_file() else {}
        planted = truth["planted_amplification"]
        if truth["schema"] != TRUTH_SCHEMA or planted["base"] != row.base:
            return None
        if tuple(planted["attributes"]) != row.attributes:
            return None
        return float(planted["values"][row.direction.value])
    except (OSError, ValueError, KeyError, TypeError):
        return None
