"""The pictures: alternative text, marks where they belong, labels that do not overlap, files."""

from __future__ import annotations

import itertools
import json
import math
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from lmprobe.errors import InputError, MissingExtraError
from lmprobe.report.charts import Picture, svg
from lmprobe.report.svg import DARK, LIGHT, scale, text_width, tick_label
from lmprobe.results import (
    Figure,
    HeatBlock,
    HeatMap,
    Interval,
    IntervalLine,
    IntervalPlot,
    Series,
    SeriesPlot,
    ShareLine,
    SharePlot,
    Sides,
    Strip,
    StripPlot,
    Tone,
)
from lmprobe.results.codec import from_json, to_json
from tests.report.neutral import every_figure

NAMED = {"name": "f", "title": "T", "alternative": "words"}
SVG = "{http://www.w3.org/2000/svg}"


def figure(*series: Series, **options: object) -> SeriesPlot:
    words = NAMED | {"x_label": "x", "y_label": "y"} | options
    return SeriesPlot(series=series, **words)  # type: ignore[arg-type]


def parsed(picture: str) -> ET.Element:
    return ET.fromstring(picture)


def find_all(root: ET.Element, tag: str, kind: str) -> list[ET.Element]:
    return [item for item in root.iter(f"{SVG}{tag}") if kind in item.get("class", "").split()]


@pytest.mark.parametrize("content", every_figure("x"), ids=lambda single: type(single).__name__)
def test_a_figure_comes_back_from_json(content: Figure) -> None:
    text = json.dumps(to_json(content), allow_nan=False)
    assert repr(from_json(Figure, json.loads(text))) == repr(content)


def test_a_picture_has_its_alternative_text_and_names_it() -> None:
    root = parsed(svg(figure(Series("a", (0, 1), (0, 1)), alternative="it rises")))
    described = root.get("aria-labelledby", "").split()
    actual = {item.get("id"): item.text for item in root if item.get("id")}
    assert [actual[name] for name in described] == ["T", "it rises"]
    assert root.get("role") == "img"


def test_a_picture_that_stands_alone_needs_no_variables() -> None:
    style = svg(figure(Series("a", (0, 1), (0, 1))))
    assert "var(" not in style
    assert LIGHT["ink"] in style
    assert DARK["ink"] in style


@pytest.mark.parametrize(("axis", "xs"), [("linear", (0.0, 5.0, 10.0)), ("log", (1, 10, 100))])
def test_every_point_is_drawn_where_it_belongs(axis: str, xs: tuple[float, ...]) -> None:
    content = figure(Series("a", xs, (0.0, 1.0, 4.0), style="points"), x_scale=axis)
    dots = find_all(parsed(svg(content)), "circle", "dot")
    places = np.array([(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in dots])
    assert len(places) == 3
    assert places[1, 0] == pytest.approx((places[0, 0] + places[2, 0]) / 2, abs=0.02)
    rise = places[0, 1] - places[:, 1]
    assert rise / rise[2] == pytest.approx([0, 0.25, 1], abs=0.001)


def test_what_has_no_place_is_left_out_and_breaks_the_curve() -> None:
    nan = math.nan
    picture = svg(figure(Series("a", (0, 1, 2, 3, 4), (0, 1, nan, 3, 4))))
    (curve,) = find_all(parsed(picture), "path", "curve")
    assert curve.get("d", "").count("M") == 2
    assert "nan" not in picture.replace("nan:", "")
    below = svg(figure(Series("a", (1, 2, 3), (1, 0, -1)), y_scale="log"))
    assert len(find_all(parsed(below), "circle", "dot")) == 1


def test_nothing_to_draw_is_still_a_picture() -> None:
    for series in ((), (Series("a", (), ()),), (Series("a", (math.nan,), (1.0,)),)):
        assert parsed(svg(figure(*series))).tag == f"{SVG}svg"
        assert parsed(svg(figure(*series, x_scale="log", y_scale="log"))).tag == f"{SVG}svg"


@example([0.0, 1.06e-12], False)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.booleans())
def test_ticks_are_few_rising_and_within_the_scale(values: list[float], log: bool) -> None:
    if log:
        values = [abs(value) + 1e-6 for value in values]
    axis = scale(values, 0, 100, log=log)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 12
    assert all(first < other for first, other in itertools.pairwise(ticks))
    hair = 1e-9 * (1 + max(map(abs, values)))
    assert axis.low - hair <= min(values)
    assert axis.high + hair >= max(values)
    assert all(-1e-6 <= axis(tick) <= 100 + 1e-6 for tick in ticks)
    assert len({tick_label(tick) for tick in ticks}) == len(ticks)


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.text("abc", min_size=1, max_size=9)),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_labels_lie_inside_and_never_on_each_other(
    points: list[tuple[float, float, str]], diagonal: bool
) -> None:
    xs, ys, names = zip(*points, strict=True)
    root = parsed(svg(figure(Series("a", xs, ys, names, style="points"), diagonal=diagonal)))
    boxes = []
    for label in find_all(root, "text", "halo"):
        x, y = float(label.get("x", "")), float(label.get("y", ""))
        boxes.append((x, y - 9, x + text_width(label.text or "", 12), y + 1))
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= float(root.get("width", ""))
        assert 0 <= top < bottom <= float(root.get("height", ""))
    for first, second in itertools.combinations(boxes, 2):
        assert (
            first[2] <= second[0] + 0.02
            or second[2] <= first[0] + 0.02
            or first[3] <= second[1]
            or second[3] <= first[1]
        )


def lines_of(*intervals: tuple[float, float]) -> IntervalPlot:
    lines = tuple(
        IntervalLine(f"base {number}", 0.1, Interval(*ends, 0.95, "bootstrap"), tone)
        for number, (ends, tone) in enumerate(zip(intervals, Tone, strict=False))
    )
    return IntervalPlot(**NAMED, lines=lines, sides=Sides("weakens", "exaggerates"))


