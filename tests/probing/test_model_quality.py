"""Whether a model expects the candidates at all, and how well it knows the sentences."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import lmprobe
from lmprobe.core.direction import Direction
from lmprobe.models import cache, load_model
from lmprobe.probing.perplexity import count_words, perplexity, sample
from lmprobe.probing.random_words import LEAST_RATIO, mass_ratio
from lmprobe.probing.scoring import score_directions
from lmprobe.probing.sheet import Words
from lmprobe.results import Verdict
from lmprobe.templates import load_templates
from tests.checkpoints import checkpoint, own_cache
from tests.scripted_model import ScriptedModel

__all__ = ["checkpoint", "own_cache"]

Checkpoint = Callable[[str], Path]
NEUTRAL = load_templates("neutral")
WORDS = Words(("he", "she"), ("nurse", "baker", "lawyer"))
FEW = replace(NEUTRAL, templates=NEUTRAL.templates[:2])


def test_a_trained_model_is_informed_and_a_random_one_is_not(checkpoint: Checkpoint) -> None:
    trained = lmprobe.probe("reference:amplified", "neutral", tasks=["nurse", "baker", "lawyer"])
    assert all(row.mass_ratio > 50 and row.informed for row in trained.rows)
    tiny = load_model(checkpoint("Bert"))
    with torch.no_grad():
        for weight in tiny.network.parameters():
            weight.mul_(0.05)
    found = lmprobe.probe(
        tiny, "neutral", "uniform", tasks=["nurse", "baker", "janitor"], cache=False
    )
    for row in found.rows:
        assert 0.5 < row.mass_ratio < LEAST_RATIO
        assert row.verdict is Verdict.UNINFORMED
    again = type(found).from_json(found.to_json())
    assert [row.verdict for row in again.rows] == [row.verdict for row in found.rows]
    assert [row.mass_ratio for row in again.rows] == [row.mass_ratio for row in found.rows]
    allowed = lmprobe.probe(
        tiny, "neutral", "uniform", tasks=["nurse", "baker"], min_mass=1e-9, cache=False
    )
    assert all(row.verdict is not Verdict.UNINFORMED for row in allowed.rows)
    refused = lmprobe.probe(
        "reference:amplified", "neutral", tasks=["nurse", "baker", "lawyer"], min_mass=0.999
    )
    assert {row.verdict for row in refused.rows} == {Verdict.UNINFORMED}


def test_the_ratio_by_hand(checkpoint: Checkpoint) -> None:
    """All words that are no candidates, by full logits: the sampled ones are among them."""
    model = load_model(checkpoint("Bert"))
    scores = score_directions(model, NEUTRAL, attributes=("he", "she"), tasks=WORDS.tasks[:2])
    table = scores[Direction.TASK_TO_ATTRIBUTE]
    found = mass_ratio(model, NEUTRAL, table, cache=False)
    # Of one token each; with uniform probabilities the ratio would be 1.
    own = np.exp(table.log_mass_table)
    letters = np.flatnonzero(model.word_tokens.letters & model.word_tokens.begins)
    sentence = NEUTRAL.templates[0].sentence("he", "nurse").text
    ids = model.tokenizer(sentence)["input_ids"]
    ids[1] = model.tokenizer.mask_token_id
    with torch.no_grad():
        shares = model.network(torch.tensor([ids])).logits[0, 1].softmax(-1).numpy()
    low, high = own.min() / shares[letters].max(), own.max() / shares[letters].min()
    assert low < found < high


def test_pseudo_perplexity_against_a_loop(checkpoint: Checkpoint) -> None:
    model = load_model(checkpoint("Bert"))
    total, words = 0.0, 0
    for text in (cloze.text for cloze in sample(FEW, WORDS)):
        tokens = model.tokenizer(text)
        ids, owner = tokens["input_ids"], tokens.word_ids()
        words += len(text.replace(".", "").split())
        for place, word in enumerate(owner):
            if word is None:
                continue
            masked = [
                model.tokenizer.mask_token_id if owner[n] == word and n >= place else one
                for n, one in enumerate(ids)
            ]
            with torch.no_grad():
                logits = model.network(torch.tensor([masked])).logits
            total += float(logits[0, place].double().log_softmax(-1)[ids[place]])
    assert perplexity(model, FEW, WORDS) == pytest.approx(np.exp(-total / words), rel=1e-4)


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


@pytest.mark.parametrize("measured", ["perplexity", "mass ratio"])
def test_the_answers_are_kept_unless_the_cache_is_refused(measured: str) -> None:
    model = ScriptedModel(["stone", "river", "cloud", "lamp", "paper"])
    scores = score_directions(model, FEW, tasks=WORDS.tasks, cache=False)

    def measure(cached: bool) -> float:
        if measured == "perplexity":
            return perplexity(model, FEW, WORDS, cache=cached)
        return mass_ratio(model, FEW, scores[Direction.TASK_TO_ATTRIBUTE], cache=cached)

    # Once before, so that all words of the sentences are in the vocabulary from now on.
    measure(False)
    model.asked = 0
    first = measure(False)
    assert cache.contents() == []
    asked = model.asked
    for cached, times in ((True, 2), (True, 2), (False, 3)):
        assert measure(cached) == first
        assert model.asked == times * asked


def test_a_result_carries_the_perplexity_and_a_check_limits_it() -> None:
    found = lmprobe.probe("reference:faithful", "neutral", tasks=["nurse", "baker", "lawyer"])
    assert 1 < found.perplexity < 30
    assert type(found).from_json(found.to_json()).perplexity == found.perplexity
    assert lmprobe.check(found, max_perplexity=found.perplexity).exit_code == 0
    above = lmprobe.check(found, max_perplexity=found.perplexity * 0.99)
    assert above.exit_code == 1
    assert "above the limit" in above.rows[0].explanation
    both = lmprobe.check(found, max=1, max_perplexity=1.0)
    assert both.exit_code == 1
    assert len(both.rows) == len(found.rows) + 1


def test_words_are_counted_in_every_script() -> None:
    assert count_words("She was a well-known nurse.") == 6
    assert count_words("그녀는 간호사이다.") == 2
    assert count_words("彼女は nurse だ") == 5


SLOW = {"torch", "transformers", "tokenizers", "pandas", "scipy.stats"}


def test_another_base_opens_no_model(own_cache: Path) -> None:
    """When every answer is in the cache, nothing that is slow to import is imported."""
    lmprobe.probe("reference:amplified", "neutral", "labor", tasks=["nurse", "baker", "lawyer"])
    program = (
        "import sys, lmprobe\n"
        "found = lmprobe.probe('reference:amplified', 'neutral', ['winobias', 'uniform'], "
        "tasks=['nurse', 'baker', 'lawyer'])\n"
        "print(found.provenance['tokenizer'], found.provenance['kind'], "
        f"*sorted({SLOW!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["BertTokenizer", "masked"]
