"""Sections of a probe's report about groups: without a lean, and crossed attributes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmprobe.probing.tables import direction_tables, margin_tables
from lmprobe.results import Section

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult


def unevenness_section(result: ProbeResult) -> tuple[Section, ...]:
    """Return the section about the bases for which no lean is known."""
    rows = [row for row in result.rows if row.unevenness is not None]
    text = (
        "No source has a lean for these words, so no direction counts as amplification. Absolute "
        "is the mean absolute difference between a pair's probability and its base rate; p is the "
        "share of random permutations of the groups that are at least as uneven."
    )
    tables = direction_tables(rows)
    return (Section("Unevenness", (text,), tables=tables, name="unevenness"),) if rows else ()


def margins_section(result: ProbeResult) -> tuple[Section, ...]:
    """Return the section about each of several crossed attributes by itself."""
    text = "The same predictions and bases, with the groups that share a value combined."
    tables = margin_tables(result)
    return (
        (Section("Each attribute alone", (text,), tables=tables, name="margins"),) if tables else ()
    )
