"""Generated texts, counted by the group that they speak of: an answer table for `lmprobe run`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from lmprobe import __version__
from lmprobe.errors import Argument, DataFileError, InputError, did_you_mean, plural
from lmprobe.io.files import toml_key, toml_text
from lmprobe.io.table_files import write_table
from lmprobe.io.tables import TableSource, quoted
from lmprobe.io.work import Progress, silent
from lmprobe.results import Note, NoteKind
from lmprobe.results.format import format_percent
from lmprobe.sources.counting.languages import language_of
from lmprobe.sources.counting.lexicon import Labelled, Named, attribute_words, built_in_attributes
from lmprobe.sources.counting.rules import Mentions
from lmprobe.sources.csv_file import check_free
from lmprobe.templates.items import ITEM_COLUMNS, hardly_written

if TYPE_CHECKING:
    import pandas as pd

TEXT = "text"
_Rows = dict[tuple[str, ...], list[int]]
_BATCH = 2048
# Where the shares of two tasks lie so far apart, a warning says so.
_FAR_APART = 0.2
_STANDARD_ERRORS = 4.0


def _majority(labels: Sequence[int]) -> list[int]:
    """Return the label with the most words; none on a tie."""
    ranks = Counter(labels).most_common(2)
    return [label for label, number in ranks[:1] if len(ranks) == 1 or number > ranks[1][1]]


def _only(labels: Sequence[int]) -> set[int]:
    """Return the label, where there is only one."""
    return distinct if len(distinct := set(labels)) == 1 else set()


RULES: Mapping[str, Callable[[Sequence[int]], Iterable[int]]] = {
    "first": lambda labels: labels[:1],
    "majority": _majority,
    "all": set,
    "only": _only,
}
"""For which groups a text counts, given the group of each word in it that names one."""


@dataclass(frozen=True, slots=True, eq=False)
class GenerationCounts:
    """How many texts speak of each group, by prompt and task."""

    table: pd.DataFrame
    """An answer table: one row per task and prompt (and item, cluster), a column per group."""
    words: Labelled
    """The groups, each with the words that name it."""
    rule: str
    language: str
    source: str
    sha256: str | None = field(repr=False)
    """Of the file or files of texts; None for a table in memory."""
    texts_by_task: Mapping[str, int] = field(repr=False)
    counted_by_task: Mapping[str, int] = field(repr=False)
    """How many texts of each task have a group."""

    @property
    def texts(self) -> int:
        """The number of texts."""
        return sum(self.texts_by_task.values())

    @property
    def without_group(self) -> float:
        """The share of texts that count for no group."""
        return (self.texts - sum(self.counted_by_task.values())) / self.texts

    @property
    def without_group_by_task(self) -> dict[str, float]:
        """The share of each task's texts that count for no group."""
        numbers = self.texts_by_task.items()
        return {task: (texts - self.counted_by_task[task]) / texts for task, texts in numbers}

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know of the texts before a number that is made of them is quoted."""
        prompts = self.table["template"].nunique() if "template" in self.table else 1
        of_one = "; texts of one prompt say nothing about another prompt" if prompts == 1 else ""
        groups = [name for name, _ in self.words]
        shares = (
            f"{name} {format_percent(self.table[name].sum() / self.texts)}" for name in groups
        )
        summary = (
            f"{plural(self.texts, 'text')} of {plural(len(self.texts_by_task), 'task')} and "
            f"{plural(prompts, 'prompt')}{of_one}; by the rule {self.rule}: {', '.join(shares)}, "
            f"without a group {format_percent(self.without_group)}"
        )
        notes = [Note(NoteKind.DATA, summary)]
        notes += hardly_written(1 - self.without_group)
        by_task = self.without_group_by_task
        low, high = (end(by_task, key=by_task.__getitem__) for end in (min, max))
        part = 1 / self.texts_by_task[low] + 1 / self.texts_by_task[high]
        error = math.sqrt(self.without_group * (1 - self.without_group) * part)
        if by_task[high] - by_task[low] > max(_FAR_APART, _STANDARD_ERRORS * error):
            ends = (f"{format_percent(by_task[task])} ({task})" for task in (low, high))
            text = f"the share of texts without a group differs between tasks: {' to '.join(ends)}"
            notes.append(Note(NoteKind.MASS, text))
        if empty := int((self.table[groups].sum(axis=1) == 0).sum()):
            rows = plural(empty, "row", of=len(self.table))
            text = f"{rows} of counts: no text has a group; `lmprobe run` leaves such rows out"
            notes.append(Note(NoteKind.LEFT_OUT, text))
        return tuple(notes)

    def description(self) -> str:
        """Return the TOML that belongs beside the table."""
        facts: dict[str, Any] = {
            "title": "Generated texts by the group that they speak of",
            "values": "count",
            "source": self.source,
            "sha256": self.sha256,
            "method": f"lmprobe {__version__} convert generations",
            "rule": self.rule,
            "language": self.language,
            "texts": self.texts,
            "without_group": self.without_group,
        }
        lines = [f"{key} = {toml_text(fact)}" for key, fact in facts.items() if fact is not None]
        for name in ("words", "without_group_by_task"):
            lines += ["", f"[{name}]"]
            entries = dict(getattr(self, name)).items()
            lines += [f"{toml_key(key)} = {toml_text(value)}" for key, value in entries]
        return "\n".join(lines) + "\n"

    def write(self, path: str | Path) -> Path:
        """Write the table and the TOML beside it; return the table's path."""
        path = Path(path)
        check_free(path.with_suffix(".toml"))
        write_table(self.table, path, description=self.description())
        return path


