"""What `lmprobe amplify` prints and writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.markup import escape
from rich.table import Table

from lmprobe.atomic import write_text
from lmprobe.cli.output import to_json, versions
from lmprobe.cli.tabular.measure import Measured, listed
from lmprobe.figure import Figure, Series
from lmprobe.intervals.probe import verdict
from lmprobe.metrics.directional import Amplification
from lmprobe.metrics.thresholds import Curve

# Points of a curve in JSON and in a figure; the CSV has them all.
POINTS = 201


def printed(measured: Measured, top: int) -> list[Table | str]:
    """Return what a person reads: both directions, the pairs at the ends, what is undefined."""
    parts: list[Table | str] = [_summary(measured)]
    for direction, interval in measured.intervals.items():
        parts.append(f"{direction}: {verdict(interval)}, at {interval.confidence:.4g} confidence")
    for cut in _thresholds(measured)[:top]:
        share = f"; {cut['share']:.1%} of the rows are" if "share" in cut else ""
        parts.append(escape(f"{cut['task']}: positive at {cut['value']:.6g} or more{share}"))
    for found in measured.amplification.directions:
        parts.append(f"[bold]{found.direction}[/bold]: the pairs that amplify most and least")
        parts.append(_pairs(found, top))
        parts += _undefined(found, top)
    if measured.curves:
        parts += ["[bold]attribute->task[/bold] over all thresholds", _curve_table(measured)]
    return parts


def _summary(measured: Measured) -> Table:
    table = Table("direction", box=box.SIMPLE_HEAD, pad_edge=False)
    # Not every file allows an interval; an empty column would only ask why.
    headings = ["amplification", *(["interval"] if measured.intervals else [])]
    for heading in (*headings, "mean size", "undefined"):
        table.add_column(heading, justify="right", no_wrap=True)
    for found in measured.amplification.directions:
        cells = [f"{found.value:.4f}"]
        if measured.intervals:
            interval = measured.intervals[found.direction]
            known = np.isfinite(interval.width)
            cells.append(f"{interval.low:.4f} to {interval.high:.4f}" if known else "unknown")
        undefined = f"{found.undefined_pairs:,} of {found.by_pair.size:,}"
        cells += [f"{found.absolute:.4f}", undefined]
        table.add_row(found.direction, *cells)
    return table


def _pairs(found: Amplification, top: int) -> Table:
    known = found.to_frame().dropna(subset=["amplification"])
    ranked = known.sort_values("amplification", ascending=False, kind="stable")
    ends = [ranked] if len(ranked) <= 2 * top else [ranked.head(top), ranked.tail(top)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("attribute", "task"):
        table.add_column(heading, overflow="fold")
    for heading in ("predicted", "base rate", "lean", "amplification"):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, end in enumerate(ends):
        if number:
            table.add_row("...", "...")
        for row in end.to_dict("records"):
            rates = (f"{row['predicted']:.4f}", f"{row['base_rate']:.4f}")
            signs = (f"{row['lean']:+.0f}" if row["lean"] else "0", f"{row['amplification']:+.4f}")
            table.add_row(escape(row["attribute"]), escape(row["task"]), *rates, *signs)
    return table


def _undefined(found: Amplification, top: int) -> list[Table | str]:
    """Name the labels behind undefined pairs: no row has what the pair is conditioned on."""
    axis = 0 if found.direction == "task->attribute" else 1
    empty = np.asarray(np.isnan(found.by_pair).all(axis=axis))
    labels = found.tasks if axis == 0 else found.attributes
    names = [label for label, gone in zip(labels, empty, strict=True) if gone]
    if not names:
        return []
    shown = escape(listed(names, top))
    return [f"{found.undefined_pairs} pairs are undefined: no row has {shown}", ""]


def _curve_table(measured: Measured) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("task", overflow="fold")
    for heading in ("integral", "lowest", "highest", "at the calibrated threshold"):
        table.add_column(heading, justify="right")
    for curve, cut in zip(measured.curves, measured.thresholds, strict=True):
        values = (curve.integral, curve.value.min(), curve.value.max(), curve.at(cut.value))
        table.add_row(escape(curve.label), *(f"{value:+.4f}" for value in values))
    return table


def document(measured: Measured) -> dict[str, Any]:
    """Return the JSON document, schema `lmprobe.amplification/1`."""
    request = measured.request
    columns = request.columns
    return {
        "schema": "lmprobe.amplification/1",
        "file": str(request.file),
        "rows_read": measured.rows,
        "columns": {
            "attribute": columns.attribute,
            "task": columns.task,
            "attribute_prediction": columns.attribute_prediction,
            "task_prediction": columns.task_prediction,
            "score": columns.score,
            "weight": columns.weight,
        },
        "train": None if request.train is None else str(request.train),
        "rows": [_direction(measured, found) for found in measured.amplification.directions],
        "thresholds": _thresholds(measured),
        "curves": [_curve(curve) for curve in measured.curves],
        "notes": measured.notes,
        "provenance": {"versions": versions(), "seed": request.seed},
    }


def _direction(measured: Measured, found: Amplification) -> dict[str, Any]:
    interval = measured.intervals.get(found.direction)
    return {
        "direction": found.direction,
        "value": found.value,
        "interval": None if interval is None else interval.to_dict(),
        "verdict": None if interval is None else verdict(interval),
        "absolute": found.absolute,
        "undefined_pairs": found.undefined_pairs,
        "by_attribute": dict(zip(found.attributes, found.by_attribute.tolist(), strict=True)),
        "by_task": dict(zip(found.tasks, found.by_task.tolist(), strict=True)),
        "pairs": found.to_frame().drop(columns="direction").to_dict("records"),
    }


def _thresholds(measured: Measured) -> list[dict[str, Any]]:
    columns = measured.request.columns
    fixed = measured.request.fixed_threshold
    if fixed is not None:
        return [{"task": task, "value": fixed} for task in columns.task]
    return [
        {"task": task, "value": cut.value, "wanted_share": cut.wanted, "share": cut.share}
        for task, cut in zip(columns.task, measured.thresholds, strict=False)
    ]


def _curve(curve: Curve) -> dict[str, Any]:
    points = _sampled(curve)
    return {
        "task": curve.label,
        "integral": curve.integral,
        "points_in_all": len(curve.share),
        # The first threshold is above every score: infinite, so null.
        "threshold": curve.thresholds[points],
        "share": curve.share[points],
        "value": curve.value[points],
    }


def _sampled(curve: Curve) -> Any:
    """Return the numbers of at most POINTS cuts, evenly spread over the share of positives."""
    return np.unique(
        np.searchsorted(curve.share, np.linspace(0, 1, POINTS)).clip(0, len(curve.share) - 1)
    )


def write(measured: Measured, folder: Path) -> list[Path]:
    """Write the JSON document, the pairs, and the curves with their figure."""
    frames = [found.to_frame() for found in measured.amplification.directions]
    written = [
        write_text(folder / "amplification.json", to_json(document(measured)) + "\n"),
        write_text(folder / "pairs.csv", pd.concat(frames).to_csv(index=False)),
    ]
    if not measured.curves:
        return written
    from lmprobe.report.figures import svg

    points = [
        pd.DataFrame(
            {
                "task": curve.label,
                "threshold": curve.thresholds,
                "share": curve.share,
                "amplification": curve.value,
            }
        )
        for curve in measured.curves
    ]
    written.append(write_text(folder / "curves.csv", pd.concat(points).to_csv(index=False)))
    written.append(write_text(folder / "curves.svg", svg(_figure(measured))))
    return written


def _figure(measured: Measured) -> Figure:
    series = []
    for curve in measured.curves:
        points = _sampled(curve)
        x, y = curve.share[points].tolist(), curve.value[points].tolist()
        series.append(Series(curve.label, tuple(x), tuple(y)))
    mean = np.mean([curve.integral for curve in measured.curves])
    return Figure(
        name="curves",
        title="Amplification attribute->task at every threshold",
        x_label="share of rows predicted positive",
        y_label="amplification",
        series=tuple(series),
        alternative=f"Curves of {len(series)} tasks; their mean over all shares is {mean:.4f}.",
    )
