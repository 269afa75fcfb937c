"""FitBERT against four worlds: Table 2 of the paper, Table 1 of its earlier version, Figure 5.

The preset `paper` follows the published code: a word is scored by its first piece, the lean
weighs every task the same, a task that a count table never counted contributes 0, and (in the
earlier version) the likeliest word counts as a prediction. The preset `corrected` scores whole
words, takes the lean of Eq. 2, and leaves undefined pairs out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import lmprobe
from lmprobe.errors import ModelError
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Association, lean
from lmprobe.metrics.direction import Direction
from lmprobe.probing.result import ProbeResult, ProbeRow
from lmprobe.reproduce.experiment import (
    INTERVAL,
    PAPER,
    STATUS,
    Reason,
    ReproducedRow,
    Reproduction,
    Status,
    comparison_table,
    experiment,
    figure_texts,
    published,
    reproduction,
    texts_as_notes,
)
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import Column, ColumnKind, Figure, NoteKind, Series, SeriesPlot, Table
from lmprobe.results.codec import to_json
from lmprobe.results.format import format_number
from lmprobe.sources import MissingLabels, Source
from lmprobe.stats.verdicts import IntervalSettings

PAPERS_MODEL = "bert-base-uncased"
HUB_ID = f"google-bert/{PAPERS_MODEL}"
# The paper prints four decimals, zeros at the end included.
DECIMALS = 4
# The mean distance of the labour shares from one half: what T->A must differ by when the
# base changes from uniform (2) to labour, since the lean of every pair stays the same.
LABOUR_DISTANCE = 0.26215625
TWO, THREE = ("he", "she"), ("he", "she", "they")
LABELS = {
    ("uniform", TWO): "Uniform (2)",
    ("uniform", THREE): "Uniform (3)",
    ("wikipedia", TWO): "Wikipedia (2)",
    ("labor", TWO): "US Labor (2)",
}
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"scorer": "first-piece", "lean_weighting": "paper", "missing": "keep"},
    "corrected": {"scorer": "word-l2r", "lean_weighting": "joint", "missing": "drop"},
}


@experiment("fitbert")
def fitbert(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Table 2 and Figure 5: FitBERT against uniform, Wikipedia and labour base rates."""
    return _reproduce("fitbert", settings, progress)


