"""The pictures: well-formed, with alternative text, readable ticks, labels that do not overlap."""

from __future__ import annotations

import itertools
import json
import math
import struct
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmprobe.errors import InputError, MissingExtraError
from lmprobe.plot.draw import Picture, svg
from lmprobe.plot.scale import scale, tick_label
from lmprobe.plot.svg import shortened, text_width
from lmprobe.plot.theme import DARK, LIGHT
from lmprobe.results import (
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
from tests.report.neutral import every_figure

NAMED = {"name": "f", "title": "T", "alternative": "words"}
SVG = "{http://www.w3.org/2000/svg}"


def figure(*series: Series, **options: object) -> SeriesPlot:
    words = NAMED | {"x_label": "x", "y_label": "y"} | options
    return SeriesPlot(series=series, **words)  # type: ignore[arg-type]


def parsed(picture: str) -> ET.Element:
    return ET.fromstring(picture)


def find_all(root: ET.Element, tag: str, kind: str) -> list[ET.Element]:
    return [one for one in root.iter(f"{SVG}{tag}") if kind in one.get("class", "").split()]


@pytest.mark.parametrize("content", every_figure("x"), ids=lambda one: type(one).__name__)
def test_a_figure_comes_back_from_json(content: Figure) -> None:
    text = json.dumps(figure_to_dict(content), allow_nan=False)
    assert repr(figure_from_dict(json.loads(text))) == repr(content)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DotPlot(**NAMED, categories=("a", "b"), dots=(Dots("", (1.0,)),), x_label=""),
        lambda: HeatMap(**NAMED, rows=("a",), blocks=(HeatBlock("", ("b",), ((1.0, 2.0),)),)),
        lambda: Strip("", (1.0,), (), 1.0),
        lambda: Series("", (1.0,), (1.0,), low=(0.0, 0.0)),
    ],
)
def test_figures_have_all_their_values(make: Callable[[], object]) -> None:
    with pytest.raises(AssertionError):
        make()


def test_a_picture_has_its_alternative_text_and_names_it() -> None:
    root = parsed(svg(figure(Series("a", (0, 1), (0, 1)), alternative="it rises")))
    described = root.get("aria-labelledby", "").split()
    found = {one.get("id"): one.text for one in root if one.get("id")}
    assert [found[name] for name in described] == ["T", "it rises"]
    assert root.get("role") == "img"


def test_a_part_of_a_page_brings_no_style_and_no_size() -> None:
    inside = svg(figure(Series("a", (0, 1), (0, 1))), standalone=False)
    assert "<style>" not in inside
    assert not {"width", "height", "xmlns"} & set(ET.fromstring(inside).attrib)


def test_a_picture_that_stands_alone_needs_no_variables() -> None:
    style = svg(figure(Series("a", (0, 1), (0, 1))))
    assert "var(" not in style
    assert LIGHT["ink"] in style
    assert DARK["ink"] in style


def test_every_point_is_drawn_where_it_belongs() -> None:
    xs, ys = (0.0, 5.0, 10.0), (0.0, 1.0, 4.0)
    dots = find_all(parsed(svg(figure(Series("a", xs, ys, style="points")))), "circle", "dot")
    places = np.array([(float(one.get("cx", "")), float(one.get("cy", ""))) for one in dots])
    assert len(places) == 3
    assert places[1, 0] == pytest.approx((places[0, 0] + places[2, 0]) / 2, abs=0.02)
    rise = places[0, 1] - places[:, 1]
    assert rise / rise[2] == pytest.approx([0, 0.25, 1], abs=0.001)


def test_a_log_axis_spaces_by_factors() -> None:
    series = Series("a", (1, 10, 100), (1, 1, 2), style="points")
    dots = find_all(parsed(svg(figure(series, x_scale="log"))), "circle", "dot")
    places = [float(one.get("cx", "")) for one in dots]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.02)


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


def test_error_bars_reach_from_low_to_high() -> None:
    series = Series("a", (0, 1), (1, 2), low=(0, 1), high=(2, 3), style="points")
    root = parsed(svg(figure(series)))
    upright = [one for one in find_all(root, "line", "s1") if one.get("x1") == one.get("x2")]
    lengths = [float(one.get("y1", "")) - float(one.get("y2", "")) for one in upright]
    assert len(lengths) == 2
    assert lengths[0] == pytest.approx(lengths[1], abs=0.02)
    assert lengths[0] > 50


@example([0.0, 1.06e-12], False)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    st.booleans(),
)
def test_ticks_are_few_rising_and_within_the_scale(values: list[float], log: bool) -> None:
    if log:
        values = [abs(value) + 1e-6 for value in values]
    axis = scale(values, 0, 100, log=log)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 12
    assert all(one < other for one, other in itertools.pairwise(ticks))
    hair = 1e-9 * (1 + max(map(abs, values)))
    assert axis.low - hair <= min(values)
    assert axis.high + hair >= max(values)
    assert all(-1e-6 <= axis(tick) <= 100 + 1e-6 for tick in ticks)
    assert len({tick_label(tick) for tick in ticks}) == len(ticks)


