"""The command `lmprobe`: finds the sub-commands, turns errors into one line and exit code 2."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from lmprobe import cli
from lmprobe.cli.help import GroupedCommand, option_sections, print_help
from lmprobe.errors import (
    Argument,
    InputError,
    LmprobeError,
    printable,
    refuse_unnamable,
    shortened,
)
from lmprobe.registry import installed, load_plugin, package_of, plugin_failure

# Files of this folder that hold no command.
_NOT_COMMANDS = {"help", "main", "options", "output"}
# Where the help lists a command, in this order; commands of packages follow.
_GROUPS = {
    "Language models": ("run", "compare", "sweep", "sentences"),
    "Tables": ("amplify", "disparity", "leak", "convert"),
    "Data": ("ls", "validate", "count", "cache"),
    "Evidence": ("report", "check", "plan", "reproduce"),
}
# The group of entry points through which packages add commands.
_PLUGINS = "lmprobe.commands"
_INTERRUPTED = 130
# Parameters of commands that have another name than the argument of the function.
_OPTIONS = {
    "attribute_predictions": "attribute_prediction",
    "max": "largest",
    "n": "rows",
    "task_predictions": "task_prediction",
}


class LazyCommands(TyperGroup):
    """Every module `name` of this folder with a `command`; only the one called is imported.

    A package adds commands of its own through the entry-point group `lmprobe.commands`.

    The list of commands takes the first line of each module's file, which is its docstring:
    importing all of them for it would make `lmprobe --help` several times slower.
    """

    def __init__(self, **settings: Any) -> None:
        """List the commands; a stub stands for each until it is called."""
        super().__init__(**settings)
        names = {module.name for module in pkgutil.iter_modules(cli.__path__)} - _NOT_COMMANDS
        # A command that was added to the application itself is there already.
        self._loaded = dict(self.commands)
        self.commands = {name: TyperCommand(name) for name in sorted(names)} | self._loaded

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error speaks of its options instead of arguments in Python."""
        try:
            return super().invoke(ctx)
        except LmprobeError as problem:
            command = self.get_command(ctx, ctx.invoked_subcommand)
            options = [each for each in getattr(command, "params", ()) if each.opts[0][0] == "-"]
            flags = {option.name: option.opts[0] for option in options}
            problem.args = (problem.message(partial(_spelling, flags)),)
            raise

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, those of packages too."""
        return sorted({*self.commands, *installed(_PLUGINS)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the command of that name; None if there is none."""
        if cmd_name in self._loaded:
            return self._loaded[cmd_name]
        if cmd_name in self.commands:
            command = importlib.import_module(f"{cli.__name__}.{cmd_name}").command
        elif cmd_name in (plugins := installed(_PLUGINS)):
            command = load_plugin(plugins[cmd_name])
        else:
            return None
        if not isinstance(command, typer.Typer):
            single = typer.Typer(rich_markup_mode="rich", add_completion=False)
            single.command(cmd_name, cls=GroupedCommand)(command)
            command = single
        made = typer.main.get_command(command)
        made.name = cmd_name
        return made

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help without importing the commands."""
        sections = {
            title: [(name, _summary(name)) for name in names if name in self.commands]
            for title, names in _GROUPS.items()
        }
        sections["Commands of packages"] = [
            (name, f"From the package {package_of(entry)}.")
            for name, entry in sorted(installed(_PLUGINS).items())
            if name not in self.commands
        ]
        usage = f"{ctx.command_path} COMMAND [OPTIONS] ..."
        print_help(usage, self.help or "", sections, option_sections(self, ctx))


def _spelling(flags: Mapping[str, str], argument: Argument) -> str:
    """Return the option for an argument in Python; one that has none is a word of the message."""
    if argument.value is False:
        return f"--no-{argument.name}"
    flag = flags.get(_OPTIONS.get(argument.name, argument.name), argument.name)
    return flag if argument.value in (None, True) else f"{flag} {argument.value}"


def _summary(command: str) -> str:
    """Return what the first line of a command's module says that it does."""
    source = Path(cli.__path__[0], f"{command}.py").read_text(encoding="utf-8")
    words = source.partition("\n")[0].strip('"').partition(": ")[2]
    return words[:1].upper() + words[1:]


