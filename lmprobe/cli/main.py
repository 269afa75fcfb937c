"""The command `lmprobe`: finds the sub-commands, turns errors into one line and exit code 2."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from typing import Annotated

import typer

from lmprobe import cli
from lmprobe.errors import LmprobeError

app = typer.Typer(
    name="lmprobe",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)

# Files of this folder that hold no command.
_NOT_COMMANDS = {"main", "options", "output", "tabular"}


def _print_versions(wanted: bool) -> None:
    if not wanted:
        return
    from lmprobe.cli.output import versions

    for name, version in versions().items():
        typer.echo(f"{name} {version}")
    raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_versions, is_eager=True, help="Show versions and exit."
        ),
    ] = False,
) -> None:
    """Does a masked language model exaggerate the link between a group and what it does?

    Start with [bold]lmprobe run --output out[/bold]: it probes a bundled model and leaves a report.
    """


def _add_commands() -> None:
    """Add every command of this folder: a module `name` with a function `command`."""
    for module in pkgutil.iter_modules(cli.__path__):
        if module.name not in _NOT_COMMANDS:
            command = importlib.import_module(f"lmprobe.cli.{module.name}").command
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=module.name)
            else:
                app.command(module.name)(command)


_add_commands()


def _on_one_line(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    """Show a warning to a person at a terminal, who has no use for where in the code it was."""
    print(f"lmprobe: {message}", file=sys.stderr)


def main() -> None:
    """Run the command line; a mistake of the caller is one line on standard error, exit 2."""
    warnings.showwarning = _on_one_line
    try:
        app(prog_name="lmprobe")
    except LmprobeError as problem:
        print(f"lmprobe: {problem}", file=sys.stderr)
        raise SystemExit(2) from None
    except SystemExit as ended:
        # Typer's answer to Ctrl-C; it says nothing itself.
        if ended.code == 130:
            print("lmprobe: interrupted", file=sys.stderr)
        raise