def words_of(root: ET.Element) -> list[str]:
    return ["".join(item.itertext()) for item in root.iter(f"{SVG}text")]


def test_the_interval_plot_shows_every_line_in_its_tone() -> None:
    root = parsed(svg(lines_of((0.05, 0.15), (0, 0.2), (-0.1, 0.3), (-0.2, 0.2))))
    kinds = [item.get("class", "").split()[0] for item in find_all(root, "circle", "dot")]
    assert kinds == ["plus", "minus", "even", "warning"]
    bars = find_all(root, "line", "bar")
    lengths = np.array([float(bar.get("x2", "")) - float(bar.get("x1", "")) for bar in bars])
    assert lengths / lengths[0] == pytest.approx([1, 2, 4, 4], rel=0.001)
    assert {"base 0", "weakens ←", "→ exaggerates"} <= set(words_of(root))


def test_long_names_that_differ_at_their_end_stay_different() -> None:
    names = [f"acme/{'a-long-name-' * 8}step-{step}" for step in (1000, 2000)]
    plot = lines_of((0.0, 0.1), (0.1, 0.2))
    lines = tuple(replace(row, label=name) for row, name in zip(plot.lines, names, strict=True))
    root = parsed(svg(replace(plot, lines=lines)))
    shown = [item.text or "" for item in root.iter(f"{SVG}text")]
    assert [words[-9:] for words in shown if "step" in words] == ["step-1000", "step-2000"]


def test_an_endless_interval_runs_to_the_edge() -> None:
    (bar,) = find_all(parsed(svg(lines_of((-math.inf, math.inf)))), "line", "bar")
    assert float(bar.get("x2", "")) - float(bar.get("x1", "")) > 250
    assert not find_all(parsed(svg(lines_of((math.nan, math.nan)))), "line", "bar")


def test_the_strip_plot_has_a_dot_per_value() -> None:
    values = (0.1, -0.2, 0.3, math.nan, 0.1)
    names = tuple(f"sentence {number}" for number in range(len(values)))
    root = parsed(svg(StripPlot(**NAMED, strips=(Strip("labor", values, names, 0.1),))))
    messages = [item.findtext(f"{SVG}title") or "" for item in find_all(root, "circle", "soft")]
    written = {0: "+0.1000", 1: "−0.2000", 2: "+0.3000", 4: "+0.1000"}
    assert sorted(messages) == [f"sentence {number}: {value}" for number, value in written.items()]


def test_the_heat_map_has_a_cell_per_value_and_frames_the_undefined() -> None:
    block = HeatBlock("labor", ("he", "she"), ((0.5, -0.25), (math.nan, 0.1), (None, None)))
    root = parsed(svg(HeatMap(**NAMED, rows=("a", "b", "c"), blocks=(block,))))
    messages = {
        item.text for item in root.iter(f"{SVG}title") if (item.text or "").startswith("labor")
    }
    numbers = {"he, a +0.5000", "she, a −0.2500", "she, b +0.1000"}
    assert messages == {f"labor: {words}" for words in {*numbers, "he, b undefined"}}
    # One cell, and the one that explains it.
    assert len(find_all(root, "rect", "empty")) == 2


def test_shares_are_written_on_the_far_sides_of_their_marks() -> None:
    lines = (
        ShareLine("baker", 0.65, 0.8, Tone.PLUS),
        ShareLine("nurse", 0.9, 0.899, Tone.MINUS),
        ShareLine("cook", math.nan, 0.5),
    )
    root = parsed(svg(SharePlot(**NAMED, lines=lines, before="labor", after="the model")))
    assert {"labor", "the model", "baker", "nurse", "cook"} <= set(words_of(root))
    labels = find_all(root, "text", "small")
    assert [label.text for label in labels] == ["65%", "80%", "90%", "90%"]
    assert [label.get("text-anchor", "start") for label in labels] == [
        "end", "start", "start", "end",
    ]  # fmt: skip
    rings, dots = find_all(root, "circle", "ring"), find_all(root, "circle", "dot")
    # The first of each is in the key.
    across = [float(mark.get("cx", "")) for mark in (*rings[1:], *dots[1:])]
    assert len(across) == 4
    assert across[0] < across[2] < across[3] < across[1]
    assert [dot.get("class", "").split()[0] for dot in dots[1:]] == ["plus", "minus"]


def test_curves_are_told_apart_without_colour() -> None:
    curves = [Series(f"m{k}", (0, 1), (0, k)) for k in range(6)]
    drawn = find_all(parsed(svg(figure(*curves))), "path", "curve")
    assert len({item.get("class", "").split()[2] for item in drawn}) == 6


@pytest.mark.parametrize(
    ("form", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF-")]
)
def test_a_picture_is_saved_in_the_format_of_its_name(
    form: str, start: bytes, tmp_path: Path
) -> None:
    if form != "svg":
        pytest.importorskip("vl_convert", reason="the extra `figures` is not installed")
    picture = Picture(figure(Series("a", (0, 1), (0, 1))))
    assert picture.save(tmp_path / f"x.{form}").read_bytes().startswith(start)


def test_a_picture_without_the_extra_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    picture = Picture(figure(Series("a", (0, 1), (0, 1))))
    with pytest.raises(MissingExtraError, match="pip install vl-convert-python"):
        picture.save(tmp_path / "x.png")
    with pytest.raises(InputError, match=r"saved as \.svg, \.png or \.pdf"):
        picture.save(tmp_path / "x.gif")
    assert list(tmp_path.iterdir()) == []
    assert picture.save(tmp_path / "x.svg").exists()
