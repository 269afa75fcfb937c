"""`lmprobe check`: the exit code says what the interval allows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmprobe.cli.main import app
from lmprobe.errors import InputError
from lmprobe.probing.result import ProbeResult


@pytest.fixture
def saved(result: ProbeResult, tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    path.write_text(result.to_json(), encoding="utf-8")
    return path


def check(path: Path, *options: str) -> Any:
    return CliRunner().invoke(app, ["check", str(path), *options])


TO_ATTRIBUTE = ("--direction", "task->attribute")


@pytest.mark.parametrize(
    ("base", "code", "outcome"),
    [
        ("wikipedia", 0, "passed"),
        ("labor", 1, "failed"),
        ("corpus", 3, "not enough evidence"),
    ],
)
def test_the_exit_code_follows_the_interval(
    saved: Path, base: str, code: int, outcome: str
) -> None:
    done = check(saved, "--max", "0.02", *TO_ATTRIBUTE, "--base", base)
    assert done.exit_code == code
    assert outcome in done.stdout
    assert base in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_the_worst_row_decides(saved: Path) -> None:
    assert check(saved, "--max", "0.9").exit_code == 0
    assert check(saved, "--max", "0.02", *TO_ATTRIBUTE).exit_code == 1
    both = ("--base", "wikipedia", "--base", "corpus")
    assert check(saved, "--max", "0.02", *TO_ATTRIBUTE, *both).exit_code == 3


def test_json_is_one_document(saved: Path, result: ProbeResult) -> None:
    done = check(saved, "--max", "0.02", "--base", "labor", "--json")
    document = json.loads(done.stdout)
    assert (document["schema"], document["kind"]) == ("lmprobe.result/3", "check")
    assert document["exit_code"] == done.exit_code == 1
    assert [row["direction"] for row in document["rows"]] == ["task->attribute", "attribute->task"]
    assert document["rows"][0]["value"] == result.row("labor", "task->attribute").value


def test_quiet_prints_nothing(saved: Path) -> None:
    done = check(saved, "--max", "0.02", "--quiet")
    assert (done.exit_code, done.output) == (1, "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--base", "labour"), 'no base "labour"; did you mean "labor"?'),
        (("--direction", "task->atribute"), 'did you mean "task->attribute"?'),
    ],
)
def test_a_wrong_name_is_a_mistake_not_a_verdict(
    saved: Path, options: tuple[str, ...], said: str
) -> None:
    done = check(saved, "--max", "0.05", *options)
    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)


def test_a_limit_must_be_a_number(saved: Path) -> None:
    for limit in ("nan", "labor", "labor=", "labour=0.1"):
        assert isinstance(check(saved, "--max", limit).exception, InputError)
    assert isinstance(check(saved).exception, InputError)


def test_limits_by_base_and_direction(saved: Path) -> None:
    done = check(saved, "--max", "0.9", "--max", "labor:T->A=0.02", "--json")
    limits = {
        (row["base"], row["direction"]): row["max"] for row in json.loads(done.stdout)["rows"]
    }
    assert limits.pop(("labor", "task->attribute")) == 0.02
    assert set(limits.values()) == {0.9}
    assert done.exit_code == 1


def test_against_the_model_in_production(
    saved: Path, made: Callable[..., ProbeResult], tmp_path: Path
) -> None:
    done = check(saved, "--against", str(saved))
    assert done.exit_code == 0
    other = tmp_path / "other.json"
    other.write_text(made(seed=1).to_json(), encoding="utf-8")
    done = check(saved, "--against", str(other), "--max", "1", "--direction", "T->A")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 4


def test_output_keeps_the_check(saved: Path, tmp_path: Path) -> None:
    assert check(saved, "--max", "9", "--output", str(tmp_path / "gate")).exit_code == 0
    document = json.loads((tmp_path / "gate" / "result.json").read_text(encoding="utf-8"))
    assert (document["kind"], document["outcome"]) == ("check", "passed")
    assert (tmp_path / "gate" / "report.html").exists()


def test_a_change_is_called_a_difference(saved: Path) -> None:
    done = check(saved, "--against", str(saved), "--base", "labor", *TO_ATTRIBUTE)
    assert "labor, task->attribute: difference 0.0000" in done.stdout
    document = json.loads(check(saved, "--against", str(saved), "--json").stdout)
    assert all(row["change"] for row in document["rows"])
