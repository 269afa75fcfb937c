"""Item and answer tables: one row per template, task and item, one column per attribute.

An item table has finished sentences in the columns of the attributes, an answer table what a
model made of them: numbers. The layout is the same and is read here. Columns are found by name:
`task`, and where they exist `template` (the frame), `family` (of frames), `item`, `cluster`; every
other column is an attribute, unless some are chosen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import Argument, DataFileError, InputError, did_you_mean, plural
from lmprobe.io.files import parse_toml, problem_in
from lmprobe.io.table_files import SUFFIXES, endings
from lmprobe.io.tables import INFINITE, Mistake, TableSource
from lmprobe.metrics.labels import is_frame

if TYPE_CHECKING:
    import pandas as pd

    from lmprobe.templates.sets import TemplateSet

ITEM_COLUMNS = ("task", "template", "family", "item", "cluster")
"""The columns of an item table that are no attribute."""
_KEYS = ("name", "values", "description", "source", "licence", "language")
# Numbers held at a time: templates times attributes times items.
_MOST_CELLS = 100_000_000
# What a table without the column calls its only template.
NO_TEMPLATE = "answers"

NOT_A_NUMBER: Mistake = (
    lambda table, name: f"{table.number(name)} IS NULL",
    '{row}: {value!r} in the column "{column}" is not a number; every column but '
    f"{', '.join(ITEM_COLUMNS)} is an attribute, unless some are chosen",
)


@dataclass(frozen=True, eq=False)
class ItemTable:
    """The cells of an item or answer table, with the names of everything in it."""

    name: str
    source: str
    """What the table is called, for messages."""
    sha256: str
    """Of the layout: templates, families, attributes, tasks and items, whatever the cells hold."""
    template_names: tuple[str, ...]
    families: tuple[str, ...]
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    """Those for which every template has an item."""
    cells: NDArray[Any] = field(repr=False)
    """(K, A, N): what stands in the rows of each template; NaN or None where it has no such row."""
    task_of: tuple[str, ...] = field(repr=False)
    """(N,): the task of each item."""
    items: tuple[str, ...] = field(repr=False)
    """(N,): the name of each item."""
    clusters: tuple[str, ...] = field(repr=False)
    """(N,): what an item shares with others; empty without such a column."""
    attribute_slot: str = "group"
    task_slot: str = "task"
    file: str = ""
    of_model: bool = True
    """Whether the templates are those of the table, and not of a set that was chosen for it."""
    crossed: tuple[str, ...] = ()
    attribute_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    own_words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    turns: tuple[str, ...] = ()
    """The turn of a chat before each template, where the templates are those of a set."""
    all_attributes: tuple[str, ...] = field(default=(), repr=False)
    all_tasks: tuple[str, ...] = field(default=(), repr=False)
    """Those of the table, whichever are chosen."""
    missing: tuple[str, ...] = ()
    """Tasks that are left out, because a template has no item for them."""
    empty: int = 0
    """Rows of zeros, which say nothing."""

    @property
    def attribute_words(self) -> dict[str, tuple[str, ...]]:
        """The words of each attribute: its own."""
        return {name: (name,) for name in self.attributes}

    @property
    def task_words(self) -> dict[str, tuple[str, ...]]:
        """The items of each task, in the order of the cells."""
        words: dict[str, list[str]] = {task: [] for task in self.tasks}
        for task, item in zip(self.task_of, self.items, strict=True):
            words[task].append(item)
        return {task: tuple(items) for task, items in words.items()}

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.cells.size)

    @property
    def complete(self) -> bool:
        """Whether every template has every item."""
        return not np.isnan(self.cells).any()

    def with_words(
        self, attributes: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> ItemTable:
        """Return the table with these attributes and tasks; by default those that it has."""
        who = self._chosen("attribute", attributes, self.attributes)
        what = self._chosen("task", tasks, self.tasks)
        return self._selected(range(len(self.template_names)), who, what)

    def on(self, templates: TemplateSet) -> ItemTable:
        """Return the table on the templates of a set, found by their names, in the set's order."""
        for role, own, wanted in (
            ("template", self.template_names, templates.template_names),
            ("task", self.tasks, templates.tasks),
        ):
            if lacking := [name for name in wanted if name not in own]:
                number = plural(len(lacking), role, of=len(wanted))
                raise InputError(
                    f"{self.source} has no answers for {number} "
                    f'of {templates.name}, such as "{lacking[0]}"; without ',
                    Argument("templates"),
                    " its own are taken",
                )
        places = [self.template_names.index(name) for name in templates.template_names]
        return replace(
            self._selected(places, templates.attributes, templates.tasks),
            name=templates.name,
            sha256=templates.sha256,
            template_names=templates.template_names,
            families=templates.families,
            attribute_slot=templates.attribute_slot,
            task_slot=templates.task_slot,
            file=templates.file,
            of_model=False,
            crossed=templates.crossed,
            attribute_values=templates.attribute_values,
            own_words=templates.own_words,
            turns=templates.turns,
        )

    def with_chat(self, turns: Sequence[str] | None = None, system: str | None = None) -> ItemTable:
        """Return the table; raise if turns are given, because what was asked is recorded."""
        for name, given in (("chat", turns), ("system", system)):
            if given is not None:
                raise InputError(
                    Argument(name), f" is for models that are asked; {self.source} was recorded"
                )
        return self

    def _chosen(self, role: str, given: Sequence[str] | None, own: Sequence[str]) -> list[str]:
        if given is None:
            return list(own)
        names = [normalize("NFC", name) for name in given]
        for name in names:
            if name in self.missing and name not in own:
                raise InputError(f'{self.source}: a template has no answer for the {role} "{name}"')
            if name not in own:
                raise InputError(f'{self.source}: no {role} "{name}"; {did_you_mean(name, own)}')
        return list(dict.fromkeys(names))

    def _selected(
        self, places: Iterable[int], attributes: Sequence[str], tasks: Sequence[str]
    ) -> ItemTable:
        """Return the cells of some templates, attributes and tasks, in their order."""
        rows = [self.attributes.index(name) for name in attributes]
        of_task: dict[str, list[int]] = {task: [] for task in tasks}
        for column, task in enumerate(self.task_of):
            if task in of_task:
                of_task[task].append(column)
        columns = [column for task in tasks for column in of_task[task]]
        return replace(
            self,
            attributes=tuple(attributes),
            tasks=tuple(tasks),
            cells=self.cells[np.ix_(list(places), rows, columns)],
            task_of=tuple(self.task_of[column] for column in columns),
            items=tuple(self.items[column] for column in columns),
            clusters=tuple(self.clusters[column] for column in columns if self.clusters),
        )


