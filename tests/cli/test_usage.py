"""A mistake in the words of a command line is one line on standard error and exit code 2."""

from __future__ import annotations

import os
import sys

import pytest

from lmprobe.cli.main import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nosuch"], "lmprobe: No such command 'nosuch'; see lmprobe --help\n"),
        (["check"], "lmprobe: Missing argument 'RESULT.json'; see lmprobe check --help\n"),
        (["report", "x", "--max", "3"], "lmprobe: No such option: --max; see lmprobe report"),
        (["cache", "nosuch"], "'ls', 'clear'; see lmprobe cache --help\n"),
        (["run", "--templates", "nosuch"], 'lmprobe: no template set called "nosuch"; Known: '),
        (["run", "--attribute", "he"], "at least two different attributes, found: he\n"),
    ],
)
def test_one_line(
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["lmprobe", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    written = capsys.readouterr()
    assert ended.value.code == 2
    assert message in written.err
    assert (written.out, written.err.count("\n")) == ("", 1)


def test_without_words_it_shows_its_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["lmprobe"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "lmprobe run --output out" in capsys.readouterr().out


def test_a_closed_stream_takes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `>&-` Python has no `sys.stdout`; what is printed must go nowhere, not into a file."""
    monkeypatch.setattr("sys.argv", ["lmprobe", "ls", "templates"])
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    with sys.stdout as reopened:
        assert os.path.samestat(os.fstat(reopened.fileno()), os.stat(os.devnull))
