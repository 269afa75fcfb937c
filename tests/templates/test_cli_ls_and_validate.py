"""`lmprobe ls` and `lmprobe validate`, as a person or a script uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lmprobe.cli.ls import Kind
from lmprobe.cli.main import app
from lmprobe.errors import LmprobeError
from lmprobe.templates import template_names

BAD = """\
name = "bad"
description = "d"
sauce = "s"
attribute = "who"
task = "what"
sentences = ["{who} is happy."]

[slots]
who = ["he", "he"]
what = ["nurse", "cook"]
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_all_shipped_files_are_valid() -> None:
    done = run("validate")
    assert done.exit_code == 0, done.stdout
    for name in (*template_names(), "lexicons/pronouns"):
        assert f"{name}.toml" in done.stdout
    assert "labor.csv: base rates, no mistakes" in done.stdout
    assert run("validate", "--quiet").stdout == ""


def test_every_mistake_is_one_line_and_the_exit_code_is_2(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(BAD)
    done = run("validate", bad)
    assert done.exit_code == 2
    lines = done.stdout.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        [f"{bad}:3", "sauce"],
        [str(bad), "source"],
        [f"{bad}:9", "slots.who[1]"],
        [f"{bad}:9", "slots.who"],
        [f"{bad}:6", "sentences[0]"],
    ]
    assert "mistakes: 5, warnings: 0, files checked: 1" in done.stderr


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    lexicon, rates, other = (tmp_path / name for name in ("words.toml", "rates.csv", "x.toml"))
    lexicon.write_text('name = "w"\ndescription = "d"\nsource = "s"\nentries = ["x"]')
    rates.write_text("task,he,she\nnurse,1,many\n")
    other.write_text("x = 1")
    done = run("validate", lexicon, rates, other, tmp_path / "none.toml", tmp_path, "--json")
    assert done.exit_code == 2
    document = json.loads(done.stdout)
    assert [item["kind"] for item in document["files"]] == [
        "lexicon",
        "base rates",
        "unknown",
        "missing",
        "missing",
    ]
    assert document["problems"] == 4
    problem = document["files"][1]["problems"][0]
    assert problem["line"] == 2
    assert problem["file"] == str(rates)
    assert "many" in problem["message"]
    assert "neither sentences" in document["files"][2]["problems"][0]["message"]


def test_the_toml_of_a_base_rate_table_is_checked_with_it(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("task,he,she\nnurse,1,2\n")
    (tmp_path / "rates.toml").write_text('title = "t"\nsha256 = "wrong"\n')
    done = run("validate", tmp_path / "rates.toml")
    assert done.exit_code == 2
    assert done.stdout.startswith(f"{tmp_path / 'rates.toml'}: the table beside it has changed")


def test_ls_shows_one_line_each() -> None:
    lines = run("ls", "templates").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(template_names())
    fitbert = next(line for line in lines if line.startswith("fitbert "))
    assert fitbert.endswith('  The 20 sentences of the ICML paper, "they is" included.')
    assert "20 templates, 3 x 32 words" in fitbert


def test_ls_base_rates_shows_where_the_numbers_come_from() -> None:
    shown = run("ls", "base-rates").stdout
    labor = shown.partition("\nlabor ")[2].partition("\nlabor-2022 ")[0]
    assert "    source: Share of women: Zhao et al. 2018" in labor
    for key in ("year: 2016", "licence: ", "unit: thousands", "method: ", "sha256: ", "note: "):
        assert f"\n    {key}" in labor
    assert "    source: " not in run("ls").stdout


def test_a_broken_table_of_the_user_breaks_only_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(tmp_path))
    (tmp_path / "mine.csv").write_text("task,he,she\nnurse,1,many\n")
    done = run("ls", "base-rates")
    assert done.exit_code == 0
    mine = next(line for line in done.stdout.splitlines() if line.startswith("mine "))
    assert "cannot be read: " in mine
    assert '"many" is not a number' in mine
    assert "\nlabor " in done.stdout


def test_ls_as_json_has_a_name_and_a_description_for_each() -> None:
    listed = json.loads(run("ls", "--json").stdout)
    assert set(listed) == {kind.value for kind in Kind}
    for rows in listed.values():
        assert all(row["name"] and row["description"] for row in rows)
    for kind, name in {
        "lexicons": "winogender-60", "base-rates": "labor", "scorers": "word-l2r",
        "intervals": "bootstrap", "attackers": "exact", "experiments": "fitbert",
    }.items():  # fmt: skip
        assert name in {row["name"] for row in listed[kind]}
        assert json.loads(run("ls", kind, "--json").stdout) == {kind: listed[kind]}


def test_ls_of_something_else_names_the_kinds() -> None:
    done = run("ls", "tempaltes")
    assert done.exit_code == 2
    assert "base-rates" in done.stderr


def test_sentences_shows_a_few_or_all_and_writes_an_item_table(tmp_path: Path) -> None:
    words = ("sentences", "--templates", "neutral", "--task", "nurse,auditor")
    few = run(*words)
    assert few.stdout.splitlines()[:2] == ["He became a nurse.", "She became a nurse."]
    assert len(few.stdout.splitlines()) == 16
    assert "some of 80 sentences: 20 templates, 2 attributes, 2 tasks" in few.stderr
    all_lines = run(*words, "--all", "--quiet")
    assert len(all_lines.stdout.splitlines()) == 80
    assert all_lines.stderr == ""
    document = json.loads(run(*words, "--json").stdout)
    assert [row["text"] for row in document["sentences"]] == all_lines.stdout.splitlines()
    table = tmp_path / "items.csv"
    assert run(*words, "--output", table).stdout == ""
    lines = table.read_text().splitlines()
    assert len(lines) == 41
    assert lines[0] == '"task","template","family","he","she"'


def test_sentences_refuses_words_and_tables_that_cannot_be(tmp_path: Path) -> None:
    for words in (["--task", "nurs,cook"], ["--templates", "names", "--output", "i.csv"]):
        done = run("sentences", *words)
        assert isinstance(done.exception, LmprobeError)
        assert done.stdout == ""
    assert not list(tmp_path.iterdir())


def test_validate_points_to_the_sentences_of_a_set(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(BAD.replace('"he", "he"', '"he", "she"').replace("sauce", "source"))
    own.write_text(own.read_text().replace("is happy", "is {a:what}"))
    done = run("validate", own)
    assert done.exit_code == 0, done.stdout
    assert f"lmprobe sentences --templates {own}" in done.stderr
