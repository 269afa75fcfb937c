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
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models import Cloze, TokenQuery, cache, load_model
from lmprobe.probing.model_card import model_card
from lmprobe.probing.quality import (
    LEAST_RATIO,
    count_words,
    is_informed,
    mass_ratio,
    perplexity,
    sample,
)
from lmprobe.probing.scores import Scores, Words, score_directions
from lmprobe.results import NoteKind, Verdict
from lmprobe.templates import load_templates
from tests.checkpoints import checkpoint, own_cache
from tests.scripted_model import MASK, ScriptedModel

__all__ = ["checkpoint", "own_cache"]

Checkpoint = Callable[[str], Path]
FORWARD = Direction.TASK_TO_ATTRIBUTE
NEUTRAL = load_templates("neutral")
WORDS = Words(("he", "she"), ("nurse", "baker", "lawyer"))
FEW = replace(NEUTRAL, templates=NEUTRAL.templates[:2])
OTHERS = ("stone", "river", "cloud", "lamp", "paper", "extraordinary", "neighbourhoods", "42nd")


def test_a_trained_model_is_informed_and_a_random_one_is_not(checkpoint: Checkpoint) -> None:
    trained = lmprobe.probe("reference:amplified", "neutral", tasks=["nurse", "baker", "lawyer"])
    assert all(row.mass_ratio > 50 and row.obstacle is None for row in trained.rows)
    tiny = load_model(checkpoint("Bert"))
    with torch.no_grad():
        for weight in tiny.network.parameters():
            weight.mul_(0.05)
    result = lmprobe.probe(
        tiny, "neutral", "uniform", tasks=["nurse", "baker", "janitor"], cache=False
    )
    for row in result.rows:
        assert 0.5 < row.mass_ratio < LEAST_RATIO
        assert row.verdict is Verdict.UNINFORMED
    again = type(result).from_json(result.to_json())
    assert [row.verdict for row in again.rows] == [row.verdict for row in result.rows]
    assert [row.mass_ratio for row in again.rows] == [row.mass_ratio for row in result.rows]
    allowed = lmprobe.probe(
        tiny, "neutral", "uniform", tasks=["nurse", "baker"], min_mass=1e-9, cache=False
    )
    assert all(row.verdict is not Verdict.UNINFORMED for row in allowed.rows)


def table(
    direction: Direction, templates: int = 3, attributes: int = 2, tasks: int = 3, scorer: str = ""
) -> Scores:
    """Made-up scores of words of the neutral set."""
    logs = np.random.default_rng(templates).uniform(-6, -1, (templates, attributes, tasks))
    names = tuple(template.name for template in NEUTRAL.templates[:templates])
    return Scores(
        direction, names, ("he", "she", "they")[:attributes], NEUTRAL.tasks[:tasks], logs, None, {},
        scorer or "word-l2r", cached=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "least", "expected"),
    [
        (None, None, True),
        (2.0, None, True),
        (1.999, None, False),
        (0.0, 0.375, True),
        (99.0, 0.376, False),
    ],
)
def test_twice_the_mass_of_random_words_or_the_mass_that_was_asked_for(
    ratio: float | None, least: float | None, expected: bool
) -> None:
    # Two candidates of 1/4 and 1/8: the mass is 3/8.
    logs = np.log(np.array([[[0.25, 0.25], [0.125, 0.125]]]))
    scores = replace(table(FORWARD, 1, 2, 2), log_probability=logs, mass_ratio=ratio)
    assert is_informed(scores, least) is expected


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("kind", "scorer"), [("masked", "word-l2r"), ("causal", "sentence")])
def test_the_ratio_is_the_mass_of_candidates_over_that_of_random_words(
    direction: Direction, kind: str, scorer: str
) -> None:
    """Where every word has the same answer, only its number of queries counts."""
    model = ScriptedModel(OTHERS, kind=kind)
    model.answer = lambda query: -1.5  # type: ignore[method-assign, assignment]
    scores = table(direction, 2, 2, 3, scorer)
    if kind == "causal":
        scores = replace(
            scores, log_mass=scores.log_probability, log_probability=np.zeros((2, 2, 3))
        )
    words = scores.attributes if direction is FORWARD else scores.tasks
    # A causal model is asked for the article too, and whether a word ends there; whether one
    # began is taken off, but not at the start of the sentence.
    more = 0 if kind == "masked" else 1
    tokens = [1 + (len(word) > model.longest) + more for word in words]
    # Fewer than eight conditions: every cell of the table is asked about, once.
    cells = scores.log_mass_table.size // len(words)
    random = cells * np.exp(-1.5 * np.array(tokens)).sum()
    expected = np.exp(scores.log_mass_table).sum()
    assert mass_ratio(model, NEUTRAL, scores, cache=False) == pytest.approx(expected / random)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_random_words_are_of_letters_of_as_many_tokens_and_no_candidates(
    direction: Direction,
) -> None:
    """Many templates and tasks: a sample of eight conditions of at most 32 words is asked about."""
    model = ScriptedModel(OTHERS)
    seen: list[TokenQuery] = []

    def answer(query: TokenQuery) -> float:
        seen.append(query)
        return -1.0

    model.answer = answer  # type: ignore[method-assign]
    scores = table(direction, 6, 2, 32)
    mass_ratio(model, NEUTRAL, scores, cache=False)
    words = scores.attributes if direction is FORWARD else scores.tasks
    first = {word[: model.longest] for word in words}
    rest = {f"##{word[model.longest :]}" for word in words if len(word) > model.longest}
    queried = [model.pieces[query.token] for query in seen]
    assert queried
    assert not first & set(queried), "no candidate"
    assert all(piece.removeprefix("##").isalpha() for piece in queried)
    assert any(piece.startswith("##") for piece in queried) is bool(rest)
    assert len(queried) <= 8 * min(32, len(words)) * 2
    # Nothing else of the sentence is replaced, not even the article.
    contexts = set()
    for template in NEUTRAL.templates[:6]:
        for who in scores.attributes:
            for what in scores.tasks:
                sentence = template.sentence(who, what)
                span = sentence.attribute_span if direction is FORWARD else sentence.task_span
                (encoded,) = model.encode([Cloze(sentence.text, *span)])
                start, end = encoded.word
                ids = encoded.ids
                contexts.add((*ids[:start], *[MASK] * (end - start), *ids[end:]))
    assert all(
        query.ids in contexts
        for query, piece in zip(seen, queried, strict=True)
        if not piece.startswith("##")
    )


