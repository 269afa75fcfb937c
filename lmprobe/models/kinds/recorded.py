"""Answers that a model gave elsewhere, recorded in a table: they are read, nothing is asked."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

import numpy as np

from lmprobe.errors import Argument, InputError, ModelError, did_you_mean, plural
from lmprobe.io.tables import NOT_A_SHARE, Mistake, TableSource
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction
from lmprobe.models.kind import AUTO, ModelKind, kinds
from lmprobe.models.language_model import Cloze, EncodedCloze, Origin, Place, TokenQuery, WordTokens
from lmprobe.results import Note, NoteKind
from lmprobe.templates import AnySet
from lmprobe.templates.items import (
    ANSWERS,
    ItemTable,
    attribute_columns,
    describe_items,
    hardly_written,
    is_item_table,
    missing_notes,
    read_items,
)

RECORDED = "recorded"
Values = Literal["log-probability", "sentence-log-likelihood", "probability", "count"]
"""What the numbers of an answer table are."""
DEFAULT, LIKELIHOOD, PROBABILITY, COUNT = get_args(Values)
_MEMORY = "the table (in memory)"

_NEGATIVE: Mistake = (
    lambda table, name: (
        f"{table.number(name)} < 0 OR {table.number(name)} <> floor({table.number(name)})"
    ),
    'found {value} in {row}, column "{column}": a count is a whole number of texts, at least 0',
)
_MISTAKES: Mapping[str, tuple[Mistake, ...]] = {PROBABILITY: (NOT_A_SHARE,), COUNT: (_NEGATIVE,)}


@dataclass(frozen=True, slots=True)
class RecordedOrigin(Origin):
    """Where the table was found, and what its numbers were said to be."""

    values: str | None = None


@kinds.register(RECORDED)
class RecordedModel(ModelKind):
    """The answers of a model in a table (CSV, Parquet, JSON Lines, a DataFrame); nothing is run."""

    kind = RECORDED
    masks = False
    default_scorer = RECORDED
    default_templates = ""
    sentence_scorer = RECORDED
    revision: str | None = None
    folder: Path | None = None
    device = dtype = tokenizer_name = batch_policy = ""
    threads = 0
    packages = ("numpy", "scipy", "pandas", "duckdb")

    def __init__(self, table: Any, *, values: str | None = None) -> None:
        """Look at the columns; the rows are read when it is known which attributes are wanted."""
        self._table = table
        with TableSource(table) as source:
            self.attributes = attribute_columns(source.name, source.columns)
            self.name = _MEMORY if source.files is None else str(table)
            self.content_hash = source.files.sha256 if source.files else _frame_hash(table)
        place: Place = "file" if isinstance(table, str | Path) else "memory"
        self.description = describe_items(Path(table)) if place == "file" else {}
        values = values or self.description.get("values")
        if values is not None and values not in get_args(Values):
            hint = did_you_mean(values, get_args(Values))
            raise InputError(Argument("values"), f' cannot be "{values}"; {hint}')
        self.values = values or DEFAULT
        kind = AUTO if is_item_table(table) else RECORDED
        self.origin: Origin = RecordedOrigin(place, kind, None, values)
        self._read: dict[tuple[str, ...], ItemTable] = {}

    def __repr__(self) -> str:
        """Return the name and what its numbers are."""
        return f"RecordedModel({self.name!r}, values={self.values!r})"

    def template_set(
        self,
        given: AnySet | None = None,
        attributes: Sequence[str] | None = None,
        tasks: Sequence[str] | None = None,
    ) -> ItemTable:
        """Return the answers on the templates of a set, by default on those of the table."""
        given = None if given is None else given.with_words(attributes, tasks)
        key = tuple(attributes or self.attributes) if given is None else given.attributes
        if key not in self._read:
            with TableSource(self._table) as source:
                self._read[key] = read_items(
                    source,
                    key,
                    name=self.description.get("name", ANSWERS),
                    mistakes=_MISTAKES.get(self.values, ()),
                    amounts=self.values in _MISTAKES,
                    facts=self.description,
                )
        answers = self._read[key]
        return answers if given is None else answers.on(given)

    @property
    def mass(self) -> float:
        """The share of the texts that have a group, as far as it is known: else NaN."""
        return 1 - float(self.description.get("without_group", math.nan))

    def logarithms(self, answers: ItemTable) -> Floats:
        """Return the numbers as logarithms (K, A, N), NaN where a template lacks an item."""
        if self.values not in _MISTAKES:
            return np.asarray(answers.cells)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(answers.cells))

    def directions(
        self, answers: ItemTable, wanted: Sequence[Direction]
    ) -> tuple[tuple[Direction, ...], str]:
        """Return those that the answers can tell, and why not the others; raise if none."""
        if wanted == (Direction.TASK_TO_ATTRIBUTE,):
            return tuple(wanted), ""
        why = ""
        if self.values != LIKELIHOOD:
            why = (
                f"its numbers ({self.values}) compare the groups of a row, and not the tasks; "
                f'those of whole sentences would, with the values "{LIKELIHOOD}"'
            )
        elif not answers.complete:
            lacking = int(np.isnan(answers.cells).any(axis=(0, 1)).sum())
            items = plural(lacking, "item", of=answers.cells.shape[-1])
            why = f"some templates lack {items}, so a task has no probability among all tasks"
        able = tuple(way for way in wanted if not why or way is Direction.TASK_TO_ATTRIBUTE)
        if not able:
            raise InputError(f"{self.name} cannot answer {Direction.ATTRIBUTE_TO_TASK}: {why}")
        return able, why

    def notes(self, answers: ItemTable, directions: Sequence[Direction]) -> tuple[Note, ...]:
        """Return what a reader must know of recorded answers."""
        notes = [
            Note(
                NoteKind.DATA,
                f"recorded answers ({self.values}): no control questions were asked, so whether "
                "the model was informed is not known",
            )
        ]
        why = self.directions(answers, directions)[1]
        if why:
            text = f"{Direction.ATTRIBUTE_TO_TASK} is left out: {why}"
            notes.append(Note(NoteKind.LEFT_OUT, text))
        notes += missing_notes(answers)
        if answers.empty:
            rows = plural(answers.empty, "row")
            notes.append(Note(NoteKind.LEFT_OUT, f"{rows} of zeros, which say nothing"))
        if zeros := int((answers.cells == 0).sum()) if self.values in _MISTAKES else 0:
            least = "half a text" if self.values == COUNT else "half the least that is not zero"
            text = (
                f"{plural(zeros, 'number', of=answers.size)} {'is' if zeros == 1 else 'are'} zero; "
                f"a cell of zeros counts as {least} in the association, whose logarithms need more "
                "than zero"
            )
            notes.append(Note(NoteKind.SMOOTHED, text))
        notes += hardly_written(self.mass)
        if len(set(answers.families)) == 1 and answers.framed:
            unit = "one template" if len(answers.families) == 1 else "one family of templates"
            text = (
                f"{unit} says nothing about other ones, whatever the number of answers; an "
                "interval over the tasks alone is --resample tasks"
            )
            notes.append(Note(NoteKind.DATA, text))
        return tuple(notes)

    @property
    def word_tokens(self) -> WordTokens:
        """Refuse: a table has no tokens."""
        self._refuse()

    def remember(self) -> None:
        """Keep nothing: the table is read again."""

    def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Refuse: a table answers no new questions."""
        self._refuse()

    def log_probabilities(
        self, queries: Sequence[TokenQuery], *, progress: Progress = silent
    ) -> Floats:
        """Refuse: a table answers no new questions."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ModelError(f"{self.name} is a table of recorded answers; it answers nothing else")


def _frame_hash(table: Any) -> str:
    import pandas as pd

    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    return hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()
