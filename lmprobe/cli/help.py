"""The help of a command: options in groups, no name or example cut, plain words for values."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text
from typer.core import TyperCommand

Rows = Sequence[tuple[str, str]]
"""Names of an option or a command, and what it does, which may hold markup of rich."""

_INDENT = 2
# What stays on one line: a command or option in quotes, an example, and a default.
_WHOLE = re.compile(r"`[^`]*`|\[bold].*?\[/bold]|\[default: [^]]*]")
_UNBROKEN = "\u02ff"
"""Stands for a space at which no line ends: a character as wide, which no help has."""
_OPTIONS = "Options"
"""The title of options that name no group."""


class GroupedCommand(TyperCommand):
    """A command whose help lists its options by group; those of packages have it too."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help; the formatter is unused, as in typer's own help with rich."""
        # Only here: `lmprobe --help` needs no settings.
        from lmprobe.results.settings import OptionGroup

        sections = option_sections(self, ctx, help_group=OptionGroup.OUTPUT)
        for group in OptionGroup:
            if group in sections:
                sections[group] = sections.pop(group)
        arguments = [param for param in self.get_params(ctx) if not _is_option(param)]
        usage = " ".join(["[OPTIONS]", *map(_in_usage, arguments)])
        print_help(f"{ctx.command_path} {usage}", self.help or "", sections)


def print_help(usage: str, text: str, *blocks: Mapping[str, Rows]) -> None:
    """Print a help text: the usage, what the command does, then blocks of aligned sections."""
    console = Console(highlight=False)
    _print(console, Text.assemble(("Usage: ", "bold")), escape(usage))
    in_examples = False
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        is_example = paragraph.startswith("[bold]")
        if not (is_example and in_examples):
            console.print()
        indent = " " * _INDENT if is_example else ""
        _print(console, Text(indent), paragraph.replace("\n", " "))
        in_examples = is_example or paragraph.startswith("Example")
    for sections in blocks:
        width = max((len(names) for rows in sections.values() for names, _ in rows), default=0)
        for title, rows in sections.items():
            if rows:
                console.print(f"\n[bold]{title}[/bold]")
            for names, meaning in rows:
                start = Text(" " * _INDENT).append(f"{names:<{width}}", style="cyan").append("  ")
                _print(console, start, meaning)


def option_sections(command: Any, ctx: Any, *, help_group: str = _OPTIONS) -> dict[str, Rows]:
    """Return the arguments and options of a command by the title of their group."""
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], _OPTIONS: []}
    for param in command.get_params(ctx):
        if not getattr(param, "hidden", False):
            group = help_group if param.name == "help" else param.rich_help_panel or _OPTIONS
            title = group if _is_option(param) else "Arguments"
            sections.setdefault(title, []).append((_names(param), _meaning(param)))
    return {**sections}


def default_of(param: Any) -> str | None:
    """Return the default of an option or argument as it is written, None without one."""
    default = param.default
    unset = default is None or default is False or default == () or param.required
    if unset or callable(default) or "Sentinel" in type(default).__name__:
        return None
    return str(getattr(default, "value", default))


def _is_option(param: Any) -> bool:
    return bool(param.param_type_name == "option")


def _value_name(param: Any) -> str:
    """Return what stands for the value; the type in Python would mean nothing to a reader."""
    default = "NAME" if _is_option(param) else str(param.name).upper()
    return "" if getattr(param, "is_flag", False) else param.metavar or default


def _names(param: Any) -> str:
    """Return the short and the long name with the value; other spellings are in docs/cli.md."""
    if not _is_option(param):
        return _value_name(param)
    short = next((name for name in param.opts if not name.startswith("--")), None)
    long = [name for name in param.opts if name.startswith("--")][:1] + param.secondary_opts[:1]
    names = ", ".join([short, *long] if short else long)
    return f"{'' if short else '    '}{names} {_value_name(param)}".rstrip()


def _meaning(param: Any) -> str:
    default = default_of(param) if param.show_default else None
    shown = f" [dim]\\[default: {escape(default)}][/dim]" if default else ""
    return f"{param.help or ''}{shown}{' [dim](required)[/dim]' if param.required else ''}"


def _in_usage(argument: Any) -> str:
    name = _value_name(argument)
    several = "..." if argument.nargs != 1 and "..." not in name else ""
    return f"{name}{several}" if argument.required else f"[{name}{several}]"


def _print(console: Console, start: Text, markup: str) -> None:
    """Print `start` and lines broken between words, each under the first."""
    width = max(console.width - len(start), 20)

    def whole(part: re.Match[str]) -> str:
        fits = len(Text.from_markup(part[0])) <= width
        return part[0].replace(" ", _UNBROKEN) if fits else part[0]

    text = Text.from_markup(_WHOLE.sub(whole, markup))
    for line in text.wrap(console, width):
        line.rstrip()
        line.plain = line.plain.replace(_UNBROKEN, " ")
        console.print(start + line, soft_wrap=True)
        start = Text(" " * len(start))