app = typer.Typer(
    name="lmprobe",
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _print_versions(wanted: bool) -> None:
    if not wanted:
        return
    from lmprobe.registry import versions

    for name, number in versions().items():
        typer.echo(f"{name} {number}")
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
    """Measure whether a language model exaggerates the link between groups of people and tasks.

    Start with [bold]lmprobe run --output out[/bold]: it probes a bundled model and writes a report.
    """


def _warning_printer() -> Callable[..., None]:
    """Return what shows a warning to a person at a terminal: one line, once, not where it arose."""
    shown: set[str] = set()

    def show(message: Warning | str, *place: object, **more: object) -> None:
        line = f"lmprobe: {shortened(message)}"
        if line not in shown:
            print(line, file=sys.stderr)
        shown.add(line)

    return show


def main() -> None:
    """Run the command line; a mistake of the caller is one line on standard error, exit 2."""
    warnings.showwarning = _warning_printer()
    # A standard stream that is closed (`>&-`) is None.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    try:
        try:
            for option, word in pairwise(sys.argv):
                refuse_unnamable(word)
                if (option.startswith("-") and not word) or re.fullmatch("--[^=]+=", word):
                    # Such as a variable of the shell that is not set.
                    name = word.rstrip("=") or option
                    raise InputError(f"{name} is empty; give a value, or leave it out")
            code = app(sys.argv[1:] or ["--help"], prog_name="lmprobe", standalone_mode=False)
        finally:
            # Here a full disk can still be reported; when Python ends it is a traceback.
            sys.stdout.flush()
    except LmprobeError as problem:
        _fail(str(problem), *getattr(problem, "__notes__", ()))
    except BrokenPipeError:
        # The reader has what it wanted, as in `lmprobe ls templates | head -1`.
        _discard_output()
        raise SystemExit(1) from None
    except Exception as problem:
        failure = plugin_failure(problem) or _usage_failure(problem)
        if failure is None and isinstance(problem, OSError):
            failure = _io_failure(problem)
        if failure is None:
            raise
        _fail(failure)
    # Typer's answer to Ctrl-C; it says nothing itself.
    if code == _INTERRUPTED:
        print("lmprobe: interrupted", file=sys.stderr)
    raise SystemExit(code if isinstance(code, int) else 0)


def _fail(message: str, *files: str) -> NoReturn:
    """Say in one line what is wrong, as far as anything can be written, and exit with 2.

    `files` are texts of files that would help; they are shown below the line.
    """
    _discard_output()
    with suppress(OSError):
        print(f"lmprobe: {message}", file=sys.stderr)
        for line in "\n".join(files).splitlines():
            print(printable(line), file=sys.stderr)
    raise SystemExit(2) from None


def _discard_output() -> None:
    """Drop what could not be written: it stays in a buffer, which Python writes at its end."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
            continue
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _usage_failure(problem: Exception) -> str | None:
    """Return what is wrong with the words of the command line, if that is the problem.

    Typer has no public class for it; each such error can format its message.
    """
    if not hasattr(problem, "format_message"):
        return None
    context = getattr(problem, "ctx", None)
    advice = "" if context is None else f"; see {context.command_path} --help"
    message = problem.format_message().rstrip(".").replace("Value error, ", "")
    message = message.partition(", unable to parse")[0]
    # Newer versions of Typer parse with pydantic, whose messages lack what was found.
    for mistake in getattr(problem.__cause__, "errors", list)():
        value = repr(mistake["input"])
        message += "" if value in message else f", found {value}"
    return shortened(message) + advice


def _io_failure(problem: OSError) -> str:
    reason = problem.strerror or str(problem)
    if problem.filename is None:
        return f"the output cannot be written: {reason}"
    return f"{problem.filename}: {reason}"
