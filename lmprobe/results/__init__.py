"""The vocabulary of every answer: nothing else carries meaning as text."""

from lmprobe.results.codec import json_field as json_field
from lmprobe.results.content import (
    Bracket as Bracket,
    Cell as Cell,
    Column as Column,
    ColumnKind as ColumnKind,
    ColumnOf as ColumnOf,
    Figure as Figure,
    HeatBlock as HeatBlock,
    HeatMap as HeatMap,
    IntervalLine as IntervalLine,
    IntervalPlot as IntervalPlot,
    Page as Page,
    Section as Section,
    Series as Series,
    SeriesPlot as SeriesPlot,
    ShareLine as ShareLine,
    SharePlot as SharePlot,
    Sides as Sides,
    Statement as Statement,
    Strip as Strip,
    StripPlot as StripPlot,
    Table as Table,
    closing_sections as closing_sections,
    table_of as table_of,
)
from lmprobe.results.estimate import Estimate as Estimate, Note as Note, NoteKind as NoteKind
from lmprobe.results.verdict import (
    Interval as Interval,
    IntervalStatus as IntervalStatus,
    Obstacle as Obstacle,
    Tone as Tone,
    Verdict as Verdict,
    decide as decide,
)
