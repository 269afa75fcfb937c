"""Measures the amplification of a table file: counts, cuts scores, puts intervals round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lmprobe.association import Association, Direction
from lmprobe.cli.tabular.columns import Columns, Layout, layout_of
from lmprobe.cli.tabular.counting import Counted, calibrated, count, count_train, scored
from lmprobe.errors import InputError
from lmprobe.intervals.interval import Interval
from lmprobe.intervals.rows import amplification_interval
from lmprobe.metrics.directional import DirectionalAmplification, from_tallies
from lmprobe.metrics.thresholds import Curve, Threshold, amplification_curves
from lmprobe.progress import Progress, silent

# With fewer rows, in all or of one label, the bootstrap is too short: docs/coverage.md.
_FEW_ROWS, _FEW = 100, 20


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for."""

    file: Path
    columns: Columns
    threshold: str | None = None
    validation: Path | None = None
    train: Path | None = None
    train_weight: str | None = None
    interval: bool = True
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that the options go together."""
        if not self.columns.score and (self.threshold or self.validation):
            raise InputError("--threshold and --validation need --score")
        if self.validation and self.fixed_threshold is not None:
            raise InputError("--validation chooses a threshold; --threshold gives one already")
        if self.train_weight and not self.train:
            raise InputError("--train-weight needs --train")

    @property
    def fixed_threshold(self) -> float | None:
        """The value of the threshold, where it is given as a value."""
        if self.threshold in (None, "calibrated", "all"):
            return None
        try:
            value = float(str(self.threshold))
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            raise InputError(
                f"--threshold must be calibrated, all or a number, found {self.threshold!r}"
            )
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What was found."""

    request: Request
    layout: Layout
    rows: int
    amplification: DirectionalAmplification
    intervals: dict[Direction, Interval]
    thresholds: tuple[Threshold, ...]
    curves: tuple[Curve, ...]
    notes: tuple[str, ...]


def measure(request: Request, progress: Progress = silent) -> Measured:
    """Measure the file, in chunks; only what `threshold="all"` and intervals need is held."""
    columns = request.columns
    layout = layout_of(request.file, columns, request.train)
    # Only an interval needs the rows themselves.
    held = None if request.interval else 0
    train = None
    if request.train is not None:
        train = count_train(request.train, columns, layout, request.train_weight, held)
    thresholds = _thresholds(request, layout, train)
    cuts = [one.value for one in thresholds]
    if request.fixed_threshold is not None:
        cuts = [request.fixed_threshold] * len(columns.score)
    counted = count(request.file, columns, layout, cuts, progress, held)
    world = None
    if train is not None:
        world = Association.from_tally(train.sums.labels, layout.attributes, layout.tasks)
    found = from_tallies(counted.sums, layout.attributes, layout.tasks, train=world)
    notes = [
        f"{column}: tied scores let {cut.share:.4f} be positive where {cut.wanted:.4f} are wanted"
        for column, cut in zip(columns.score, thresholds, strict=False)
        if cut.tied
    ]
    if train is not None:
        notes += _unseen(layout, counted, train)
    intervals: dict[Direction, Interval] = {}
    if request.interval:
        why = _no_interval(counted, train)
        if why:
            notes.append(f"no interval: {why}")
        else:
            intervals = _intervals(request, counted, train)
            notes += _interval_notes(request, counted, tuple(intervals))
    curves = _curves(request, layout) if request.threshold == "all" else ()
    return Measured(
        request, layout, counted.rows, found, intervals, thresholds, curves, tuple(notes)
    )


def _thresholds(request: Request, layout: Layout, train: Counted | None) -> tuple[Threshold, ...]:
    """Choose one per score column: the share of positives is that of the train labels."""
    columns = request.columns
    if not columns.score or request.fixed_threshold is not None:
        return ()
    labelled = train or count_train(request.file, columns, layout, columns.weight, held=0)
    shares = labelled.sums.labels.task / labelled.sums.labels.total
    return calibrated(request.validation or request.file, columns, shares)


def _unseen(layout: Layout, counted: Counted, train: Counted) -> list[str]:
    """Return a note on labels that the train file never has, and so cannot lean."""
    there, trained = counted.sums.labels, train.sums.labels
    attributes = zip(layout.attributes, there.attribute, trained.attribute, strict=True)
    tasks = zip(layout.tasks, there.task, trained.task, strict=True)
    names = [name for name, here, seen in (*attributes, *tasks) if here > 0 and not seen > 0]
    if not names:
        return []
    return [f"the train file has no row with {listed(names)}: their pairs lean nowhere, count 0"]


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _no_interval(counted: Counted, train: Counted | None) -> str | None:
    if counted.kept is None or (train is not None and train.kept is None):
        return "the file is too long to hold its rows; take a sample of it, or --no-interval"
    return None


def _intervals(
    request: Request, counted: Counted, train: Counted | None
) -> dict[Direction, Interval]:
    return amplification_interval(
        counted.column(0, "truth"),
        counted.column(1, "truth"),
        attribute_predictions=counted.column(0, "predicted"),
        task_predictions=counted.column(1, "predicted"),
        train_attribute_labels=None if train is None else train.column(0, "truth"),
        train_task_labels=None if train is None else train.column(1, "truth"),
        sample_weight=counted.weight,
        train_sample_weight=None if train is None else train.weight,
        confidence=request.confidence,
        rng=np.random.default_rng(request.seed),
    )


def _interval_notes(
    request: Request, counted: Counted, directions: tuple[Direction, ...]
) -> list[str]:
    """Return what the intervals assume, and where they are not to be trusted."""
    lean = "these rows" if request.train is None else "the train file"
    notes = [
        "the interval takes the rows as drawn independently, and the lean of each pair as that of "
        f"{lean}, beyond doubt"
    ]
    if counted.rows < _FEW_ROWS:
        notes.append(f"only {counted.rows} rows: the interval may hold the truth less often")
        return notes
    for direction in directions:
        given = counted.column(0 if direction == "attribute->task" else 1, "truth")
        assert given is not None
        sizes = (given > 0).sum()
        few = [str(name) for name in sizes.index[(sizes > 0) & (sizes < _FEW)]]
        if few:
            notes.append(
                f"{direction}: fewer than {_FEW} rows have {listed(few)}: the interval may hold "
                "the truth less often"
            )
    return notes


def _curves(request: Request, layout: Layout) -> tuple[Curve, ...]:
    groups, tasks, scores, weight = scored(request.file, request.columns, layout)
    seen = None
    if request.train is not None:
        seen = count_train(request.train, request.columns, layout, request.train_weight, math.inf)
    return amplification_curves(
        groups,
        tasks,
        task_scores=scores,
        train_attribute_labels=None if seen is None else seen.column(0, "truth"),
        train_task_labels=None if seen is None else seen.column(1, "truth"),
        sample_weight=weight,
        train_sample_weight=None if seen is None else seen.weight,
    )
