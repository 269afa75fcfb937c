"""Rows of an amplification result: the value of each direction, its interval and its notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from lmprobe.metrics.association import Association, Floats
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import Amplification, defined_mean, from_tallies
from lmprobe.results import (
    Estimate,
    Interval,
    Note,
    NoteKind,
    Obstacle,
    Verdict,
    decide,
    json_field,
)
from lmprobe.results.estimate import EstimateRow
from lmprobe.results.format import format_p_value, format_percent, plural
from lmprobe.stats.row_sums import RowSums
from lmprobe.stats.rows import (
    Links,
    bootstrap_interval,
    cross_fitted_amplification,
    links,
    mean_of_runs,
    runs_note,
    strength,
    unevenness,
)
from lmprobe.stats.verdicts import Unevenness
from lmprobe.tabular.settings import AmplifySettings, listed

# With fewer rows, in all or of one label, the bootstrap is too short: docs/appendix/coverage.md.
_FEW_ROWS, _FEW = 100, 20
# The labels show no link if the largest is as likely as this by chance.
_CHANCE = 0.05
_NO_LINK = (
    "the labels show no link beyond chance, so there is nothing that the predictions could "
    "exaggerate"
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunAmplification(Amplification):
    """One direction of one run: every pair, the value and its interval over rows."""

    json_keys: ClassVar[tuple[str, ...]] = (
        "run", "value", "interval", "corrected", "obstacle", "predicted", "base_rate", "lean",
        "amplification",
    )  # fmt: skip

    direction: Direction = json_field(inherited=True)
    attributes: tuple[str, ...] = json_field(inherited=True)
    tasks: tuple[str, ...] = json_field(inherited=True)
    run: str
    interval: Interval
    corrected: float | None = None
    """The value with a lean that does not come from its own rows; the interval belongs to it."""
    obstacle: Obstacle | None = None

    @property
    def estimate(self) -> Estimate:
        """The value with its uncertainty over rows."""
        value, verdict = self.value, decide(self.interval, obstacle=self.obstacle)
        bias = None if self.corrected is None else value - self.corrected
        return Estimate(value, self.interval, verdict, self.corrected, bias, obstacle=self.obstacle)

    @property
    def amplification(self) -> Floats:
        """The same as `by_pair`: its key in JSON."""
        return self.by_pair

    def validate(self) -> None:
        """Refuse tables that do not fit the labels."""
        shape = (len(self.attributes), len(self.tasks))
        for name in ("predicted", "base_rate", "lean"):
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} must be a table of shape {shape}")


@dataclass(frozen=True, slots=True, eq=False)
class AmplificationRow(EstimateRow):
    """One direction: the mean over runs, with its uncertainty over rows and over runs."""

    json_keys: ClassVar[tuple[str, ...]] = (
        "base", "direction", "attributes", "tasks", "estimate", "strength", "unevenness",
        "association", "preference", "absolute", "undefined_pairs", "by_attribute", "by_task",
        "over_runs", "runs",
    )  # fmt: skip
    association: ClassVar[None] = None
    preference: ClassVar[None] = None

    direction: Direction
    base: str
    """Where the lean comes from: the table's own labels, or the train table."""
    runs: tuple[RunAmplification, ...]
    estimate: Estimate = json_field(flat=True)
    """The interval covers other rows, and other training runs where there are several."""
    strength: Estimate | None = None
    """How many times as strong the links of the predictions are as those of the labels."""
    unevenness: Unevenness | None = None
    """How far predictions depend on what is given, where the labels show no link."""

    @property
    def over_runs(self) -> Estimate | None:
        """The estimate where there are several training runs."""
        return self.estimate if len(self.runs) > 1 else None

    @property
    def absolute(self) -> float:
        """The mean size, sign aside: large when pairs cancel in `value`."""
        return float(np.mean([run.absolute for run in self.runs]))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The groups."""
        return self.runs[0].attributes

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks."""
        return self.runs[0].tasks

    @property
    def by_pair(self) -> Floats:
        """The amplification of each pair, (A, T), averaged over runs."""
        return self._mean("by_pair")

    def _mean(self, table: str) -> Floats:
        return np.asarray(np.mean([getattr(run, table) for run in self.runs], axis=0))

    @property
    def predicted(self) -> Floats:
        """How often each pair is predicted, (A, T), averaged over runs."""
        return self._mean("predicted")

    @property
    def base_rate(self) -> Floats:
        """How often each pair is labelled, (A, T), averaged over runs."""
        return self._mean("base_rate")

    @property
    def lean(self) -> Floats:
        """Which way each pair leans, (A, T), averaged over runs."""
        return self._mean("lean")

    @property
    def by_attribute(self) -> dict[str, float]:
        """The mean over tasks."""
        return dict(zip(self.attributes, defined_mean(self.by_pair, axis=1), strict=True))

    @property
    def by_task(self) -> dict[str, float]:
        """The mean over attributes."""
        return dict(zip(self.tasks, defined_mean(self.by_pair, axis=0), strict=True))

    @property
    def undefined_pairs(self) -> int:
        """How many pairs are left out of the mean, in the run with most."""
        return max(run.undefined_pairs for run in self.runs)


