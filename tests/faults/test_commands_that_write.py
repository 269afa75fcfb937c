"""Every command that writes, on a full disk or where it may not write: one line and exit 2."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.cli.main import main
from lmprobe.probing.result import ProbeResult
from tests.faults.faulty import TEMPLATES, contents, full_disk, without_privileges

Run = Callable[..., tuple[int, str, str]]

# What each command is given; OUT is a folder that can or cannot be written.
WRITING = {
    "run": "run reference:amplified --templates mini.toml --output OUT",
    "run-no-cache": "run reference:amplified --templates mini.toml --no-cache --output OUT",
    "compare": "compare probe.json probe.json --output OUT",
    "report": "report probe.json --html --markdown --csv --model-card --output OUT",
    "reproduce": "reproduce shortcomings --output OUT",
    "amplify": "amplify people.csv --attribute sex --task job --task-prediction guess --output OUT",
    "disparity": "disparity people.csv --prediction said --group sex --output OUT",
    "leak": "leak people.csv --labels job --attribute sex --attacker exact --output OUT",
    "plan": "plan --effect 0.05 --output OUT",
    "count": "count text.txt --tasks nurse,cook --output OUT",
    "register": "count text.txt --tasks nurse,cook --register",
    "checkpoint": "count text.txt --tasks nurse,cook --checkpoint OUT/state.json",
    "convert": "convert celeba celeba.txt OUT/table.csv",
    "generations": "convert generations texts.csv OUT/answers.csv",
    "sweep": "sweep reference:amplified --templates mini.toml --output OUT",
}
SILENT = ("sweep", "run-no-cache", "convert", "generations", "report")
PRINTING = {
    "ls": "ls templates",
    "validate": "validate mini.toml",
    "cache": "cache ls",
    "check": "check probe.json --max 0.9",
    "help": "--help",
}
ALL = {**WRITING, **PRINTING}
# One of each promise is quick; `make slow` runs the others.
QUICK = ("count", "ls")


def commands(*names: str) -> list[Any]:
    """Return the names as parameters of a test."""
    return [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in names]


@pytest.fixture(scope="module")
def inputs(result: ProbeResult) -> Iterator[Path]:
    rng = np.random.default_rng(0)
    # Every user may read this folder, and a test may lock those below it.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "mini.toml").write_text(TEMPLATES)
        (folder / "probe.json").write_text(result.to_json())
        (folder / "text.txt").write_text("She is a nurse. He is a cook.\n")
        (folder / "texts.csv").write_text("task,text\nnurse,She is.\ncook,He is.\n")
        sex = rng.choice(["f", "m"], 200)
        said = (rng.random(200) < np.where(sex == "m", 0.6, 0.3)).astype(int)
        words = rng.choice(["cook", "nurse"], (2, 200))
        frame = pd.DataFrame({"sex": sex, "job": words[0], "guess": words[1], "said": said})
        frame.to_csv(folder / "people.csv", index=False)
        lines = ["2", "Male Smiling", *(f"{item}.jpg 1 -1" for item in range(2))]
        (folder / "celeba.txt").write_text("\n".join(lines) + "\n")
        yield folder


@pytest.fixture
def run(
    command: Callable[..., Run], inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    monkeypatch.chdir(inputs)
    monkeypatch.setenv("LMPROBE_CACHE", str(tmp_path / "cache"))
    return command()


def one_line(error: str) -> str:
    """Return the last line, which is all that is said of the failure."""
    assert "Traceback" not in error
    lines = [line for line in error.splitlines() if line.startswith("lmprobe: ")]
    assert len(lines) == 1, error
    assert len(lines[0]) < 400
    return lines[0]


# A cache that cannot be written is a warning, and what stops a command is its output.
@pytest.mark.filterwarnings("ignore::lmprobe.models.cache.CacheWarning")
@pytest.mark.parametrize("name", commands(*(name for name in WRITING if name != "sweep")))
def test_a_full_disk(name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(out))
    words = WRITING[name].replace("OUT", str(out)).split()
    with full_disk():
        code, _, error = run(*words)
    assert code == 2
    assert "File too large" in one_line(error)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", commands(*WRITING))
def test_a_folder_that_may_not_be_written(
    name: str, run: Run, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = inputs / "locked"
    folder.mkdir(exist_ok=True)
    (folder / "old.txt").write_text("old")
    folder.chmod(0o555)
    # The model's answers may be kept: it is the folder of the results that is locked.
    cache = inputs / "cache"
    cache.mkdir(exist_ok=True)
    cache.chmod(0o777)
    monkeypatch.setenv("LMPROBE_CACHE", str(cache))
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(folder))
    words = WRITING[name].replace("OUT", str(folder)).split()
    with without_privileges():
        code, _, error = run(*words)
    assert code == 2
    assert "Permission denied" in one_line(error)
    assert contents(folder) == {"old.txt": b"old"}


# The others print nothing, or what another command prints.
@pytest.mark.parametrize("name", commands(*(name for name in ALL if name not in SILENT)))
def test_standard_output_on_a_full_disk(
    name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(tmp_path))
    words = ALL[name].replace("OUT", str(tmp_path / "out")).split()
    monkeypatch.setattr(sys, "argv", ["lmprobe", *words])
    with Path("/dev/full").open("w") as full:
        with redirect_stdout(full), pytest.raises(SystemExit) as left:
            main()
        # What is left in the buffer goes nowhere, as it must when Python ends.
        full.flush()
    assert left.value.code == 2
    assert "No space left on device" in one_line(capsys.readouterr().err)


def test_a_reader_that_has_seen_enough(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in `lmprobe ls templates | head -1`: no error, no traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(sys, "argv", ["lmprobe", "ls", "templates"])
    closed = os.fdopen(writing, "w")
    with redirect_stdout(closed), pytest.raises(SystemExit) as left:
        main()
    with suppress(BrokenPipeError):
        closed.close()
    assert left.value.code == 1
    assert capsys.readouterr().err == ""
