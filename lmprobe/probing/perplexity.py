"""How well a model knows sentences like these: its perplexity per word.

A model may look unbiased because it has learned nothing, so quality stands beside bias. For a
causal model this is the perplexity, exp(-log-likelihood / words); for a masked one the
pseudo-perplexity, from the pseudo-log-likelihood (Salazar et al. 2020; word by word as in
Kauf & Ivanova 2023). The two are on different scales.
"""

from __future__ import annotations

import re

import numpy as np

from lmprobe.core.scripts import UNSPACED
from lmprobe.models.cloze import Cloze
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import LanguageModel
from lmprobe.probing.sheet import Words, answers, sampled
from lmprobe.scorers.scorer import choose_scorer, sums
from lmprobe.templates import TemplateSet

SENTENCES = 64
# In scripts without spaces every character counts as a word.
_WORD = re.compile(f"[{UNSPACED}]|[^\\W{UNSPACED}]+")


def perplexity(
    model: LanguageModel, templates: TemplateSet, words: Words, *, cache: bool = True
) -> float:
    """Return the perplexity per word over 64 sentences of the templates.

    They are drawn with a fixed seed, so the number belongs to the model, the set and the words.
    """
    clozes = sample(templates, words)
    texts = [cloze.text for cloze in clozes]
    scorer = choose_scorer(kinds.get(model.kind).sentence_scorer, model.kind)
    log_likelihoods = answers(
        model,
        {"perplexity of": texts, "scorer": (scorer.name, scorer.identity)},
        lambda: sums(model, [scorer.scorer.queries(cloze) for cloze in model.encode(clozes)]),
        cache=cache,
    )
    return float(np.exp(-sum(log_likelihoods) / sum(map(count_words, texts))))


def sample(templates: TemplateSet, words: Words) -> list[Cloze]:
    """Return the sentences, fewer if there are not so many different ones."""
    shape = len(templates.templates), len(words.attributes), len(words.tasks)
    size = int(np.prod(shape))
    places = sampled(size, SENTENCES)
    sentences = [
        templates.templates[template].sentence(words.attributes[who], words.tasks[what])
        for template, who, what in zip(*np.unravel_index(places, shape), strict=True)
    ]
    return list(
        {
            sentence.text: Cloze(sentence.text, *sentence.attribute_span) for sentence in sentences
        }.values()
    )


def count_words(text: str) -> int:
    """Return the number of words.

    >>> count_words("She was a nurse."), count_words("她是护士。")
    (4, 4)
    """
    return len(_WORD.findall(text))
