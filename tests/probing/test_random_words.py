"""The mass of the candidates against that of random words, with a model of made-up answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.models import Cloze, TokenQuery
from lmprobe.probing.random_words import is_informed, mass_ratio
from lmprobe.probing.scores import Scores
from lmprobe.probing.scoring import score_directions
from lmprobe.templates import load_templates
from tests.checkpoints import own_cache
from tests.scripted_model import MASK, ScriptedModel

__all__ = ["own_cache"]

FORWARD, BACKWARD = DIRECTIONS
NEUTRAL = load_templates("neutral")
OTHERS = ("stone", "river", "cloud", "lamp", "paper", "extraordinary", "neighbourhoods", "42nd")


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
    asked = [model.pieces[query.token] for query in seen]
    assert asked
    assert not first & set(asked), "no candidate"
    assert all(piece.removeprefix("##").isalpha() for piece in asked)
    assert any(piece.startswith("##") for piece in asked) is bool(rest)
    assert len(asked) <= 8 * min(32, len(words)) * 2
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
        for query, piece in zip(seen, asked, strict=True)
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
    asked = {model.pieces[query.token] for query in seen if query.token >= 0}
    assert asked - {"was", "were"}
    assert {query.position for query in seen if query.token >= 0} == {3}, "after: <s> the nurse"
