"""Runs a command as the program does: arguments in, exit code and both streams out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lmprobe.cli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Run]:
    """Return the maker of runners: for one command, or for any, in a terminal of some width."""

    def runner(*name: str, columns: int = 80) -> Run:
        monkeypatch.setenv("COLUMNS", str(columns))

        def run(*words: str | Path) -> tuple[int, str, str]:
            monkeypatch.setattr(sys, "argv", ["lmprobe", *name, *map(str, words)])
            with pytest.raises(SystemExit) as left:
                main()
            captured = capsys.readouterr()
            return int(left.value.code or 0), captured.out, captured.err

        return run

    return runner
