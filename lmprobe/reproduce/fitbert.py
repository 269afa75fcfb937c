"""FitBERT against four worlds: Table 2 of the paper, Table 1 of its earlier version, Figure 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.errors import ModelError
from lmprobe.io.progress import Progress, silent
from lmprobe.models import load_model
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.row import ProbeRow
from lmprobe.reproduce.experiment import experiment
from lmprobe.reproduce.fitbert_presets import CORRECTED, THREE, TWO, run
from lmprobe.reproduce.fitbert_tables import (
    ICLR,
    ICML,
    LABELS,
    TO_ATTRIBUTE,
    TO_TASK,
    PrintedTable,
)
from lmprobe.reproduce.result import ReproducedRow, Reproduction, texts_as_notes
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import Cell, Column, ColumnKind, Figure, Series, SeriesPlot, Table
from lmprobe.results.format import format_number

PAPERS_MODEL = "bert-base-uncased"
# The mean distance of the labour shares from one half: what T->A must differ by when the
# base changes from uniform (2) to labour, since the lean of every pair stays the same.
LABOUR_DISTANCE = 0.26215625

_COLUMNS = (
    Column("", key="name"),
    Column("paper", ColumnKind.NUMBER),
    Column("published", ColumnKind.NUMBER),
    Column("corrected", ColumnKind.NUMBER),
    Column("diff", ColumnKind.NUMBER, essential=False),
    Column("interval", ColumnKind.RANGE),
)
_HEADINGS = (
    "paper: the printed value. published: ours, computed as in the published code; diff: "
    "published minus paper. corrected: ours with whole words, the lean of Eq. 2 and undefined "
    "pairs left out, with its interval."
)


@experiment("fitbert", order=0)
def fitbert(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Table 2 and Figure 5: FitBERT against uniform, Wikipedia and labour base rates."""
    return _reproduce(ICML, settings, progress)


