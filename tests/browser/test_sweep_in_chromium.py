"""The page of 200 models in a real Chromium: sorted, searched, pointed at, on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lmprobe.probing.result import ProbeResult
from lmprobe.sweeping.result import SweepResult
from tests.browser import test_in_chromium as browser
from tests.browser.test_in_chromium import asked_for, chromium, opened, phone
from tests.made_up_sweeps import made_up_sweep

__all__ = ["chromium", "opened"]

pytestmark = [*browser.pytestmark, pytest.mark.slow]

MODELS = 200


@pytest.fixture(scope="module")
def sweep(made: Callable[..., ProbeResult]) -> SweepResult:
    return made_up_sweep(made, MODELS, bases=("labor",), failures=1)


@pytest.fixture(scope="module")
def page(sweep: SweepResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    text = sweep.to_html()
    assert len(text.encode()) < 3_000_000
    path = tmp_path_factory.mktemp("page") / "sweep.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


def shown(chromium: Any, heading: str) -> list[str]:
    """Return the shown cells under a heading of the table of models."""
    result = chromium.execute_script(
        "const table = document.getElementById('sweep-table');"
        "const heads = [...table.tHead.rows[0].cells].map((one) => one.textContent);"
        "const column = heads.indexOf(arguments[0]);"
        "return [...table.tBodies[0].rows].filter((row) => !row.hidden)"
        ".map((row) => row.cells[column].textContent)",
        heading,
    )
    return list(result)


def click(chromium: Any, heading: str) -> None:
    buttons = chromium.find_elements("css selector", "#sweep-table thead button")
    (button,) = (button for button in buttons if button.text == heading)
    chromium.execute_script("arguments[0].click()", button)


def test_it_asks_nobody_and_says_who_failed(opened: Any, page: str) -> None:
    assert opened.title == f"{MODELS} models compared"
    assert "acme/broken-0" in opened.find_element("css selector", "main").text
    assert opened.get_log("browser") == []
    assert set(asked_for(opened)) <= {page}


def test_models_are_sorted_by_value_by_rank_and_by_name(opened: Any) -> None:
    click(opened, "value")
    values = [float(cell.replace("−", "-")) for cell in shown(opened, "value")]
    assert len(values) == 2 * MODELS
    assert values == sorted(values, reverse=True)
    click(opened, "rank")
    click(opened, "rank")
    ranks = [int(cell.split("–")[0]) for cell in shown(opened, "rank")]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) > 3
    click(opened, "model")
    assert shown(opened, "model")[:3] == ["acme/model-000"] * 2 + ["acme/model-001"]


def test_a_model_is_found_by_its_name(opened: Any) -> None:
    opened.find_element("id", "sweep-table-search").send_keys("MODEL-017 attribute")
    assert shown(opened, "model") == ["acme/model-017"] * 2
    assert opened.find_element("id", "sweep-table-count").text == f"2 of {2 * MODELS} rows"


def test_the_pointer_finds_models_groups_and_tasks(opened: Any, sweep: SweepResult) -> None:
    """What the pointer rests on has a title; hit by its place on the screen, as a pointer is."""
    opened.execute_script("document.querySelectorAll('details').forEach((x) => { x.open = true; })")

    def pointed_at(selector: str) -> str:
        return str(
            opened.execute_script(
                "const one = document.querySelector(arguments[0]);"
                "one.scrollIntoView({ block: 'center' });"
                "const box = one.getBoundingClientRect();"
                "const bar = arguments[0].includes('bracket');"
                "const x = bar ? box.right - 1 : box.x + box.width / 2;"
                "const hit = document.elementFromPoint(x, box.y + box.height / 2);"
                "const titled = hit.closest(':has(> title)');"
                "return titled.querySelector('title').textContent",
                selector,
            )
        )

    first = sweep.by_value(sweep.questions[0])[0]
    assert pointed_at("svg.figure circle.dot").startswith(f"{first.model}: −")
    group = sweep.orders[0].groups[0]
    assert pointed_at("svg.figure path.bracket").startswith(f"group a: {len(group)} models")
    task = max(first.by_task, key=lambda name: abs(first.by_task[name] or 0.0))
    words = pointed_at("svg.figure g path.cell")
    assert words.startswith(f"{first.model}: {task} ")


def test_a_phone_scrolls_in_one_direction_only(opened: Any, page: str) -> None:
    assert phone(opened, page) == (375, 375)
