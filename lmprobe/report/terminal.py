"""What was found, tables and notes for a terminal: nothing is cut off, however narrow it is.

Tables and columns of details are shown where they are wanted. A table that is too wide first
breaks its words over lines, then gives up the columns that are not essential, intervals first,
then becomes a block of lines per row.
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
from lmprobe.results import Column, ColumnKind, Note, Page, Table, Tone, Verdict
from lmprobe.results.format import format_table

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
    details: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, the rows and the caption."""
        if self.table.title:
            yield plain(self.table.title, "bold")
        table = self.table if self.details else self.table.without_details()
        widths = column_widths(table, options.max_width)
        yield _grid(table, widths) if widths else _stacked(table)
        hidden = [
            column.heading
            for number, column in enumerate(table.columns)
            if widths and number not in widths
        ]
        if hidden:
            yield plain(f"not shown at this width: {', '.join(hidden)}", "dim")
        if self.table.caption:
            yield plain(self.table.caption)


def column_widths(table: Table, width: int) -> dict[int, int]:
    """Return the columns to show side by side with their widths; none if they do not fit."""
    words = [[row[number] for row in format_table(table)] for number in range(len(table.columns))]
    shown = list(range(len(table.columns)))
    spare = [number for number in shown if not table.columns[number].essential]
    spare.sort(key=lambda number: table.columns[number].kind is ColumnKind.INTERVAL)
    least = [_least(*column) for column in zip(table.columns, words, strict=True)]
    while sum(least[number] for number in shown) + _GAP * (len(shown) - 1) > width:
        if not spare:
            return {}
        shown.remove(spare.pop())
    # What room there is goes to the columns that would break their words, then to headings.
    widths = {number: least[number] for number in shown}
    room = width - sum(widths.values()) - _GAP * (len(shown) - 1)
    for wanted in (_natural, _unbroken):
        lacking = {
            number: wanted(table.columns[number], words[number]) - widths[number]
            for number in shown
        }
        for number in sorted(lacking, key=lacking.__getitem__):
            more = max(0, min(room, lacking[number]))
            widths[number] += more
            room -= more
    return widths


def page_summary(page: Page, tables: Sequence[Table], *, details: bool = True) -> RenderableType:
    """Return what a command prints: what was found, of what, and the tables behind it."""
    parts: list[RenderableType] = []
    if not page.headline:
        parts.append(plain(page.title, "bold"))
    for number, statement in enumerate(page.headline):
        tone = statement.verdict.tone
        style = _STYLE[tone] if tone is not Tone.EVEN else "bold" if number == 0 else ""
        parts.append(plain(statement.text, style))
    if page.subtitle:
        parts += ["", plain(page.subtitle)] if page.headline else [plain(page.subtitle)]
    for table in tables:
        if details or not table.detail:
            parts += ["", TerminalTable(table, details)]
    return Group(*parts)


def note_list(notes: Iterable[Note]) -> RenderableType:
    """Return the notes, each once, with what it belongs to."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    for note in dict.fromkeys(notes):
        grid.add_row("*", plain(note))
    return grid


def table_text(table: Table, width: int = 80) -> str:
    """Return the table as plain text of that width."""
    return as_text(TerminalTable(table), width)


def as_text(content: RenderableType, width: int = 80) -> str:
    """Return what a terminal of that width shows, without colours."""
    console = Console(width=width, highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(content)
    return captured.get()


def _natural(column: Column, words: Sequence[str]) -> int:
    """Return the width of the column's longest cell, or of a word of its heading."""
    cells = [cell_len(printable(cell)) for cell in words]
    return max([*map(cell_len, column.heading.split() or [""]), *cells])


def _unbroken(column: Column, words: Sequence[str]) -> int:
    """Return the width at which the heading needs one line too."""
    return max(cell_len(column.heading), _natural(column, words))


def _least(column: Column, words: Sequence[str]) -> int:
    """Return the width below which the column would be cut off."""
    if column.kind not in _WRAPS:
        return _natural(column, words)
    parts = [part for cell in words for part in printable(cell).split()]
    longest = max(map(cell_len, parts), default=0)
    if column.kind is ColumnKind.VERDICT:
        # "not enough / evidence" reads better than three lines of one word.
        longest = max(longest, min(10, _natural(column, words)))
    return max([*map(cell_len, column.heading.split() or [""]), min(longest, _LONGEST_WORD)])


def _grid(table: Table, widths: dict[int, int]) -> Grid:
    # With the divider of the box, which is a space, columns are _GAP apart.
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, _GAP - 1, 0, 0))
    for number, width in widths.items():
        column = table.columns[number]
        justify: Literal["left", "right"] = "right" if column.kind.is_number else "left"
        grid.add_column(plain(column.heading), justify=justify, overflow="fold", width=width)
    for row in _styled(table):
        grid.add_row(*(row[number] for number in widths))
    return grid


def _stacked(table: Table) -> RenderableType:
    """Return a block of lines per row, the heading before each cell."""
    blocks: list[RenderableType] = []
    for row, words in zip(table.rows, _styled(table), strict=True):
        grid = Grid.grid(padding=(0, _GAP, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for cell, text, column in zip(row, words, table.columns, strict=True):
            if cell is not None:
                grid.add_row(plain(column.heading, "dim"), text)
        blocks += [grid, ""]
    return Group(*blocks[:-1])


def _styled(table: Table) -> list[list[Text]]:
    """Return the words of every cell in the colour of its verdict."""
    return [
        [
            plain(words, _STYLE[cell.tone] if isinstance(cell, Verdict) else "")
            for cell, words in zip(*cells, strict=True)
        ]
        for cells in zip(table.rows, format_table(table), strict=True)
    ]
