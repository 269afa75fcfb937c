"""One row per direction: the value, its interval over rows and over training runs, its notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmprobe.core.association import Association
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.metrics.directional import Amplification, from_tallies
from lmprobe.results import Estimate, Interval, Note, NoteKind, decide
from lmprobe.stats.methods.t import interval_over_runs
from lmprobe.stats.row_sums import RowSums
from lmprobe.stats.rows import bootstrap_interval, close_pairs, cross_fitted_amplification
from lmprobe.stats.runs import mean_interval, runs_note
from lmprobe.tabular.columns import listed
from lmprobe.tabular.counting import Counted
from lmprobe.tabular.settings import AmplifySettings

# With fewer rows, in all or of one label, the bootstrap is too short: docs/coverage.md.
_FEW_ROWS, _FEW = 100, 20


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """What was counted of one training run."""

    run: str
    counted: Counted
    sums: RowSums


@dataclass(frozen=True, slots=True, eq=False)
class RunAmplification:
    """One direction of one run: every pair, the value and its interval over rows."""

    run: str
    pairs: Amplification
    interval: Interval
    corrected: float | None = None
    """The value with a lean that does not come from its own rows; the interval belongs to it."""

    @property
    def claimed(self) -> float:
        """The number that the interval speaks of."""
        return self.pairs.value if self.corrected is None else self.corrected


@dataclass(frozen=True, slots=True, eq=False)
class AmplificationRow:
    """One direction: the mean over runs, with its uncertainty over rows and over runs."""

    direction: Direction
    base: str
    """Where the lean comes from: the table's own labels, or the train table."""
    runs: tuple[RunAmplification, ...]
    estimate: Estimate
    """The interval is over rows."""
    over_runs: Estimate | None = None
    """The same value with the interval over training runs; None of a single run."""

    @property
    def value(self) -> float:
        """The mean over runs of the mean over the defined pairs."""
        return self.estimate.value

    @property
    def absolute(self) -> float:
        """The mean size, sign aside: large when pairs cancel in `value`."""
        return float(np.mean([one.pairs.absolute for one in self.runs]))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The groups."""
        return self.runs[0].pairs.attributes

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks."""
        return self.runs[0].pairs.tasks

    @property
    def by_pair(self) -> Floats:
        """The amplification of each pair, (A, T), averaged over runs."""
        return np.asarray(np.mean([one.pairs.by_pair for one in self.runs], axis=0))

    @property
    def undefined_pairs(self) -> int:
        """How many pairs are left out of the mean, in the run with most."""
        return max(one.pairs.undefined_pairs for one in self.runs)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know about this direction."""
        return self.estimate.notes


def measured_rows(
    runs: Sequence[Measurement], train: RowSums | None, settings: AmplifySettings
) -> tuple[tuple[AmplificationRow, ...], tuple[Note, ...]]:
    """Return one row per direction, and the notes that belong to all of them."""
    base = "labels" if settings.train is None else settings.train
    rng = np.random.default_rng(settings.seed)
    close = [(0, 0)] * len(runs)
    if train is None and settings.interval != "none":
        close = [close_pairs(run.sums) for run in runs]
    measured = [
        _of_run(run, train, settings, rng, unsure=unsure > 0)
        for run, (unsure, _) in zip(runs, close, strict=True)
    ]
    rows = tuple(
        _row(
            direction,
            base,
            tuple(run[direction] for run in measured),
            tuple(_few_notes(runs, direction, settings)),
            settings,
        )
        for direction in measured[0]
    )
    unseen = _unseen_notes(runs, train, settings)
    if not any(np.nan_to_num(run.pairs.lean).any() for row in rows for run in row.runs):
        text = "no pair leans either way, so that nothing can be amplified or reduced"
        return rows, (*unseen, Note(NoteKind.TIE, text))
    return rows, (*unseen, *_interval_notes(runs, max(close), settings))


def _of_run(
    run: Measurement,
    train: RowSums | None,
    settings: AmplifySettings,
    rng: np.random.Generator,
    *,
    unsure: bool,
) -> dict[Direction, RunAmplification]:
    """Return each direction of one run; `unsure` if chance may decide the lean of its rows."""
    sums, confidence = run.sums, settings.confidence
    options: dict[str, Any] = {"keep_unseen": settings.keep_unseen}
    world = None
    if train is not None:
        world = Association.from_tally(train.tallies().labels, train.attributes, train.tasks)
    measured = from_tallies(sums.tallies(), sums.attributes, sums.tasks, train=world, **options)
    corrected: dict[Direction, float] = {}
    if settings.interval == "none":
        none = Interval.undefined(confidence, settings.interval)
        intervals = dict.fromkeys(sums.directions, none)
    elif unsure:
        fitted = cross_fitted_amplification(sums, confidence=confidence, rng=rng, **options)
        corrected = {direction: fit.value for direction, fit in fitted.items()}
        intervals = {direction: fit.interval for direction, fit in fitted.items()}
    else:
        intervals = bootstrap_interval(sums, train=train, confidence=confidence, rng=rng, **options)
    return {
        pairs.direction: RunAmplification(
            run.run, pairs, intervals[pairs.direction], corrected.get(pairs.direction)
        )
        for pairs in measured.directions
    }


def _row(
    direction: Direction,
    base: str,
    runs: tuple[RunAmplification, ...],
    notes: tuple[Note, ...],
    settings: AmplifySettings,
) -> AmplificationRow:
    values = [run.pairs.value for run in runs]
    value, corrected, bias, over_runs = float(np.mean(values)), None, None, None
    if any(run.corrected is not None for run in runs):
        corrected = float(np.mean([run.claimed for run in runs]))
        bias = value - corrected
    interval = mean_interval([run.interval for run in runs])
    estimate = Estimate(value, interval, decide(interval), corrected, bias, notes)
    if len(runs) > 1:
        spread = interval_over_runs(values, settings.confidence)
        over_runs = Estimate(value, spread, decide(spread))
    return AmplificationRow(direction, base, runs, estimate, over_runs)


def _unseen_notes(
    runs: Sequence[Measurement], train: RowSums | None, settings: AmplifySettings
) -> Iterator[Note]:
    """Yield the labels that never occur where the lean comes from."""
    marginals = [(train or run.sums).total.marginals for run in runs]
    sums = runs[0].sums
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
    runs: Sequence[Measurement], close: tuple[int, int], settings: AmplifySettings
) -> Iterator[Note]:
    """Yield what the intervals take for granted, and where they are not to be trusted."""
    if settings.interval == "none":
        return
    lean = "these rows" if settings.train is None else "the train table"
    unit = "rows" if settings.cluster is None else f"clusters ({settings.cluster})"
    known = f"takes the lean of {lean} as known"
    if close[0]:
        known = f"uses a lean that is cross-fitted on other {unit}"
    text = f"the interval assumes that the {unit} are independent, and {known}"
    yield Note(NoteKind.ASSUMPTION, text)
    if close[0]:
        text = (
            f"{close[0]} of {close[1]} pairs are within two standard errors of a tie, so their "
            "lean may be due to chance: `corrected` uses the lean of other rows; a train table "
            "avoids it"
        )
        yield Note(NoteKind.TIE, text)
    units = min(run.sums.units for run in runs)
    if units < _FEW_ROWS:
        text = f"only {units} {unit}: the interval may cover the true value less often"
        yield Note(NoteKind.FEW_UNITS, text)
    if len(runs) > 1:
        yield runs_note(len(runs), "rows")


def _few_notes(
    runs: Sequence[Measurement], direction: Direction, settings: AmplifySettings
) -> Iterator[Note]:
    """Yield the labels that few rows have, of those that the direction is given."""
    if settings.interval == "none" or min(one.sums.units for one in runs) < _FEW_ROWS:
        return
    sizes = np.min([one.counted.rows_with(one.sums, direction) for one in runs], axis=0)
    sums = runs[0].sums
    names = sums.attributes if direction == Direction.ATTRIBUTE_TO_TASK else sums.tasks
    few = [name for name, size in zip(names, sizes, strict=True) if 0 < size < _FEW]
    if few:
        what = f"fewer than {_FEW} rows have {listed(few)}"
        text = f"{what}: the interval may cover the true value less often"
        yield Note(NoteKind.FEW_UNITS, text, direction.value)
