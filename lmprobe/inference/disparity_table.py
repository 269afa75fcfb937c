"""The disparities of a table's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmprobe.errors import InputError
from lmprobe.inference.disparity import group_disparities
from lmprobe.inference.disparity_result import DisparityResult
from lmprobe.inference.settings import DisparitySettings
from lmprobe.io.tables import read_columns, refuse_missing, refuse_words
from lmprobe.results.settings import command_line


def table_disparities(
    table: Any,
    *,
    prediction: str,
    attribute: Sequence[str],
    label: str | None = None,
    protected: Sequence[str] = (),
    settings: DisparitySettings | None = None,
) -> DisparityResult:
    """Measure the disparities between the groups of a table.

    It is a CSV, Parquet or JSON Lines file (.gz and .zst too), a folder or a pattern of such
    files, a DataFrame or an Arrow table. `attribute` names the columns whose cross product
    makes the groups; `protected` the group or groups that are compared with all others, every
    one in turn when not given.
    """
    chosen = DisparitySettings() if settings is None else settings
    if label is None and chosen.measure != "demographic_parity":
        raise InputError(f"{chosen.measure} needs a label: name the column of true labels")
    columns, in_file = list(attribute), isinstance(table, str | Path)
    name = str(table) if in_file else "the table"
    numbers = [prediction, *([label] if label else [])]
    frame = read_columns(table, [*numbers, *columns], text=columns)
    refuse_missing(frame, name)
    refuse_words(frame, numbers, name, "numbers, 0/1 or true/false")
    result = group_disparities(
        frame[label] if label else None,
        frame[prediction],
        sensitive_features=frame[columns],
        protected=list(protected) or None,
        measure=chosen.measure,
        method=chosen.method,
        group_share=chosen.group_share,
        confidence=chosen.confidence,
        seed=chosen.seed,
    )
    words = ["--prediction", prediction, *(["--label", label] if label else [])]
    words += [word for name in columns for word in ("--attribute", name)]
    words += [word for name in protected for word in ("--protected", name)]
    provenance = {
        "subject": str(table) if in_file else "a table",
        "prediction": prediction,
        "attribute": columns,
        "label": label,
        **result.provenance,
    }
    if in_file:
        again = command_line("disparity", [str(table)], words, chosen.words())
        provenance["command"] = again
    return replace(result, provenance=provenance)
