"""Captions of six models: does Equalizer lower T->A and raise A->T, over all images?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.reproduce.experiment import (
    ReproducedRow,
    Reproduction,
    experiment,
    published,
    reproduction,
    shipped_table,
)
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import ColumnKind, ColumnOf, Interval, Table, Verdict, decide, table_of
from lmprobe.results.codec import from_json, to_json
from lmprobe.results.format import format_interval, format_signed
from lmprobe.stats.resampling import percentile_interval
from lmprobe.stats.row_sums import RowSums, features

MODELS: dict[str, str] = published("captions")["models"]
"""The name of each model by its column."""
GENDERS = ("man", "woman")
# Both genders may be mentioned, or neither.
_MENTIONED = {"m": (1.0, 0.0), "w": (0.0, 1.0), "b": (1.0, 1.0), "n": (0.0, 0.0)}
BASELINE = "baseline_ft"
# Resamples made at a time: 250 x 8,000 kinds of image.
BLOCK = 250
WAYS = {
    "published": {"as published": False, "all images kept": True},
    "word": {"whole words": False},
}
"""By the rule of mentioning: ways to treat captions with no gender, or both; True keeps them."""


@dataclass(frozen=True, slots=True, eq=False)
class CaptionData:
    """Distinct images: `times` (P,), genders (P, 2), objects (P, T), and mentions by model."""

    times: NDArray[np.int64]
    gender: Floats
    objects: Floats
    said_gender: dict[str, Floats]
    said_objects: dict[str, Floats]
    names: tuple[str, ...]

    @property
    def images(self) -> int:
        """How many images there are."""
        return int(self.times.sum())

    def clear(self, model: str) -> NDArray[np.bool_]:
        """Return which images have a caption that mentions one gender, (P,)."""
        return np.asarray(self.said_gender[model].sum(axis=1) == 1)

    def row_sums(self, model: str, *, keep_unclear: bool) -> RowSums:
        """Return the sums of the metric by distinct image; images left out add nothing."""
        weight = np.ones(len(self.times)) if keep_unclear else self.clear(model).astype(float)
        genders = [sparse.csr_array(table) for table in (self.gender, self.said_gender[model])]
        objects = [
            sparse.csr_array(table * weight[:, None])
            for table in (self.objects, self.said_objects[model])
        ]
        directions = (Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK)
        predicted = tuple(zip(directions, (genders[1], objects[1]), strict=True))
        lines = features(genders[0], objects[0], weight, predicted)
        return RowSums(lines, self.times, GENDERS, self.names, directions)


def caption_data(rule: str) -> tuple[CaptionData, dict[str, Any]]:
    """Return the patterns by the rule of mentioning `published` or `word`, and their provenance."""
    table, provenance = shipped_table(f"coco_captions_{rule}")
    names = tuple(provenance["objects"])
    cells = {model: [str(cell).split() for cell in table[model]] for model in MODELS}
    labels = table["objects"].fillna("").astype(str).str.split()
    data = CaptionData(
        times=table["images"].to_numpy(dtype=np.int64),
        gender=np.array([np.equal(name, GENDERS) for name in table["gender"]], dtype=float),
        objects=_indicators(labels, len(names)),
        said_gender={
            model: np.array([_MENTIONED[gender] for gender, *_ in column])
            for model, column in cells.items()
        },
        said_objects={
            model: _indicators([objects for _, *objects in column], len(names))
            for model, column in cells.items()
        },
        names=names,
    )
    return data, provenance


def _indicators(rows: Iterable[list[str]], width: int) -> Floats:
    # A single number may have been read as a float.
    tables = [np.bincount([int(float(place)) for place in row], minlength=width) for row in rows]
    return np.minimum(tables, 1.0)


@experiment("captions")
def captions(
    settings: ExperimentSettings, progress: Progress = silent, *, replicates: int = 2000
) -> Reproduction:
    """Measure what the captions of six models amplify on COCO, against the baseline's."""
    rows: list[ReproducedRow] = []
    for rule, ways in WAYS.items():
        data, provenance = caption_data(rule)
        rows += _rows(data, ways, replicates, np.random.default_rng(settings.seed))
        progress(len(rows), 3 * len(DIRECTIONS) * len(MODELS))
    data, _ = caption_data("published")
    unclear = {MODELS[model]: int(data.times[~data.clear(model)].sum()) for model in MODELS}
    return reproduction(
        "captions",
        rows,
        *(_table(rows, way, to) for ways in WAYS.values() for way in ways for to in DIRECTIONS),
        details={"images": data.images, "left_out": unclear},
        answer=_answer(rows),
        images=data.images,
        left_out=", ".join(f"{model} {count:,}" for model, count in unclear.items()),
        replicates=replicates,
        source=provenance["source"],
    )


