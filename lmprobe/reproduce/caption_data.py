"""The shipped label patterns of COCO images and what the captions of six models mention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.direction import Direction
from lmprobe.intervals.row_sums import RowSums, features
from lmprobe.reproduce.shipped import shipped_table

MODELS = {
    "baseline_ft": "baseline",
    "equalizer": "Equalizer",
    "confident": "confident",
    "upweight": "upweight",
    "balanced": "balanced",
    "confusion": "confusion",
}
"""The models by their column; names as in Hendricks et al. 2018."""

GENDERS = ("man", "woman")
Indicators = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CaptionData:
    """Distinct images: `times` (P,), genders (P, 2), objects (P, T), and mentions by model."""

    times: NDArray[np.int64]
    gender: Indicators
    objects: Indicators
    said_gender: dict[str, Indicators]
    """(P, 2): both may be mentioned, or neither."""
    said_objects: dict[str, Indicators]
    names: tuple[str, ...]

    @property
    def images(self) -> int:
        """How many images there are."""
        return int(self.times.sum())

    def clear(self, model: str) -> NDArray[np.bool_]:
        """Return which images have a caption that mentions one gender, (P,)."""
        found: NDArray[np.bool_] = self.said_gender[model].sum(axis=1) == 1
        return found

    def row_sums(self, model: str, *, keep_unclear: bool) -> RowSums:
        """Return the sums of the metric by distinct image; images left out add nothing."""
        from scipy import sparse

        weight = np.ones(len(self.times)) if keep_unclear else self.clear(model).astype(float)

        def amount(table: Indicators) -> Any:
            return sparse.csr_array(table * weight[:, None])

        predicted = [
            (Direction.TASK_TO_ATTRIBUTE, sparse.csr_array(self.said_gender[model])),
            (Direction.ATTRIBUTE_TO_TASK, amount(self.said_objects[model])),
        ]
        lines = features(sparse.csr_array(self.gender), amount(self.objects), weight, predicted)
        directions = tuple(direction for direction, _ in predicted)
        return RowSums(lines, self.times, GENDERS, self.names, directions)


def caption_data(rule: Literal["published", "word"]) -> tuple[CaptionData, dict[str, Any]]:
    """Return the patterns by one rule of mentioning, and their provenance."""
    table, provenance = shipped_table(f"coco_captions_{rule}")
    names = tuple(provenance["objects"])
    cells = {model: table[model].astype(str).str.split() for model in MODELS}
    letters = {"m": (1.0, 0.0), "w": (0.0, 1.0), "b": (1.0, 1.0), "n": (0.0, 0.0)}
    data = CaptionData(
        times=table["images"].to_numpy(dtype=np.int64),
        gender=np.array(
            [[name == one for one in GENDERS] for name in table["gender"]], dtype=float
        ),
        objects=_indicators(table["objects"].fillna("").astype(str).str.split(), len(names)),
        said_gender={
            model: np.array([letters[cell[0]] for cell in column])
            for model, column in cells.items()
        },
        said_objects={
            model: _indicators([cell[1:] for cell in column], len(names))
            for model, column in cells.items()
        },
        names=names,
    )
    return data, provenance


def _indicators(rows: Any, width: int) -> Indicators:
    found = np.zeros((len(rows), width))
    lines = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    # A single number may have been read as a float.
    places = np.array([place for row in rows for place in row], dtype=np.float64)
    found[lines, places.astype(np.int64)] = 1.0
    return found
