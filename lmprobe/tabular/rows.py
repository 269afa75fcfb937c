"""One row per direction: the value, its interval over rows and over training runs, its notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lmprobe.core.association import Association
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.intervals.methods.t import interval_over_runs
from lmprobe.intervals.row_sums import RowSums
from lmprobe.intervals.rows import bootstrap_interval, close_pairs, cross_fitted_amplification
from lmprobe.intervals.runs import mean_interval, runs_note
from lmprobe.metrics.directional import Amplification, from_tallies
from lmprobe.results import Estimate, Interval, Note, NoteKind, decide
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
        close = [close_pairs(one.sums) for one in runs]
    found = [
        _of_run(run, train, settings, rng, unsure=unsure > 0)
        for run, (unsure, _) in zip(runs, close, strict=True)
    ]
    rows = []
    for direction in found[0]:
        measured = tuple(one[direction] for one in found)
        notes = tuple(_few_notes(runs, direction, settings))
        rows.append(_row(direction, base, measured, notes, settings))
    if not any(np.nan_to_num(one.pairs.lean).any() for row in rows for one in row.runs):
        text = "no pair leans either way, so that nothing can be amplified or reduced"
        return tuple(rows), (*_unseen_notes(runs, train, settings), Note(NoteKind.TIE, text))
    notes = (*_unseen_notes(runs, train, settings), *_interval_notes(runs, max(close), settings))
    return tuple(rows), notes


def _of_run(
    run: Measurement,
    train: RowSums | None,
    settings: AmplifySettings,
    rng: np.random.Generator,
    *,
    unsure: bool,
) -> dict[Direction, RunAmplification]:
    """Return each direction of one run; `unsure` if chance may decide the lean of its rows."""
    sums = run.sums
    world = None
    if train is not None:
        world = Association.from_tally(train.tallies().labels, train.attributes, train.tasks)
    measured = from_tallies(
        sums.tallies(),
        sums.attributes,
        sums.tasks,
        train=world,
        keep_unseen=settings.keep_unseen,
    )
    if settings.interval == "none":
        none = Interval.undefined(settings.confidence, settings.interval)
        intervals = dict.fromkeys(sums.directions, none)
    elif unsure:
        fitted = cross_fitted_amplification(
            sums, keep_unseen=settings.keep_unseen, confidence=settings.confidence, rng=rng
        )
        return {
            one.direction: RunAmplification(
                run.run, one, fitted[one.direction].interval, fitted[one.direction].value
            )
            for one in measured.directions
        }
    else:
        intervals = bootstrap_interval(
            sums,
            train=train,
            keep_unseen=settings.keep_unseen,
            confidence=settings.confidence,
            rng=rng,
        )
    return {
        one.direction: RunAmplification(run.run, one, intervals[one.direction])
        for one in measured.directions
    }


def _row(
    direction: Direction,
    base: str,
    runs: tuple[RunAmplification, ...],
    notes: tuple[Note, ...],
    settings: AmplifySettings,
) -> AmplificationRow:
    values = [one.pairs.value for one in runs]
    value = float(np.mean(values))
    claimed = float(np.mean([one.claimed for one in runs]))
    interval = mean_interval([one.interval for one in runs])
    corrected = claimed if any(one.corrected is not None for one in runs) else None
    bias = None if corrected is None else value - corrected
    estimate = Estimate(value, interval, decide(interval), corrected, bias, notes)
    over_runs = None
    if len(runs) > 1:
        spread = interval_over_runs(values, settings.confidence)
        over_runs = Estimate(value, spread, decide(spread))
    return AmplificationRow(direction, base, runs, estimate, over_runs)


def _unseen_notes(
    runs: Sequence[Measurement], train: RowSums | None, settings: AmplifySettings
) -> Iterator[Note]:
    """Yield the labels that never occur where the lean comes from."""
    _, attribute, task, _ = (
        sum(part[0] for part in parts)
        for parts in zip(*((train or one.sums).total.marginals for one in runs), strict=True)
    )
    sums = runs[0].sums
    names = (
        *np.array(sums.attributes, dtype=object)[np.asarray(attribute) <= 0],
        *np.array(sums.tasks, dtype=object)[np.asarray(task) <= 0],
    )
    if not names:
        return
    where = "no row is labelled" if train is None else "the train table has no row with"
    then = (
        "their pairs have no lean and count 0"
        if settings.keep_unseen
        else "their pairs are left out of the mean"
    )
    yield Note(NoteKind.LEFT_OUT, f"{where} {listed(list(names))}: {then}")


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
        yield _tie_note(*close)
    units = min(one.sums.units for one in runs)
    if units < _FEW_ROWS:
        text = f"only {units} {unit}: the interval may cover the true value less often"
        yield Note(NoteKind.FEW_UNITS, text)
    if len(runs) > 1:
        yield runs_note(len(runs), "rows")


def _tie_note(close: int, pairs: int) -> Note:
    text = (
        f"{close} of {pairs} pairs are within two standard errors of a tie, so their lean may be "
        "due to chance: `corrected` uses the lean of other rows; a train table avoids it"
    )
    return Note(NoteKind.TIE, text)


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
        yield Note(
            NoteKind.FEW_UNITS,
            f"fewer than {_FEW} rows have {listed(few)}: the interval may cover the true value "
            "less often",
            direction.value,
        )
