"""`lmprobe ls` and `lmprobe validate`, as a person or a script uses them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lmprobe.cli.main import app
from lmprobe.errors import LmprobeError
from lmprobe.plugins import REGISTRIES
from lmprobe.templates import template_names

Run = Callable[..., tuple[int, str, str]]

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


KINDS = ("templates", "lexicons", "base-rates", "models", *REGISTRIES)


def run(*arguments: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)


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


@pytest.mark.parametrize("kind", [(), *((kind,) for kind in KINDS)])
def test_a_line_of_ls_fits_the_terminal(kind: tuple[str, ...]) -> None:
    for columns in (80, 60):
        lines = run("ls", *kind, env={"COLUMNS": str(columns)}).stdout.splitlines()
        assert max(map(len, lines)) <= columns
        if kind:
            assert len(lines) == len(json.loads(run("ls", *kind, "--json").stdout)[kind[0]])


def test_ls_of_an_entry_shows_where_its_numbers_come_from() -> None:
    labor = run("ls", "base-rates", "labor", env={"COLUMNS": "80"}).stdout
    assert labor.startswith("labor\n  description: Women and men in 32 occupations, US 2016\n")
    assert "  size: 32 tasks x 2 groups\n  source: Share of women: Zhao et al. 2018" in labor
    for key in ("year: 2016", "licence: ", "unit: thousands", "method: ", "sha256: ", "notes:"):
        assert f"\n  {key}" in labor
    assert "    - laborer: Construction laborers\n" in labor
    assert max(map(len, labor.splitlines())) <= 80
    listed = json.loads(run("ls", "base-rates", "--json").stdout)["base-rates"]
    alone = json.loads(run("ls", "base-rates", "labor", "--json").stdout)
    assert alone == {"base-rates": [row for row in listed if row["name"] == "labor"]}


@pytest.mark.parametrize("kind", KINDS)
def test_ls_shows_the_details_of_every_kind(kind: str) -> None:
    row = json.loads(run("ls", kind, "--json").stdout)[kind][0]
    shown = run("ls", kind, row["name"])
    assert shown.exit_code == 0
    assert shown.stdout.startswith(f"{row['name']}\n  description: ")


def test_a_broken_table_of_the_user_breaks_only_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(tmp_path))
    (tmp_path / "mine.csv").write_text("task,he,she\nnurse,1,many\n")
    done = run("ls", "base-rates")
    assert done.exit_code == 0
    mine = next(line for line in done.stdout.splitlines() if line.startswith("mine "))
    assert "cannot be read: " in mine
    assert "\nlabor " in done.stdout
    assert '"many" is not a number' in " ".join(run("ls", "base-rates", "mine").stdout.split())


def test_a_table_of_the_user_commands_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(tmp_path))
    (tmp_path / "mine.csv").write_text("task,he,she\nnurse,1,2\n")
    (tmp_path / "mine.toml").write_text('title = "\\u001b[31mred"\n')
    for words in (["ls", "base-rates"], ["ls", "base-rates", "mine"]):
        shown = run(*words).stdout
        assert "[31mred" in shown
        assert "\x1b" not in shown


def test_ls_as_json_has_a_name_and_a_description_for_each() -> None:
    listed = json.loads(run("ls", "--json").stdout)
    assert set(listed) == set(KINDS)
    for rows in listed.values():
        assert all(row["name"] and row["description"] for row in rows)
    for kind, name in {
        "lexicons": "winogender-60", "base-rates": "labor", "scorers": "word-l2r",
        "intervals": "bootstrap", "attackers": "exact", "experiments": "fitbert",
    }.items():  # fmt: skip
        assert name in {row["name"] for row in listed[kind]}
        assert json.loads(run("ls", kind, "--json").stdout) == {kind: listed[kind]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tempaltes"], '`lmprobe ls` has no list "tempaltes"; did you mean "templates"? Known: '),
        (["base-rates", "labr"], 'base-rates: nothing is called "labr"; did you mean "labor"? '),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_misspelt_word_of_ls_suggests_the_near_one(
    words: list[str], message: str, form: tuple[str, ...], command: Callable[..., Run]
) -> None:
    code, out, err = command("ls")(*words, *form)
    assert (code, out) == (2, "")
    assert err.startswith(f"lmprobe: {message}")


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
    table = tmp_path / "i.csv"
    for words in (["--task", "nurs,cook"], ["--templates", "names"]):
        done = run("sentences", *words, "--output", table)
        assert isinstance(done.exception, LmprobeError)
        assert done.stdout == ""
    assert not table.exists()


def test_validate_points_to_the_sentences_of_a_set(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(BAD.replace('"he", "he"', '"he", "she"').replace("sauce", "source"))
    own.write_text(own.read_text().replace("is happy", "is {a:what}"))
    done = run("validate", own)
    assert done.exit_code == 0, done.stdout
    assert f"lmprobe sentences --templates {own}" in done.stderr
