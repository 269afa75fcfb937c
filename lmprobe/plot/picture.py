"""A figure as people take it away: an SVG, PNG or PDF file, or a cell of a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lmprobe.errors import InputError, MissingExtraError
from lmprobe.io.atomic import write_bytes, write_text
from lmprobe.plot.draw import svg
from lmprobe.plot.theme import figure_style, light_style
from lmprobe.results.figure import Figure

FORMATS = (".svg", ".png", ".pdf")
_SCALE = 3.0
"""Pixels of a PNG per unit of the picture: sharp in a column of a paper."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, drawn when it is asked for."""

    figure: Figure

    @property
    def name(self) -> str:
        """What the figure is called."""
        return self.figure.name

    @property
    def alternative(self) -> str:
        """The sentence for those who cannot see the figure."""
        return self.figure.alternative

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
        if form not in FORMATS:
            raise InputError(
                f'{target}: a picture is saved as .svg, .png or .pdf, found "{target.suffix}"'
            )
        return write_bytes(target, _converted(_light(self.svg()), form))

    def __repr__(self) -> str:
        """Return one line: the title, and what the figure shows."""
        return f"<Picture {self.name}: {self.figure.title}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def _light(drawn: str) -> str:
    return drawn.replace(figure_style(), light_style())


def _converted(drawn: str, form: str) -> bytes:
    try:
        import vl_convert
    except ImportError as problem:
        raise MissingExtraError(
            f'{form[1:].upper()} needs vl-convert-python: pip install "lmprobe-bias[figures]"'
        ) from problem
    if form == ".pdf":
        return bytes(vl_convert.svg_to_pdf(drawn))
    return bytes(vl_convert.svg_to_png(drawn, scale=_SCALE))
