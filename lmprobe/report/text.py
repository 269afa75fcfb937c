"""The table that a terminal shows: every base in both directions, then what to know about it."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from lmprobe.report.words import ASKED, by_direction, ends, kind, masses, percent, row_notes, signed
from lmprobe.result import ProbeResult, ProbeRow

# Colours that a terminal has whatever its ground; the word beside them says the same.
_STYLE = {"plus": "bold red", "minus": "bold blue", "even": "dim"}


def run_table(result: ProbeResult) -> list[Table | str]:
    """Return what `lmprobe run` prints: two tables that read well in 80 columns, and notes."""
    parts: list[Table | str] = [_title(result)]
    undefined = any(row.undefined_pairs for row in result.rows)
    for direction, rows in by_direction(result).items():
        title = f"[bold]{direction}[/bold]  {ASKED[direction]}"
        parts += ["", title, _table(rows, undefined=undefined)]
    parts += ["", "Positive: the model exaggerates the base. Negative: it weakens it."]
    return parts + _notes(result)


def _title(result: ProbeResult) -> str:
    facts = result.provenance
    words = ", ".join(result.rows[0].attributes)
    return (
        f"[bold]{escape(str(facts['model']))}[/bold]  {len(result.templates)} templates "
        f"({escape(str(facts['templates']['name']))}), {len(result.rows[0].tasks)} tasks, "
        f"{escape(words)}"
    )


def _table(rows: list[ProbeRow], *, undefined: bool) -> Table:
    level = percent(rows[0].interval.confidence)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("base", overflow="fold", max_width=18)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column(f"{level} interval", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    if undefined:
        table.add_column("undefined", justify="right", no_wrap=True)
    for row in rows:
        style = _STYLE[kind(row)]
        cells = [
            escape(row.base),
            signed(row.value),
            ends(row.interval),
            f"[{style}]{_short(row.verdict)}[/{style}]",
        ]
        if undefined:
            cells.append(f"{row.undefined_pairs} of {row.by_pair.size}")
        table.add_row(*cells)
    return table


def _short(verdict: str) -> str:
    return verdict.removesuffix(" either way")


def _notes(result: ProbeResult) -> list[Table | str]:
    notes = Table.grid(padding=(0, 1, 0, 0))
    notes.add_row("*", "the intervals speak of templates and tasks drawn like these, not of people")
    for name, said in row_notes(result).items():
        for note in said:
            notes.add_row("*", escape(f"{name}: {note}" if name else note))
    for direction, mass in masses(result).items():
        share = f"{direction}: before renormalising, the candidates held {percent(mass)}"
        notes.add_row("*", f"{share} of the probability")
    return ["", notes]
