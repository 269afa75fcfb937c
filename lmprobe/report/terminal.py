"""Tables and notes for a terminal: nothing is cut off, however narrow it is.

A table that is too wide first breaks its words over lines, then gives up the columns that are
not essential, intervals first, then becomes a block of lines per row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as Grid
from rich.text import Text

from lmprobe.errors import printable
from lmprobe.results import Cell, Column, ColumnKind, Note, Page, Table, Tone, Verdict
from lmprobe.results.format import format_cell

# Colours that a terminal has whatever its background; the word beside them says the same.
_STYLE = {
    Tone.PLUS: "bold red",
    Tone.MINUS: "bold blue",
    Tone.EVEN: "dim",
    Tone.WARNING: "bold yellow",
}
_WRAPS = {ColumnKind.TEXT, ColumnKind.VERDICT}
_GAP = 2
# A longer word is broken: a name without spaces must not push the numbers out.
_LONGEST_WORD = 26


def plain(words: object, style: str = "") -> Text:
    """Return words as they are: no markup is read in them, no character commands the terminal."""
    return Text(printable(words), style=style)


@dataclass(frozen=True, slots=True)
class TerminalTable:
    """A table that chooses its layout when the width of the terminal is known."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, the rows and the caption."""
        if self.table.title:
            yield plain(self.table.title, "bold")
        widths = column_widths(self.table, options.max_width)
        yield _grid(self.table, widths) if widths else _stacked(self.table)
        hidden = [
            column.heading
            for number, column in enumerate(self.table.columns)
            if widths and number not in widths
        ]
        if hidden:
            yield plain(f"not shown at this width: {', '.join(hidden)}", "dim")
        if self.table.caption:
            yield plain(self.table.caption)


def column_widths(table: Table, width: int) -> dict[int, int]:
    """Return the columns to show side by side with their widths; none if they do not fit."""
    shown = list(range(len(table.columns)))
    spare = [number for number in shown if not table.columns[number].essential]
    spare.sort(key=lambda number: table.columns[number].kind is ColumnKind.INTERVAL)
    while True:
        least = {number: _least(table, number) for number in shown}
        room = width - sum(least.values()) - _GAP * (len(shown) - 1)
        if room >= 0:
            return _widened(table, least, room)
        if not spare:
            return {}
        shown.remove(spare.pop())


def _widened(table: Table, least: dict[int, int], room: int) -> dict[int, int]:
    """Share what room there is among the columns that would break their words."""
    widths = dict(least)
    lacking = {number: _natural(table, number) - wide for number, wide in least.items()}
    for number in sorted(lacking, key=lacking.__getitem__):
        widths[number] += min(room, lacking[number])
        room -= min(room, lacking[number])
    return widths


def page_summary(page: Page, tables: Sequence[Table]) -> RenderableType:
    """Return what a command prints: title, tables, and what they say in a sentence."""
    parts: list[RenderableType] = [plain(page.title, "bold")]
    if page.subtitle:
        parts.append(plain(page.subtitle))
    for table in tables:
        parts += ["", TerminalTable(table)]
    if page.headline:
        parts.append("")
        parts += [
            plain(statement.text, _STYLE[statement.verdict.tone]) for statement in page.headline
        ]
    return Group(*parts)


def note_list(notes: Iterable[Note]) -> RenderableType:
    """Return the notes, each once, with what it belongs to."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    for note in dict.fromkeys(notes):
        grid.add_row("*", plain(note))
    return grid


def table_text(table: Table, width: int = 80) -> str:
    """Return the table as plain text of that width."""
    console = Console(width=width, highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(TerminalTable(table))
    return captured.get()


def _natural(table: Table, number: int) -> int:
    """Return the width of the column's longest cell, or of a word of its heading."""
    column = table.columns[number]
    cells = [_styled(row[number], column).cell_len for row in table.rows]
    return max([*map(cell_len, column.heading.split() or [""]), *cells])


def _least(table: Table, number: int) -> int:
    """Return the width below which the column would be cut off."""
    column = table.columns[number]
    if column.kind not in _WRAPS:
        return _natural(table, number)
    words = [word for row in table.rows for word in _styled(row[number], column).plain.split()]
    longest = max(map(cell_len, words), default=0)
    if column.kind is ColumnKind.VERDICT:
        # "not enough / evidence" reads better than three lines of one word.
        longest = max(longest, min(10, _natural(table, number)))
    return max([*map(cell_len, column.heading.split() or [""]), min(longest, _LONGEST_WORD)])


def _grid(table: Table, widths: dict[int, int]) -> Grid:
    # With the divider of the box, which is a space, columns are _GAP apart.
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, _GAP - 1, 0, 0))
    for number, width in widths.items():
        column = table.columns[number]
        justify: Literal["left", "right"] = "right" if column.kind.is_number else "left"
        grid.add_column(plain(column.heading), justify=justify, overflow="fold", width=width)
    for row in table.rows:
        grid.add_row(*(_styled(row[number], table.columns[number]) for number in widths))
    return grid


def _stacked(table: Table) -> RenderableType:
    """Return a block of lines per row, the heading before each cell."""
    blocks: list[RenderableType] = []
    for row in table.rows:
        grid = Grid.grid(padding=(0, _GAP, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for cell, column in zip(row, table.columns, strict=True):
            if cell is not None:
                grid.add_row(plain(column.heading, "dim"), _styled(cell, column))
        blocks += [grid, ""]
    return Group(*blocks[:-1])


def _styled(cell: Cell, column: Column) -> Text:
    style = _STYLE[cell.tone] if isinstance(cell, Verdict) else ""
    return plain(format_cell(cell, column), style)