@experiment("fitbert-iclr", order=1)
def fitbert_iclr(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Table 1 of the earlier version: two sentences, discrete predictions."""
    return _reproduce(ICLR, settings, progress)


def _reproduce(
    table: PrintedTable, settings: ExperimentSettings, progress: Progress
) -> Reproduction:
    presets = [one for one in (table.paper, CORRECTED) if settings.preset in (None, one.name)]
    model, about = _model(settings.model)
    wikipedia = settings.wikipedia or "wikipedia"
    results = {
        preset.name: run(
            model, table.templates, wikipedia, preset, seed=settings.seed, progress=progress
        )
        for preset in presets
    }
    identities = _identities(results["paper"]) if "paper" in results else []
    distorted = _distorted(results) if len(results) == 2 else []
    last = results[presets[-1].name]
    texts = (_HEADINGS, *about, *_identity_texts(identities), *_distortion_texts(distorted))
    return Reproduction(
        name=table.name,
        title=f"{table.title} (model: {model.name})",
        paper=table.where,
        rows=_rows(table, results),
        printed=(_comparison(table, results),),
        notes=(*texts_as_notes(*texts, *table.notes), *last.notes),
        drawn=(_figure_5(last),),
        details={
            "settings": settings.to_dict(),
            "identities": identities,
            "distorted_words": distorted,
            "provenance": dict(last.provenance),
        },
    )


def _model(name: str | None) -> tuple[Any, tuple[str, ...]]:
    """Load the model, or the bundled one where the paper's is out of reach; say which."""
    orientation = "the paper's column is for orientation only"
    if name is not None:
        notes = () if name.split("/")[-1] == PAPERS_MODEL else (
            f"The model is {name}, not the paper's {PAPERS_MODEL}: {orientation}.",
        )  # fmt: skip
        return load_model(name), notes
    try:
        return load_model(PAPERS_MODEL), ()
    except ModelError:
        return load_model("reference:amplified"), (
            f"{PAPERS_MODEL} cannot be loaded here, so this is the bundled reference:amplified: "
            f"{orientation}. With the model at hand: --model {PAPERS_MODEL}, or its folder.",
        )


def _rows(table: PrintedTable, results: Mapping[str, ProbeResult]) -> tuple[ReproducedRow, ...]:
    """Return a probe's rows, each with its preset and what the paper printed."""
    rows = []
    for preset, result in results.items():
        for row in result.rows:
            key = (row.base, row.attributes)
            printed, deviation = table.printed[key][row.direction]
            rows.append(
                ReproducedRow(
                    f"{LABELS[key]} {row.direction.short}",
                    row.value,
                    printed,
                    row.interval,
                    row.verdict,
                    {"preset": preset, "paper_sd": deviation, **row.to_dict()},
                )
            )
    return tuple(rows)


def _comparison(table: PrintedTable, results: Mapping[str, ProbeResult]) -> Table:
    """Return one line per base and direction: the paper's number and ours."""
    lines: list[tuple[Cell, ...]] = []
    for number, row in enumerate(next(iter(results.values())).rows):
        key = (row.base, row.attributes)
        printed, _ = table.printed[key][row.direction]
        each = {name: result.rows[number] for name, result in results.items()}
        published, corrected = each.get("paper"), each.get("corrected")
        lines.append(
            (
                f"{LABELS[key]} {row.direction.short}",
                printed,
                None if published is None else published.value,
                None if corrected is None else corrected.value,
                # Rounded as the paper rounds what it prints.
                round((published or row).value - printed, 4),
                (corrected or row).interval,
            )
        )
    return Table("comparison", _COLUMNS, tuple(lines))


def _find(result: ProbeResult, base: str, attributes: tuple[str, ...], way: Direction) -> ProbeRow:
    return next(
        row
        for row in result.rows
        if (row.base, row.attributes, row.direction) == (base, attributes, way)
    )


def _identities(result: ProbeResult) -> list[dict[str, Any]]:
    """Return what must hold between rows whatever the model says."""
    uniform = _find(result, "uniform", TWO, TO_ATTRIBUTE)
    labour = _find(result, "labor", TWO, TO_ATTRIBUTE)
    two, three = (_find(result, "uniform", who, TO_TASK) for who in (TWO, THREE))
    pairs = (
        ("labour T->A minus uniform (2) T->A", labour.value - uniform.value, -LABOUR_DISTANCE),
        ("uniform (3) A->T minus 2/3 of uniform (2) A->T", three.value - two.value * 2 / 3, 0.0),
    )
    return [
        {"name": name, "value": found, "expected": expected, "holds": abs(found - expected) < 1e-6}
        for name, found, expected in pairs
    ]


def _distorted(results: Mapping[str, ProbeResult]) -> list[dict[str, Any]]:
    """Return how far the first piece misjudges each split word in A->T, worst first.

    Only a word that is guessed can be misjudged: where it is given, it is written in full.
    """
    first, whole = (
        _find(results[name], "uniform", TWO, TO_TASK) for name in ("paper", "corrected")
    )
    if not np.allclose(first.predicted.sum(axis=2), 1) or set(np.unique(first.predicted)) <= {0, 1}:
        return []
    words = []
    for word, pieces in results["paper"].split_words.items():
        if word in first.tasks:
            column = first.tasks.index(word)
            shortcut = float(first.predicted[:, :, column].mean())
            true = float(whole.predicted[:, :, column].mean())
            words.append(
                {
                    "word": word,
                    "pieces": pieces,
                    "first_piece": shortcut,
                    "whole_word": true,
                    "ratio": shortcut / true,
                }
            )
    return sorted(words, key=lambda word: -abs(np.log(word["ratio"])))


def _identity_texts(identities: list[dict[str, Any]]) -> list[str]:
    return [
        f"Identity: {one['name']} is {format_number(one['value'], 8)}, must be "
        f"{format_number(one['expected'], 8)}: "
        f"{'holds' if one['holds'] else 'FAILS'}."
        for one in identities
    ]


def _distortion_texts(words: list[dict[str, Any]]) -> list[str]:
    if not words:
        return []
    each = ", ".join(f"{one['word']} x{one['ratio']:.3g}" for one in words)
    return [f"Scoring the first piece only changes P(word) of {len(words)} split words: {each}."]


def _figure_5(result: ProbeResult) -> Figure:
    """Each occupation's P(he) against the labour force."""
    row = _find(result, "labor", TWO, TO_ATTRIBUTE)
    world, guess = row.base_rate[0], row.predicted[:, 0].mean(axis=0)
    above = int((guess > world).sum())
    points = Series("occupation", tuple(world), tuple(guess), labels=row.tasks, style="points")
    return SeriesPlot(
        name="figure-5",
        title="P(he) of each occupation: labour force and model",
        x_label="share of men in the US labour force, 2016",
        y_label="model's P(he) of he and she",
        series=(points,),
        alternative=f"Scatter of {len(row.tasks)} occupations; {above} lie above the diagonal, "
        "where the model says he more often than the labour force does.",
        diagonal=True,
    )
