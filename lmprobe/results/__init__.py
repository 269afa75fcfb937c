"""The vocabulary of every answer: nothing else carries meaning as text."""

from lmprobe.results.codec import json_field as json_field
from lmprobe.results.estimate import Estimate as Estimate, Note as Note, NoteKind as NoteKind
from lmprobe.results.content import (
    Bracket as Bracket,
    DotPlot as DotPlot,
    Dots as Dots,
    Figure as Figure,
    HeatBlock as HeatBlock,
    HeatMap as HeatMap,
    IntervalLine as IntervalLine,
    IntervalPlot as IntervalPlot,
    Series as Series,
    SeriesPlot as SeriesPlot,
    Sides as Sides,
    Strip as Strip,
    StripPlot as StripPlot,
)
from lmprobe.results.content import (
    Cell as Cell,
    Column as Column,
    ColumnKind as ColumnKind,
    ColumnOf as ColumnOf,
    Page as Page,
    Section as Section,
    Statement as Statement,
    Table as Table,
    closing_sections as closing_sections,
    table_of as table_of,
)
from lmprobe.results.verdict import (
    Interval as Interval,
    IntervalStatus as IntervalStatus,
    Obstacle as Obstacle,
    Tone as Tone,
    Verdict as Verdict,
    decide as decide,
)