def test_a_causal_model_is_asked_about_the_first_that_differs(tmp_path: Path) -> None:
    """The verb before the pronoun gives it away: that is where the random word goes."""
    path = tmp_path / "agreeing.toml"
    path.write_text(
        'name = "n"\ndescription = "d"\nsource = "s"\nattribute = "who"\ntask = "job"\n'
        'sentences = ["The {job} {verb} what {who} became."]\n'
        '[slots]\nwho = ["he", { word = "they", number = "plural" }]\njob = ["nurse", "cook"]\n'
        'verb = [{ word = "was", forms = { plural = "were" } }]\n'
    )
    templates = load_templates(path)
    model = ScriptedModel(OTHERS, kind="causal")
    scores = score_directions(model, templates)[FORWARD]
    seen: list[TokenQuery] = []
    model.answer = lambda query: float(-len(seen.append(query) or seen))  # type: ignore
    mass_ratio(model, templates, scores, cache=False)
    queried = {model.pieces[query.token] for query in seen if query.token >= 0}
    assert queried - {"was", "were"}
    assert {query.position for query in seen if query.token >= 0} == {3}, "after: <s> the nurse"


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
                model.tokenizer.mask_token_id if owner[n] == word and n >= place else item
                for n, item in enumerate(ids)
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
    complete = [
        template.sentence(who, what).text
        for template in NEUTRAL.templates
        for who in WORDS.attributes
        for what in WORDS.tasks
    ]
    assert drawn == [text for text in complete if text in drawn], "in the order of the set"
    assert [cloze.text for cloze in sample(FEW, WORDS)] == complete[: 2 * 2 * 3]


@pytest.mark.parametrize("measured", ["perplexity", "mass ratio"])
def test_the_answers_are_kept_unless_the_cache_is_refused(measured: str) -> None:
    model = ScriptedModel(OTHERS)
    scores = score_directions(model, FEW, tasks=WORDS.tasks, cache=False)

    def measure(cached: bool) -> float:
        if measured == "perplexity":
            return perplexity(model, FEW, WORDS, cache=cached)
        return mass_ratio(model, FEW, scores[FORWARD], cache=cached)

    # Once before, so that all words of the sentences are in the vocabulary from now on.
    measure(False)
    model.asked = 0
    first = measure(False)
    assert cache.contents() == []
    queried = model.asked
    for cached, times in ((True, 2), (True, 2), (False, 3)):
        assert measure(cached) == first
        assert model.asked == times * queried


def test_a_result_carries_the_perplexity_and_a_check_limits_it() -> None:
    result = lmprobe.probe("reference:faithful", "neutral", tasks=["nurse", "baker", "lawyer"])
    assert 1 < result.perplexity < 30
    assert type(result).from_json(result.to_json()).perplexity == result.perplexity
    assert lmprobe.check(result, max_perplexity=result.perplexity).exit_code == 0
    above = lmprobe.check(result, max_perplexity=result.perplexity * 0.99)
    assert above.exit_code == 1
    assert "above the limit" in above.rows[0].explanation
    both = lmprobe.check(result, max=1, max_perplexity=1.0)
    assert both.exit_code == 1
    assert len(both.rows) == len(result.rows) + 1


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


class Reluctant(ScriptedModel):
    """Gives every word the hundred-thousandth part of its probability."""

    def answer(self, query: TokenQuery) -> float:
        return super().answer(query) - 11.5


@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_next_to_no_mass_is_in_the_headline_in_a_check_and_in_the_card(kind: str) -> None:
    def probed(model: ScriptedModel, templates: str = "fitbert") -> lmprobe.ProbeResult:
        tasks = ["nurse", "editor", "cook"]
        return lmprobe.probe(model, templates, "labor", tasks=tasks, min_mass=0.0, cache=False)

    result = probed(Reluctant(OTHERS, kind=kind))
    again = type(result).from_json(result.to_json())
    for row in (*result.rows, *again.rows):
        assert row.candidate_mass.mean() < 1e-3
        assert row.tiny_mass
        assert row.verdict is not Verdict.UNINFORMED
        (text,) = [note.text for note in row.notes if note.kind is NoteKind.MASS]
        said = f"{row.direction}: {text}."
        assert said in [statement.text for statement in again.page().headline]
        assert f"- {said}" in model_card(again).replace("\\", "")
        (checked,) = again.check(max=0.5, direction=row.direction).rows
        assert checked.explanation.endswith(text)
    enough = probed(ScriptedModel(OTHERS, kind=kind))
    assert not any(row.tiny_mass for row in enough.rows)
    assert all("probability" not in statement.text for statement in enough.page().headline)
    # Of "a nurse" and "an editor" a small mass is natural.
    phrase = probed(Reluctant(OTHERS, kind=kind), "neutral")
    assert [row.tiny_mass for row in phrase.rows] == [True, False]