def measured_rows(
    runs: Sequence[tuple[str, RowSums]], train: RowSums | None, settings: AmplifySettings
) -> tuple[tuple[AmplificationRow, ...], tuple[Note, ...]]:
    """Return one row per direction, and the notes that belong to all; runs have a name."""
    rng = np.random.default_rng(settings.seed)
    sums = [sums_of_run for _, sums_of_run in runs]
    fitted = train is None and settings.interval != "none"
    labels = [links(run) if fitted else None for run in sums]
    measured = [
        _of_run(*run, own, train, settings, rng) for run, own in zip(runs, labels, strict=True)
    ]
    rows = tuple(
        _row(sums, tuple(run[direction] for run in measured), settings, rng)
        for direction in measured[0]
    )
    unseen = _unseen_notes(sums, train, settings)
    close = max((own.close, own.pairs) if own else (0, 0) for own in labels)
    no_lean = any(row.estimate.obstacle is Obstacle.NO_LEAN for row in rows)
    return rows, (*unseen, *_interval_notes(sums, close, settings, no_lean=no_lean))


def label_association(sums: RowSums) -> Association:
    """Return the association of group and task in the labels."""
    return Association.from_tally(sums.tallies().labels, sums.attributes, sums.tasks)


def _of_run(
    name: str,
    sums: RowSums,
    labels: Links | None,
    train: RowSums | None,
    settings: AmplifySettings,
    rng: np.random.Generator,
) -> dict[Direction, RunAmplification]:
    """Return each direction of one run; `labels` are the links that its lean comes from."""
    confidence = settings.confidence
    options: dict[str, Any] = {"keep_unseen": settings.keep_unseen}
    base = None if train is None else label_association(train)
    amplifications = from_tallies(
        sums.tallies(), sums.attributes, sums.tasks, train=base, **options
    )
    by_chance = labels is not None and labels.p_value >= _CHANCE
    # The lean of both directions is the same; without one there is nothing to correct or to bound.
    no_lean = by_chance or not np.nansum(np.abs(amplifications.directions[0].lean))
    options |= {"confidence": confidence, "rng": rng}
    fitted, intervals = {}, {}
    bounded = settings.interval != "none" and not no_lean
    if bounded and labels is not None and labels.close:
        fitted = cross_fitted_amplification(sums, labels=labels, **options)
        intervals = {direction: fit.interval for direction, fit in fitted.items()}
    elif bounded:
        intervals = bootstrap_interval(sums, train=train, **options)
    measured = {}
    for pairs in amplifications.directions:
        fit = fitted.get(pairs.direction)
        obstacle = Obstacle.NO_LEAN if no_lean else None
        if fit is not None and not fit.reliability.is_enough:
            obstacle = Obstacle.SMALL_BASE
        interval = intervals.get(pairs.direction) or Interval.undefined(confidence, "none")
        tables = {field.name: getattr(pairs, field.name) for field in fields(pairs)}
        measured[pairs.direction] = RunAmplification(
            **tables,
            run=name,
            interval=interval,
            corrected=None if fit is None else fit.value,
            obstacle=obstacle,
        )
    return measured


def _row(
    runs: Sequence[RowSums],
    measured: tuple[RunAmplification, ...],
    settings: AmplifySettings,
    rng: np.random.Generator,
) -> AmplificationRow:
    direction = measured[0].direction
    base = "labels" if settings.train is None else settings.train
    estimate = mean_of_runs([run.estimate for run in measured], span=(-1, 1))
    notes = tuple(_few_notes(runs, direction, settings))
    row = AmplificationRow(direction, base, measured, replace(estimate, notes=notes))
    if settings.interval == "none":
        return row
    options: dict[str, Any] = {"confidence": settings.confidence, "rng": rng}
    if estimate.obstacle is not Obstacle.NO_LEAN:
        strengths: list[Any] = [strength(run, direction, **options) for run in runs]
        defined = None not in strengths
        return replace(row, strength=mean_of_runs(strengths, reference=1.0) if defined else None)
    by_run = [unevenness(run, direction, **options) for run in runs]
    values = [Estimate(run.value, run.interval, run.verdict) for run in by_run]
    mean = mean_of_runs(values, span=(0, 1))
    uneven = Unevenness(mean.value, mean.interval, max(run.p_value for run in by_run))
    notes += (_no_lean_note(row, uneven),)
    estimate = replace(estimate, verdict=uneven.verdict, notes=notes)
    return replace(row, estimate=estimate, unevenness=uneven)


