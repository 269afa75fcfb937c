r"""Tables for a paper: LaTeX with the rules of the booktabs package, every word escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmprobe.results import Table
from lmprobe.results.format import format_cell

_SPECIAL = {
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
_TO_ESCAPE = re.compile("|".join(map(re.escape, sorted(_SPECIAL, key=len, reverse=True))))
# TeX refuses control characters.
_UNPRINTED = re.compile("[\x00-\x1f\x7f-\x9f]+")


def latex_escaped(words: object) -> str:
    r"""Return words that LaTeX sets as they are.

    >>> latex_escaped("50% of a_b"), latex_escaped("−0.5")
    ('50\\% of a\\_b', '$-$0.5')
    """
    plain = _UNPRINTED.sub(" ", str(words))
    return _TO_ESCAPE.sub(lambda found: _SPECIAL[found[0]], plain)


def latex_table(table: Table) -> str:
    r"""Return a `table` environment; the document needs \usepackage{booktabs}."""
    align = "".join("l" if column.kind.is_words else "r" for column in table.columns)
    lines = [r"\begin{table}", r"\centering"]
    caption = " ".join(_sentence(words) for words in (table.title, table.caption) if words)
    if caption:
        lines.append(rf"\caption{{{latex_escaped(caption)}}}")
    lines += [rf"\label{{tab:{_label(table.name)}}}", rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines += [_row(column.heading for column in table.columns), r"\midrule"]
    for row in table.rows:
        lines.append(_row(map(format_cell, row, table.columns)))
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return " & ".join(map(latex_escaped, cells)) + r" \\"


def _sentence(words: str) -> str:
    return words if words.endswith((".", "?", "!")) else f"{words}."


def _label(name: str) -> str:
    return re.sub("[^a-zA-Z0-9-]+", "-", name).strip("-") or "table"
