"""Words from users' files do no harm: in the page, its pictures, Markdown, YAML and CSV."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from markdown_it import MarkdownIt

from lmprobe.io.files import csv_text
from lmprobe.probing.model_card import model_card
from lmprobe.probing.result import ProbeResult
from lmprobe.report.charts import svg
from lmprobe.report.markup import escaped, fenced
from tests.report.neutral import every_figure

EVIL = (
    "<script>alert(1)</script>",
    '"onmouseover="alert(1)',
    "' onload='alert(1)",
    "</style><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "]]><svg/onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "a|b`c`*d*",
    "line\nbreak\x00\x0b",
    "&lt;b&gt;",
)


class Seen(HTMLParser):
    """Collects the tags and the attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def seen(page: str) -> Seen:
    parser = Seen()
    parser.feed(page)
    return parser


def evil_result(made: Callable[..., ProbeResult], words: tuple[str, ...] = EVIL) -> ProbeResult:
    return made(words[:2], words, words[:2], words[:4], model=words[0], notes=words)


def test_no_word_becomes_a_tag_or_an_attribute(
    made: Callable[..., ProbeResult], result: ProbeResult
) -> None:
    page = evil_result(made).to_html()
    harmless, attacked = seen(result.to_html()), seen(page)
    assert attacked.tags <= harmless.tags
    assert attacked.attributes <= harmless.attributes
    text = "".join(attacked.text)
    assert "<script>alert(1)</script>" in text
    assert "{{ 7 * 7 }}" in text
    assert page.count("<script>") == 1
    assert "\x00" not in page


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(words=st.lists(st.text(min_size=1, max_size=20), min_size=4, max_size=4, unique=True))
def test_any_word_at_all_leaves_the_page_whole(
    made: Callable[..., ProbeResult], result: ProbeResult, words: list[str]
) -> None:
    page = evil_result(made, tuple(words)).to_html()
    assert seen(page).tags <= seen(result.to_html()).tags
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(picture)


@given(words=st.text(max_size=40))
def test_a_picture_with_any_words_is_well_formed(words: str) -> None:
    for figure in every_figure(words):
        ET.fromstring(svg(figure))


@given(words=st.text(max_size=60))
def test_markdown_shows_the_words_and_nothing_else(words: str) -> None:
    cell = escaped(words)
    shown = MarkdownIt("commonmark").enable("table").render(f"| a |\n| --- |\n| x{cell}y |\n")
    assert shown.count("<td>") == 1
    tags = set(re.findall(r"</?([a-z0-9]+)", shown))
    assert tags <= {"table", "thead", "tbody", "tr", "th", "td"}
    item = MarkdownIt("commonmark").render(f"- {cell}\n")
    assert set(re.findall(r"</?([a-z0-9]+)", item)) <= {"ul", "li"}


def test_markdown_of_evil_words_has_only_its_own_structure(
    made: Callable[..., ProbeResult],
) -> None:
    shown = MarkdownIt("commonmark").enable("table").render(evil_result(made).to_markdown())
    assert "<script" not in shown
    assert "<img" not in shown


@given(text=st.text("`a\n", max_size=20))
def test_a_fence_outlasts_what_it_holds(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse("\n".join([*fenced(text), "", "end"]))
    assert [token.type for token in tokens][:2] == ["fence", "paragraph_open"]


def test_the_model_card_survives_evil_words(made: Callable[..., ProbeResult]) -> None:
    from huggingface_hub import ModelCard

    card = ModelCard(model_card(evil_result(made)))
    assert card.data.model_name == EVIL[0]
    assert {eval_result.dataset_config for eval_result in card.data.eval_results} == set(EVIL[:2])


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " ="])
def test_no_cell_of_a_csv_starts_a_formula(start: str) -> None:
    frame = pd.DataFrame({"task": [f"{start}cmd|'/C calc'!A0", "nurse"], "value": [-0.5, 0.25]})
    lines = list(csv.reader(io.StringIO(csv_text(frame), newline="")))
    assert lines[1][0].startswith("'")
    assert lines[2] == ["nurse", "0.25"]
    assert float(lines[1][1]) == -0.5


@given(words=st.text(max_size=30).filter(lambda text: "\x00" not in text))
def test_csv_gives_back_every_word(words: str) -> None:
    text = csv_text(pd.DataFrame({"a": [words], "b": [1]}))
    lines = list(csv.reader(io.StringIO(text, newline="")))
    assert lines[1][0].removeprefix("'") == words.removeprefix("'")
