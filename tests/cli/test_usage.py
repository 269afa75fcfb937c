"""A mistake in the words of a command line is one line on standard error and exit code 2."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest
import typer

from lmprobe.cli.main import app

Run = Callable[..., tuple[int, str, str]]


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
def test_one_line(words: list[str], message: str, command: Callable[..., Run]) -> None:
    code, out, err = command()(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_every_command_that_prints_a_result_has_the_options_of_printing() -> None:
    group = typer.main.get_group(app)
    context = typer.Context(group)
    options = {
        name: {flag for option in group.get_command(context, name).params for flag in option.opts}
        for name in group.list_commands(context)
    }
    printing = {name for name, flags in options.items() if "--verbose" in flags}
    assert {"run", "sweep", "compare", "check", "report", "reproduce", "amplify"} <= printing
    assert {"disparity", "leak", "count", "plan"} <= printing
    assert all({"-v", "-q", "--quiet", "--output"} <= options[name] for name in printing)


def test_without_words_it_shows_its_help(command: Callable[..., Run]) -> None:
    code, out, _ = command()()
    assert code == 0
    assert "lmprobe run --output out" in out


def in_a_shell(code: str) -> tuple[int, str]:
    """Return the exit code and what Python printed."""
    words = ["sh", "-c", f"{shlex.quote(sys.executable)} {code}"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_python_finds_the_command_line_and_a_closed_stream_is_no_traceback() -> None:
    code, text = in_a_shell("-m lmprobe --version")
    assert (code, text[:8]) == (0, "lmprobe ")
    assert in_a_shell("-m lmprobe --version >&-") == (0, "")
    assert in_a_shell("-m lmprobe nosuch 2>&-") == (2, "")


STOPPED = """
import sys
from lmprobe.cli import main

@main.app.command("stop")
def stop():
    raise KeyboardInterrupt

sys.argv = ["lmprobe", "stop"]
main.main()
"""


def test_an_interrupt_says_so() -> None:
    assert in_a_shell(f"-c {shlex.quote(STOPPED)}") == (130, "lmprobe: interrupted\n")
