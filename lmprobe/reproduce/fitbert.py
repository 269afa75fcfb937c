"""FitBERT against four worlds: Table 2 of the paper, Table 1 of its earlier version, Figure 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lmprobe.association import Direction
from lmprobe.errors import InputError, ModelError, did_you_mean
from lmprobe.figure import Figure, Series
from lmprobe.models import load_model
from lmprobe.reproduce.experiment import Reproduction, Settings, experiments
from lmprobe.reproduce.fitbert_presets import CORRECTED, THREE, TWO, run
from lmprobe.reproduce.fitbert_tables import (
    ICLR,
    ICML,
    LABELS,
    TO_ATTRIBUTE,
    TO_TASK,
    PrintedTable,
)
from lmprobe.result import ProbeResult, ProbeRow

PAPERS_MODEL = "bert-base-uncased"
# The mean distance of the labour shares from one half: what T->A must differ by when the
# base changes from uniform (2) to labour, since the lean of every pair stays the same.
LABOUR_DISTANCE = 0.26215625

_COLUMNS = (
    ("paper", "paper"),
    ("published", "as_published"),
    ("corrected", "corrected"),
    ("diff", "difference"),
    ("interval", "interval"),
)
_HEADINGS = (
    "paper: what was printed. published: ours, computed as the published code does; diff is from "
    "the paper. corrected: ours with whole words, the lean of Eq. 2 and undefined pairs left "
    "out; the interval is its own."
)


@experiments.register("fitbert")
def fitbert(settings: Settings) -> Reproduction:
    """Table 2 and Figure 5: FitBERT against uniform, Wikipedia and labour base rates."""
    return _reproduce(ICML, settings)


@experiments.register("fitbert-iclr")
def fitbert_iclr(settings: Settings) -> Reproduction:
    """Table 1 of the earlier version: two sentences, discrete predictions."""
    return _reproduce(ICLR, settings)


def _reproduce(table: PrintedTable, settings: Settings) -> Reproduction:
    presets = [one for one in (table.paper, CORRECTED) if settings.preset in (None, one.name)]
    if not presets:
        known = did_you_mean(str(settings.preset), ["paper", "corrected"])
        raise InputError(f'no preset "{settings.preset}"; {known}')
    model, about = _model(settings.model)
    results = {
        preset.name: run(
            model,
            table.templates,
            str(settings.wikipedia or "wikipedia"),
            preset,
            seed=settings.seed,
            progress=settings.progress,
        )
        for preset in presets
    }
    rows = _rows(table, results)
    identities = _identities(results["paper"]) if "paper" in results else []
    distorted = _distorted(results) if len(results) == 2 else []
    last = results[presets[-1].name]
    return Reproduction(
        name=table.name,
        title=f"{table.title} (model: {model.name})",
        paper=table.where,
        rows=tuple(rows),
        notes=(_HEADINGS, *about, *_said(identities), *_told(distorted), *table.notes),
        figures=(_figure_5(last),),
        columns=_COLUMNS,
        document=_document(table, results, identities, distorted, about),
    )


def _model(name: str | None) -> tuple[Any, tuple[str, ...]]:
    """Load the model, or the bundled one where the paper's is out of reach; say which."""
    orientation = "the paper's column is then for orientation only"
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


def _rows(table: PrintedTable, results: Mapping[str, ProbeResult]) -> list[dict[str, Any]]:
    """Return one line per base and direction: the paper's number and ours."""
    lines = []
    for number, row in enumerate(next(iter(results.values())).rows):
        key = (row.base, row.attributes)
        printed, deviation = table.printed[key][row.direction]
        each = {name: result.rows[number] for name, result in results.items()}
        main = each.get("paper", row)
        lines.append(
            {
                "name": f"{LABELS[key]} {_arrow(row.direction)}",
                "base": row.base,
                "attributes": list(row.attributes),
                "direction": row.direction,
                "value": main.value,
                "paper": printed,
                "paper_sd": deviation,
                "template_sd": main.template_sd,
                "as_published": each["paper"].value if "paper" in each else None,
                "corrected": each["corrected"].value if "corrected" in each else None,
                "difference": main.value - printed,
                "interval": list(each.values())[-1].interval.to_dict(),
            }
        )
    return lines


def _arrow(direction: Direction) -> str:
    return "T->A" if direction == TO_ATTRIBUTE else "A->T"


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


def _said(identities: list[dict[str, Any]]) -> list[str]:
    return [
        f"Identity: {one['name']} is {one['value']:.8f}, must be {one['expected']:.8f}: "
        f"{'holds' if one['holds'] else 'FAILS'}."
        for one in identities
    ]


def _told(words: list[dict[str, Any]]) -> list[str]:
    if not words:
        return []
    each = ", ".join(f"{one['word']} x{one['ratio']:.3g}" for one in words)
    return [f"The first-piece shortcut misjudges P(word) of {len(words)} split words: {each}."]


def _figure_5(result: ProbeResult) -> Figure:
    """Each occupation's P(he) against the labour force."""
    row = _find(result, "labor", TWO, TO_ATTRIBUTE)
    world, guess = row.base_rate[0], row.predicted[:, 0].mean(axis=0)
    above = int((guess > world).sum())
    points = Series("occupation", tuple(world), tuple(guess), labels=row.tasks, style="points")
    return Figure(
        name="figure-5",
        title="P(he) of each occupation: labour force and model",
        x_label="share of men in the US labour force, 2016",
        y_label="model's P(he) of he and she",
        series=(points,),
        alternative=f"Scatter of {len(row.tasks)} occupations; {above} lie above the diagonal, "
        "where the model says he more often than the labour force does.",
        diagonal=True,
    )


def _document(
    table: PrintedTable,
    results: Mapping[str, ProbeResult],
    identities: list[dict[str, Any]],
    distorted: list[dict[str, Any]],
    about: tuple[str, ...],
) -> dict[str, Any]:
    """Return the JSON of `lmprobe.result/1`, each row with its preset and the paper's number."""
    rows = []
    for preset, result in results.items():
        for row in result.rows:
            printed, deviation = table.printed[row.base, row.attributes][row.direction]
            name = f"{LABELS[row.base, row.attributes]} {_arrow(row.direction)}"
            rows.append(
                {"name": name, "preset": preset, "paper": printed, "paper_sd": deviation}
                | row.to_dict()
            )
    last = list(results.values())[-1]
    return last.to_dict() | {
        "experiment": table.name,
        "title": table.title,
        "rows": rows,
        "identities": identities,
        "distorted_words": distorted,
        "notes": [*about, *last.notes, *table.notes],
    }
