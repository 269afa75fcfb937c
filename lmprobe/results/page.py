"""What a report says, in order, before any output form: headline, sections, limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lmprobe.results.figure import Figure
from lmprobe.results.note import Note
from lmprobe.results.table import Table
from lmprobe.results.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the headline and the verdict that colours it."""

    text: str
    verdict: Verdict = Verdict.UNDECIDED


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report."""

    title: str
    text: tuple[str, ...] = ()
    """Paragraphs before the tables and figures."""
    items: tuple[str, ...] = ()
    """A list, such as the sentences of a template set."""
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    """Terms with what they are, such as the provenance."""
    notes: tuple[Note, ...] = ()
    commands: tuple[str, ...] = ()
    """Shell commands to copy."""
    collapsed: bool = False
    """Whether a page hides the section until it is opened."""
    searchable: bool = False
    """Whether a page lets its reader search and sort the section's tables.

    Put the rows that stand out first: paper and Markdown show only these.
    """
    parts: tuple[Section, ...] = ()
    """Sections within this one, side by side where there is room: one per direction, say."""
    name: str = ""
    """The anchor of the section on a page; by default made of the title."""

    def walk(self) -> Iterator[Section]:
        """Yield this section and all its parts, in reading order."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    subtitle: str
    headline: tuple[Statement, ...]
    sections: tuple[Section, ...]
    limits: tuple[str, ...]
    """What the number measures and what it does not; every report carries it."""
    name: str = "report"
    topic: str = "lmprobe report"
    """The line above the title."""
    source: str = ""
    """Where the method was published, for the foot of the page."""

    def walk(self) -> Iterator[Section]:
        """Yield every section and part, in reading order."""
        for section in self.sections:
            yield from section.walk()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Every note of every section, each once."""
        return tuple(dict.fromkeys(note for section in self.walk() for note in section.notes))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure of every section."""
        return tuple(figure for section in self.walk() for figure in section.figures)
