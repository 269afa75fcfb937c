"""The help of every command: options in groups, whole names and examples, plain words."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from lmprobe import cli
from lmprobe.cli.main import app

Run = Callable[..., tuple[int, str, str]]

GROUP: Any = typer.main.get_command(app)
COMMANDS = tuple(GROUP.commands)
GOLDEN = Path(__file__).parent / "golden"
TITLES = (
    *("Arguments", "Input", "What to compare", "Statistics", "Model", "Output"),
    "Expert options",
)


@pytest.fixture
def help_of(command: Callable[..., Run]) -> Callable[..., str]:
    def text(*name: str) -> str:
        code, out, err = command(*name)("--help")
        assert (code, err) == (0, "")
        return out

    return text


def titles(text: str) -> list[str]:
    """Return the titles of the sections."""
    return re.findall(r"(?<=\n\n)([A-Z][a-z ]+)\n  ", text)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_in_groups_in_one_order(name: str, help_of: Callable[..., str]) -> None:
    found = titles(help_of(name))
    # An option without a group would be under "Options".
    assert found == [title for title in TITLES if title in found]
    assert "Output" in found


@pytest.mark.parametrize("name", COMMANDS)
def test_names_and_examples_are_whole_at_80_columns(name: str, help_of: Callable[..., str]) -> None:
    text = help_of(name)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    # Neither a type of Python nor anything cut.
    assert re.search(r"<\w+[\[>]|…", text) is None
    command = GROUP.get_command(None, name)
    for option in command.params:
        is_option = option.param_type_name == "option"
        written = option.opts[0] if is_option else option.metavar or option.name.upper()
        assert any(f"{written} " in f"{line} " for line in lines), written
    for example in re.findall(r"\[bold\](.*?)\[/bold\]", command.help):
        assert any(example in line for line in lines), example


def test_commands_are_listed_in_groups(help_of: Callable[..., str]) -> None:
    text = help_of()
    found = titles(text)
    assert found == ["Language models", "Tables", "Data", "Evidence", "Options"]
    assert max(map(len, text.splitlines())) <= 80
    files = {module.name for module in pkgutil.iter_modules(cli.__path__)}
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", text, flags=re.MULTILINE)
    assert sorted(listed) == sorted(files - {"help", "main", "options", "output"})


@pytest.mark.parametrize("name", ["lmprobe", *COMMANDS])
def test_the_help_is_as_it_was(name: str, help_of: Callable[..., str]) -> None:
    path = GOLDEN / f"{name}.txt"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    shown = help_of() if name == "lmprobe" else help_of(name)
    assert shown == before, "if this is meant, run `python docs/generate.py help`"


def test_no_help_text_is_of_a_command_that_is_gone() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} <= {"lmprobe", *COMMANDS}
