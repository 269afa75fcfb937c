"""Says what is wrong with a table: which column, which row, what was found, what would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from lmprobe.errors import DataFileError
from lmprobe.io.table_source import Relation, TableSource
from lmprobe.tabular.columns import Layout

_NOT_A_NUMBER = 'row {row}: {value!r} in the column "{column}" is not a number'
_WORDS = (
    'the column "{column}" is one with words in it (row {row}: {value!r}); several tasks need '
    "columns of 0/1 or probabilities"
)


def refuse_mistakes(source: TableSource, layout: Layout) -> NoReturn:
    """Find the first mistake, column by column, and raise it; rows may be read once more."""
    columns = layout.columns
    for column in layout.names:
        refuse_missing_cell(source, column)
    for column in dict.fromkeys(layout.numbers.values()):
        refuse(source, column, _is_word, _WORDS if len(columns.task) > 1 else _NOT_A_NUMBER)
        refuse(
            source,
            column,
            lambda table, name: f"{table.number(name)} NOT BETWEEN 0 AND 1",
            "`{column}` must lie in [0, 1]: found {value} in row {row}; turn scores into "
            "probabilities first",
        )
    for column in (*columns.score, *([columns.weight] if columns.weight else [])):
        refuse_words(source, column)
    if columns.weight is not None:
        refuse(
            source,
            columns.weight,
            lambda table, name: f"{table.number(name)} < 0 OR {is_infinite(table, name)}",
            'the weights "{column}" must be finite numbers that are not negative; found {value} '
            "in row {row}",
        )
    raise DataFileError(f"{source.name}: there is no row below the column names")


def refuse_missing_cell(source: TableSource, column: str) -> None:
    """Refuse a column with a missing value."""
    message = 'the column "{column}" has no value in row {row}; remove or impute it'
    refuse(source, column, Relation.missing, message)


def refuse_words(source: TableSource, column: str) -> None:
    """Refuse a column of numbers with a word in it."""
    refuse(source, column, _is_word, _NOT_A_NUMBER)


def refuse(
    source: TableSource, column: str, condition: Callable[[Relation, str], str], message: str
) -> None:
    """Raise the message about the first row in which the column meets the condition, if any."""
    found = source.first_row(column, condition)
    if found:
        about = message.format(column=column, row=found.row, value=found.value)
        raise DataFileError(f"{found.place}: {about}")


def is_infinite(table: Relation, column: str) -> str:
    """Return the condition that a number is infinite."""
    return f"isinf(({table.number(column)})::DOUBLE)"


def _is_word(table: Relation, column: str) -> str:
    return f"{table.number(column)} IS NULL"
