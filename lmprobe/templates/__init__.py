"""Reads a template file, expands it into grammatical sentences, and knows where each slot is."""

from __future__ import annotations

from lmprobe.templates.lexicon import Entry, Lexicon, lexicon_names, load_lexicon
from lmprobe.templates.sets import TemplateSet, load_templates, template_names
from lmprobe.templates.template import Sentence, Span, Template, differing_slots

__all__ = [
    "Entry",
    "Lexicon",
    "Sentence",
    "Span",
    "Template",
    "TemplateSet",
    "differing_slots",
    "lexicon_names",
    "load_lexicon",
    "load_templates",
    "template_names",
]