@pytest.mark.parametrize(
    ("value", "label"),
    [(0.0, "0"), (0.1 + 0.2, "0.3"), (-0.05, "−0.05"), (1e6, "1,000,000"), (2e-5, "2e−5")],
)
def test_a_tick_is_written_short(value: float, label: str) -> None:
    assert tick_label(value) == label


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
    labels = find_all(root, "text", "halo")
    if len(points) == 1:
        assert len(labels) == 1
    boxes = []
    for label in labels:
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


def test_long_words_are_cut_to_their_room() -> None:
    assert shortened("short", 100) == "short"
    for words in ("a very long name of a base", "x" * 1_000_000):
        cut = shortened(words, 60)
        assert cut.endswith("…")
        assert text_width(cut) <= 60


def test_a_picture_of_its_own_shows_its_whole_title() -> None:
    title = "Four models that exaggerate, by the older metric and by the directional one"
    root = parsed(svg(figure(Series("a", (1, 2), (1, 2)), title=title)))
    lines = [one.text or "" for one in find_all(root, "text", "heading")]
    assert " ".join(lines) == title


def lines_of(*intervals: tuple[float, float]) -> IntervalPlot:
    return IntervalPlot(
        **NAMED,
        lines=tuple(
            IntervalLine(f"base {number}", 0.1, Interval(low, high, 0.95, "bootstrap"), tone)
            for number, ((low, high), tone) in enumerate(
                zip(intervals, itertools.cycle(Tone), strict=False)
            )
        ),
        sides=Sides("weakens", "exaggerates"),
    )


def words_of(root: ET.Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def test_the_interval_plot_shows_every_line_in_its_tone() -> None:
    root = parsed(svg(lines_of((0.05, 0.15), (0, 0.2), (-0.1, 0.3), (-0.2, 0.2))))
    kinds = [one.get("class", "").split()[0] for one in find_all(root, "circle", "dot")]
    assert kinds == ["plus", "minus", "even", "warning"]
    bars = find_all(root, "line", "bar")
    lengths = np.array([float(one.get("x2", "")) - float(one.get("x1", "")) for one in bars])
    assert lengths / lengths[0] == pytest.approx([1, 2, 4, 4], rel=0.001)
    assert {"base 0", "weakens ←", "→ exaggerates"} <= set(words_of(root))


def test_an_endless_interval_runs_to_the_edge() -> None:
    (bar,) = find_all(parsed(svg(lines_of((-math.inf, math.inf)))), "line", "bar")
    assert float(bar.get("x2", "")) - float(bar.get("x1", "")) > 250
    assert not find_all(parsed(svg(lines_of((math.nan, math.nan)))), "line", "bar")


def strips(values: tuple[float, ...]) -> StripPlot:
    names = tuple(f"sentence {number}" for number in range(len(values)))
    return StripPlot(**NAMED, strips=(Strip("labor", values, names, 0.1),))


def test_the_strip_plot_has_a_dot_per_value() -> None:
    values = (0.1, -0.2, 0.3, math.nan, 0.1)
    root = parsed(svg(strips(values)))
    told = [one.findtext(f"{SVG}title") or "" for one in find_all(root, "circle", "soft")]
    assert sorted(told) == [
        "sentence 0: +0.1000",
        "sentence 1: −0.2000",
        "sentence 2: +0.3000",
        "sentence 4: +0.1000",
    ]


def test_a_strip_of_many_values_stays_low_and_has_a_dot_for_neighbours() -> None:
    root = ET.fromstring(svg(strips((0.1,) * 300), standalone=False))
    assert float(root.get("viewBox", "").split()[3]) < 130
    root = parsed(svg(strips(tuple(number / 1000 for number in range(1000)))))
    dots = find_all(root, "circle", "soft")
    assert len(dots) == 500
    assert dots[0].findtext(f"{SVG}title") == "2 values, 0.0000 to +0.0010"


def heat(titles: tuple[str, ...], columns: tuple[str, ...], rows: int = 3) -> HeatMap:
    block = tuple(
        tuple((row - column) / 10 for column in range(len(columns))) for row in range(rows)
    )
    return HeatMap(
        **NAMED,
        rows=tuple(f"task {number}" for number in range(rows)),
        blocks=tuple(HeatBlock(title, columns, block) for title in titles),
    )


def test_the_heat_map_has_a_cell_per_value_and_frames_the_undefined() -> None:
    block = HeatBlock("labor", ("he", "she"), ((0.5, -0.25), (math.nan, 0.1), (None, None)))
    root = parsed(svg(HeatMap(**NAMED, rows=("a", "b", "c"), blocks=(block,))))
    key = 11
    assert len(find_all(root, "rect", "cell")) == 3 + key
    # One cell, and the one that explains it.
    assert len(find_all(root, "rect", "empty")) == 2
    strongest = max(float(one.get("fill-opacity", "")) for one in find_all(root, "rect", "cell"))
    assert strongest == pytest.approx(1.0)


@pytest.mark.parametrize("columns", [("he",), ("he", "she", "they", "xe")])
@pytest.mark.parametrize("number", [1, 12])
def test_no_name_of_a_heat_map_is_cut(columns: tuple[str, ...], number: int) -> None:
    titles = ("dis", "uniform", "labor-2016", "corpus")[:number] + ("x",) * (number - 4)
    for standalone in (True, False):
        root = ET.fromstring(svg(heat(titles, columns), standalone=standalone))
        words = ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("text")]
        assert {*titles, *columns} <= set(words)


