"""One page of all reproductions: ours beside what the papers printed, with the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from lmprobe.report.figures import svg
from lmprobe.report.frame import render
from lmprobe.report.reproduction import OUT_OF_REACH, printed_tables
from lmprobe.reproduce.experiment import Reproduction


def reproduction_page(reproductions: Sequence[Reproduction]) -> str:
    """Return the page, one file that stands alone."""
    sections = [
        {"done": done, "tables": printed_tables(done), "figures": _figures(done)}
        for done in reproductions
    ]
    return render("reproductions.html", {"sections": sections, "out_of_reach": OUT_OF_REACH})


def _figures(done: Reproduction) -> list[tuple[str, Markup]]:
    # Two experiments may call a figure the same; names on a page must differ.
    named = [replace(one, name=f"{done.name}-{one.name}") for one in done.figures]
    return [(one.title, Markup(svg(one, standalone=False))) for one in named]
