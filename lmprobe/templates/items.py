"""Item and answer tables: one row per template, task and item, one column per attribute.

An item table has finished sentences in the columns of the attributes, an answer table what a
model made of them: numbers. The layout is the same and is read here. Columns are found by name:
`task`, and where they exist `template` (the frame), `family` (of frames), `item`, `cluster`; every
other column is an attribute, unless some are chosen.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import Argument, DataFileError, InputError, LmprobeError, did_you_mean, plural
from lmprobe.io.files import parse_toml, problem_in
from lmprobe.io.table_files import SUFFIXES, endings
from lmprobe.io.tables import INFINITE, Mistake, Relation, TableSource, quoted
from lmprobe.metrics.labels import is_frame
from lmprobe.results import Note, NoteKind
from lmprobe.results.format import format_percent, listed
from lmprobe.templates.differences import differences

if TYPE_CHECKING:
    import pandas as pd

    from lmprobe.templates.sets import TemplateSet

ITEM_COLUMNS = ("task", "template", "family", "item", "cluster")
"""The columns of an item table that are no attribute."""
_TEXTS = (
    "name", "values", "title", "description", "source", "year", "licence", "language", "method",
    "sha256", "rule", "notes", "lean", "base", "metric",
)  # fmt: skip
_NUMBERS, _TABLES = ("texts", "without_group"), ("words", "without_group_by_task")
_KINDS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(_TEXTS, (str, "text")),
    **dict.fromkeys(_NUMBERS, (int | float, "a number that is not negative")),
    **dict.fromkeys(_TABLES, (dict, "a table")),
}
# What a table takes over from the set whose templates it answers.
_OF_SET = (
    "name", "sha256", "template_names", "families", "attribute_slot", "task_slot", "file",
    "crossed", "attribute_values", "own_words", "turns", "facts", "framed",
)  # fmt: skip
# Numbers held at a time: templates times attributes times items.
_MOST_CELLS = 100_000_000
# With a smaller share of texts that have a group, a warning says so.
_HARDLY_ANY = 0.1
_NUMBER = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|[-+]?inf|nan")
ANSWERS = "answers"
"""The name of a table of answers that has none."""
# What a table without the column calls its only template.
ITEMS = "items"

NOT_A_NUMBER: Mistake = (
    lambda table, name: f"{table.number(name)} IS NULL",
    '{row}: {value!r} in the column "{column}" is not a number; every column but '
    f"{', '.join(ITEM_COLUMNS)} is an attribute, unless some are chosen",
)


@dataclass(frozen=True, slots=True)
class FilledSentence:
    """A finished sentence of a set, with what it is about."""

    template: str
    family: str
    task: str
    task_word: str
    """The word of the task, or the name of the item."""
    attribute: str
    attribute_word: str
    text: str
    turn: str = ""
    """What the user of a chat says before it."""


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
    """(K, A, N): the sentences or numbers of each template; None or NaN where it lacks an item."""
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
    framed: bool = True
    """Whether several tasks share a template. Without the column, each item has its own frame."""
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the TOML beside the table says."""
    system: str | None = None
    """What a system turn says before those of the user."""

    @property
    def finished(self) -> bool:
        """Whether the cells are sentences, and not numbers."""
        return self.cells.dtype == object

    @property
    def rows(self) -> list[tuple[int, int]]:
        """Return template and item, by number, of every row."""
        return [(int(k), int(n)) for k, n in np.argwhere(_present(self.cells))]

    @property
    def attribute_words(self) -> dict[str, tuple[str, ...]]:
        """The words of each attribute: its own."""
        return {name: (name,) for name in self.attributes}

    @property
    def task_words(self) -> dict[str, tuple[str, ...]]:
        """The items of each task, in the order of the cells."""
        places = _columns(self.task_of)
        return {task: tuple(self.items[place] for place in places[task]) for task in self.tasks}

    @property
    def item_names(self) -> tuple[str, ...]:
        """Return the name of each item with its task."""
        return tuple(map("{} of {}".format, self.items, self.task_of))

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.cells.size)

    @property
    def complete(self) -> bool:
        """Whether every template has every item."""
        return bool(_present(self.cells).all())

    def with_words(
        self, attributes: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> ItemTable:
        """Return the table with these attributes and tasks; by default those that it has."""
        who = self._chosen("attribute", attributes, self.attributes)
        what = self._chosen("task", tasks, self.tasks)
        selected = self.selected(who, what)
        if selected.finished and len(who) > 1:
            selected._check_sentences()
        return selected

    def selected(self, attributes: Sequence[str], tasks: Sequence[str]) -> ItemTable:
        """Return the items of these tasks, with the sentences or numbers of these attributes."""
        return self._selected(range(len(self.template_names)), attributes, tasks)

    def shown(self, item: int) -> str:
        """Return the sentence of an item in its first template, its candidates in brackets."""
        template = int(_present(self.cells)[:, item].argmax())
        sentences = self.cells[template, :, item].tolist()
        spans = differences(sentences)
        first: str = sentences[0]
        text, end = "", 0
        for number, (start, stop) in enumerate(spans[0]):
            words = (s[slice(*own[number])] for s, own in zip(sentences, spans, strict=True))
            text += f"{first[end:start]}[{' | '.join(words)}]"
            end = stop
        return text + first[end:]

    def _check_sentences(self) -> None:
        """Raise if an item lacks a sentence, or has the same one for every attribute."""
        for k, n in self.rows:
            sentences = self.cells[k, :, n].tolist()
            item = f'the item "{self.items[n]}" of the task "{self.task_of[n]}"'
            item += f' in the template "{self.template_names[k]}"' if self.framed else ""
            if None in sentences:
                lacking = self.attributes[sentences.index(None)]
                raise DataFileError(
                    f'{self.source}: {item} has no sentence in the column "{lacking}"; write it, '
                    "take the row out, or choose the columns that are attributes (",
                    Argument("attributes"),
                    ")",
                )
            if len({" ".join(text.split()) for text in sentences}) == 1:
                raise DataFileError(
                    f"{self.source}: {item} has the same sentence for {listed(self.attributes)}, "
                    f"{sentences[0]!r}; write what differs, or take the row out"
                )

    def on(self, templates: TemplateSet | ItemTable) -> ItemTable:
        """Return the table on the templates of a set, found by their names, in the set's order."""
        items = templates.item_names if isinstance(templates, ItemTable) else ()
        for role, own, wanted in (
            ("template", self.template_names, templates.template_names),
            ("task", self.tasks, templates.tasks),
            ("item", {*self.item_names}, items),
        ):
            if lacking := [name for name in wanted if name not in own]:
                number = plural(len(lacking), role, of=len(wanted))
                raise InputError(
                    f"{self.source} has no answers for {number} "
                    f'of {templates.name}, such as "{lacking[0]}"; name the set that was scored (',
                    Argument("templates"),
                    ")",
                )
        places = [self.template_names.index(name) for name in templates.template_names]
        return replace(
            self._selected(places, templates.attributes, templates.tasks),
            of_model=False,
            **{name: getattr(templates, name) for name in _OF_SET if hasattr(templates, name)},
        )

    def with_chat(self, turns: Sequence[str] | None = None, system: str | None = None) -> ItemTable:
        """Return the table with every sentence after each of the turns, unless it was recorded."""
        for name, given in (("chat", turns), ("system", system)):
            if given is not None and not self.finished:
                raise InputError(
                    Argument(name), f" is for models that are asked; {self.source} was recorded"
                )
        if turns is None and system is None:
            return self
        said = checked_turns(turns or ())
        return replace(
            self,
            template_names=tuple(f"{turn} > {own}" for turn in said for own in self.template_names),
            families=self.families * len(said),
            cells=np.concatenate([self.cells] * len(said)),
            turns=tuple(turn for turn in said for _ in self.template_names),
            system=system,
        )

    def sentences(self) -> Iterator[FilledSentence]:
        """Yield every sentence: by template, then item, then attribute."""
        yield from self._filled(self.rows)

    def some_sentences(self, most: int = 16) -> Iterator[FilledSentence]:
        """Yield a few sentences, from all parts of the table."""
        step = max(1, len(self.rows) * len(self.attributes) // most)
        yield from self._filled(self.rows[::step])

    def _filled(self, rows: Iterable[tuple[int, int]]) -> Iterator[FilledSentence]:
        turns = self.turns or ("",) * len(self.template_names)
        for k, n in rows:
            about = self.template_names[k], self.families[k], self.task_of[n], self.items[n]
            for attribute, text in zip(self.attributes, self.cells[k, :, n], strict=True):
                yield FilledSentence(*about, attribute, attribute, text, turns[k])

    def item_table(self) -> pd.DataFrame:
        """Return the table as it would be written: a row for each template and item."""
        import pandas as pd

        rows = []
        for k, n in self.rows:
            labels = {"task": self.task_of[n], "item": self.items[n]}
            if self.framed:
                labels |= {"template": self.template_names[k], "family": self.families[k]}
            if self.clusters:
                labels["cluster"] = self.clusters[n]
            rows.append(labels | dict(zip(self.attributes, self.cells[k, :, n], strict=True)))
        return pd.DataFrame(rows)

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
        of_task = _columns(self.task_of)
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


def _columns(task_of: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the items of each task."""
    columns: dict[str, list[int]] = {}
    for place, task in enumerate(task_of):
        columns.setdefault(task, []).append(place)
    return columns


def _present(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which templates have which items, (K, N)."""
    if cells.dtype == object:
        return np.asarray((cells != None).any(axis=1))  # noqa: E711 - of each cell
    return np.asarray(~np.isnan(cells).all(axis=1))


def checked_turns(turns: Sequence[str]) -> list[str]:
    """Return the turns of the user, or say what is wrong with them."""
    if not turns:
        raise InputError("a chat begins with a turn of the user: give one (", Argument("chat"), ")")
    if any(not turn.strip() for turn in turns) or len(set(turns)) < len(turns):
        raise InputError(Argument("chat"), " has an empty turn, or one twice; remove it")
    return list(turns)


def is_item_table(given: Any) -> bool:
    """Tell whether this is the name of a table file, or a table in memory."""
    if isinstance(given, str | Path):
        return "://" not in str(given) and endings(Path(given))[0] in SUFFIXES
    return is_frame(given) or hasattr(given, "__arrow_c_stream__")


def holds_sentences(path: Path) -> bool:
    """Tell whether a file is a table of tasks with two columns or more of texts, not numbers."""
    if not is_item_table(path):
        return False
    try:
        with TableSource(path) as source:
            others = [name for name in source.columns if name not in ITEM_COLUMNS]
            texts = [
                name
                for name in others
                if source.first_row(name, _several_words) and not source.first_row(name, _number)
            ]
            return "task" in source.columns and len(texts) > 1
    except LmprobeError:
        return False


def _several_words(table: Relation, name: str) -> str:
    # In some scripts no space separates words.
    return f"regexp_matches({quoted(name)}::VARCHAR, '\\s|[^\\x00-\\x7f]')"


def _number(table: Relation, name: str) -> str:
    return f"{table.number(name)} IS NOT NULL"


def attribute_columns(name: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are attributes; raise where the layout is another."""
    if "task" not in columns:
        raise DataFileError(
            f'{name}: no column "task"; {did_you_mean("task", columns)}. A table of items or '
            "answers has the columns task, he, she, or other attributes, and may have template, "
            "family, item and cluster"
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
    ending, packed = endings(path)
    suffix = len(ending + packed) if ending in SUFFIXES else 0
    beside = path.with_name(f"{path.name[: len(path.name) - suffix]}.toml")
    if not beside.is_file():
        return {}
    try:
        entries = parse_toml(beside.read_text(encoding="utf-8-sig"))
    except ValueError as problem:
        raise problem_in(beside, str(problem)) from None
    for key, value in entries.items():
        if key not in _KINDS:
            raise problem_in(beside, f'no entry is called "{key}"; {did_you_mean(key, _KINDS)}')
        kind, what = _KINDS[key]
        if not isinstance(value, kind) or (key in _NUMBERS and not value >= 0):
            raise problem_in(beside, f"{key} must be {what}, found {value!r}")
    if entries.get("without_group", 0) >= 1:
        raise problem_in(beside, "without_group must be a share from 0 to less than 1")
    for key in {"base", "lean"} & set(entries):
        # A file beside the table, or else the name of a source.
        if (named := path.parent / entries[key]).is_file() or named.suffix == ".csv":
            entries[key] = str(named)
    return entries


def hardly_written(mass: float) -> list[Note]:
    """Return the warning that hardly any text has a group, if so; `mass` is the share that has."""
    if not mass < _HARDLY_ANY:
        return []
    text = f"only {format_percent(mass)} of the texts have a group"
    return [Note(NoteKind.MASS, f"{text}: the counts are about texts hardly written")]


def missing_notes(table: ItemTable) -> tuple[Note, ...]:
    """Return which tasks are left out, because a template has no item for them."""
    if not table.missing:
        return ()
    what = "a sentence" if table.finished else "an answer"
    tasks = plural(len(table.missing), "task")
    text = f"{tasks} without {what} in every template: {', '.join(table.missing)}"
    return (Note(NoteKind.LEFT_OUT, text),)


def read_items(
    source: TableSource,
    attributes: Sequence[str],
    *,
    name: str,
    mistakes: Sequence[Mistake] = (),
    amounts: bool = False,
    facts: Mapping[str, Any] | None = None,
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
    for column in attributes:
        if frame[column].dtype.kind not in "iuf":
            source.refuse(column, NOT_A_NUMBER)
    if frame.isna().to_numpy().any():
        source.refuse_missing(labels, attributes, ("fill it in, or take such rows out",))
    for column in attributes:
        source.refuse(column, INFINITE, *mistakes)
    values = frame[list(attributes)].to_numpy(np.float64, copy=True)
    empty = (values == 0).all(axis=1) & amounts
    values[empty] = np.nan
    if int(empty.sum()) == len(values):
        raise DataFileError(f"{source.name}: every number is zero")
    own = {"empty": int(empty.sum()), "facts": facts or {}}
    return _table(source, frame, labels, values, tuple(attributes), name, **own)


def read_item_set(given: Any) -> ItemTable:
    """Return the sentences of an item table, with what the TOML beside it says.

    Every column but those of the layout is an attribute, until some are chosen.
    """
    path = Path(given) if isinstance(given, str | Path) else None
    facts = {} if path is None else describe_items(path)
    with TableSource(given) as source:
        attributes = attribute_columns(source.name, source.columns)
        labels = [column for column in ITEM_COLUMNS if column in source.columns]
        frame = source.read([*labels, *attributes], text=[*labels, *attributes])
        source.refuse_missing(labels, remedy=("fill it in, or take such rows out",))
        sentences = frame[list(attributes)].to_numpy(dtype=object)
        written = [
            text if isinstance(text, str) and text.strip() else None for text in sentences.flat
        ]
        if all(text is None or _NUMBER.fullmatch(text.strip()) for text in written):
            raise DataFileError(
                f"{source.name}: an item table has sentences in the columns {listed(attributes)}, "
                "and these hold numbers; a table of answers is given as MODEL"
            )
        sentences = np.array(written, dtype=object).reshape(sentences.shape)
        name = "items" if path is None else path.name.removesuffix("".join(endings(path)))
        table = _table(
            source, frame, labels, sentences, attributes, facts.get("name", name), facts=facts,
            framed="template" in labels, of_model=False,
            file="ITEMS.csv" if path is None else path.name,
        )  # fmt: skip
    text = json.dumps([table.sha256, table.cells.tolist()])
    return replace(table, sha256=hashlib.sha256(text.encode()).hexdigest())


def _table(
    source: TableSource,
    frame: pd.DataFrame,
    labels: Sequence[str],
    values: NDArray[Any],
    attributes: tuple[str, ...],
    name: str,
    **facts: Any,
) -> ItemTable:
    """Return the rows, (rows, A), as a table of the tasks that every template has."""
    names = {
        column: np.array([normalize("NFC", str(word)) for word in frame[column]], dtype=object)
        for column in labels
    }
    table = _arranged(source.name, names, values)
    layout = [table[key] for key in ("template_names", "families", "task_of", "items", "clusters")]
    sha256 = hashlib.sha256(json.dumps([*layout, [*attributes]]).encode()).hexdigest()
    # A task that some template lacks cannot be compared over templates.
    answered = _present(table["cells"])
    columns = _columns(table["task_of"])
    tasks = [task for task, own in columns.items() if answered[:, own].any(axis=1).all()]
    missing = tuple(task for task in columns if task not in set(tasks))
    if missing and len(tasks) < 2:
        numbers = values.dtype != object
        lack, zeros = ("answer", " (a row of zeros is none)") if numbers else ("sentence", "")
        raise DataFileError(
            f"{source.name}: {listed(missing)} {'has' if len(missing) == 1 else 'have'} no {lack} "
            f"in some template{zeros}, and fewer than two tasks are left; the column "
            '"template" names frames in which all tasks occur'
        )
    whole = ItemTable(
        name=name,
        source=source.name,
        sha256=sha256,
        attributes=attributes,
        tasks=tuple(columns),
        all_attributes=attribute_columns(source.name, source.columns),
        all_tasks=tuple(tasks),
        missing=missing,
        **table,
        **facts,
    )
    return whole.selected(attributes, tasks) if missing else whole


def _arranged(
    table: str, names: Mapping[str, NDArray[Any]], values: NDArray[Any]
) -> dict[str, Any]:
    """Return the rows (rows, A) as cells, with the names of templates, families and items.

    Everything is in order of appearance, but the items of a task stand together.
    """
    import pandas as pd

    number = len(values)
    template = names.get("template", np.full(number, ITEMS, dtype=object))
    frame, templates = pd.factorize(template)
    position = pd.DataFrame({"k": frame, "t": names["task"]}).groupby(["k", "t"]).cumcount() + 1
    item = names.get("item", position.astype(str).to_numpy(dtype=object))
    cluster = names.get("cluster", np.full(number, "", dtype=object))
    place, members = pd.factorize(pd.MultiIndex.from_arrays([names["task"], item, cluster]))
    if (twice := pd.DataFrame({"k": frame, "n": place}).duplicated().to_numpy()).any():
        row = int(np.flatnonzero(twice)[0])
        raise DataFileError(
            f'{table}: the item "{item[row]}" of the task "{names["task"][row]}" appears twice in '
            f'the template "{template[row]}" ({plural(int(twice.sum()), "row")} too many); give '
            'each row its own item, or leave the column "item" out'
        )
    families: dict[str, str] = {}
    for name, family in zip(template, names.get("family", template), strict=True):
        if families.setdefault(name, family) != family:
            raise DataFileError(
                f'{table}: the template "{name}" is in two families, "{families[name]}" and '
                f'"{family}"'
            )
    if (size := len(templates) * values.shape[1] * len(members)) > _MOST_CELLS:
        raise DataFileError(
            f"{table}: {len(templates):,} templates by {len(members):,} items come to {size:,} "
            "cells; give the same items in every template the same name, or leave the column "
            '"item" out'
        )
    none = None if values.dtype == object else np.nan
    cells = np.full((len(templates), values.shape[1], len(members)), none, dtype=values.dtype)
    cells[frame, :, place] = values
    tasks, items, clusters = (tuple(members.get_level_values(level)) for level in range(3))
    order = np.argsort(pd.factorize(np.array(tasks, dtype=object))[0], kind="stable").tolist()
    return {
        "template_names": tuple(map(str, templates)),
        "families": tuple(families.values()),
        "cells": cells[:, :, order],
        "task_of": tuple(tasks[column] for column in order),
        "items": tuple(items[column] for column in order),
        "clusters": tuple(clusters[column] for column in order if "cluster" in names),
    }
