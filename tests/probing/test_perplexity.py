"""Which sentences the perplexity is about, its formula, and what the cache keeps of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lmprobe.models import cache
from lmprobe.probing.perplexity import perplexity, sample
from lmprobe.probing.sheet import Words
from lmprobe.templates import load_templates
from tests.checkpoints import own_cache
from tests.scripted_model import ScriptedModel

__all__ = ["own_cache"]

NEUTRAL = load_templates("neutral")
WORDS = Words(("he", "she"), ("nurse", "baker", "lawyer"))
FEW = replace(NEUTRAL, templates=NEUTRAL.templates[:2])


def test_sixty_four_different_sentences_are_drawn_or_all_of_fewer() -> None:
    """The same each time, so that the number belongs to the model, the set and the words."""
    drawn = [cloze.text for cloze in sample(NEUTRAL, WORDS)]
    assert drawn == [cloze.text for cloze in sample(NEUTRAL, WORDS)]
    assert len(set(drawn)) == 64
    every = [
        template.sentence(who, what).text
        for template in NEUTRAL.templates
        for who in WORDS.attributes
        for what in WORDS.tasks
    ]
    assert drawn == [text for text in every if text in drawn], "in the order of the set"
    assert [cloze.text for cloze in sample(FEW, WORDS)] == every[: 2 * 2 * 3]


def test_the_likelihood_of_all_sentences_is_spread_over_all_their_words() -> None:
    model = ScriptedModel([])
    model.answer = lambda query: -2.0  # type: ignore[method-assign, assignment]
    clozes = sample(FEW, WORDS)
    # The pseudo-log-likelihood asks for every token but the first; full stops are no words.
    tokens = sum(len(cloze.ids) - 1 for cloze in model.encode(clozes))
    words = sum(len(cloze.text.split()) for cloze in clozes)
    assert tokens == words + len(clozes)
    assert perplexity(model, FEW, WORDS) == pytest.approx(np.exp(2 * tokens / words))


def test_the_answers_are_kept_unless_the_cache_is_refused() -> None:
    model = ScriptedModel([])
    first = perplexity(model, FEW, WORDS, cache=False)
    assert cache.contents() == []
    asked = model.asked
    for cached, times in ((True, 2), (True, 2), (False, 3)):
        assert perplexity(model, FEW, WORDS, cache=cached) == first
        assert model.asked == times * asked
    assert len(cache.contents()) == 1