def test_a_picture_too_wide_for_its_page_keeps_its_size() -> None:
    wide = ET.fromstring(svg(heat(("a", "b", "c", "d"), tuple("abcdefgh")), standalone=False))
    assert wide.get("class") == "figure wide"
    assert float(wide.get("width", "")) > 600
    narrow = ET.fromstring(svg(heat(("a",), ("b",)), standalone=False))
    assert narrow.get("width") is None


def test_a_dot_plot_has_a_mark_per_series_and_category() -> None:
    dots = (Dots("he", (0.7, 0.2, math.nan)), Dots("she", (0.2, 0.3, 0.4)))
    content = DotPlot(
        **NAMED,
        categories=("nurse", "cook", "baker"),
        dots=dots,
        x_label="share",
        reference=0.5,
        reference_label="uniform",
    )
    root = parsed(svg(content))
    key = 1
    assert len(find_all(root, "circle", "dot")) == 2 + key
    assert len(find_all(root, "path", "dot")) == 3 + key
    (guide,) = find_all(root, "line", "guide")
    assert guide.get("x1") == guide.get("x2")
    first = [one for one in find_all(root, "circle", "dot") if one.find(f"{SVG}title") is not None]
    assert (
        float(first[0].get("cx", "")) > float(guide.get("x1", "")) > float(first[1].get("cx", ""))
    )
    assert {"nurse", "cook", "baker", "uniform", "he", "she"} <= set(words_of(root))


def test_curves_are_told_apart_without_colour() -> None:
    xs = tuple(number / 50 for number in range(51))
    curves = tuple(Series(f"m{k}", xs, tuple(x * k for x in xs)) for k in range(6))
    root = parsed(svg(figure(*curves)))
    dashes = {one.get("class", "").split()[2] for one in find_all(root, "path", "curve")}
    assert len(dashes) == 6
    for number in range(1, 7):
        # A few marks along each curve, and one in the legend.
        marks = [one for one in root.iter() if f"dot f{number}" in one.get("class", "")]
        assert len(marks) == 6 + 1
    compared = tuple(replace(curve, style="dashed") for curve in curves[:3])
    drawn = find_all(parsed(svg(figure(*compared))), "path", "curve")
    assert len({tuple(one.get("class", "").split()[2:]) for one in drawn}) == 3


def test_a_band_reaches_from_low_to_high() -> None:
    series = Series("a", (0, 1), (1, 2), low=(0, 1), high=(2, 3), style="band")
    root = parsed(svg(figure(series)))
    (band,) = find_all(root, "path", "band")
    assert band.get("d", "").count("L") == 3
    assert not find_all(root, "line", "s1")


@pytest.mark.parametrize(
    ("form", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF-")]
)
def test_a_picture_is_saved_in_the_format_of_its_name(
    form: str, start: bytes, tmp_path: Path
) -> None:
    content = figure(Series("a", (0, 1), (0, 1)))
    written = Picture(content).save(tmp_path / f"x.{form}").read_bytes()
    assert written.startswith(start)
    if form == "png":
        width, height = struct.unpack(">II", written[16:24])
        root = parsed(svg(content))
        assert width == round(3 * float(root.get("width", "")))
        assert height == pytest.approx(3 * float(root.get("height", "")), abs=2)


def test_a_picture_without_the_extra_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    picture = Picture(figure(Series("a", (0, 1), (0, 1))))
    with pytest.raises(MissingExtraError, match=r'pip install "lmprobe-bias\[figures\]"'):
        picture.save(tmp_path / "x.png")
    with pytest.raises(InputError, match=r"saved as \.svg, \.png or \.pdf"):
        picture.save(tmp_path / "x.gif")
    assert list(tmp_path.iterdir()) == []
    assert picture.save(tmp_path / "x.svg").exists()
