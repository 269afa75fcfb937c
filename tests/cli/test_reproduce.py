"""`lmprobe reproduce`: tables for people, JSON for programs, files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmprobe.reproduce.experiment import experiments, in_order
from lmprobe.results.document import SCHEMA

Run = Callable[..., Any]
NAMES = ("shortcomings", "figure-2", "compas")


@pytest.fixture
def run(command: Callable[..., Run]) -> Run:
    """Return (exit code, standard output, standard error) of the command."""
    return command("reproduce", columns=80)


@pytest.mark.parametrize("name", NAMES)
def test_the_table_fits_a_terminal_and_nothing_is_cut(run: Run, name: str) -> None:
    code, out, _ = run(name)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out


@pytest.mark.parametrize("name", NAMES)
def test_json_is_one_document_with_ours_beside_the_papers(run: Run, name: str) -> None:
    code, out, _ = run(name, "--json")
    assert code == 0
    result = json.loads(out)
    assert (result["schema"], result["kind"]) == (SCHEMA, "reproduction")
    assert result["experiment"] == name
    assert result["rows"]
    for row in result["rows"]:
        assert row.keys() >= {"name", "value", "paper", "status"}


def test_files_are_written(run: Run, tmp_path: Path) -> None:
    code, _, err = run("compas", "--output", tmp_path)
    assert code == 0
    assert json.loads((tmp_path / "result.json").read_text())["experiment"] == "compas"
    assert (tmp_path / "race.svg").read_text().startswith("<svg")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"result.json", "report.html", "values.csv", "race.svg", "sex.svg"}
    assert all(name in err for name in ("result.json", "report.html", "values.csv"))


def test_notes_of_details_are_for_verbose_and_quiet_leaves_all_out(run: Run) -> None:
    detail = "The attribute is predicted perfectly"
    assert detail not in run("shortcomings")[2]
    assert detail in run("shortcomings", "--verbose")[2]
    assert run("shortcomings", "--verbose", "--quiet")[2] == ""


def test_how_many_numbers_are_reproduced_is_said_first(run: Run) -> None:
    _, out, _ = run("bernstein")
    assert " ".join(out.split()).startswith(
        "1 of 11 published numbers is reproduced, 1 differs, 9 are not comparable (missing data). "
    )
    assert run("figure-2")[1].startswith("The paper prints no numbers to compare with.\n")


def test_the_tables_of_fitbert_come_first() -> None:
    assert in_order()[:3] == ("fitbert", "fitbert-iclr", "bernstein")
    assert sorted(in_order()) == list(experiments.names())


def test_an_unknown_experiment(run: Run) -> None:
    code, out, err = run("compass")
    assert code == 2
    assert out == ""
    assert 'did you mean "compas"' in err


def test_an_unknown_preset(run: Run) -> None:
    assert run("shortcomings", "--preset", "papers")[0] == 2
