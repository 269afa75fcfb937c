"""The mass of the candidates against that of random words, with a model of made-up answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lmprobe.core.direction import Direction
from lmprobe.models import Cloze, EncodedCloze, TokenQuery, cache
from lmprobe.probing.random_words import (
    _candidates,
    _chosen_conditions,
    _clozes,
    _Condition,
    _log_mass,
    _place,
    _with_random_word,
    is_informed,
    mass_ratio,
)
from lmprobe.probing.scores import Scores
from lmprobe.scorers import scorers
from lmprobe.templates import load_templates
from tests.checkpoints import own_cache
from tests.scripted_model import ScriptedModel

__all__ = ["own_cache"]

FORWARD, BACKWARD = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK
NEUTRAL = load_templates("neutral")
OTHERS = ("stone", "river", "cloud", "lamp", "paper", "extraordinary", "neighbourhoods")


def table(
    direction: Direction, templates: int = 3, attributes: int = 2, tasks: int = 3, scorer: str = ""
) -> Scores:
    """Made-up scores of words of the neutral set."""
    rng = np.random.default_rng(templates)
    logs = rng.uniform(-6, -1, (templates, attributes, tasks))
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
        (4.0, None, True),
        (0.0, 0.375, True),
        (0.0, 0.3750001, False),
        (99.0, 0.376, False),
        (None, 0.376, False),
    ],
)
def test_twice_the_mass_of_random_words_or_the_mass_that_was_asked_for(
    ratio: float | None, least: float | None, expected: bool
) -> None:
    # Two candidates of 1/4 and 1/8: the mass is 3/8.
    logs = np.log(np.array([[[0.25, 0.25], [0.125, 0.125]]]))
    scores = replace(table(FORWARD, 1, 2, 2), log_probability=logs, mass_ratio=ratio)
    assert is_informed(scores, least) is expected


@pytest.mark.parametrize(("direction", "given"), [(FORWARD, 9), (BACKWARD, 3)])
def test_eight_conditions_are_drawn_with_the_seed_zero(direction: Direction, given: int) -> None:
    scores = table(direction, 5, 3, 9)
    places = [(k, word) for k in range(5) for word in range(given)]
    drawn = np.random.default_rng(0).choice(len(places), 8, replace=False)
    found = [(one.template, one.given) for one in _chosen_conditions(scores)]
    assert found == [places[place] for place in sorted(drawn)]


def test_of_fewer_conditions_all_are_taken() -> None:
    found = _chosen_conditions(table(FORWARD, 2, 3, 3))
    assert [(one.template, one.given) for one in found] == [
        (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2),
    ]  # fmt: skip


def test_thirty_two_candidates_are_drawn_with_the_seed_zero() -> None:
    logs = np.zeros((1, 2, 40))
    scores = replace(table(BACKWARD), log_probability=logs)
    drawn = sorted(np.random.default_rng(0).choice(40, 32, replace=False).tolist())
    assert _candidates(scores, _Condition(0, 1)) == [(1, task) for task in drawn]
    scores = replace(table(FORWARD), log_probability=logs.swapaxes(1, 2))
    assert _candidates(scores, _Condition(0, 1)) == [(word, 1) for word in drawn]


def test_of_fewer_candidates_all_are_taken() -> None:
    assert _candidates(table(FORWARD, 3, 3, 2), _Condition(2, 1)) == [(0, 1), (1, 1), (2, 1)]
    assert _candidates(table(BACKWARD, 3, 3, 2), _Condition(2, 1)) == [(1, 0), (1, 1)]


@pytest.mark.parametrize("direction", Direction)
def test_the_clozes_are_those_of_the_template_and_the_given_word(direction: Direction) -> None:
    scores, condition = table(direction, 3, 3, 3), _Condition(2, 1)
    pairs = _candidates(scores, condition)
    clozes = _clozes(NEUTRAL, scores, pairs, condition)
    assert len(clozes) == 3
    for (attribute, task), cloze in zip(pairs, clozes, strict=True):
        who, what = scores.attributes[attribute], scores.tasks[task]
        sentence = NEUTRAL.templates[2].sentence(who, what)
        assert cloze.text == sentence.text
        spans = sentence.attribute_span, sentence.task_span
        assert (cloze.start, cloze.end) == (spans[0] if direction is FORWARD else spans[1])


def encoded(word: tuple[int, int], first: tuple[int, int]) -> EncodedCloze:
    return EncodedCloze(tuple(range(2, 12)), word, (first, (8, 9)), word)


@pytest.mark.parametrize(
    ("word", "first", "replaced"),
    [
        ((2, 4), (2, 5), (2, 4)),
        ((3, 5), (2, 5), (3, 5)),
        ((3, 4), (2, 5), (3, 4)),
        ((2, 5), (2, 5), (2, 5)),
        ((6, 7), (2, 5), (2, 5)),
        ((4, 7), (2, 5), (2, 5)),
        ((1, 4), (2, 5), (2, 5)),
    ],
)
def test_a_causal_model_is_asked_about_the_first_that_differs(
    word: tuple[int, int], first: tuple[int, int], replaced: tuple[int, int]
) -> None:
    """A masked one is always asked about the word itself."""
    assert _place(ScriptedModel([], kind="causal"), encoded(word, first)) == replaced
    assert _place(ScriptedModel([]), encoded(word, first)) == word


def test_a_random_word_has_as_many_tokens_of_the_same_kind_and_is_no_candidate() -> None:
    model = ScriptedModel((*OTHERS, "7", "42nd"))
    (cloze,) = model.encode([Cloze("She was a hairdresser.", 10, 21)])
    known = model.word_tokens
    start, end = cloze.word
    assert end - start == 2
    taken = {cloze.ids[start], model.pieces.index("stone")}
    rng = np.random.default_rng(1)
    for _ in range(50):
        found = _with_random_word(model, cloze, taken, rng)
        assert (*found.ids[:start], *found.ids[end:]) == (*cloze.ids[:start], *cloze.ids[end:])
        assert not set(found.ids[start:end]) & taken
        assert known.letters[list(found.ids[start:end])].all()
        assert known.begins[list(found.ids[start:end])].tolist() == [True, False]


def test_a_vocabulary_without_letters_has_other_tokens() -> None:
    model = ScriptedModel(["7", "8"])
    (cloze,) = model.encode([Cloze("7 8 .", 2, 3)])
    rng = np.random.default_rng(1)
    found = {_with_random_word(model, cloze, {2, 3}, rng).ids[cloze.word[0]] for _ in range(50)}
    assert found == {0, 1, 4}, "all but the candidates"


@pytest.mark.parametrize("direction", Direction)
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
    found = mass_ratio(model, NEUTRAL, scores, cache=False)
    assert found == pytest.approx(expected / random)


def test_no_random_word_is_a_candidate_of_its_condition() -> None:
    model = ScriptedModel(["stone"])
    seen: list[TokenQuery] = []
    model.answer = lambda query: float(-len(seen.append(query) or seen))  # type: ignore
    clozes = [Cloze("he was .", 0, 2), Cloze("she was .", 0, 3)]
    model.encode(clozes)
    # Letters that begin a word: he, she, was and stone; the first two are candidates.
    _log_mass(model, [clozes], scorers.get("word-l2r")())
    asked = {model.pieces[query.token] for query in seen}
    assert asked <= {"stone", "was"}


def test_the_answers_are_kept_and_one_of_another_size_is_asked_for_again() -> None:
    model, scores = ScriptedModel(OTHERS), table(FORWARD)
    # Once before, so that all words of the sentences are in the vocabulary from now on.
    mass_ratio(model, NEUTRAL, scores, cache=False)
    model.asked = 0
    first = mass_ratio(model, NEUTRAL, scores, cache=False)
    assert (cache.contents(), model.remembered) == ([], 0)
    asked = model.asked
    assert mass_ratio(model, NEUTRAL, scores) == first
    assert (model.asked, model.remembered) == (2 * asked, 1)
    assert mass_ratio(model, NEUTRAL, scores) == first
    assert (model.asked, model.remembered) == (2 * asked, 1), "from the cache"
    ((path, entry),) = cache.contents()
    assert entry is not None
    short = {"log_mass": entry.numbers["log_mass"][:-1]}
    cache.write(path.stem, cache.Entry("scripted", short))
    assert mass_ratio(model, NEUTRAL, scores) == first
    assert model.asked == 3 * asked
