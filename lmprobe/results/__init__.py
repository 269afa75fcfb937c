"""The vocabulary of every answer: nothing else carries meaning as text."""

from lmprobe.results.estimate import Estimate, Note, NoteKind
from lmprobe.results.figure import (
    Bracket,
    DotPlot,
    Dots,
    Figure,
    HeatBlock,
    HeatMap,
    IntervalLine,
    IntervalPlot,
    Series,
    SeriesPlot,
    Sides,
    Strip,
    StripPlot,
)
from lmprobe.results.table import Cell, Column, ColumnKind, Page, Section, Statement, Table
from lmprobe.results.verdict import Interval, IntervalStatus, Obstacle, Tone, Verdict, decide

__all__ = [
    "Bracket",
    "Cell",
    "Column",
    "ColumnKind",
    "DotPlot",
    "Dots",
    "Estimate",
    "Figure",
    "HeatBlock",
    "HeatMap",
    "Interval",
    "IntervalLine",
    "IntervalPlot",
    "IntervalStatus",
    "Note",
    "NoteKind",
    "Obstacle",
    "Page",
    "Section",
    "Series",
    "SeriesPlot",
    "Sides",
    "Statement",
    "Strip",
    "StripPlot",
    "Table",
    "Tone",
    "Verdict",
    "decide",
]
