"""The report of a probe as one page that stands alone: to send, to print, to read offline."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from lmprobe.report import words
from lmprobe.report.command import command
from lmprobe.report.figures import svg
from lmprobe.report.frame import render
from lmprobe.report.heat_map import heat_map
from lmprobe.report.interval_plot import interval_plot
from lmprobe.report.scatter import scatter
from lmprobe.report.strip_plot import strip_plot
from lmprobe.result import LIMITS, ProbeResult, ProbeRow

MOST_PAIRS = 2000
"""A page with more lines than this is slow; the CSV has them all."""

_STANDING_OUT = 20
_COLUMNS = ("base", "direction", "attribute", "task", "amplification", "model", "base rate", "lean")


def html_report(result: ProbeResult) -> str:
    """Return the whole page: verdict first, then figures, pairs, provenance."""
    directions = words.by_direction(result)
    pairs = [pair for row in result.rows for pair in _pairs(row)]
    ranked = sorted(pairs, key=lambda pair: -abs(np.nan_to_num(pair.amplification)))
    kept = pairs if len(pairs) <= MOST_PAIRS else ranked[:MOST_PAIRS]
    bases = list(dict.fromkeys(row.base for row in result.rows))
    tables = result.provenance["bases"]
    context = {
        "facts": result.provenance,
        "headline": words.headline(result),
        "rows": result.rows,
        "directions": directions,
        "asked": words.ASKED,
        "bases": bases,
        # The bases in their order, then what only the lean comes from.
        "tables": {name: tables[name] for name in (*bases, *tables) if name in tables},
        "attributes": _all(row.attributes for row in result.rows),
        "tasks": _all(row.tasks for row in result.rows),
        "templates": result.templates,
        "split_words": result.split_words,
        "notes": words.row_notes(result),
        "assumptions": words.assumptions(result),
        "masses": words.masses(result),
        "limits": LIMITS,
        "command": command(result),
        "columns": _COLUMNS,
        "pairs": kept,
        "pair_count": len(pairs),
        "largest": ranked[:_STANDING_OUT],
    }
    return render("probe.html", context | _figures(result), script="pairs.js")


class _Pair(NamedTuple):
    """One line of the table of pairs: the mean over templates."""

    base: str
    direction: str
    attribute: str
    task: str
    predicted: float
    base_rate: float
    lean: float
    amplification: float
    side: str


def _pairs(row: ProbeRow) -> list[_Pair]:
    predicted, amplified = row.predicted.mean(axis=0), row.by_pair
    return [
        _Pair(
            row.base,
            row.direction,
            attribute,
            task,
            float(predicted[one, other]),
            float(row.base_rate[one, other]),
            float(row.lean[one, other]),
            float(amplified[one, other]),
            {1.0: " plus", -1.0: " minus"}.get(float(np.sign(amplified[one, other])), ""),
        )
        for one, attribute in enumerate(row.attributes)
        for other, task in enumerate(row.tasks)
    ]


def _figures(result: ProbeResult) -> dict[str, Any]:
    """Return every picture; they are escaped by their writer."""
    directions = words.by_direction(result)
    scatters = [
        (figure.title, Markup(svg(figure, standalone=False)))
        for figure in map(scatter, directions.get("task->attribute", []))
    ]
    return {
        "interval_plots": {one: Markup(interval_plot(rows)) for one, rows in directions.items()},
        "strip_plots": {
            one: Markup(strip_plot(rows, result.templates)) for one, rows in directions.items()
        },
        "heat_maps": {one: Markup(heat_map(rows)) for one, rows in directions.items()},
        "scatters": scatters,
    }


def _all(several: Any) -> list[str]:
    """Return every word once, in order."""
    return list(dict.fromkeys(word for one in several for word in one))
