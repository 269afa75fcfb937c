"""What a page's template needs of a table: words and classes of cells, filters, names."""

from __future__ import annotations

from typing import Any

from lmprobe.results import Cell, Column, ColumnKind, Table, Tone, Verdict
from lmprobe.results.format import format_cell, plural

MOST_ROWS = 2000
"""A page with more lines than this is slow; the CSV has them all."""

_MOST_FILTERED = 12
"""A column with more different words than this is searched, not chosen from a list."""


def table_view(table: Table, name: str) -> dict[str, Any]:
    """Return the table as a template reads it; `name` is unique on the page."""
    rows = [_row(table, row) for row in table.rows[:MOST_ROWS]]
    return {
        "id": name,
        "label": table.title or table.name.replace("_", " "),
        "title": table.title,
        "caption": table.caption,
        "columns": [
            {"heading": column.heading, "kind": _class(column).replace("verdict", "")}
            for column in table.columns
        ],
        "rows": rows,
        # The first column names its row, if it holds words.
        "named": bool(table.columns) and table.columns[0].kind is ColumnKind.TEXT,
        "layout": _narrow_layout(table),
        "filters": [*filter(None, (_filter(table, n) for n in range(len(table.columns))))],
        "example": _example(table),
        "shown": f"{len(rows):,}",
        "total": plural(len(table.rows), "row"),
        "total_rows": len(table.rows),
        "left_out": len(table.rows) - len(rows),
    }


def _row(table: Table, row: tuple[Cell, ...]) -> list[dict[str, str]]:
    tones = _tones(table, row)
    return [
        {
            "words": format_cell(cell, column),
            "kind": " ".join(filter(None, (_class(column), tone))),
        }
        for cell, column, tone in zip(row, table.columns, tones, strict=True)
    ]


def _tones(table: Table, row: tuple[Cell, ...]) -> list[str]:
    """Return the colour of each cell.

    A signed number takes the tone of the verdict that follows it. In a table without
    verdicts its sign decides; in one with them a number that none follows stays plain.
    """
    judged = any(column.kind is ColumnKind.VERDICT for column in table.columns)
    tones, following = [], ""
    for cell, column in reversed(list(zip(row, table.columns, strict=True))):
        tone = ""
        if isinstance(cell, Verdict):
            tone = following = cell.tone.value
        elif column.kind is ColumnKind.SIGNED:
            tone = following if judged else _sign(cell)
            following = ""
        tones.append(tone)
    return tones[::-1]


def _sign(cell: Cell) -> str:
    if not isinstance(cell, int | float) or cell == 0 or cell != cell:
        return ""
    return Tone.PLUS.value if cell > 0 else Tone.MINUS.value


def _narrow_layout(table: Table) -> str:
    """Return the class that says what becomes of the table on a phone.

    A few columns with a verdict share two lines per row; many become a line per cell with
    its heading before it; other tables only get smaller.
    """
    if len(table.columns) > 4:
        return "labelled"
    judged = any(column.kind is ColumnKind.VERDICT for column in table.columns)
    return "stack" if judged else "tight"


def _class(column: Column) -> str:
    if column.kind.is_words:
        return "verdict" if column.kind is ColumnKind.VERDICT else ""
    return "number" if column.kind.is_number else "range"


def _filter(table: Table, number: int) -> dict[str, Any] | None:
    """Return the choices of a column with a few different words, or None."""
    column = table.columns[number]
    if not column.kind.is_words:
        return None
    words = dict.fromkeys(format_cell(row[number], column) for row in table.rows)
    if not 1 < len(words) <= _MOST_FILTERED or len(words) == len(table.rows):
        return None
    return {"column": number, "heading": column.heading, "options": [*filter(None, words)]}


def _example(table: Table) -> str:
    """Return what one could search for, such as the first row's words with the most choices."""
    texts = [
        row[number]
        for row in table.rows[:1]
        for number, column in enumerate(table.columns)
        if column.kind is ColumnKind.TEXT
    ]
    words = " ".join(str(text) for text in texts[-2:] if text)
    return f", for example {words}" if words and len(words) <= 40 else ""
