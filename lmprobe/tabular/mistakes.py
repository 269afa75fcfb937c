"""Says what is wrong with a table: which column, which row, what was found, what would do."""

from __future__ import annotations

from lmprobe.errors import DataFileError
from lmprobe.io.table_source import Found, Relation, TableSource
from lmprobe.tabular.columns import Layout


def refuse_mistakes(source: TableSource, layout: Layout) -> None:
    """Find the first mistake, column by column, and raise it; rows may be read once more."""
    columns = layout.columns
    for column in layout.names:
        refuse_missing_cell(source, column)
    for column in dict.fromkeys(layout.numbers.values()):
        _refuse_words(source, column, several=len(columns.task) > 1)
        _refuse_outside(source, column)
    for column in (*columns.score, *([columns.weight] if columns.weight else [])):
        refuse_words(source, column)
    if columns.weight is not None:
        _refuse_weights(source, columns.weight)
    raise DataFileError(f"{source.name}: there is no row below the column names")


def refuse_missing_cell(source: TableSource, column: str) -> None:
    """Refuse a column with a missing value."""
    found = source.first_row(column, Relation.missing)
    if found:
        raise DataFileError(
            f'{found.place}: the column "{column}" has no value in row {found.row}; '
            "remove or impute it"
        )


def refuse_words(source: TableSource, column: str) -> None:
    """Refuse a column of numbers with a word in it."""
    found = source.first_row(column, _is_word)
    if found:
        raise DataFileError(_not_a_number(found, column))


def _refuse_words(source: TableSource, column: str, *, several: bool) -> None:
    found = source.first_row(column, _is_word)
    if not found:
        return
    if not several:
        raise DataFileError(_not_a_number(found, column))
    raise DataFileError(
        f'{found.place}: the column "{column}" is one with words in it (row {found.row}: '
        f"{found.value!r}); several tasks need columns of 0/1 or probabilities"
    )


def _refuse_outside(source: TableSource, column: str) -> None:
    def outside(table: Relation, name: str) -> str:
        return f"{table.number(name)} NOT BETWEEN 0 AND 1"

    found = source.first_row(column, outside)
    if found:
        raise DataFileError(
            f"{found.place}: `{column}` must lie in [0, 1]: found {found.value} in row "
            f"{found.row}; turn scores into probabilities first"
        )


def _refuse_weights(source: TableSource, weight: str) -> None:
    def wrong(table: Relation, name: str) -> str:
        return f"{table.number(name)} < 0 OR isinf(({table.number(name)})::DOUBLE)"

    found = source.first_row(weight, wrong)
    if found:
        raise DataFileError(
            f'{found.place}: the weights "{weight}" must be finite numbers that are not '
            f"negative; found {found.value} in row {found.row}"
        )


def _is_word(table: Relation, column: str) -> str:
    return f"{table.number(column)} IS NULL"


def _not_a_number(found: Found, column: str) -> str:
    return (
        f'{found.place}: row {found.row}: {found.value!r} in the column "{column}" is not a number'
    )
