"""Sphinx configuration: `make site` builds docs/_site from these pages and the docstrings."""

from __future__ import annotations

import json
import re
from typing import Any

from docutils import nodes
from myst_parser.sphinx_ import Parser
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

import lmprobe

project = "lmprobe"
author = "The lmprobe authors"
copyright = author
release = version = lmprobe.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext", ".ipynb": "notebook"}
exclude_patterns = ["_site", "**/.ipynb_checkpoints"]
root_doc = "index"

# Quotation marks and ellipses, but no dashes: `--` begins an option.
smartquotes_action = "qe"

# Anchors as GitHub makes them, so that a link works in both places.
myst_heading_anchors = 4

# Docstrings write code in single backticks.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
nitpicky = True
# Bases from the standard library, whose documentation is not fetched.
nitpick_ignore = [("py:class", "abc.ABC"), ("py:class", "enum.StrEnum")]

html_theme = "pydata_sphinx_theme"
html_title = "lmprobe"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Every page in the sidebar, under the headings of index.md.
html_sidebars = {"**": ["globaltoc.html"]}
html_theme_options = {
    "navigation_with_keys": False,
    "globaltoc_includehidden": "true",
    "globaltoc_maxdepth": 1,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


def setup(app: Sphinx) -> None:
    """Connect what these pages need beyond the extensions."""
    app.add_source_parser(NotebookParser)
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", read_numpydoc)


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Make the table of contents of the links of index.md, so that they are listed once."""
    if name != root_doc:
        return
    parts = re.split(r"^\*\*(.+)\*\*$", source[0], flags=re.MULTILINE)[1:]
    for caption, text in zip(parts[::2], parts[1::2], strict=True):
        pages = "\n".join(re.findall(r"\]\(([\w/-]+)\.(?:md|rst|ipynb)\)", text))
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"


class NotebookParser(Parser):
    """Reads an executed notebook as the Markdown page that it shows."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Write each cell, and each of its outputs in the richest form, as Markdown."""
        parts = []
        for cell in json.loads(inputstring)["cells"]:
            source = "".join(cell["source"])
            parts.append(source if cell["cell_type"] == "markdown" else fenced("python", source))
            for output in cell.get("outputs", ()):
                data = {"text/plain": output.get("text", ""), **output.get("data", {})}
                rich = data.get("text/html") or data.get("image/svg+xml")
                text = "".join(rich or data["text/plain"])
                parts.append(fenced("{raw} html" if rich else "text", text))
        super().parse("\n\n".join(parts), document)


def fenced(language: str, text: str) -> str:
    """Return the text as a block; the fence is longer than any in a cell."""
    return f"`````{language}\n{text}\n`````"


def read_numpydoc(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Read the sections of numpydoc in docstrings of functions and classes.

    Those of attributes are plain sentences: Napoleon would take "Which job made it: ..." for a
    type and its description.
    """
    if what in ("function", "method", "class"):
        read = NumpyDocstring(lines, Config(napoleon_use_rtype=False), app, what, name, thing)
        lines[:] = read.lines()
