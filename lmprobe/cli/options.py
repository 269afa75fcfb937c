"""The options that many commands share, so that they read the same everywhere."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lmprobe.errors import invalid
from lmprobe.io.files import check_folder
from lmprobe.results.settings import COMPARED, EXPERT, OUTPUT, Option, OptionGroup, options_of


def option(help: str, group: OptionGroup, *flags: str, **more: Any) -> Any:
    """Return an option of a command; without `flags` it is called as its parameter is.

    A bool needs a flag, or it has a second one that begins with --no.
    """
    return typer.Option(*flags, help=help, rich_help_panel=group, **more)


Json = Annotated[
    bool, option("Print the result as one JSON document on standard output.", OUTPUT, "--json")
]
Output = Annotated[
    Path | None,
    option(
        "Write the result and its report to this folder.",
        OUTPUT,
        "--output",
        "-o",
        metavar="DIR",
        # Refused before anything is computed.
        callback=lambda folder: folder and check_folder(folder),
    ),
]
Quiet = Annotated[bool, option("Print no progress bar and no notes.", OUTPUT, "--quiet", "-q")]
Verbose = Annotated[
    bool, option("Print the tables and notes of details too.", OUTPUT, "--verbose", "-v")
]
Templates = Annotated[
    list[str] | None,
    option(
        "A template set of `lmprobe ls templates`, a TOML file, or an item table; by default "
        "fitbert, or everyday for causal models.",
        COMPARED,
        "--templates",
        "-t",
    ),
]
DEFAULT_BASE = "by default labor, or uniform if labor lacks the groups or all tasks"
Base = Annotated[
    list[str] | None,
    option(
        "Base rates of `lmprobe ls base-rates`, or a CSV file; repeat for several; "
        f"{DEFAULT_BASE}.",
        COMPARED,
        "--base",
        "-b",
    ),
]
NoCache = Annotated[
    bool, option("Neither read nor write the cache of scores.", EXPERT, "--no-cache")
]


def settings_options(
    settings: type, **others: type
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command one option per setting.

    The command's parameter `settings` is replaced by the options of the class `settings`, and a
    parameter `name` by those of the class given as `name=`; the command receives the settings
    objects made of them. So an option cannot be forgotten, and its default and help text are
    written once.
    """
    classes = {"settings": settings, **others}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        options = {name: options_of(kind) for name, kind in classes.items()}
        parameters = []
        for name, parameter in own.parameters.items():
            if name in options:
                parameters += [_parameter(option) for option in options[name]]
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        @functools.wraps(command)
        def run(**values: Any) -> None:
            for name, kind in classes.items():
                choices = {
                    option.name: _value(option, values.pop(option.name)) for option in options[name]
                }
                values[name] = kind(**choices)
            command(**values)

        run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _parameter(option: Option) -> inspect.Parameter:
    kind: Any = list[str] if option.several else option.kind
    accepted = kind | None if option.optional or option.several else kind
    choices = f" One of {', '.join(option.choices)}." if option.choices else ""
    words = "WORD,WORD" if option.several and not option.repeated else "NAME"
    values = {int: "N", float: "NUMBER"}
    info = typer.Option(
        *option.flags,
        help=option.help + choices,
        metavar=option.metavar or values.get(option.kind, words),
        rich_help_panel=option.group,
    )
    annotation: Any = Annotated.__class_getitem__((accepted, info))  # type: ignore[attr-defined]
    default = list(option.default) if option.several and option.default else option.default
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _value(option: Option, value: Any) -> Any:
    """Return the setting's value: words may be repeated options or a comma-separated list."""
    if option.repeated and value is not None:
        return tuple(value)
    if option.several and value is not None:
        words = [word.strip() for part in value for word in part.split(",")]
        if value and not any(words):
            # Such as a variable of the shell that is not set.
            raise invalid(option.name, " is empty; give words, or leave it out")
        return tuple(word for word in words if word) or option.default
    return value
