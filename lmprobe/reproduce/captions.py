"""Captions of six models: does Equalizer lower T->A and raise A->T, over all images?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.core.tally import Floats
from lmprobe.intervals.methods.bootstrap import of_replicates
from lmprobe.intervals.row_sums import RowSums
from lmprobe.io.progress import Progress, silent
from lmprobe.reproduce.caption_data import MODELS, CaptionData, caption_data
from lmprobe.reproduce.experiment import experiment
from lmprobe.reproduce.result import ReproducedRow, Reproduction, texts_as_notes
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import Column, ColumnKind, Table, Verdict, decide
from lmprobe.results.format import format_interval, format_signed
from lmprobe.results.interval import Interval

BASELINE = "baseline_ft"
REPLICATES = 2000
_CONFIDENCE = 0.95
# Resamples made at a time: 250 x 8,000 kinds of image.
_BLOCK = 250

Rule = Literal["published", "word"]


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to read the captions and to treat those that mention no gender, or both."""

    name: str
    rule: Rule
    keep_unclear: bool


_Key = tuple[_Way, str]
"""A way and a model."""

WAYS = (
    _Way("as published", "published", keep_unclear=False),
    _Way("all images kept", "published", keep_unclear=True),
    _Way("whole words", "word", keep_unclear=False),
)