def is_item_table(given: Any) -> bool:
    """Tell whether this is the name of a table file, or a table in memory."""
    if isinstance(given, str | Path):
        return "://" not in str(given) and endings(Path(given))[0] in SUFFIXES
    return is_frame(given) or hasattr(given, "__arrow_c_stream__")


def attribute_columns(name: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are attributes; raise where the layout is another."""
    if "task" not in columns:
        raise DataFileError(
            f'{name}: no column "task"; {did_you_mean("task", columns)}. A table of answers has '
            "the columns task, he, she, or other attributes, and may have template, family, item "
            "and cluster"
        )
    attributes = tuple(column for column in columns if column not in ITEM_COLUMNS)
    if len(attributes) < 2:
        listed = f" ({attributes[0]})" if attributes else ""
        raise DataFileError(
            f"{name}: found {plural(len(attributes), 'attribute column')}{listed}; at least two "
            "are needed, such as task,he,she"
        )
    return attributes


def describe_items(path: Path) -> dict[str, Any]:
    """Return what the TOML beside a table says of it; nothing where there is none."""
    stem = path.name
    for suffix in reversed(path.suffixes):
        if suffix.lower() in (*SUFFIXES, ".gz", ".zst"):
            stem = stem.removesuffix(suffix)
    beside = path.with_name(f"{stem}.toml")
    if not beside.is_file():
        return {}
    try:
        entries = parse_toml(beside.read_text(encoding="utf-8-sig"))
    except ValueError as problem:
        raise problem_in(beside, str(problem)) from None
    for key, value in entries.items():
        if key not in _KEYS:
            raise problem_in(beside, f'no entry is called "{key}"; {did_you_mean(key, _KEYS)}')
        if not isinstance(value, str):
            raise problem_in(beside, f"{key} must be text, found {value!r}")
    return entries


def read_items(
    source: TableSource,
    attributes: Sequence[str],
    *,
    name: str,
    mistakes: Sequence[Mistake] = (),
    amounts: bool = False,
) -> ItemTable:
    """Return the numbers of an answer table; `mistakes` are what its cells may not have.

    With `amounts` a row of zeros has no answer.
    """
    for attribute in attributes:
        if attribute not in source.columns:
            hint = did_you_mean(attribute, attribute_columns(source.name, source.columns))
            raise DataFileError(f'{source.name}: no attribute column "{attribute}"; {hint}')
    labels = [column for column in ITEM_COLUMNS if column in source.columns]
    frame = source.read([*labels, *attributes], text=labels)
    _refuse_unusable(source, frame, labels, attributes, mistakes)
    names = {
        column: np.array([normalize("NFC", str(word)) for word in frame[column]], dtype=object)
        for column in labels
    }
    values = frame[list(attributes)].to_numpy(np.float64, copy=True)
    empty = (values == 0).all(axis=1) & amounts
    values[empty] = np.nan
    table = _arranged(source.name, names, values)
    if int(empty.sum()) == len(values):
        raise DataFileError(f"{source.name}: every number is zero")
    layout = [table[key] for key in ("template_names", "families", "task_of", "items", "clusters")]
    sha256 = hashlib.sha256(json.dumps([*layout, [*attributes]]).encode()).hexdigest()
    # A task that some template lacks cannot be compared over templates.
    there = ~np.isnan(table["cells"]).all(axis=1)
    columns: dict[str, list[int]] = {}
    for column, task in enumerate(table["task_of"]):
        columns.setdefault(task, []).append(column)
    tasks = [task for task, own in columns.items() if there[:, own].any(axis=1).all()]
    missing = tuple(task for task in columns if task not in set(tasks))
    if not tasks:
        raise DataFileError(
            f"{source.name}: no task has an answer in every template (the column "
            '"template" names frames in which all tasks occur)'
        )
    whole = ItemTable(
        name=name,
        source=source.name,
        sha256=sha256,
        attributes=tuple(attributes),
        tasks=tuple(columns),
        all_attributes=attribute_columns(source.name, source.columns),
        all_tasks=tuple(tasks),
        missing=missing,
        empty=int(empty.sum()),
        **table,
    )
    return whole.with_words(tasks=tasks) if missing else whole


def _refuse_unusable(
    source: TableSource,
    frame: pd.DataFrame,
    labels: Sequence[str],
    attributes: Sequence[str],
    mistakes: Sequence[Mistake],
) -> None:
    """Raise for the first cell that is missing, no number, or not of the kind that was promised."""
    for column in attributes:
        if frame[column].dtype.kind not in "iuf":
            source.refuse(column, NOT_A_NUMBER)
    if frame.isna().to_numpy().any():
        source.refuse_missing(labels, attributes, ("fill it in, or take such rows out",))
    for column in attributes:
        source.refuse(column, INFINITE, *mistakes)


def _arranged(
    table: str, names: Mapping[str, NDArray[Any]], values: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the rows (rows, A) as cells, with the names of templates, families and items.

    Everything is in order of appearance, but the items of a task stand together.
    """
    import pandas as pd

    number = len(values)
    template = names.get("template", np.full(number, NO_TEMPLATE, dtype=object))
    frame, templates = pd.factorize(template)
    position = pd.DataFrame({"k": frame, "t": names["task"]}).groupby(["k", "t"]).cumcount() + 1
    item = names.get("item", position.astype(str).to_numpy(dtype=object))
    cluster = names.get("cluster", np.full(number, "", dtype=object))
    place, members = pd.factorize(pd.MultiIndex.from_arrays([names["task"], item, cluster]))
    _refuse_twice(table, frame, place, names["task"], template, item)
    if (size := len(templates) * values.shape[1] * len(members)) > _MOST_CELLS:
        raise DataFileError(
            f"{table}: {len(templates):,} templates by {len(members):,} items come to {size:,} "
            "cells; give the same items in every template the same name, or leave the column "
            '"item" out'
        )
    cells = np.full((len(templates), values.shape[1], len(members)), np.nan)
    cells[frame, :, place] = values
    tasks, items, clusters = (tuple(members.get_level_values(level)) for level in range(3))
    order = np.argsort(pd.factorize(np.array(tasks, dtype=object))[0], kind="stable").tolist()
    return {
        "template_names": tuple(map(str, templates)),
        "families": _families(table, names, frame, list(templates)),
        "cells": cells[:, :, order],
        "task_of": tuple(tasks[column] for column in order),
        "items": tuple(items[column] for column in order),
        "clusters": tuple(clusters[column] for column in order if "cluster" in names),
    }


def _refuse_twice(
    table: str,
    frame: NDArray[Any],
    column: NDArray[Any],
    task: NDArray[Any],
    template: NDArray[Any],
    item: NDArray[Any],
) -> None:
    """Raise if a template has two rows for one item."""
    import pandas as pd

    twice = pd.DataFrame({"k": frame, "n": column}).duplicated().to_numpy()
    if twice.any():
        row = int(np.flatnonzero(twice)[0])
        raise DataFileError(
            f'{table}: the item "{item[row]}" of the task "{task[row]}" appears twice in the '
            f'template "{template[row]}" ({plural(int(twice.sum()), "row")} too many); give each '
            'row its own item, or leave the column "item" out'
        )


def _families(
    table: str, names: Mapping[str, NDArray[Any]], frame: NDArray[Any], templates: Sequence[str]
) -> tuple[str, ...]:
    """Return the family of each template; raise if one has two."""
    if "family" not in names:
        return tuple(templates)
    families: dict[int, str] = {}
    for place, family in zip(frame.tolist(), names["family"], strict=True):
        if families.setdefault(place, family) != family:
            raise DataFileError(
                f'{table}: the template "{templates[place]}" is in two families, '
                f'"{families[place]}" and "{family}"'
            )
    return tuple(families[place] for place in range(len(templates)))
