"""Rows of a probe from tables written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from lmprobe.metrics.direction import Direction
from lmprobe.probing.result import ProbeResult, ProbeRow
from lmprobe.results import Interval


def made_row(
    amplified: Any,
    base_rate: Any = 0.5,
    *,
    base: str = "labor",
    direction: Direction = Direction.TASK_TO_ATTRIBUTE,
    tasks: tuple[str, ...] | None = None,
    attributes: tuple[str, ...] | None = None,
    confidence: float = 0.95,
    **options: Any,
) -> ProbeRow:
    """Return a row whose pairs (A, T), or (K, A, T), are amplified by so much; all lean up."""
    cells = np.asarray(amplified, dtype=float)
    cells = cells if cells.ndim == 3 else np.stack([cells, cells])
    shape = cells.shape[1:]
    rates = np.broadcast_to(np.asarray(base_rate, dtype=float), shape)
    selected: dict[str, Any] = {
        "interval": Interval(0.1, 0.3, confidence, "t"),
        "candidate_mass": np.full(len(cells), 0.5),
        "lean_source": base,
        "lean_weighting": "joint",
        "families": tuple(map(str, range(len(cells)))),
        "lean": np.ones(shape),
    }
    return ProbeRow(
        base=base,
        direction=direction,
        attributes=attributes or ("he", "she", "they", "xe")[: shape[0]],
        tasks=tasks or tuple(f"task {number}" for number in range(shape[1])),
        predicted=np.nan_to_num(rates) + cells,
        base_rate=rates,
        **(selected | options),
    )


def made_result(*rows: ProbeRow, **options: Any) -> ProbeResult:
    """Return a result of these rows; `facts` are more of its provenance."""
    templates = tuple(f"sentence {number}" for number in range(len(rows[0].predicted)))
    facts: dict[str, Any] = {
        "model": "made up",
        "scorer": "word-l2r",
        "templates": {"name": "fitbert", "sha256": "a" * 64},
        "bases": {row.base: {"title": f"Table of {row.base}"} for row in rows},
        "versions": {"lmprobe": "0.1.0"},
    } | options.pop("facts", {})
    selected: dict[str, Any] = {"templates": templates, "families": templates} | options
    return ProbeResult(rows=rows, provenance=facts, **selected)