def _rows(
    data: CaptionData, ways: dict[str, bool], replicates: int, rng: np.random.Generator
) -> list[ReproducedRow]:
    """Return every model in both directions, and its change from the baseline."""
    sums = {
        (way, model): data.row_sums(model, keep_unclear=keep)
        for way, keep in ways.items()
        for model in MODELS
    }
    drawn: dict[tuple[str, str, Direction], list[Floats]] = {}
    for _ in range(replicates // BLOCK):
        # The same resamples of images for every model.
        times = rng.poisson(data.times, size=(BLOCK, len(data.times)))
        for key, images in sums.items():
            resampled, lean = images.samples(times), images.total.lean()
            for direction in DIRECTIONS:
                drawn.setdefault((*key, direction), []).append(resampled.value(direction, lean))
    values = {key: np.concatenate(parts) for key, parts in drawn.items()}

    def row(way: str, model: str, direction: Direction) -> ReproducedRow:
        own, baseline = values[way, model, direction], values[way, BASELINE, direction]
        value = _value(sums[way, model], direction)
        interval, change = (_interval(part, data.images) for part in (own, own - baseline))
        verdict = decide(change, above=Verdict.HIGHER, below=Verdict.LOWER)
        details: dict[str, Any] = {
            "model": MODELS[model],
            "direction": direction.value,
            "way": way,
            "change": value - _value(sums[way, BASELINE], direction),
            "change_interval": to_json(change),
            "change_verdict": verdict.value,
            "published_value": _value(sums[way, model], direction, keep_unseen=True),
        }
        name = f"{way}: {MODELS[model]} {direction.short}"
        return ReproducedRow(name, value, None, interval, decide(interval), details)

    return [
        row(way, model, direction) for way in ways for direction in DIRECTIONS for model in MODELS
    ]


def _value(sums: RowSums, direction: Direction, *, keep_unseen: bool = False) -> float:
    total = sums.total
    return float(total.value(direction, total.lean(keep_unseen=keep_unseen))[0])


def _interval(values: Floats, images: int) -> Interval:
    return percentile_interval(values[~np.isnan(values)], units=images, confidence=0.95)


def _change(row: ReproducedRow) -> tuple[float, Interval, Verdict]:
    interval = from_json(Interval, row.details["change_interval"])
    return row.details["change"], interval, Verdict(row.details["change_verdict"])


def _table(rows: list[ReproducedRow], way: str, direction: Direction) -> Table:
    own = [
        row for row in rows if (row.details["way"], row.details["direction"]) == (way, direction)
    ]

    def change(part: int) -> Callable[[ReproducedRow], Any]:
        baseline = MODELS[BASELINE]
        return lambda row: None if row.details["model"] == baseline else _change(row)[part]

    columns = (
        ColumnOf("model", lambda row: row.details["model"]),
        ColumnOf("value", "value", ColumnKind.SIGNED),
        ColumnOf("95% interval", "interval", ColumnKind.INTERVAL, "interval", essential=False),
        ColumnOf("change", change(0), ColumnKind.SIGNED),
        ColumnOf("interval of the change", change(1), ColumnKind.INTERVAL, "change_interval"),
        ColumnOf("verdict", change(2), ColumnKind.VERDICT),
    )
    name = f"{way.replace(' ', '_')}_{direction.slug}"
    title = f"{direction.value}, {way}"
    return table_of(name, own, columns, title=title, detail=way != "as published")


def _answer(rows: list[ReproducedRow]) -> str:
    """Say whether what Figure 3 suggests about Equalizer is shown over all images."""
    by_name = {row.name: row for row in rows}
    words = []
    claims = (("T->A", "a fall", Verdict.LOWER), ("A->T", "a rise", Verdict.HIGHER))
    for direction, what, claimed in claims:
        change, ends, verdict = _change(by_name[f"as published: Equalizer {direction}"])
        otherwise = "is contradicted" if verdict.decisive else "is not shown"
        shown = "is shown" if verdict is claimed else otherwise
        size = f"{format_signed(change)} ({format_interval(ends)})"
        words.append(f"{direction} changes by {size}, so {what} {shown}")
    return "; ".join(words)
