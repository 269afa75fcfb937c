"""Tables and pages as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from lmprobe.results import Page, Section, Table, Tone
from lmprobe.results.format import format_table, plural

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")
# What would begin a heading, a quotation or a list if the words began a line.
_BEGINNING = re.compile(r"^(\d*)([>#]|[-+=.)](?=\s|$))")


MOST_ROWS = 40
"""A longer table is cut: whoever reads an issue does not want 500 rows in it."""


def page_markdown(page: Page) -> str:
    """Return the whole report."""
    lines = [f"# {escaped(page.title)}", ""]
    lines += [escaped(page.subtitle), ""] if page.subtitle else []
    for number, statement in enumerate(page.headline):
        leads = number == 0 or statement.verdict.tone is not Tone.EVEN
        lines += [f"**{escaped(statement.text)}**" if leads else escaped(statement.text), ""]
    for section in page.sections:
        lines += section_lines(section)
    if page.limits:
        lines += ["## What this measures, and what it does not", ""]
        lines += [*_bullets(page.limits), ""]
    return "\n".join(lines)


def section_lines(section: Section, *, level: int = 2, images: str = "") -> list[str]:
    """Return the lines of one section and its parts.

    `images` is the folder of the figures' SVG files; without it a figure is its alternative text.
    """
    lines = [f"{'#' * level} {escaped(section.title)}", ""] if section.title else []
    for paragraph in section.text:
        lines += [escaped(paragraph), ""]
    for command_line in section.commands:
        lines += [*fenced(command_line, "sh"), ""]
    if section.items:
        lines += [*_bullets(section.items), ""]
    for table in section.tables:
        lines += table_lines(table)
    if section.facts:
        lines += [f"- {escaped(key)}: {escaped(value)}" for key, value in section.facts.items()]
        lines.append("")
    if section.notes:
        lines += [*_bullets(map(str, dict.fromkeys(section.notes))), ""]
    for figure in section.figures:
        shown = f"![{escaped(figure.alternative)}]({images}/{figure.name}.svg)"
        lines += [shown if images else f"*{escaped(figure.title)}*: {escaped(figure.alternative)}"]
        lines.append("")
    for part in section.parts:
        lines += section_lines(part, level=level + 1, images=images)
    return lines


def table_lines(table: Table) -> list[str]:
    """Return the lines of a table with its title and caption."""
    lines = [f"**{escaped(table.title)}**", ""] if table.title else []
    rule = ["---:" if column.kind.is_number else "---" for column in table.columns]
    heading, *rows = _cells(table, escaped, MOST_ROWS)
    lines += [f"| {' | '.join(cells)} |" for cells in (heading, rule, *rows)]
    lines.append("")
    if len(table.rows) > MOST_ROWS:
        lines += [f"The first {MOST_ROWS} of {plural(len(table.rows), 'row')}.", ""]
    return lines + ([escaped(table.caption), ""] if table.caption else [])


def _cells(table: Table, escape: Callable[[str], str], most: int | None = None) -> list[list[str]]:
    """Return the headings of a table, then the words of each row, or of the first `most`."""
    heading = [escape(column.heading) for column in table.columns]
    return [heading, *([*map(escape, row)] for row in format_table(table)[:most])]


def _bullets(words_of: Iterable[str]) -> list[str]:
    return [f"- {escaped(words)}" for words in words_of]


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


_SPECIAL_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # A bracket after a line's end would be taken for its option.
    "[": "{[}",
    "]": "{]}",
    "−": "$-$",
    "->": r"$\to$",
    "→": r"$\to$",
    "←": r"$\leftarrow$",
    "∞": r"$\infty$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "“": "``",
    "”": "''",
    "–": "--",
    "…": r"\ldots{}",
}
# The longest first: an arrow is not a hyphen and a sign.
_TO_ESCAPE = re.compile("|".join(map(re.escape, sorted(_SPECIAL_LATEX, key=len, reverse=True))))
# TeX refuses control characters.
_UNPRINTED_LATEX = re.compile("[\x00-\x1f\x7f-\x9f]+")


def latex_escaped(words: object) -> str:
    r"""Return words that LaTeX sets as they are.

    >>> latex_escaped("50% of a_b"), latex_escaped("−0.5")
    ('50\\% of a\\_b', '$-$0.5')
    """
    plain = _UNPRINTED_LATEX.sub(" ", str(words))
    return _TO_ESCAPE.sub(lambda match: _SPECIAL_LATEX[match[0]], plain)


def latex_table(table: Table) -> str:
    r"""Return a `table` environment; the document needs \usepackage{booktabs}."""
    align = "".join("l" if column.kind.is_words else "r" for column in table.columns)
    lines = [r"\begin{table}", r"\centering"]
    caption = " ".join(_sentence(words) for words in (table.title, table.caption) if words)
    if caption:
        lines.append(rf"\caption{{{latex_escaped(caption)}}}")
    lines += [rf"\label{{tab:{_label(table.name)}}}", rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    heading, *rows = (" & ".join(row) + r" \\" for row in _cells(table, latex_escaped))
    lines += [heading, r"\midrule", *rows]
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def _sentence(words: str) -> str:
    return words if words.endswith((".", "?", "!")) else f"{words}."


def _label(name: str) -> str:
    return re.sub("[^a-zA-Z0-9-]+", "-", name).strip("-") or "table"
