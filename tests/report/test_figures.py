"""The pictures: well-formed, with alternative text, readable ticks, labels that do not overlap."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmprobe.figure import Figure, Series
from lmprobe.report.figures import svg
from lmprobe.report.heat_map import LONGEST, heat_map
from lmprobe.report.interval_plot import interval_plot
from lmprobe.report.placing import Box, place
from lmprobe.report.scale import Scale, scale, tick_label
from lmprobe.report.scatter import scatter
from lmprobe.report.strip_plot import strip_plot
from lmprobe.report.svg import shortened, text_width
from lmprobe.report.theme import DARK, LIGHT
from lmprobe.report.words import by_direction
from lmprobe.result import ProbeResult

SVG = "{http://www.w3.org/2000/svg}"


def figure(*series: Series, **options: object) -> Figure:
    given = {"name": "f", "title": "T", "x_label": "x", "y_label": "y", "alternative": "words"}
    return Figure(series=series, **(given | options))  # type: ignore[arg-type]


def parsed(picture: str) -> ET.Element:
    return ET.fromstring(picture)


def find_all(root: ET.Element, tag: str, kind: str) -> list[ET.Element]:
    return [one for one in root.iter(f"{SVG}{tag}") if kind in one.get("class", "").split()]


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
    dots = find_all(
        parsed(svg(figure(Series("a", (1, 10, 100), (1, 1, 2), style="points"), x_scale="log"))),
        "circle",
        "dot",
    )
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


def test_error_bars_reach_from_low_to_high() -> None:
    series = Series("a", (0, 1), (1, 2), low=(0, 1), high=(2, 3), style="points")
    root = parsed(svg(figure(series)))
    upright = [one for one in find_all(root, "line", "s1") if one.get("x1") == one.get("x2")]
    lengths = [float(one.get("y1", "")) - float(one.get("y2", "")) for one in upright]
    assert len(lengths) == 2
    assert lengths[0] == pytest.approx(lengths[1], abs=0.02)
    assert lengths[0] > 50


def test_the_diagonal_shares_its_scales() -> None:
    series = Series("a", (0.1, 0.9), (0.4, 0.6), style="points")
    (guide,) = find_all(parsed(svg(figure(series, diagonal=True))), "line", "guide")
    (axis, *_) = [
        one for one in find_all(parsed(svg(figure(series))), "line", "axis") if one.get("x1")
    ]
    assert float(guide.get("x2", "")) - float(guide.get("x1", "")) > 300
    assert axis is not None


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


def test_a_scale_of_one_value_has_a_range() -> None:
    axis = scale([3.0, 3.0], 0, 1)
    assert axis.low < 3 < axis.high
    assert isinstance(axis, Scale)


@given(
    st.lists(
        st.tuples(st.floats(0, 400), st.floats(0, 300), st.text("abc", min_size=1, max_size=9)),
        max_size=30,
    )
)
def test_placed_labels_lie_inside_and_never_on_each_other(
    labels: list[tuple[float, float, str]],
) -> None:
    frame = Box(0, 0, 400, 300)
    placed = place(labels, frame, [], 10)
    boxes = [Box(one.x, one.y - 9, one.x + text_width(one.words, 10), one.y + 2) for one in placed]
    assert all(frame.holds(box) for box in boxes)
    pairs = [(one, other) for i, one in enumerate(boxes) for other in boxes[:i]]
    assert not any(one.overlaps(other) for one, other in pairs)


def test_long_words_are_cut_to_their_room() -> None:
    assert shortened("short", 100) == "short"
    cut = shortened("a very long name of a base", 60)
    assert cut.endswith("…")
    assert text_width(cut) <= 60


def test_the_interval_plot_shows_every_base_in_its_colour(result: ProbeResult) -> None:
    for rows in by_direction(result).values():
        root = parsed(interval_plot(rows, standalone=True))
        dots = find_all(root, "circle", "dot")
        kinds = [one.get("class", "").split()[0] for one in dots]
        assert kinds == ["plus", "minus", "plus", "even"]
        assert len(find_all(root, "line", "bar")) == 4
        description = next(one.text or "" for one in root if one.tag == f"{SVG}desc")
        assert all(row.base in description for row in rows)


def test_an_endless_interval_runs_to_the_edge(result: ProbeResult) -> None:
    from dataclasses import replace

    row = result.rows[0]
    endless = replace(row, interval=replace(row.interval, low=-math.inf, high=math.inf))
    root = parsed(interval_plot([endless], standalone=True))
    (bar,) = find_all(root, "line", "bar")
    assert float(bar.get("x2", "")) - float(bar.get("x1", "")) > 250
    none = replace(row, interval=replace(row.interval, low=math.nan, high=math.nan))
    assert not find_all(parsed(interval_plot([none], standalone=True)), "line", "bar")


def test_the_strip_plot_has_a_dot_per_template(result: ProbeResult) -> None:
    rows = by_direction(result)["task->attribute"]
    root = parsed(strip_plot(rows, result.templates, standalone=True))
    dots = find_all(root, "circle", "soft")
    assert len(dots) == 4 * 20
    told = [one.findtext(f"{SVG}title") or "" for one in dots]
    assert all(any(template in words for words in told) for template in result.templates)


def test_a_picture_of_its_own_shows_its_whole_title() -> None:
    title = "Four models that exaggerate, by the older metric and by the directional one"
    root = parsed(svg(Figure("x", title, "x", "y", (Series("a", (1, 2), (1, 2)),), "")))
    lines = [one.text or "" for one in find_all(root, "text", "heading")]
    assert " ".join(lines) == title


def test_between_whole_numbers_there_is_no_tick() -> None:
    root = parsed(svg(Figure("x", "x", "x", "y", (Series("a", (1, 2), (1, 2)),), "")))
    words = [one.text for one in root.iter(f"{SVG}text")]
    # Once, on the upright axis: its numbers may be anything.
    assert words.count("1.2") == 1


def test_a_strip_of_many_equal_templates_stays_low(made: Callable[..., ProbeResult]) -> None:
    many = made(templates=[f"sentence {number}" for number in range(300)], bases=["labor"])
    rows = [replace(row, predicted=row.predicted[:1].repeat(300, 0)) for row in many.rows]
    root = parsed(strip_plot(rows[:1], many.templates))
    assert float(root.get("viewBox", "").split()[3]) < 120


def test_the_heat_map_has_a_cell_per_pair_and_frames_the_undefined(result: ProbeResult) -> None:
    rows = by_direction(result)["attribute->task"]
    root = parsed(heat_map(rows, standalone=True))
    key = 11
    assert len(find_all(root, "rect", "cell")) == 4 * 64 - 2 + key
    # Two cells, and the one that explains them.
    assert len(find_all(root, "rect", "empty")) == 3
    strongest = max(float(one.get("fill-opacity", "")) for one in find_all(root, "rect", "cell"))
    assert strongest == pytest.approx(1.0)


def test_a_heat_map_of_many_tasks_keeps_the_largest(made: Callable[..., ProbeResult]) -> None:
    many = made(tasks=[f"task {number}" for number in range(100)], bases=["labor"])
    rows = by_direction(many)["task->attribute"]
    picture = heat_map(rows)
    assert f"The {100 - LONGEST} tasks with the smallest are left out" in picture
    largest = rows[0].tasks[int(np.abs(rows[0].by_pair).max(axis=0).argmax())]
    assert f">{largest}<" in picture


def test_the_scatter_holds_the_base_against_the_model(result: ProbeResult) -> None:
    row = result.row("wikipedia", "task->attribute")
    figure_5 = scatter(row)
    assert figure_5.diagonal
    assert figure_5.series[0].y == tuple(row.predicted.mean(axis=0)[0])
    assert "undefined: writer" in figure_5.alternative
    assert len(find_all(parsed(svg(figure_5)), "circle", "dot")) == 31
