"""Which sentences the perplexity is about, and what the cache keeps of it."""

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


def test_sixty_four_sentences_are_drawn_with_the_seed_zero() -> None:
    """Documented: so that the number belongs to the model, the set and the words."""
    every = [
        template.sentence(who, what).text
        for template in NEUTRAL.templates
        for who in WORDS.attributes
        for what in WORDS.tasks
    ]
    assert len(every) > 65
    drawn = np.random.default_rng(0).choice(len(every), 64, replace=False)
    found = [cloze.text for cloze in sample(NEUTRAL, WORDS)]
    assert found == [every[place] for place in sorted(drawn)]


def test_of_fewer_sentences_all_are_taken_each_once() -> None:
    found = sample(FEW, WORDS)
    assert len(found) == len({cloze.text for cloze in found}) == 2 * 2 * 3
    assert {cloze.word.lower() for cloze in found} == {"he", "she"}


def test_the_likelihood_of_all_sentences_is_spread_over_all_their_words() -> None:
    model = ScriptedModel([])
    model.answer = lambda query: -2.0  # type: ignore[method-assign, assignment]
    clozes = sample(FEW, WORDS)
    # The pseudo-log-likelihood asks for every token but the first; full stops are no words.
    tokens = sum(len(one.ids) - 1 for one in model.encode(clozes))
    words = sum(len(cloze.text.split()) for cloze in clozes)
    assert tokens == words + len(clozes)
    assert perplexity(model, FEW, WORDS) == pytest.approx(np.exp(2 * tokens / words))


def test_the_answers_are_kept_unless_the_cache_is_refused() -> None:
    model = ScriptedModel([])
    first = perplexity(model, FEW, WORDS, cache=False)
    assert cache.contents() == []
    asked = model.asked
    assert perplexity(model, FEW, WORDS) == first
    assert model.asked == 2 * asked
    assert len(cache.contents()) == 1
    assert perplexity(model, FEW, WORDS) == first
    assert model.asked == 2 * asked, "from the cache"
    assert perplexity(model, FEW, WORDS, cache=False) == first
    assert model.asked == 3 * asked, "the cache was refused"


def test_an_entry_of_another_size_is_asked_for_again() -> None:
    model = ScriptedModel([])
    first = perplexity(model, FEW, WORDS)
    ((path, entry),) = cache.contents()
    assert entry is not None
    short = {"log_likelihood": entry.numbers["log_likelihood"][:-1]}
    cache.write(path.stem, cache.Entry("scripted", short))
    asked = model.asked
    assert perplexity(model, FEW, WORDS) == first
    assert model.asked == 2 * asked
