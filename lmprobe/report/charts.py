"""Draws any figure, as part of a page or as people take it away: SVG, PNG, PDF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lmprobe.errors import InputError, MissingExtraError
from lmprobe.io.files import write_bytes, write_text

# Importing these registers what they draw.
from lmprobe.report import row_plots as row_plots, series_plot as series_plot
from lmprobe.report.svg import draw, figure_style, light_style
from lmprobe.results.content import Figure

_SCALE = 3.0
"""Pixels of a PNG per unit of the picture: sharp in a column of a paper."""


def svg(figure: Figure, *, standalone: bool = True) -> str:
    """Return the picture as SVG: a file of its own, or a part of a page."""
    return str(draw(figure, standalone=standalone))


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, drawn when it is asked for."""

    figure: Figure

    def svg(self) -> str:
        """Return the SVG text; it follows the light or dark scheme of its viewer."""
        return svg(self.figure)

    def save(self, path: str | Path) -> Path:
        """Write the picture in the format that the file's name ends in: .svg, .png or .pdf.

        PNG and PDF are always light, for paper; they need the extra `figures`.
        """
        target = Path(path)
        form = target.suffix.lower()
        if form == ".svg":
            return write_text(target, self.svg() + "\n")
        if form not in (".png", ".pdf"):
            raise InputError(
                f'{target}: a picture is saved as .svg, .png or .pdf, found "{target.suffix}"'
            )
        light = self.svg().replace(figure_style(), light_style())
        return write_bytes(target, _converted(light, form))

    def __repr__(self) -> str:
        """Return one line: the title, and what the figure shows."""
        return f"<Picture {self.figure.name}: {self.figure.title}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def _converted(drawn: str, form: str) -> bytes:
    try:
        import vl_convert
    except ImportError as problem:
        raise MissingExtraError(
            f"{form[1:].upper()} needs vl-convert-python: pip install vl-convert-python"
        ) from problem
    if form == ".pdf":
        return bytes(vl_convert.svg_to_pdf(drawn))
    return bytes(vl_convert.svg_to_png(drawn, scale=_SCALE))
