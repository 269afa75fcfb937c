"""Reads a template file, expands it into grammatical sentences, and knows where each slot is."""

from lmprobe.templates.lexicon import (
    TemplateLexicon as TemplateLexicon,
    lexicon_names as lexicon_names,
    load_lexicon as load_lexicon,
)
from lmprobe.templates.sets import (
    AnySet as AnySet,
    TemplateSet as TemplateSet,
    load_template_set as load_template_set,
    load_templates as load_templates,
    template_names as template_names,
)
from lmprobe.templates.template import (
    LexiconEntry as LexiconEntry,
    Sentence as Sentence,
    Span as Span,
    Template as Template,
    differing_slots as differing_slots,
    words_by_label as words_by_label,
)
