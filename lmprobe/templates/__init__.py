"""Reads a template file, expands it into grammatical sentences with one masked slot."""

from __future__ import annotations

from lmprobe.templates.lexicon import Entry, Lexicon, lexicon_names, load_lexicon
from lmprobe.templates.sets import TemplateSet, load_templates, template_names
from lmprobe.templates.template import Sentence, Template

__all__ = [
    "Entry",
    "Lexicon",
    "Sentence",
    "Template",
    "TemplateSet",
    "lexicon_names",
    "load_lexicon",
    "load_templates",
    "template_names",
]
