"""`lmprobe report` writes the forms that were asked for, where they were asked for."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from lmprobe.cli.main import app
from lmprobe.errors import DataFileError
from lmprobe.result import ProbeResult


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
    told = done.stderr.replace("\n", "")
    assert all(name in told for name in names)


def test_the_csv_files_hold_the_frames(saved: Path, result: ProbeResult, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = CliRunner().invoke(app, ["report", str(saved), "--csv", "-o", str(folder), "--quiet"])
    assert (done.exit_code, done.stderr) == (0, "")
    pairs = pd.read_csv(folder / "pairs.csv")
    pd.testing.assert_frame_equal(pairs, result.pairs(), check_dtype=False)
    assert len(pd.read_csv(folder / "rows.csv")) == len(result.rows)


def test_without_a_form_it_prints_the_table(saved: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(saved)], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    assert "amplifies" in done.stdout
    assert [path.name for path in saved.parent.iterdir()] == ["result.json"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a JSON document"),
        ('{"schema": "lmprobe.result/99"}', "this lmprobe reads 'lmprobe.result/1'"),
        ('{"schema": "lmprobe.result/1"}', "damaged result"),
    ],
)
def test_a_file_that_is_no_result_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(text)
    done = CliRunner().invoke(app, ["report", str(path), "--html"])
    assert isinstance(done.exception, DataFileError)
    assert said in str(done.exception)
    assert not (tmp_path / "report.html").exists()
