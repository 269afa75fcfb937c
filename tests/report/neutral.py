"""A result made of the neutral vocabulary alone: what every renderer must be able to show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lmprobe.metrics.direction import Direction
from lmprobe.results import (
    Bracket,
    Column,
    ColumnKind,
    Figure,
    HeatBlock,
    HeatMap,
    Interval,
    IntervalLine,
    IntervalPlot,
    Note,
    NoteKind,
    Page,
    Section,
    Series,
    SeriesPlot,
    ShareLine,
    SharePlot,
    Sides,
    Statement,
    Strip,
    StripPlot,
    Table,
    Tone,
    Verdict,
)
from lmprobe.results.result import Result

COLUMNS = (
    Column("base"),
    Column("direction", ColumnKind.DIRECTION),
    Column("difference", ColumnKind.SIGNED),
    Column("95% interval", ColumnKind.INTERVAL, key="interval"),
    Column("p", ColumnKind.P_VALUE, essential=False),
    Column("share", ColumnKind.PERCENT, essential=False),
    Column("pairs", ColumnKind.COUNT, essential=False),
    Column("verdict", ColumnKind.VERDICT),
)


def comparison_table(bases: tuple[str, ...] = ("labor", "our town, 2020")) -> Table:
    forward, back = Direction
    more, unsure = Interval(0.1, 0.15, 0.95, "bootstrap"), Interval(-0.05, 0.01, 0.95, "bootstrap")
    cells = (
        (forward, 0.1234, more, 0.00001, 0.5, 1234, Verdict.HIGHER),
        (back, -0.02, unsure, 0.3, 0.25, 64, Verdict.UNDECIDED),
    )
    rows = tuple((base, *row) for base in bases for row in cells)
    return Table("rows", COLUMNS, rows, title="b minus a", caption="Positive: more.")


def pairs_table(word: str) -> Table:
    words = (Column("base"), Column("attribute"), Column("task"))
    columns = (*words, Column("amplification", ColumnKind.SIGNED))
    rows = tuple(
        (
            ("labor", "uniform")[index % 2],
            ("he", "she", "they")[index % 3],
            f"{word} {index}",
            math.nan if index % 10 == 9 else (index % 7 - 3) / 10,
        )
        for index in range(60)
    )
    return Table("pairs", columns, rows, title="All pairs")


def curve(word: str) -> SeriesPlot:
    series = (
        Series(word, (0.0, 1.0, 2.0), (0.1, 0.4, 0.2)),
        Series(f"{word}, again", (0.0, 1.0, 2.0), (0.3, 0.1, 0.2), style="dashed"),
    )
    words = {"title": f"A {word} curve", "alternative": f"{word} rises, then falls"}
    return SeriesPlot(name="curve", **words, x_label="x", y_label="y", series=series)


def every_figure(word: str) -> tuple[Figure, ...]:
    """Return a figure of each kind, with numbers that are undefined, missing or infinite."""
    named = {"name": word, "title": word, "alternative": word}
    nan = math.nan
    series = Series(word, (0.5, 1.0), (nan, 2.0), labels=(word, word), style="points")
    return (
        SeriesPlot(**named, x_label=word, y_label=word, series=(series, series), diagonal=True),
        IntervalPlot(
            **named,
            lines=(
                IntervalLine(word, 0.5, Interval(0.1, math.inf, 0.95, "x"), Tone.PLUS),
                IntervalLine(word, nan, Interval.undefined(0.95, "x"), Tone.WARNING),
            ),
            sides=Sides(word, word),
            brackets=(Bracket((0, 1), word),),
        ),
        StripPlot(**named, strips=(Strip(word, (0.1, nan), (word, word), 0.1),)),
        HeatMap(**named, rows=(word,), blocks=(HeatBlock(word, (word, word), ((nan, None),)),)),
        SharePlot(
            **named,
            lines=(ShareLine(word, 0.0, 1.0, Tone.PLUS), ShareLine(word, 0.5, nan)),
            before=word,
            after=word,
        ),
    )


@dataclass(frozen=True, slots=True)
class Example(Result):
    """A result with all that a page may have; `word` stands for a user's words."""

    kind = "example"

    word: str = "labor"

    def tables(self) -> tuple[Table, ...]:
        return (comparison_table((self.word, "our town, 2020")), pairs_table(self.word))

    def page(self) -> Page:
        word = self.word
        first, pairs = self.tables()
        notes = (
            Note(NoteKind.ASSUMPTION, f"the templates of {word} are a sample"),
            Note(NoteKind.LEFT_OUT, f"left out: {word}", scope="our town, 2020"),
            Note(NoteKind.LEFT_OUT, f"left out: {word}", scope="our town, 2020"),
        )
        halves = tuple(
            Section(direction.value, (direction.question,), figures=(curve(word),))
            for direction in Direction
        )
        return Page(
            title=f"Does {word} exaggerate?",
            subtitle=f"20 templates of {word}",
            headline=(
                Statement(f"It amplifies more than {word}.", Verdict.HIGHER),
                Statement("Nothing is known of the rest."),
            ),
            sections=(
                Section("Verdict", ("Positive: more.",), tables=(first,), parts=halves),
                Section("To know", notes=notes),
                Section("Pair by pair", tables=(pairs,), searchable=True, name="pairs"),
                Section("Templates", items=(f"{word} is a nurse.",), collapsed=True),
                Section("Run it again", facts={"model": word}, commands=(f"lmprobe run '{word}'",)),
            ),
            limits=("It is intrinsic bias.", f"It speaks of {word}."),
            source="Wang & Russakovsky, ICML 2021.",
        )