@experiment("fitbert-iclr")
def fitbert_iclr(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Table 1 of the earlier version: two sentences, discrete predictions."""
    return _reproduce("fitbert-iclr", settings, progress)


def _reproduce(name: str, settings: ExperimentSettings, progress: Progress) -> Reproduction:
    """Run the presets that the settings ask for; the experiment's name is its template set's."""
    model, advice = _model(settings.model)
    bases = _bases(settings.wikipedia or "wikipedia")
    results: dict[str, ProbeResult] = {}
    for preset, options in PRESETS.items():
        if settings.preset in (None, preset):
            options = options | {"attributes": THREE, "seed": settings.seed, "progress": progress}
            results[preset] = lmprobe.probe(model, name, bases, **options)
    identities, texts, warnings = [], [], []
    if "paper" in results:
        likeliest, seed = name == "fitbert-iclr", settings.seed
        own = (_as_published(row, bases[2], likeliest, seed) for row in results["paper"].rows)
        results["paper"] = replace(results["paper"], rows=tuple(own))
        identities = _identities(results["paper"])
    for identity in identities:
        value, expected = (format_number(identity[key], 8) for key in ("value", "expected"))
        text = f"Identity: {identity['name']} is {value}, must be {expected}"
        if identity["holds"]:
            texts.append(f"{text}: holds.")
        else:
            warnings.append(f"{text}: FAILS.")
    distorted = _distorted(**results) if len(results) == 2 else []
    if distorted:
        words = ", ".join(f"{word['word']} x{word['ratio']:.3g}" for word in distorted)
        what = f"Scoring the first piece only changes P(word) of {len(distorted)} split words"
        texts.append(f"{what}: {words}.")
    last = list(results.values())[-1]
    rows = [
        replace(
            _row(preset, label, row, *published(name)["printed"][label]),
            reason=_reason(settings, preset, row.base, another_model=bool(advice)),
        )
        for preset, result in results.items()
        for label, row in _by_label(result).items()
    ]
    done = reproduction(
        name,
        rows,
        _comparison(rows),
        drawn=(_figure_5(last),),
        details={
            "settings": settings.to_dict(),
            "identities": identities,
            "distorted_words": distorted,
            "provenance": dict(last.provenance),
        },
        model=model.name,
    )
    notes = (*texts_as_notes(*warnings, kind=NoteKind.COMPARISON), *done.notes)
    return replace(done, finding=advice, notes=(*notes, *texts_as_notes(*texts), *last.notes))


def _reason(
    settings: ExperimentSettings, preset: str, base: str, *, another_model: bool
) -> Reason | None:
    """Return why a row cannot be compared with the printed one, if it cannot."""
    if another_model:
        return Reason.ANOTHER_MODEL
    if preset != "paper":
        return Reason.ANOTHER_METHOD
    # The paper counted WikiText-103, which is not shipped.
    return Reason.MISSING_DATA if base == "wikipedia" and not settings.wikipedia else None


def _row(
    preset: str, label: str, row: ProbeRow, printed: float, deviation: float | None = None
) -> ReproducedRow:
    # Over templates, not over repetitions: it is no room for a difference.
    details = {"preset": preset, "paper_sd": deviation, **to_json(row)}
    return ReproducedRow(
        label, row.value, printed, row.interval, row.verdict, details, decimals=DECIMALS
    )


def _by_label(result: ProbeResult) -> dict[str, ProbeRow]:
    return {f"{LABELS[row.base, row.attributes]} {row.direction.short}": row for row in result.rows}


def _model(name: str | None) -> tuple[Any, str]:
    """Load the model, or the bundled one where the paper's cannot be loaded.

    If it is not the paper's, say so, and how to get that one.
    """
    advice = (
        f"To compare with the paper, fetch {PAPERS_MODEL} where there is a network (`hf download "
        f"{HUB_ID} --local-dir {PAPERS_MODEL}`, or https://huggingface.co/{HUB_ID}) and name its "
        f"folder: `--model {PAPERS_MODEL}`."
    )
    if name is not None:
        other = f"The model is {name}, not the paper's {PAPERS_MODEL}. {advice}"
        return lmprobe.load_model(name), "" if _is_papers_model(name) else other
    try:
        return lmprobe.load_model(PAPERS_MODEL), ""
    except ModelError:
        model = lmprobe.load_model("reference:amplified")
        return model, f"The model is {model.name}: {PAPERS_MODEL} cannot be loaded. {advice}"


def _is_papers_model(name: str) -> bool:
    """Tell whether a hub id or a folder, of the hub's cache too, is named after the model."""
    *folders, last = Path(name).parts
    cached = any(part.endswith(f"--{PAPERS_MODEL}") for part in folders)
    return cached or last == PAPERS_MODEL


@dataclass(frozen=True, slots=True)
class _Only:
    """A source of which the table uses some attributes, under the name that the table gives it."""

    source: Source
    attributes: tuple[str, ...]
    name: str

    def __getattr__(self, name: str) -> Any:
        """Return what else the source says of itself: provenance, sampling, where it leans."""
        return getattr(self.source, name)

    def association(self, attributes: Sequence[str], tasks: Sequence[str]) -> Association:
        unknown = [name for name in attributes if name not in self.attributes]
        if not unknown:
            return self.source.association(attributes, tasks)
        lacking: Sequence[str] = ()
        try:
            self.source.association(self.attributes, tasks)
        except MissingLabels as problem:
            lacking = problem.tasks
        raise MissingLabels(self.name, attributes=unknown, tasks=lacking)


def _bases(wikipedia: str) -> list[_Only]:
    """Return the four worlds of the table, in its order."""
    paths = ("uniform", "uniform", wikipedia, "labor")
    return [
        _Only(lmprobe.load_base_rates(path), attributes, name)
        for path, (name, attributes) in zip(paths, LABELS, strict=True)
    ]


def _as_published(row: ProbeRow, counts: _Only, likeliest: bool, seed: int) -> ProbeRow:
    """Return the row as the published code computes it."""
    leaning, predicted = row.lean, row.predicted
    if row.base == "wikipedia" and row.direction == Direction.TASK_TO_ATTRIBUTE:
        # Here alone the code compares counts, not conditionals: so the lean is that of Eq. 2.
        leaning = lean(counts.association(row.attributes, row.tasks), row.direction, "joint")
    if likeliest:
        best = predicted.argmax(axis=row.direction.axis, keepdims=True)
        predicted = np.zeros_like(predicted)
        np.put_along_axis(predicted, best, 1.0, row.direction.axis)
    undefined = np.isnan(row.base_rate)
    # The published code has neither parts of a value nor the noise of a base; nor is anything
    # computed anew for other tasks: its rates and lean are taken as given.
    without: dict[str, Any] = dict.fromkeys((
        "corrected", "base_bias", "base_reliability", "association", "preference", "strength",
        "base_errors", "base_table",
    ))  # fmt: skip
    changed = replace(
        row,
        predicted=predicted,
        lean=np.where(undefined, 0.0, leaning),
        base_rate=np.where(undefined, 0.0, row.base_rate),
        counted=False,
        **without,
    )
    tables, settings = changed.tables(seed), IntervalSettings(seed=seed)
    value = settings.numbers_of(tables, value_alone=True)["value"]
    interval = settings.interval_of(value, settings.confidence, tables.bound)
    return replace(changed, interval=interval)


def _comparison(rows: Sequence[ReproducedRow]) -> Table:
    """Return one line per base and direction: the paper's number and ours."""
    lines: dict[str, ReproducedRow] = {}
    for row in rows:
        difference = {}
        if row.paper is not None and row.status is not Status.NOT_COMPARABLE:
            # Rounded as the paper rounds what it prints.
            difference = {"diff": round(row.value - row.paper, DECIMALS)}
        line = lines.setdefault(row.name, replace(row, details=difference))
        heading = "ours" if row.details["preset"] == "paper" else "corrected"
        details = {**line.details, heading: row.value}
        lines[row.name] = replace(line, interval=row.interval, details=details)
    number = ColumnKind.NUMBER
    interval = replace(INTERVAL, essential=False)
    columns = (
        PAPER,
        Column("ours", number),
        Column("diff", number),
        STATUS,
        Column("corrected", number),
        interval,
    )
    return comparison_table(list(lines.values()), columns)


def _identities(result: ProbeResult) -> list[dict[str, Any]]:
    """Return what must hold between rows whatever the model says."""
    value = {label: row.value for label, row in _by_label(result).items()}
    constant = value["US Labor (2) T->A"] - value["Uniform (2) T->A"]
    ratio = value["Uniform (3) A->T"] - value["Uniform (2) A->T"] * 2 / 3
    pairs = (
        ("labour T->A minus uniform (2) T->A", constant, -LABOUR_DISTANCE),
        ("uniform (3) A->T minus 2/3 of uniform (2) A->T", ratio, 0.0),
    )
    return [
        {"name": name, "value": ours, "expected": expected, "holds": abs(ours - expected) < 1e-6}
        for name, ours, expected in pairs
    ]


def _distorted(paper: ProbeResult, corrected: ProbeResult) -> list[dict[str, Any]]:
    """Return how far the first piece misjudges each split word in A->T, worst first.

    Only a word that is guessed can be misjudged: where it is given, it is written in full.
    """
    first, whole = (_by_label(result)["Uniform (2) A->T"] for result in (paper, corrected))
    if not np.allclose(first.predicted.sum(axis=2), 1) or set(np.unique(first.predicted)) <= {0, 1}:
        return []
    words = []
    for word, pieces in paper.split_words.items():
        if word in first.tasks:
            column = first.tasks.index(word)
            shortcut, true = (float(row.predicted[:, :, column].mean()) for row in (first, whole))
            numbers = {"first_piece": shortcut, "whole_word": true, "ratio": shortcut / true}
            words.append({"word": word, "pieces": pieces, **numbers})
    return sorted(words, key=lambda word: -abs(np.log(word["ratio"])))


def _figure_5(result: ProbeResult) -> Figure:
    """Return each occupation's P(he) against the labour force."""
    row = _by_label(result)["US Labor (2) T->A"]
    world, guess = row.base_rate[0], row.predicted[:, 0].mean(axis=0)
    points = Series("occupation", tuple(world), tuple(guess), labels=row.tasks, style="points")
    above = int((guess > world).sum())
    texts = figure_texts("fitbert", "figure-5", tasks=len(row.tasks), above=above)
    return SeriesPlot(series=(points,), diagonal=True, **texts)
