"""Every example of the documentation is run, every link followed, every generated part compared.

A page's ```python blocks run in one namespace, its ```console lines (`$ lmprobe ...`) as the
command, in order, in one temporary folder. Lines under a command must be what it prints; a line
`...` stands for any lines. A block after `<!-- not run: reason -->` is skipped.
"""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import lmprobe
from lmprobe.cli.main import app
from lmprobe.errors import LmprobeError

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("appendix/*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: \S.* -->\n+$")
# What a newcomer meets first is tried by `make test`, the other pages by `make slow`.
QUICK = {"README.md", "quickstart.md"}


@dataclass(frozen=True)
class Block:
    """A fenced block that is to be run."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    source = page.read_text(encoding="utf-8")
    for item in FENCE.finditer(source):
        before = source[: item.start()]
        if item[1] in ("python", "console") and not NOT_RUN.search(before):
            yield Block(item[1], item[2], before.count("\n") + 2)


def pages() -> list[Any]:
    return [
        pytest.param(
            page,
            id=page.name,
            marks=[pytest.mark.slow] if page.name not in QUICK else [],
        )
        for page in PAGES
    ]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the model's answers that all pages share."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.xdist_group("docs")
@pytest.mark.usefixtures("own_registries")
@pytest.mark.parametrize("page", pages())
def test_every_example_runs(
    page: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMPROBE_CACHE", str(cache))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{page.name}, line {block.line}"
        if block.language == "console":
            run_console(block, where)
        elif block.text.startswith(">>>"):
            run_doctest(block, where, namespace)
        else:
            # Empty lines in front, so that a traceback names the line of the page.
            source = "\n" * (block.line - 1) + block.text
            code = compile(source, str(page), "exec", dont_inherit=True)
            exec(code, namespace)


def run_doctest(block: Block, where: str, namespace: dict[str, Any]) -> None:
    example = doctest.DocTestParser().get_doctest(block.text, namespace, where, where, 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed = runner.run(example, out=said.append, clear_globs=False).failed
    namespace.update(example.globs)
    assert not failed, "".join(said)


def run_console(block: Block, where: str) -> None:
    """Run each command and compare what it prints with the lines under it, if there are any."""
    joined = block.text.replace("\\\n", " ")
    for step in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        line, _, expected = step.partition("\n")
        printed, code = run(line, where)
        if expected.strip():
            assert same(expected, printed), f"{where}: $ {line} printed\n{printed}"
        elif not line.endswith("; echo $?"):
            assert code == 0, f"{where}: $ {line} ended with {code}\n{printed}"


def run(line: str, where: str) -> tuple[str, int]:
    """Return what a command prints and its exit code."""
    echo = line.endswith("; echo $?")
    words = shlex.split(line.removesuffix("; echo $?"), comments=True)
    assert words[0] == "lmprobe", f"{where}: only lmprobe can be run, not {words[0]}"
    done = CliRunner().invoke(app, words[1:], prog_name="lmprobe")
    printed, code = done.output, done.exit_code
    if isinstance(done.exception, LmprobeError):
        printed, code = f"{printed}lmprobe: {done.exception}\n", 2
    elif done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return (f"{printed}{code}\n" if echo else printed), code


def same(expected: str, printed: str) -> bool:
    """Compare line by line, blanks at the ends aside; `...` is any number of lines."""
    pattern = ""
    for line in expected.strip("\n").splitlines():
        pattern += r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"\n"
    result = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, result) is not None


def test_the_comparison_can_fail() -> None:
    assert same("a\n...\nd", "a  \nb\nc\nd\n")
    assert same("a\n...\n", "a\n")
    assert not same("a\nc", "a\nb\nc\n")
    assert not same("a.", "ab")


def links(page: Path) -> Iterator[str]:
    source = FENCE.sub("", page.read_text(encoding="utf-8"))
    yield from re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", source)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {link}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_found_from_the_index() -> None:
    actual = {link.partition("#")[0] for link in links(DOCS / "index.md")}
    pages = {str(page.relative_to(DOCS)) for page in PAGES[1:]}
    assert pages - {"index.md"} <= actual


def test_the_pages_for_users_stay_short() -> None:
    """The appendix has the evidence; CONTRIBUTING.md states the limit."""
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 28_000


def test_every_page_begins_with_its_kind() -> None:
    kinds = ("Tutorial", "How-to", "Explanation", "Reference")
    pages = [path for path in DOCS.glob("*.md") if path.name != "index.md"]
    first = {path.name: path.read_text(encoding="utf-8").split("\n", 3)[2] for path in pages}
    assert [name for name, line in first.items() if not line.startswith(kinds)] == []


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name", ["cli", "api", pytest.param("appendix/life-of-a-sentence", marks=pytest.mark.slow)]
)
def test_the_generated_parts_are_up_to_date(name: str, generate: ModuleType) -> None:
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    fresh = generate.between(page, generate.PARTS[name]())
    assert page == fresh, f"run `python docs/generate.py {name}`"


def test_the_page_of_commands_has_their_options(generate: ModuleType) -> None:
    shared, *sections = re.split(r"^## lmprobe ", generate.cli(), flags=re.MULTILINE)
    assert "- `--json`:" in shared
    assert "- `--quiet`, `-q`:" in shared
    printing = {"--json", "--output", "--quiet", "--verbose"}
    assert f"takes {', '.join(f'`{name}`' for name in sorted(printing))}." in shared
    group: Any = typer.main.get_command(app)
    for section in sections:
        name, listed = section.split()[0], section.rpartition("\nAlso: ")[2]
        params = group.get_command(None, name).params
        own = {param.opts[0] for param in params} & printing
        # A command that has all of them does not list them again.
        assert {option for option in printing if f"`{option}`" in listed} <= own
        assert own == printing or all(f"`{option}`" in section for option in own), name


def test_every_command_has_a_question() -> None:
    group: Any = typer.main.get_command(app)
    named = set(re.findall(r"`lmprobe (\w+)", (DOCS / "which-command.md").read_text("utf-8")))
    assert set(group.commands) <= named


def test_every_public_name_has_a_topic(generate: ModuleType) -> None:
    names = re.findall(r"^- `(\w+)`:", generate.api(), re.MULTILINE)
    assert sorted(names) == sorted(lmprobe.__all__)


def cells_of(book: Any) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in book.cells]


def test_the_notebook_is_what_its_generator_writes(generate: ModuleType) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")

    book = nbformat.read(DOCS / "notebook.ipynb", as_version=4)
    assert cells_of(book) == list(generate.NOTEBOOK), "run `python docs/generate.py notebook`"
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    assert {output.output_type for output in outputs} <= {"execute_result", "stream"}
    shown = {kind for output in outputs for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml"} <= shown
    text = "".join(output.get("text", "") for output in outputs)
    assert r"\toprule" in text
    assert "intervals.svg\nintervals.png\nintervals.pdf\n" in text


@pytest.mark.slow
def test_the_notebook_runs(generate: ModuleType) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")

    stored = nbformat.read(DOCS / "notebook.ipynb", as_version=4)
    fresh = generate.executed_notebook()
    texts = [
        [
            "".join(output.get("data", {}).get("text/plain", output.get("text", "")))
            for cell in book.cells
            for output in cell.get("outputs", ())
        ]
        for book in (stored, fresh)
    ]
    number = re.compile(r"\d+\.\d+")
    assert [number.sub("#", text) for text in texts[0]] == [
        number.sub("#", text) for text in texts[1]
    ]


@pytest.mark.slow
def test_the_page_of_reproductions_is_up_to_date(generate: ModuleType) -> None:
    """Words must agree; numbers may differ in the last digit from machine to machine."""
    # Attackers train for minutes; tests/leakage and tests/reproduce check them on less.
    without = ("leakage-imsitu", "leakage-coco")
    with pytest.warns(UserWarning, match="first-piece scores"):
        pages = generate.reproduction(images=None, without=without)
    number = re.compile(r"−?\d+\.\d+")
    for name, fresh in pages.items():
        page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        # The first part counts over all experiments: the lines of these must be among its lines.
        (lead, *parts), (fresh_lead, *fresh_parts) = sections(page), sections(fresh)
        assert {*re.findall(r"^\| .*", fresh_lead, re.MULTILINE)} <= {*lead.splitlines()}
        commands = [f"lmprobe reproduce {experiment}\n" for experiment in without]
        kept = [part for part in parts if not any(command in part for command in commands)]
        old, new = "".join(kept), "".join(fresh_parts)
        assert number.sub("#", old) == number.sub("#", new), "run `python docs/generate.py`"
        pairs = zip(number.findall(old), number.findall(new), strict=True)
        values = [tuple(float(item.replace("−", "-")) for item in pair) for pair in pairs]
        assert all(first == pytest.approx(other, abs=2e-3, rel=1e-2) for first, other in values)


def sections(page: str) -> list[str]:
    """Return what stands before the first section of a page, then its sections."""
    return re.split(r"^(?=## )", page, flags=re.MULTILINE)


def test_the_life_of_a_sentence_names_modules_that_exist() -> None:
    page = (DOCS / "appendix" / "life-of-a-sentence.md").read_text(encoding="utf-8")
    page = page.split("<!-- generated")[0]
    named = re.findall(r"`([a-z_]+/[a-z_0-9/]*(?:\.py)?)`", page)
    assert len(named) > 30
    assert [name for name in named if not (ROOT / "lmprobe" / name).exists()] == []
