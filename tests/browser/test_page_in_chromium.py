"""The page in a real Chromium: it sorts, searches, fits a phone and paper, and runs nothing."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lmprobe
from lmprobe.probing.result import ProbeResult
from tests.browser import test_in_chromium as browser
from tests.browser.test_in_chromium import asked_for, chromium, command, opened, page, phone, widths

__all__ = ["chromium", "opened", "page"]

pytestmark = [*browser.pytestmark, pytest.mark.slow]


def column(chromium: Any, number: int) -> list[str]:
    """Return the shown cells of a column of the table of pairs."""
    result = chromium.execute_script(
        "return [...document.querySelectorAll('#pairs-table tbody tr')]"
        ".filter((row) => !row.hidden).map((row) => row.cells[arguments[0]].textContent)",
        number,
    )
    return list(result)


def test_sorting_follows_the_numbers_and_puts_the_undefined_last(opened: Any) -> None:
    head = opened.find_elements("css selector", "#pairs-table thead button")[4]
    opened.execute_script("arguments[0].click()", head)
    falling = column(opened, 4)
    values = [float(cell.replace("−", "-")) for cell in falling if cell != "undefined"]
    assert values == sorted(values, reverse=True)
    assert falling[-2:] == ["undefined"] * 2
    opened.execute_script("arguments[0].click()", head)
    rising = column(opened, 4)
    assert [float(cell.replace("−", "-")) for cell in rising[:-2]] == sorted(values)
    assert rising[-2:] == ["undefined"] * 2
    ways = opened.execute_script(
        "return [...document.querySelectorAll('#pairs-table thead th')].map((one) => one.ariaSort)"
    )
    assert ways == [None] * 4 + ["ascending"] + [None] * 3


def test_sorting_works_by_the_keyboard(opened: Any) -> None:
    head = opened.find_elements("css selector", "#pairs-table thead button")[3]
    head.send_keys("\n")
    tasks = column(opened, 3)
    assert tasks == sorted(tasks)


def test_searching_keeps_the_rows_that_hold_every_word(opened: Any) -> None:
    everything = len(column(opened, 0))
    box = opened.find_element("id", "pairs-table-search")
    box.send_keys("Nurse she")
    assert set(column(opened, 3)) == {"nurse"}
    assert set(column(opened, 2)) == {"she"}
    assert opened.find_element("id", "pairs-table-count").text == f"8 of {everything} rows"
    selected = opened.find_element("css selector", "select[data-column='0']")
    selected.find_element("xpath", "option[. = 'labor']").click()
    assert column(opened, 0) == ["labor", "labor"]
    box.clear()
    box.send_keys("no such thing")
    assert column(opened, 0) == []


def test_on_a_phone_every_word_can_be_read(opened: Any, page: str) -> None:
    """It scrolls in one direction only, and no word is too small."""
    assert phone(opened, page) == (375, 375)
    phone(opened, page, 390)
    small = opened.execute_script(
        "return [...document.querySelectorAll('svg.figure text, main td, main p, main li')]"
        ".map((one) => { const svg = one.closest('svg');"
        "const scale = svg ? svg.getScreenCTM().a : 1;"
        "return [scale * parseFloat(getComputedStyle(one).fontSize), one.textContent]; })"
        ".filter(([size]) => size < 10.8)"
    )
    assert small == []
    outside, lines = opened.execute_script(
        "const all = (kind) => [...document.querySelectorAll(kind)];"
        "return [all('.scroll').filter((one) => one.scrollWidth > one.clientWidth).length,"
        "all('.unbroken').map((one) => one.getClientRects().length).filter(Boolean)]"
    )
    assert outside == 0, "columns of a table are outside its card"
    assert set(lines) == {1}, "a line ends within the arrow of a direction"


def test_a_word_of_any_length_keeps_to_its_place(
    opened: Any, made: Callable[..., ProbeResult], tmp_path: Path
) -> None:
    endless = "w" * 200
    result = made(tasks=(endless, "nurse"), bases=("labor", endless), model=endless)
    path = tmp_path / "endless.html"
    path.write_text(result.to_html(), encoding="utf-8")
    opened.get(path.as_uri())
    wide, room = widths(opened)
    assert wide == room


def test_a_comparison_of_long_names_fits_a_phone(
    opened: Any, made: Callable[..., ProbeResult], tmp_path: Path
) -> None:
    names = ("acme/short", f"acme/{'a-long-name-' * 8}", "w" * 80)
    results = [made(model=name, seed=number) for number, name in enumerate(names)]
    path = tmp_path / "comparison.html"
    path.write_text(lmprobe.compare(results).to_html(), encoding="utf-8")
    assert phone(opened, path.as_uri(), 390) == (390, 390)


def test_the_first_example_prints_on_five_pages_of_paper(opened: Any, tmp_path: Path) -> None:
    """Closed details are not printed; an opened one is."""
    path = tmp_path / "report.html"
    result = lmprobe.probe("reference:amplified", base=["uniform", "labor"])
    path.write_text(result.to_html(), encoding="utf-8")
    opened.get(path.as_uri())
    closed = printed_pages(opened)
    assert 2 <= closed <= 5
    opened.execute_script("document.querySelectorAll('details').forEach((x) => { x.open = true; })")
    assert printed_pages(opened) > closed


def printed_pages(chromium: Any) -> int:
    """Return how many A4 pages the page prints on."""
    pdf = command(chromium, "Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"]
    return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(pdf)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground(opened: Any, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    command(opened, "Emulation.setEmulatedMedia", features=[feature])
    pairs = opened.execute_script(
        "const style = (one) => getComputedStyle(document.querySelector(one));"
        "const ground = style('.card').backgroundColor;"
        "const kinds = ['.lead', '.verdict.plus', '.verdict.minus', '.verdict.even', '.range'];"
        "return [[style('body').color, style('body').backgroundColor],"
        " ...kinds.map((one) => [style(one).color, ground])]"
    )
    for ink, ground in pairs:
        # 4.5 is what WCAG 2 asks of text of this size.
        assert contrast(ink, ground) >= 4.5


def contrast(first: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2 between two colours written as rgb(...)."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        linear = [
            part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_without_scripts_everything_can_be_read(opened: Any, page: str) -> None:
    command(opened, "Emulation.setScriptExecutionDisabled", value=True)
    opened.get(page)
    command(opened, "Emulation.setScriptExecutionDisabled", value=False)
    assert not opened.find_element("id", "pairs-table-controls").is_displayed()
    assert len(column(opened, 0)) == 512
    assert opened.find_element("css selector", "#pairs-table tbody tr").is_displayed()


def test_the_words_of_a_picture_do_not_overlap(opened: Any) -> None:
    overlaps = opened.execute_script(
        "const hit = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 &&"
        " a.top < b.bottom - 3 && b.top < a.bottom - 3;"
        "return [...document.querySelectorAll('svg.figure')].flatMap((picture) => {"
        "const words = [...picture.querySelectorAll('text')]"
        ".map((one) => [one.textContent, one.getBoundingClientRect()]);"
        "return words.flatMap(([a, box], i) => words.slice(0, i)"
        ".filter(([, other]) => hit(box, other)).map(([b]) => `${a} / ${b}`)); })"
    )
    assert overlaps == []


def test_evil_words_do_nothing(
    opened: Any, made: Callable[..., ProbeResult], tmp_path: Path
) -> None:
    evil = (
        "<script>document.title = 'owned'</script>",
        '"><img src=x onerror="document.title = \'owned\'">',
        "</style></script><svg onload=\"document.title='owned'\">",
        "' onmouseover='document.title = 1",
    )
    result = made(evil[:2], evil, evil[:2], evil, model=evil[0], notes=evil)
    path = tmp_path / "evil.html"
    path.write_text(result.to_html(), encoding="utf-8")
    opened.get(path.as_uri())
    assert "owned" not in opened.title.replace(evil[0], "")
    assert opened.execute_script("return document.images.length") == 0
    assert opened.find_element("id", "pairs-table-count").text == "32 of 32 rows"
    assert opened.get_log("browser") == []
    assert all(url.startswith("file:") for url in asked_for(opened))
