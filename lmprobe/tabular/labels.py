"""The labels of both axes: the same for every run and for the train table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lmprobe.errors import InputError
from lmprobe.tabular.columns import Columns
from lmprobe.tabular.counting import Counted


@dataclass(frozen=True, slots=True)
class Labels:
    """The names of both axes, in order."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]


def common_labels(
    columns: Columns,
    tables: Sequence[Counted],
    train: Counted | None,
    *,
    binary: bool,
    train_name: str | None,
) -> Labels:
    """Return all labels; predictions of which none is a known label are refused."""
    groups = _kinds(one.groups for one in tables)
    guesses = _kinds(one.group_guesses for one in tables)
    trained = set() if train is None else _kinds([train.groups])
    # A single stranger may be a model that knows but one answer.
    if min(len(groups), len(guesses)) > 1:
        _refuse_strangers("predicted group", guesses, groups)
    _refuse_strangers(f"group of {train_name}", trained, groups)
    attributes = tuple(sorted(groups | guesses | trained))
    if binary:
        return Labels(attributes, columns.task)
    return Labels(attributes, _tasks(columns, tables, train, train_name))


def _tasks(
    columns: Columns, tables: Sequence[Counted], train: Counted | None, train_name: str | None
) -> tuple[str, ...]:
    labelled = _kinds(one.tasks for one in tables)
    trained = set() if train is None else _kinds([train.tasks])
    guesses = _kinds(one.task_guesses for one in tables)
    if columns.score:
        raise InputError(
            f'--score needs tasks of 0 and 1; the column "{columns.task[0]}" holds '
            f"{', '.join(sorted(labelled | trained)[:5])}"
        )
    if len(guesses) > 1:
        column = columns.task_prediction[0]
        _refuse_strangers(f'value of "{column}"', guesses, labelled | trained)
    _refuse_strangers(f"task of {train_name}", trained, labelled)
    return tuple(sorted(labelled | trained | guesses))


def _kinds(columns: Iterable[Any]) -> set[str]:
    return {str(label) for column in columns if column is not None for label in set(column)}


def _refuse_strangers(what: str, found: set[str], known: set[str]) -> None:
    """Refuse labels of which none is known: spelled otherwise, or of another column."""
    if found and not found & known:
        raise InputError(
            f"no {what} ({', '.join(sorted(found)[:5])}) is one of those labelled "
            f"({', '.join(sorted(known)[:5])})"
        )
