"""Where a command's words go: results to standard output, everything else to standard error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from lmprobe.errors import printable
from lmprobe.io.files import json_text
from lmprobe.io.work import Progress

if TYPE_CHECKING:
    from lmprobe.results.result import Result


class _Console(Console):
    """A terminal that only lmprobe itself gives orders to."""

    def render_str(self, text: str, **settings: Any) -> Text:
        lines = map(printable, text.split("\n"))
        return super().render_str("\n".join(lines), **settings)


def emit(
    result: Result,
    *,
    json: bool = False,
    quiet: bool = False,
    verbose: bool | None = None,
    output: Path | None = None,
    hints: Sequence[str] = (),
) -> None:
    """Print a result and leave its files, in the same way for every command.

    What was found and the tables go to standard output; notes, hints and the names of files to
    standard error, and nowhere when quiet. Tables, columns and notes of details are printed when
    verbose, which is None for a command without that option. With `json` the document alone is on
    standard output.
    """
    if json:
        print(result.to_json(), end="")
    else:
        from lmprobe.report.terminal import note_list, page_summary

        page, tables = result.page(), result.tables()
        _Console(highlight=False).print(page_summary(page, tables, details=bool(verbose)))
        notes = [note for note in page.notes if verbose or not note.kind.is_detail]
        if notes and not quiet:
            _Console(stderr=True, highlight=False).print("", note_list(notes), sep="\n")
        details = len(notes) < len(page.notes) or any(table.has_details for table in tables)
        if details and verbose is False:
            hints = [*hints, "add --verbose for the tables and notes of details"]
    # Files come last: what was computed is on the screen even if the folder cannot be written.
    written = {} if output is None else result.save(output)
    wide = max(map(len, written), default=0)
    for name, path in written.items():
        note(f"{name:<{wide}}  {path}", quiet=quiet)
    for hint in hints:
        note(hint, quiet=quiet)


def show_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    print(json_text(document, indent=2))


def note(text: str, *, quiet: bool = False) -> None:
    """Tell the person something on standard error."""
    if not quiet:
        # A path must stay in one piece, to be copied.
        _Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


@contextmanager
def progress_bar(what: str, unit: str, *, quiet: bool = False) -> Iterator[Progress]:
    """Give a progress callback that draws a bar with its rate on standard error.

    Without a terminal, or when quiet, it draws nothing.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[unit]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        job = bar.add_task(what, total=1, unit=unit, rate="")

        def update(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            rate = f"{speed:,.1f} {unit}/s" if speed else ""
            bar.update(job, completed=done, total=total or done, rate=rate)

        yield update
