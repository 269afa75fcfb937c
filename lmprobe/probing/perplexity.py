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
from lmprobe.models import cache as store
from lmprobe.models.cloze import Cloze
from lmprobe.models.kind import kinds
from lmprobe.models.language_model import LanguageModel
from lmprobe.probing.sheet import Words, model_facts
from lmprobe.scorers.scorer import choose_scorer, sums
from lmprobe.templates import TemplateSet

SENTENCES = 64
_SEED = 0
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
    facts = {"perplexity of": texts, "scorer": (scorer.name, scorer.identity)}
    key = store.key_of({**model_facts(model), **facts})
    entry = store.read(key) if cache else None
    if entry is None or not entry.has({"log_likelihood": len(texts)}):
        values = sums(model, [scorer.scorer.queries(one) for one in model.encode(clozes)])
        entry = store.Entry(model.name, {"log_likelihood": tuple(values.tolist())}, model.threads)
        if cache:
            store.write(key, entry)
    return float(np.exp(-sum(entry.numbers["log_likelihood"]) / sum(map(count_words, texts))))


def sample(templates: TemplateSet, words: Words) -> list[Cloze]:
    """Return the sentences, fewer if there are not so many different ones.

    Nothing is guessed in particular; the attribute's word has tokens of its own, as the probe
    has found out.
    """
    shape = len(templates.templates), len(words.attributes), len(words.tasks)
    size = int(np.prod(shape))
    rng = np.random.default_rng(_SEED)
    chosen = np.sort(rng.choice(size, min(size, SENTENCES), replace=False))
    sentences = [
        templates.templates[template].sentence(words.attributes[who], words.tasks[what])
        for template, who, what in zip(*np.unravel_index(chosen, shape), strict=True)
    ]
    return list({one.text: Cloze(one.text, *one.attribute_span) for one in sentences}.values())


def count_words(text: str) -> int:
    """Return the number of words.

    >>> count_words("She was a nurse."), count_words("她是护士。")
    (4, 4)
    """
    return len(_WORD.findall(text))
