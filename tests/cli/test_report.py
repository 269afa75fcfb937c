"""`lmprobe report` writes the forms that were asked for, where they were asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from lmprobe.cli.main import app
from lmprobe.errors import DataFileError
from lmprobe.probing.result import ProbeResult


@pytest.fixture
def saved(result: ProbeResult, tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    path.write_text(result.to_json(), encoding="utf-8")
    return path


def test_every_form_lands_beside_the_result(saved: Path) -> None:
    done = CliRunner().invoke(
        app, ["report", str(saved), "--html", "--markdown", "--model-card", "--csv"]
    )
    assert done.exit_code == 0
    assert done.stdout == ""
    names = {path.name for path in saved.parent.iterdir()} - {"result.json"}
    assert names == {"report.html", "report.md", "model-card.md", "rows.csv", "pairs.csv"}
    # A long path may be wrapped at the width of the terminal.
    messages = done.stderr.replace("\n", "")
    assert all(name in messages for name in names)


def test_the_csv_files_hold_the_frames(saved: Path, result: ProbeResult, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = CliRunner().invoke(app, ["report", str(saved), "--csv", "-o", str(folder), "--quiet"])
    assert (done.exit_code, done.stderr) == (0, "")
    pairs = pd.read_csv(folder / "pairs.csv")
    pd.testing.assert_frame_equal(pairs, result.pairs(), check_dtype=False)
    assert len(pd.read_csv(folder / "rows.csv")) == len(result.rows)


def test_without_a_form_a_folder_gets_the_files_of_the_command(saved: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(saved), "--output", str(saved.parent / "again")])
    assert done.exit_code == 0
    assert "report.html" in done.stderr
    assert (saved.parent / "again" / "result.json").read_bytes() == saved.read_bytes()


def test_without_a_form_it_prints_the_table(saved: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(saved)], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    assert "amplifies" in done.stdout
    assert [path.name for path in saved.parent.iterdir()] == ["result.json"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a JSON document"),
        ('{"schema": "lmprobe.result/99"}', "a newer lmprobe made it"),
        ('{"schema": "lmprobe.result/0"}', "make the result again"),
        ('{"schema": "lmprobe.result/1"}', "damaged result, 'rows' is missing"),
        ('{"results": {"wikitext": 1}}', "not a result of lmprobe"),
        ("[1, 2]", "not a result of lmprobe"),
    ],
)
def test_a_file_that_is_no_result_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(text)
    done = CliRunner().invoke(app, ["report", str(path), "--html"])
    assert isinstance(done.exception, DataFileError)
    assert said in str(done.exception)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda whole: whole["rows"].clear(), "it has no rows"),
        (lambda whole: whole["rows"][0]["tasks"].pop(), "predicted is (20, 2, 32)"),
        (lambda whole: whole["rows"][0]["predicted"][0][0].__setitem__(0, None), "undefined"),
        (lambda whole: whole["rows"][0].update(base_rate=[[None] * 32] * 2), "undefined"),
        (lambda whole: whole["rows"][0].update(candidate_mass=[]), "candidate_mass is (0,)"),
        (lambda whole: whole["rows"][0].update(direction="sideways"), "not a valid Direction"),
        (
            lambda whole: whole["rows"][0]["interval"].update(low="a"),
            "interval.low must be float",
        ),
        (lambda whole: whole["templates"].pop(), "19 templates, 20 families"),
        (lambda whole: whole.update(provenance=[]), "provenance must be an object"),
        (lambda whole: whole["provenance"].pop("model"), "'model' is missing"),
        (lambda whole: whole["provenance"].update(bases=None), "provenance.bases is None"),
        (lambda whole: whole["provenance"]["templates"].pop("name"), "lacks name"),
        (lambda whole: whole.update(split_words=None), "damaged result"),
        (lambda whole: whole["rows"].append(whole["rows"][0]), "several rows of one base"),
    ],
)
def test_a_damaged_result_is_refused(
    saved: Path, harm: Callable[[dict[str, Any]], object], said: str
) -> None:
    whole = json.loads(saved.read_text(encoding="utf-8"))
    harm(whole)
    with pytest.raises(DataFileError, match="damaged result") as caught:
        ProbeResult.from_json(json.dumps(whole))
    assert said in str(caught.value)


def test_a_word_of_a_file_gives_the_terminal_no_orders(saved: Path) -> None:
    whole = json.loads(saved.read_text(encoding="utf-8"))
    whole["notes"] = [{"kind": "other", "text": "\x1b[31mred\x07 \u202eturned"}]
    whole["provenance"]["model"] = "a\x1b]0;title\x07model"
    saved.write_text(json.dumps(whole), encoding="utf-8")
    done = CliRunner().invoke(app, ["report", str(saved)], env={"COLUMNS": "80"})
    assert "red" in done.stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout)
