"""The amplification of a task at every threshold of its score, as a result keeps it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.metrics.thresholds import Curve, Threshold
from lmprobe.results.estimate import nullable

if TYPE_CHECKING:
    import pandas as pd

# Points of a curve in JSON and in a figure; a CSV has them all.
_POINTS = 201


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCurve:
    """The curve of one task, its summaries and the calibrated threshold."""

    task: str
    integral: float
    lowest: float
    highest: float
    at_threshold: float
    """The value at the calibrated threshold."""
    points: int
    """How many thresholds there are in all."""
    cuts: Floats
    """(K,), falling; the first lies above every score and is infinite."""
    share: Floats
    value: Floats

    @classmethod
    def of(cls, curve: Curve, cut: Threshold) -> ThresholdCurve:
        """Return what a result keeps of a curve."""
        value = curve.value
        return cls(
            curve.label,
            curve.integral,
            float(np.min(value)),
            float(np.max(value)),
            curve.at(cut.value),
            len(value),
            curve.thresholds,
            curve.share,
            value,
        )

    @property
    def sampled(self) -> Any:
        """The numbers of some hundred points, evenly spread over the share of positives."""
        places = np.searchsorted(self.share, np.linspace(0, 1, _POINTS))
        return np.unique(places.clip(0, len(self.share) - 1))

    def to_frame(self) -> pd.DataFrame:
        """Return one line per threshold."""
        import pandas as pd

        columns = {"threshold": self.cuts, "share": self.share, "amplification": self.value}
        return pd.DataFrame({"task": self.task, **columns})

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with some of the points."""
        some = self.sampled
        return {
            "task": self.task,
            "integral": nullable(self.integral),
            "lowest": nullable(self.lowest),
            "highest": nullable(self.highest),
            "at_threshold": nullable(self.at_threshold),
            "points": self.points,
            "cuts": [nullable(one) for one in self.cuts[some].tolist()],
            "share": self.share[some].tolist(),
            "value": [nullable(one) for one in self.value[some].tolist()],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ThresholdCurve:
        """Read the JSON form."""

        def number(value: Any, empty: float = math.nan) -> float:
            return empty if value is None else float(value)

        return cls(
            str(document["task"]),
            number(document["integral"]),
            number(document["lowest"]),
            number(document["highest"]),
            number(document["at_threshold"]),
            int(document["points"]),
            np.array([number(one, math.inf) for one in document["cuts"]]),
            np.array(document["share"], dtype=np.float64),
            np.array([number(one) for one in document["value"]]),
        )
