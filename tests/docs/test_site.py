"""The documentation as a site: it builds without a warning, and every link leads somewhere."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import lmprobe

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]


class Page(HTMLParser):
    """The anchors of a page and where it links to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors |= {str(given[key]) for key in ("id", "name") if given.get(key)}
        actual = given.get("href") or given.get("src")
        if actual and tag in ("a", "img", "link", "script"):
            self.links.append(actual)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    doctrees = tmp_path_factory.mktemp("doctrees")
    done = subprocess.run(
        [*command, "-b", "html", "-d", str(doctrees), str(ROOT / "docs"), str(folder)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return folder


def sources() -> list[Path]:
    docs = ROOT / "docs"
    return [
        path.relative_to(docs)
        for folder in ("", "appendix/")
        for path in docs.glob(f"{folder}*.md")
    ]


def html(site: Path) -> list[Path]:
    return [
        path for folder in ("", "appendix/", "reference/") for path in site.glob(f"{folder}*.html")
    ]


def test_every_page_is_in_the_site_with_search(site: Path) -> None:
    pages = {path.with_suffix("") for path in sources()} | {Path("search"), Path("genindex")}
    assert pages <= {path.relative_to(site).with_suffix("") for path in html(site)}
    assert (site / "searchindex.js").is_file()


def test_the_notebook_is_a_page_with_its_outputs(site: Path) -> None:
    page = (site / "notebook.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "amplifies" in page
    assert "notebook.html" in Page(site / "index.html").links


def test_every_link_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in html(site)}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            anchors = pages[target].anchors if target in pages else None
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and anchors is not None and anchor not in anchors):
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    anchors = {name for path in site.glob("reference/*.html") for name in Page(path).anchors}
    assert {f"lmprobe.{name}" for name in lmprobe.__all__} <= anchors


def test_every_page_is_in_the_navigation(site: Path) -> None:
    links = {link.partition("#")[0] for link in Page(site / "index.html").links}
    assert {str(path.with_suffix(".html")) for path in sources()} - {"index.html"} <= links