@experiment("captions")
def captions(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Measure what the captions of six models amplify on COCO, against the baseline's."""
    rows: list[ReproducedRow] = []
    provenance: dict[str, Any] = {}
    images, unclear = 0, {}
    # Ways with the same rule are consecutive and share data and resamples.
    for rule, ways in itertools.groupby(WAYS, key=lambda way: way.rule):
        data, provenance = caption_data(rule)
        rows += _measured(data, tuple(ways), settings.seed)
        if rule == WAYS[0].rule:
            images = data.images
            unclear = {model: images - int(data.times[data.clear(model)].sum()) for model in MODELS}
        progress(len(rows), len(WAYS) * len(DIRECTIONS) * len(MODELS))
    return Reproduction(
        name="captions",
        title="Captions of COCO images: amplification of six models, and change from the baseline",
        paper="Wang & Russakovsky 2021 (ICML), Figure 3 (two captions; no totals are printed)",
        rows=tuple(rows),
        printed=tuple(_table(rows, way, direction) for way in WAYS for direction in DIRECTIONS),
        notes=texts_as_notes(
            _answer(rows),
            f"{images:,} images. Left out because the caption mentions no gender, or both: "
            + ", ".join(f"{MODELS[model]} {count:,}" for model, count in unclear.items())
            + ". `all images kept` counts them: no gender is predicted, or both are.",
            "Genders, objects and the lean come from the labels of the same images; the published "
            "run took them from human captions, which were not released with these.",
            f"Intervals: {REPLICATES:,} bootstrap resamples of images, the same for all models, so "
            "that changes are paired; the lean of each pair is held fixed.",
            f"Data: {provenance['source']}.",
        ),
        details={"images": images, "left_out": {MODELS[one]: n for one, n in unclear.items()}},
    )


def _measured(data: CaptionData, ways: tuple[_Way, ...], seed: int) -> list[ReproducedRow]:
    """Return every model in both directions, and its change from the baseline."""
    sums = {
        (way, model): data.row_sums(model, keep_unclear=way.keep_unclear)
        for way in ways
        for model in MODELS
    }
    drawn = _replicates(data.times, sums, np.random.default_rng(seed))
    return [
        _row(data, way, model, direction, sums, drawn)
        for way in ways
        for direction in DIRECTIONS
        for model in MODELS
    ]


def _row(
    data: CaptionData,
    way: _Way,
    model: str,
    direction: Direction,
    sums: Mapping[_Key, RowSums],
    drawn: Mapping[tuple[_Key, Direction], Floats],
) -> ReproducedRow:
    own, first = (way, model), (way, BASELINE)
    found = drawn[own, direction]
    interval = _interval(found, data.images)
    paired = _interval(found - drawn[first, direction], data.images)
    value = _value(sums[own], direction)
    verdict = decide(paired, above=Verdict.AMPLIFIES_MORE, below=Verdict.AMPLIFIES_LESS)
    return ReproducedRow(
        f"{way.name}: {MODELS[model]} {direction.short}",
        value,
        interval=interval,
        verdict=decide(interval),
        details={
            "model": MODELS[model],
            "direction": direction.value,
            "way": way.name,
            "change": value - _value(sums[first], direction),
            "change_interval": paired.to_dict(),
            "change_verdict": verdict.value,
            "published_value": _value(sums[own], direction, keep_unseen=True),
        },
    )


def _value(sums: RowSums, direction: Direction, *, keep_unseen: bool = False) -> float:
    total = sums.total
    return float(total.value(direction, total.lean(keep_unseen=keep_unseen))[0])


def _replicates(
    times: NDArray[np.int64], sums: Mapping[_Key, RowSums], rng: np.random.Generator
) -> dict[tuple[_Key, Direction], Floats]:
    """Return the value of every model on the same resamples of images."""
    found: dict[tuple[_Key, Direction], list[Floats]] = {}
    leans = {key: one.total.lean() for key, one in sums.items()}
    for _ in range(REPLICATES // _BLOCK):
        drawn = np.ascontiguousarray(
            rng.poisson(times, size=(_BLOCK, len(times))).T, dtype=np.float64
        )
        for key, one in sums.items():
            resampled = one.sums((one.features.T @ drawn).T)
            for direction in DIRECTIONS:
                values = resampled.value(direction, leans[key])
                found.setdefault((key, direction), []).append(values)
    return {key: np.concatenate(parts) for key, parts in found.items()}


def _interval(values: Floats, images: int) -> Interval:
    return of_replicates(values[~np.isnan(values)], units=images, confidence=_CONFIDENCE)


def _table(rows: list[ReproducedRow], way: _Way, direction: Direction) -> Table:
    columns = (
        Column("model"),
        Column("value", ColumnKind.SIGNED),
        Column("95% interval", ColumnKind.INTERVAL, "interval"),
        Column("change", ColumnKind.SIGNED),
        Column("interval of the change", ColumnKind.INTERVAL, "change_interval"),
        Column("verdict", ColumnKind.VERDICT),
    )
    lines = []
    for row in rows:
        if row.details["way"] != way.name or row.details["direction"] != direction.value:
            continue
        first = row.details["model"] == MODELS[BASELINE]
        change = (
            (None, None, None)
            if first
            else (
                row.details["change"],
                Interval.from_dict(row.details["change_interval"]),
                Verdict(row.details["change_verdict"]),
            )
        )
        lines.append((row.details["model"], row.value, row.interval, *change))
    slug = way.name.replace(" ", "_")
    title = f"{direction.value}, {way.name}"
    return Table(f"{slug}_{direction.slug}", columns, tuple(lines), title=title)


def _answer(rows: list[ReproducedRow]) -> str:
    """Say whether Figure 3's claim about Equalizer holds over all images."""
    words = []
    for direction, claimed in (
        (Direction.TASK_TO_ATTRIBUTE, Verdict.AMPLIFIES_LESS),
        (Direction.ATTRIBUTE_TO_TASK, Verdict.AMPLIFIES_MORE),
    ):
        (row,) = (
            one
            for one in rows
            if one.details["way"] == WAYS[0].name
            and one.details["model"] == MODELS["equalizer"]
            and one.details["direction"] == direction.value
        )
        verdict = Verdict(row.details["change_verdict"])
        ends = Interval.from_dict(row.details["change_interval"])
        holds = "holds" if verdict is claimed else "is not shown"
        if verdict.decisive and verdict is not claimed:
            holds = "is contradicted"
        change = f"{format_signed(row.details['change'])} ({format_interval(ends)})"
        what = "a fall" if claimed is Verdict.AMPLIFIES_LESS else "a rise"
        words.append(f"{direction.short} {change}, so the claim of {what} {holds}")
    return (
        f"Equalizer against the baseline: {'; '.join(words)}. Signs matter: a model whose value is "
        "below zero weakens the link, so a rise towards zero is closer to the labels."
    )