def _no_lean_note(row: AmplificationRow, uneven: Unevenness) -> Note:
    """Say what can be said where the labels show no link."""
    names = row.attributes, row.tasks
    axis, given = row.direction.given_axis, names[row.direction.given_axis]
    if len(given) == 1:
        differ = f"predictions with {given[0]} differ from those of all rows by "
        differ += f"{100 * uneven.value:.3g} points"
    else:
        shares = np.moveaxis(row.predicted, axis, 0)
        shares = np.where(np.isnan(shares), defined_mean(shares, axis=0), shares)
        spans = np.nan_to_num(np.ptp(shares, axis=0))
        place = int(spans.argmax())
        most, least = (
            f"{format_percent(float(shares[number, place]))} of {given[number]}"
            for number in (shares[:, place].argmax(), shares[:, place].argmin())
        )
        differ = f"“{names[row.direction.axis][place]}” is predicted for {most} and {least}"
        if np.allclose(spans, 0):
            return Note(NoteKind.TIE, f"{_NO_LINK}; the predictions show none", row.direction.value)
    chance = "hardly explains" if uneven.verdict is Verdict.UNEVEN else "may explain"
    text = f"{_NO_LINK}; {differ}, a difference that chance {chance} "
    text += f"(p {format_p_value(uneven.p_value)})"
    return Note(NoteKind.TIE, text, row.direction.value)


def _unseen_notes(
    runs: Sequence[RowSums], train: RowSums | None, settings: AmplifySettings
) -> Iterator[Note]:
    """Yield the labels that never occur where the lean comes from."""
    marginals = [(train or run).total.marginals for run in runs]
    sums = runs[0]
    names = [
        name
        for labels, part in ((sums.attributes, 1), (sums.tasks, 2))
        for name, amount in zip(labels, sum(each[part][0] for each in marginals), strict=True)
        if amount <= 0
    ]
    if names:
        where = "no row is labelled" if train is None else "the train table has no row with"
        then = "have no lean and count 0" if settings.keep_unseen else "are left out of the mean"
        yield Note(NoteKind.LEFT_OUT, f"{where} {listed(names)}: their pairs {then}")


def _interval_notes(
    runs: Sequence[RowSums], close: tuple[int, int], settings: AmplifySettings, *, no_lean: bool
) -> Iterator[Note]:
    """Yield what the intervals take for granted, and where they are not to be trusted."""
    if settings.interval == "none":
        if no_lean:
            text = "no pair leans either way, so that nothing can be amplified or reduced"
            yield Note(NoteKind.TIE, text)
        return
    lean = "these rows" if settings.train is None else "the train table"
    unit = "rows" if settings.cluster is None else f"clusters ({settings.cluster})"
    text = f"the interval assumes that the {unit} are independent"
    if not no_lean:
        fitted = f"uses a lean that is cross-fitted on other {unit}"
        text += f", and {fitted if close[0] else f'takes the lean of {lean} as known'}"
    yield Note(NoteKind.ASSUMPTION, text)
    if close[0] and not no_lean:
        text = (
            f"{plural(close[0], 'pair', of=close[1])} lie within two standard errors of a tie, so "
            "their lean may be due to chance: `corrected` uses the lean of other rows, and is "
            "divided by the share of an amplification that it shows; a train table avoids it"
        )
        yield Note(NoteKind.TIE, text)
    units = min(run.units for run in runs)
    if units < _FEW_ROWS:
        text = f"only {units} {unit}: the interval may cover the true value less often"
        yield Note(NoteKind.FEW_UNITS, text)
    if len(runs) > 1:
        yield runs_note(len(runs), unit)


def _few_notes(
    runs: Sequence[RowSums], direction: Direction, settings: AmplifySettings
) -> Iterator[Note]:
    """Yield the labels that few rows have, of those that the direction is given."""
    if settings.interval == "none" or min(run.units for run in runs) < _FEW_ROWS:
        return
    shares = [run.total.given(direction).ravel() / run.total.marginals[0] for run in runs]
    sizes = np.min([run.number * share[0] for run, share in zip(runs, shares, strict=True)], axis=0)
    sums = runs[0]
    names = (sums.attributes, sums.tasks)[direction.given_axis]
    few = [name for name, size in zip(names, sizes, strict=True) if 0 < size < _FEW]
    if few:
        what = f"fewer than {_FEW} rows have {listed(few)}"
        text = f"{what}: the interval may cover the true value less often"
        yield Note(NoteKind.FEW_UNITS, text, direction.value)
