"""Each output form shows the neutral vocabulary: tables, notes, headline, limits, commands."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from lmprobe.cli.output import emit
from lmprobe.errors import InputError
from lmprobe.io.files import csv_text
from lmprobe.report.html import page_html
from lmprobe.report.markup import latex_escaped, latex_table, page_markdown, section_lines
from lmprobe.report.terminal import table_text
from tests.report.neutral import Example, comparison_table

EXAMPLE = Example()


@pytest.mark.parametrize("width", [30, 44, 60, 80, 140])
@pytest.mark.parametrize("base", ["labor", "our town, 2020", "w" * 50])
def test_a_terminal_of_any_width_keeps_base_and_verdict(width: int, base: str) -> None:
    table = comparison_table((base,))
    text = table_text(table, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    joined = re.sub(r"\s+", "", text)
    assert joined.count("w") >= base.count("w")
    words = " ".join(text.split())
    if len(base) < 20:
        assert all(word in words for word in base.split())
    for word in ("higher", "not", "enough", "evidence", "+0.1234", "−0.0200"):
        assert word in words


def test_a_narrow_terminal_says_what_it_leaves_out() -> None:
    text = table_text(comparison_table(), 80)
    assert "not shown at this width: share, pairs" in text
    assert "not shown" not in table_text(comparison_table(), 140)
    # Below, everything is there again, one line per cell.
    assert "1,234" in table_text(comparison_table(), 50)


def test_a_terminal_is_not_commanded_by_a_word() -> None:
    text = table_text(comparison_table(("\x1b[31m[bold]x\u202e",)), 140)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]x" in text


def test_markdown_has_all_that_a_page_says() -> None:
    text = page_markdown(EXAMPLE.page())
    assert "| labor | task->attribute | +0.1234 | +0.1000 to +0.1500 | &lt;0.0001 |" in text
    assert "**It amplifies more than labor.**" in text
    assert text.count("left out: labor") == 1
    assert "The first 40 of 60 rows." in text
    assert "```sh\nlmprobe run 'labor'\n```" in text
    assert "*A labor curve*: labor rises, then falls" in text
    pictured = [
        line for part in EXAMPLE.page().sections for line in section_lines(part, images="i")
    ]
    assert "![labor rises, then falls](i/curve.svg)" in pictured


def test_the_page_has_its_parts_in_order() -> None:
    page = page_html(EXAMPLE.page())
    order = [page.index(f'id="{name}"') for name in ("verdict", "pairs", "limits", "templates")]
    assert order == sorted(order)
    assert "It amplifies more than labor." in page
    assert "+0.1234" in page
    assert page.count("left out: labor") == 1
    assert "Wang &amp; Russakovsky" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"', page):
        assert target in ids


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_latex_compiles(tmp_path: Path) -> None:
    words = 'a_b & 50% #1 {x} \\y ~^ <|> "q" [z] $m$'
    body = latex_table(comparison_table((words,)))
    document = "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}"
    text = f"{document}\\begin{{document}}{body}\\end{{document}}"
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


def test_latex_is_a_booktabs_table() -> None:
    text = latex_table(comparison_table())
    assert r"labor & task$\to$attribute & +0.1234 & +0.1000 to +0.1500 &" in text
    assert r"$-$0.0200" in text
    assert r"\caption{b minus a. Positive: more.}" in text


@given(st.text(max_size=40))
def test_latex_escapes_everything_that_commands_it(words: str) -> None:
    escaped = latex_escaped(words)
    expected = (
        r"\\(textbackslash|textasciitilde|textasciicircum|text(less|greater|bar|quotedbl)|ldots){}"
    )
    bare = re.sub(rf"{expected}|\\[{{}}$&#%_]|\$(-|\\[a-z]+)\$|{{\[}}|{{\]}}", "", escaped)
    assert not set(bare) & set('\\{}$&#%_~^<>|"[]\n\x00')


def test_csv_has_the_numbers_and_no_formula() -> None:
    lines = list(csv.reader(io.StringIO(csv_text(comparison_table(("=cmd()",)).to_frame()))))
    assert lines[0][:5] == ["base", "direction", "difference", "low", "high"]
    assert lines[1][:5] == ["'=cmd()", "task->attribute", "0.1234", "0.1", "0.15"]
    assert lines[1][-1] == "higher"


def test_a_notebook_gets_a_small_fragment_without_style_sheet() -> None:
    fragment = EXAMPLE._repr_html_()
    assert len(fragment) < 12_000
    assert "<style" not in fragment
    assert "<script" not in fragment
    assert "+0.1234" in fragment
    assert "and 50 rows more" in fragment
    assert "<script>" not in Example(word="<script>")._repr_html_()


def test_a_result_is_one_line_and_its_text_the_table() -> None:
    assert repr(EXAMPLE) == (
        "<Example: It amplifies more than labor. Nothing is known of the rest.>"
    )
    assert "+0.1234" in str(EXAMPLE)
    assert r"\toprule" in EXAMPLE.to_latex("rows")
    assert EXAMPLE.to_latex().count(r"\begin{table}") == 2
    assert Example.from_json(EXAMPLE.to_json()) == EXAMPLE
    with pytest.raises(InputError, match='did you mean "rows"'):
        EXAMPLE.to_latex("row")


def test_the_files_of_a_result(tmp_path: Path) -> None:
    written = EXAMPLE.save(tmp_path / "out")
    names = {path.name for path in written.values()}
    assert names == {"result.json", "report.html", "rows.csv", "pairs.csv"}
    assert Example.from_json(tmp_path / "out") == EXAMPLE
    assert written["report"].read_text(encoding="utf-8") == EXAMPLE.to_html()


def test_a_result_that_cannot_be_shown_leaves_nothing(tmp_path: Path) -> None:
    class Broken(Example):
        def page(self) -> object:  # type: ignore[override]
            raise RuntimeError

    with pytest.raises(RuntimeError):
        Broken().save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_command_prints_tables_here_and_notes_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    emit(EXAMPLE, output=tmp_path, verbose=True, hints=["next    do this"])
    printed = capsys.readouterr()
    assert "+0.1234" in printed.out
    assert "It amplifies more than labor." in printed.out
    assert "the templates of labor are a sample" in printed.err
    assert "the templates" not in printed.out
    for name in ("result.json", "report.html", "rows.csv", "pairs.csv"):
        assert str(tmp_path / name) in printed.err
    assert printed.err.endswith("next    do this\n")


def test_json_is_alone_and_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    emit(EXAMPLE, json=True, quiet=True)
    printed = capsys.readouterr()
    assert json.loads(printed.out) == EXAMPLE.to_dict()
    assert printed.err == ""
    emit(EXAMPLE, quiet=True, hints=["next"])
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "+0.1234" in printed.out
