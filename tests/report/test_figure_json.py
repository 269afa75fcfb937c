"""Figures of every kind come back from JSON as they were."""

from __future__ import annotations

import json
import math

import pytest

from lmprobe.results import (
    Bracket,
    DotPlot,
    Dots,
    Figure,
    HeatBlock,
    HeatMap,
    Interval,
    IntervalLine,
    IntervalPlot,
    Series,
    SeriesPlot,
    Sides,
    Strip,
    StripPlot,
    Tone,
)
from lmprobe.results.content import figure_from_dict, figure_to_dict

NAMED = {"name": "f", "title": "T", "alternative": "words"}
FIGURES: tuple[Figure, ...] = (
    SeriesPlot(
        **NAMED,
        x_label="x",
        y_label="y",
        series=(Series("a", (0.0, 1.0), (math.nan, 2.0), labels=("p", "q"), style="band"),),
        x_scale="log",
        diagonal=True,
    ),
    IntervalPlot(
        **NAMED,
        lines=(
            IntervalLine("a", 0.5, Interval(0.1, math.inf, 0.95, "x"), Tone.PLUS),
            IntervalLine("b", math.nan, Interval.undefined(0.95, "x"), Tone.WARNING),
        ),
        sides=Sides("less", "more", 0.5),
        brackets=(Bracket((0, 1), "both"),),
    ),
    StripPlot(**NAMED, strips=(Strip("a", (0.1, math.nan), ("p", "q"), 0.1),)),
    HeatMap(**NAMED, rows=("r",), blocks=(HeatBlock("b", ("c", "d"), ((math.nan, None),)),)),
    DotPlot(**NAMED, categories=("c",), dots=(Dots("d", (0.5,)),), x_label="x"),
)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: type(figure).__name__)
def test_a_figure_comes_back_from_json(figure: Figure) -> None:
    text = json.dumps(figure_to_dict(figure), allow_nan=False)
    assert repr(figure_from_dict(json.loads(text))) == repr(figure)
