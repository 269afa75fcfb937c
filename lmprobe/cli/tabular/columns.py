"""Which columns of a table file hold what, and which labels they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from lmprobe.errors import DataFileError, InputError
from lmprobe.labels import cross
from lmprobe.tables import ROWS, read_chunks, refuse_missing

# More kinds than that are names or numbers of rows, not groups or tasks.
KINDS = 10_000
_WHOLE = r"^(-?\d+)\.0+$"


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the file hold what; several attributes are crossed."""

    attribute: tuple[str, ...]
    task: tuple[str, ...]
    attribute_prediction: tuple[str, ...] = ()
    task_prediction: tuple[str, ...] = ()
    score: tuple[str, ...] = ()
    weight: str | None = None

    def __post_init__(self) -> None:
        """Check that the predictions answer to the labels, column by column."""
        if self.score and self.task_prediction:
            raise InputError("give --score or --task-prediction, not both")
        if not (self.attribute_prediction or self.task_prediction or self.score):
            raise InputError("give --task-prediction, --score or --attribute-prediction")
        pairs = (
            ("--attribute-prediction", self.attribute_prediction, "--attribute", self.attribute),
            ("--task-prediction", self.task_prediction, "--task", self.task),
            ("--score", self.score, "--task", self.task),
        )
        for option, columns, other, labels in pairs:
            if columns and len(columns) != len(labels):
                raise InputError(
                    f"{option} names {len(columns)} columns and {other} {len(labels)}: "
                    "each label needs its own, in the same order"
                )


@dataclass(frozen=True, slots=True)
class Layout:
    """The labels of both axes, the same in every chunk and in the train file."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    binary: bool
    """Whether task columns hold 0/1 or probabilities; else the one column holds categories."""


def layout_of(path: Path, columns: Columns, train: Path | None) -> Layout:
    """Find the categories that the file and its train file hold together."""
    wanted = [columns.attribute, columns.task if len(columns.task) == 1 else ()]
    seen = categories(path, [*wanted, columns.attribute_prediction])
    more: list[set[str]] = [set(), set()] if train is None else categories(train, wanted)
    # A single stranger may be a model that knows but one answer.
    if min(len(seen[0]), len(seen[2])) > 1:
        _refuse_strangers("predicted group", seen[2], seen[0])
    _refuse_strangers(f"group of {train}", more[0], seen[0])
    kinds = seen[1] | more[1]
    names = tuple(sorted(seen[0] | seen[2] | more[0]))
    # No kinds were collected where there are several task columns: each is one task.
    if all(_in_unit(kind) for kind in kinds):
        return Layout(names, columns.task, binary=True)
    if columns.score:
        raise InputError(
            f'--score needs tasks of 0 and 1; the column "{columns.task[0]}" holds '
            f"{', '.join(sorted(kinds)[:5])}"
        )
    guessed = categories(path, [columns.task_prediction])[0]
    if len(guessed) > 1:
        _refuse_strangers(f'value of "{columns.task_prediction[0]}"', guessed, kinds)
    _refuse_strangers(f"task of {train}", more[1], seen[1])
    return Layout(names, tuple(sorted(kinds | guessed)), binary=False)


def _refuse_strangers(what: str, found: set[str], known: set[str]) -> None:
    """Refuse labels of which none is known: spelled otherwise, or of another column."""
    if found and not found & known:
        raise InputError(
            f"no {what} ({', '.join(sorted(found)[:5])}) is one of those labelled "
            f"({', '.join(sorted(known)[:5])})"
        )


def categories(path: Path, groups: Sequence[tuple[str, ...]]) -> list[set[str]]:
    """Return the distinct values of each group of columns, crossed; an empty group has none."""
    found: list[set[str]] = [set() for _ in groups]
    text = tuple(dict.fromkeys(name for group in groups for name in group))
    if text:
        for frame in chunks(path, text, text):
            for values, group in zip(found, groups, strict=True):
                if group:
                    values.update(pd.unique(crossed(frame, group)))
                if len(values) > KINDS:
                    raise DataFileError(
                        f'{path}: "{" & ".join(group)}" has more than {KINDS:,} different values; '
                        "name a column of groups or of tasks"
                    )
    return found


def _in_unit(kind: str) -> bool:
    """Tell whether a label says how much a row has the one task: 0/1, or a probability."""
    if kind.lower() in ("true", "false"):
        return True
    try:
        return 0 <= float(kind) <= 1
    except ValueError:
        return False


def crossed(frame: pd.DataFrame, group: tuple[str, ...]) -> NDArray[Any]:
    """Return one column of categories; 1.0, as a float column writes it, is the category 1."""
    plain = {name: frame[name].str.replace(_WHOLE, r"\1", regex=True) for name in group}
    return cross(plain).astype(object)


def chunks(
    path: Path,
    columns: Sequence[str],
    text: Sequence[str],
    numbers: Sequence[str] = (),
    rows: int = ROWS,
) -> Iterator[pd.DataFrame]:
    """Yield chunks without a missing value, and say in which row one is."""
    start = 0
    for frame in read_chunks(path, columns, rows=rows, text=text, numbers=numbers):
        refuse_missing(frame, path, start)
        yield frame
        start += len(frame)
