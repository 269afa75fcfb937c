"""A report in a real Chromium: it renders and asks nobody; the fixtures of the slower tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from lmprobe.probing.result import ProbeResult

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver here"),
]

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(result: ProbeResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(result.to_html(), encoding="utf-8")
    return path.as_uri()


def command(chromium: Any, name: str, **settings: Any) -> Any:
    return chromium.execute_cdp_cmd(name, settings)


@pytest.fixture
def opened(chromium: Any, page: str) -> Any:
    command(chromium, "Emulation.clearDeviceMetricsOverride")
    command(chromium, "Emulation.setEmulatedMedia", features=[])
    command(chromium, "Emulation.setScriptExecutionDisabled", value=False)
    chromium.get_log("browser")
    chromium.get_log("performance")
    chromium.get(page)
    return chromium


def phone(chromium: Any, page: str, width: int = 375) -> tuple[int, int]:
    """Open the page on a phone; return how wide it is, and how much room it has."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    command(chromium, "Emulation.setDeviceMetricsOverride", **metrics)
    chromium.get(page)
    return widths(chromium)


def widths(chromium: Any) -> tuple[int, int]:
    wide, room = chromium.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    return wide, room


def asked_for(chromium: Any) -> list[str]:
    events = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


def test_it_renders_without_an_error_and_asks_nobody(opened: Any, page: str) -> None:
    sizes = opened.execute_script(
        "return [...document.querySelectorAll('svg.figure')]"
        ".filter((one) => !one.closest('details')).map((one) => {"
        "const box = one.getBoundingClientRect(); return [box.width, box.height]; })"
    )
    assert len(sizes) == 2 + 2 + 2 + 2
    assert all(width > 200 and height > 100 for width, height in sizes)
    assert opened.title == "Does example/made-up-model exaggerate the base rates?"
    assert opened.get_log("browser") == []
    assert set(asked_for(opened)) <= {page}
