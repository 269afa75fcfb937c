"""The report of a probe as Markdown: for an issue, a pull request, a README."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lmprobe.report import words
from lmprobe.report.command import command
from lmprobe.result import LIMITS, ProbeResult, ProbeRow

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")
# What would begin a heading, a quotation or a list if the words began a line.
_BEGINNING = re.compile(r"^(\d*)([>#]|[-+=.)](?=\s|$))")


def markdown_report(result: ProbeResult) -> str:
    """Return the report: verdicts, notes, limits, and how to run it again."""
    return "\n".join(
        [
            f"# Bias amplification of {escaped(result.provenance['model'])}",
            "",
            words.headline(result),
            "",
            *verdict_tables(result),
            "Positive: the model exaggerates the base. Negative: it weakens it.",
            "",
            "## Notes",
            "",
            *_notes(result),
            "",
            "## What this measures, and what it does not",
            "",
            *(f"- {escaped(limit)}" for limit in LIMITS),
            "",
            "## Run it again",
            "",
            *fenced(command(result), "sh"),
            "",
        ]
    )


def verdict_tables(result: ProbeResult) -> list[str]:
    """Return the lines of one table per direction."""
    lines = []
    for direction, rows in words.by_direction(result).items():
        lines += [f"**{escaped(direction)}**: {words.ASKED[direction]}", ""]
        level = words.percent(rows[0].interval.confidence)
        heading = (
            "base",
            "value",
            f"{level} interval",
            "verdict",
            "SD over templates",
            "undefined",
        )
        lines += table(heading, (_cells(row) for row in rows), numbers=(1, 4, 5))
        lines.append("")
    return lines


def table(
    heading: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()
) -> list[str]:
    """Return the lines of a table; every cell is escaped, the columns `numbers` end flush."""
    rule = ["---:" if index in numbers else "---" for index in range(len(heading))]
    lines = [_line(heading), f"| {' | '.join(rule)} |"]
    return lines + [_line(row) for row in rows]


def escaped(text: object) -> str:
    r"""Return words that Markdown shows as they are, in one line.

    >>> escaped("a|b <i>*c*")
    'a\\|b &lt;i>\\*c\\*'
    """
    plain = _UNPRINTED.sub(" ", str(text)).strip()
    marked = _SPECIAL.sub(r"\\\1", plain.replace("&", "&amp;").replace("<", "&lt;"))
    return _BEGINNING.sub(r"\1\\\2", marked)


def fenced(text: str, language: str = "") -> list[str]:
    """Return a code block whose fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", text, fence]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"


def _cells(row: ProbeRow) -> tuple[str, ...]:
    return (
        row.base,
        words.signed(row.value),
        words.ends(row.interval),
        row.verdict,
        words.number(row.template_sd),
        f"{row.undefined_pairs} of {row.by_pair.size}",
    )


def _notes(result: ProbeResult) -> list[str]:
    lines = []
    for name, said in words.row_notes(result).items():
        lines += [f"- {escaped(f'{name}: {note}' if name else note)}" for note in said]
    for said_of, bases in words.assumptions(result).items():
        lines.append(f"- {escaped(', '.join(bases))}: {escaped(said_of)}")
    for direction, mass in words.masses(result).items():
        lines.append(
            f"- {escaped(direction)}: before renormalising, the candidates held "
            f"{words.percent(mass)} of the model's probability"
        )
    return lines
