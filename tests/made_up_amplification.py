"""Results of `amplify` without a table: as many runs, pairs and directions as a page is to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lmprobe.metrics.direction import Direction
from lmprobe.metrics.thresholds import AmplificationCurve, Threshold
from lmprobe.results import Estimate, Interval, Note, decide
from lmprobe.tabular.result import AmplificationResult, ThresholdCurve
from lmprobe.tabular.rows import AmplificationRow, RunAmplification
from lmprobe.tabular.settings import AmplifySettings

A_TO_T, T_TO_A = Direction.ATTRIBUTE_TO_TASK, Direction.TASK_TO_ATTRIBUTE


def made_up_row(
    *runs: Any,
    direction: Direction = A_TO_T,
    corrected: Sequence[float | None] = (),
    lean: Any = 1.0,
    base_rate: float = 0.25,
    tasks: Sequence[str] = (),
    attributes: Sequence[str] = (),
    notes: tuple[Note, ...] = (),
    **more: Any,
) -> AmplificationRow:
    """Return a row whose runs have these amplifications, (A, T), where pairs lean up."""
    made = []
    for number, values in enumerate(runs, start=1):
        cells = np.array(values, dtype=np.float64)
        groups = tuple(attributes) or tuple(f"g{cell}" for cell in range(cells.shape[0]))
        names = tuple(tasks) or tuple(f"t{cell}" for cell in range(cells.shape[1]))
        leans = np.broadcast_to(np.asarray(lean, dtype=np.float64), cells.shape)
        base = np.full(cells.shape, base_rate)
        shift = corrected[number - 1] if corrected else None
        interval = Interval(number / 100, number / 10, 0.95, "bootstrap")
        made.append(
            RunAmplification(
                direction=direction,
                attributes=groups,
                tasks=names,
                predicted=base + leans * cells,
                base_rate=base,
                lean=leans,
                run=f"run {number}",
                interval=interval,
                corrected=shift,
            )
        )
    value = float(np.mean([item.value for item in made]))
    claimed = float(np.mean([item.estimate.claimed for item in made])) if any(corrected) else None
    interval = Interval(0.01, 0.1, 0.9, "bootstrap")
    bias = None if claimed is None else value - claimed
    estimate = Estimate(value, interval, decide(interval), claimed, bias, notes)
    return AmplificationRow(direction, "labels", tuple(made), estimate, **more)


def made_up_curve(task: str, value: Sequence[float]) -> ThresholdCurve:
    """Return a curve with these values at shares evenly spread from 0 to 1."""
    share = np.linspace(0, 1, len(value))
    cuts = np.concatenate([[np.inf], 1 - share[1:]])
    curve = AmplificationCurve(A_TO_T, task, ("g0",), cuts, share, np.array(value)[:, None])
    return ThresholdCurve.of(curve, Threshold.fixed(np.inf))


def made_up_amplification(
    *rows: AmplificationRow, settings: AmplifySettings | None = None, **more: Any
) -> AmplificationResult:
    """Return the result of these rows."""
    selected = settings or AmplifySettings(
        attribute=("sex",), task=("t",), task_prediction=("p",), confidence=0.9
    )
    provenance = {"tables": ["a.csv"], "files": True, "settings": selected.to_dict()}
    provenance |= more.pop("provenance", {})
    return AmplificationResult(rows, rows_read=12_345, provenance=provenance, **more)