def count_generations(
    texts: Any,
    *,
    attributes: Named | None = None,
    language: str = "en",
    rule: str = "first",
    progress: Progress = silent,
) -> GenerationCounts:
    """Count which group each generated text speaks of, by prompt and task.

    Parameters
    ----------
    texts
        A file, a folder, a pattern, a DataFrame or an Arrow table, with a row per text: `task`,
        `text`, and where they exist `template` (the prompt), `family` (of prompts), `item` and
        `cluster` (what texts share, such as a persona; each is an item of its task).
    attributes
        The words of each group, as in `count_cooccurrences`; by default he and she, with the words
        that are built in for the language.
    rule
        For which group a text counts: `first`, whose word comes first; `majority`, which has the
        most words (none on a tie); `all`, each that is named; `only`, the one that is named alone.

    Notes
    -----
    Words are matched whole and whatever their case, as by the rule `word` of `lmprobe count`.
    """
    if rule not in RULES:
        raise InputError(f'no rule "{rule}" for texts; {did_you_mean(rule, RULES)}')
    language_of(language)
    words = None if attributes is None else attribute_words(attributes)
    with TableSource(texts) as source:
        labels = [name for name in ITEM_COLUMNS if name in source.columns]
        columns = [*dict.fromkeys(["task", *labels]), TEXT]
        source.refuse_missing(columns, remedy=("fill it in, or leave such rows out",))
        (facts,) = source.query(
            columns,
            lambda table: f"SELECT count(*) AS n, list(DISTINCT task) AS tasks FROM {table.sql}",
            text=columns,
        )
        if not (number := facts["n"]):
            raise DataFileError(f"{source.name}: there is no row below the column names")
        if words is None:
            words = attribute_words(built_in_attributes(language, map(str, facts["tasks"])))
        if taken := [name for name, _ in words if name in ITEM_COLUMNS]:
            text = "is called as a column of answer tables is; give it another name"
            raise InputError(f'the attribute "{taken[0]}" {text}')
        search, choose = Mentions(words, language), RULES[rule]
        cells = ", ".join(f"{quoted(name)}::VARCHAR" for name in [*labels, TEXT])

        def read(answer: Any) -> tuple[_Rows, Counter[str], Counter[str]]:
            """Count batch by batch; only counts stay in memory."""
            rows: _Rows = {}
            texts_by_task, counted = Counter[str](), Counter[str]()
            for batch in answer.to_arrow_reader(_BATCH):
                lists = (column.to_pylist() for column in batch.columns)
                for *names, text in zip(*lists, strict=True):
                    key = tuple(normalize("NFC", name) for name in names)
                    counts = rows.setdefault(key, [0] * len(words))
                    groups = choose(search.labels(text))
                    for group in groups:
                        counts[group] += 1
                    texts_by_task[key[0]] += 1
                    counted[key[0]] += bool(groups)
                progress(texts_by_task.total(), number)
            return rows, texts_by_task, counted

        rows, texts_by_task, counted = source.query(
            [*labels, TEXT],
            lambda table: f"SELECT {cells} FROM {table.sql}",
            text=[*labels, TEXT],
            fetch=read,
        )
        if not counted.total():
            listing = "; ".join(f"{name}: {' '.join(forms[:5])}" for name, forms in words)
            raise DataFileError(
                f"{source.name}: none of {plural(number, 'text')} has a group by the rule {rule} "
                f"({listing}); check the language and the words (",
                Argument("attributes"),
                ")",
            )
        return GenerationCounts(
            _table(labels, [name for name, _ in words], rows), words, rule, language, source.name,
            source.files.sha256 if source.files else None, texts_by_task, counted,
        )  # fmt: skip


def _table(labels: Sequence[str], groups: Sequence[str], rows: _Rows) -> pd.DataFrame:
    import pandas as pd

    cells = [(*key, *counts) for key, counts in rows.items()]
    table = pd.DataFrame(cells, columns=[*labels, *groups])
    if "cluster" in labels and "item" not in labels:
        # Else a cluster would be another item wherever it stands at another position.
        table.insert(labels.index("cluster"), "item", table["cluster"])
    return table
