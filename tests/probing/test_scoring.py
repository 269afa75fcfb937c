"""Asking a model about a template set: defaults, the cache, the progress, split words."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError
from lmprobe.models import Cloze, cache
from lmprobe.probing.scores import Scores
from lmprobe.probing.scoring import score_directions, score_templates
from lmprobe.scorers import scorers
from lmprobe.templates import TemplateSet, load_templates
from tests.checkpoints import own_cache
from tests.scripted_model import ScriptedModel

__all__ = ["own_cache"]

FORWARD, BACKWARD = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK
TOML = """
name = "tiny"
description = "three sentences"
source = "this test"
attribute = "who"
task = "job"
sentences = ["{who} was a {job}.", "{who} is a {job} now.", "I met a {job}, {who} said.",
             "{who} will soon be a {job}."]

[slots]
who = ["he", "grandfather"]
job = ["cook", "hairdresser", "nurse"]
"""


@pytest.fixture
def templates(tmp_path: Path) -> TemplateSet:
    path = tmp_path / "tiny.toml"
    path.write_text(TOML)
    return load_templates(path)


@pytest.mark.parametrize(("kind", "scorer"), [("masked", "pll"), ("causal", "sentence")])
def test_every_number_is_in_the_place_of_its_words(
    templates: TemplateSet, kind: str, scorer: str
) -> None:
    model = ScriptedModel([], kind=kind)
    found = score_directions(model, templates, scorer=scorer)
    for direction in DIRECTIONS:
        scores = found[direction]
        assert scores.log_probability.shape == (4, 2, 3)
        assert (scores.attributes, scores.tasks) == (templates.attributes, templates.tasks)
        assert scores.log_mass is not None
        for k, template in enumerate(templates.templates):
            for a, who in enumerate(templates.attributes):
                for t, job in enumerate(templates.tasks):
                    sentence = template.sentence(who, job)
                    span = sentence.attribute_span if direction is FORWARD else sentence.task_span
                    (encoded,) = model.encode([Cloze(sentence.text, *span)])
                    whole = sum(map(model.answer, scorers.get(scorer)().queries(encoded)))
                    assert scores.log_probability[k, a, t] == pytest.approx(whole)


def test_only_words_of_several_pieces_are_counted_and_only_where_they_are_guessed(
    templates: TemplateSet,
) -> None:
    found = score_directions(ScriptedModel([]), templates)
    assert dict(found[FORWARD].pieces) == {"grandfather": 2}
    assert dict(found[BACKWARD].pieces) == {"hairdresser": 2}


def test_the_progress_counts_the_sentences_of_all_templates(templates: TemplateSet) -> None:
    """Two directions of six sentences: twelve a template, reported half way and at its end."""
    steps: list[tuple[int, int]] = []
    model = ScriptedModel([])
    score_directions(model, templates, progress=lambda *step: steps.append(step))
    assert steps == [(done, 48) for done in (6, 12, 18, 24, 30, 36, 42, 48)]


def test_the_progress_is_that_of_what_is_left_to_ask(templates: TemplateSet) -> None:
    score_directions(ScriptedModel([]), templates)
    cache.contents()[0][0].unlink()
    cache.contents()[0][0].unlink()
    steps: list[tuple[int, int]] = []
    model = ScriptedModel([])
    again = score_directions(model, templates, progress=lambda *step: steps.append(step))
    assert steps == [(done, 24) for done in (6, 12, 18, 24)]
    assert not again[FORWARD].cached
    assert model.remembered == 1


def test_answers_are_kept_and_the_model_is_remembered_once(templates: TemplateSet) -> None:
    model = ScriptedModel([])
    first = score_directions(model, templates, cache=False)
    assert (cache.contents(), model.remembered) == ([], 0)
    assert not first[FORWARD].cached
    asked = model.asked
    second = score_directions(model, templates)
    assert (len(cache.contents()), model.remembered, model.asked) == (4, 1, 2 * asked)
    assert not second[FORWARD].cached
    third = score_directions(model, templates)
    assert (model.remembered, model.asked) == (1, 2 * asked)
    for direction in DIRECTIONS:
        assert third[direction].cached
        expected = first[direction].log_probability
        np.testing.assert_array_equal(third[direction].log_probability, expected)


def test_one_direction_alone_is_kept_as_well(templates: TemplateSet) -> None:
    model = ScriptedModel([])
    first = score_templates(model, templates, FORWARD)
    assert first.log_prior is None
    asked = model.asked
    assert score_templates(model, templates, FORWARD).cached
    assert model.asked == asked
    assert not score_templates(model, templates, FORWARD, cache=False).cached
    assert score_templates(model, templates, FORWARD, prior=True).prior


@pytest.mark.parametrize("function", [score_templates, score_directions])
def test_by_default_there_is_no_prior_and_all_words_are_asked_about(function: object) -> None:
    defaults = inspect.signature(function).parameters  # type: ignore[arg-type]
    assert defaults["prior"].default is False
    assert defaults["cache"].default is True
    assert defaults["attributes"].default is None
    assert defaults["tasks"].default is None


def test_words_may_be_chosen(templates: TemplateSet) -> None:
    found = score_templates(
        ScriptedModel([]), templates, BACKWARD, attributes=["he"], tasks=["nurse", "cook"]
    )
    assert (found.attributes, found.tasks) == (("he",), ("nurse", "cook"))
    assert found.log_probability.shape == (4, 1, 2)


@pytest.mark.parametrize("chosen", [{"attributes": []}, {"tasks": []}])
def test_nothing_to_ask_about_is_refused(
    templates: TemplateSet, chosen: dict[str, list[str]]
) -> None:
    with pytest.raises(InputError, match="at least one attribute and one task"):
        score_directions(ScriptedModel([]), templates, **chosen)


def test_a_prior_needs_masks(templates: TemplateSet) -> None:
    causal = ScriptedModel([], kind="causal")
    with pytest.raises(InputError, match="a prior needs a masked model, and scripted is causal"):
        score_directions(causal, templates, prior=True)
    assert score_directions(causal, templates)[FORWARD].log_prior is None
    assert score_directions(ScriptedModel([]), templates)[FORWARD].log_prior is None


def test_scores_were_computed_with_one_thread_unless_somebody_says_otherwise() -> None:
    scores = Scores(FORWARD, ("k",), ("he",), ("cook",), np.zeros((1, 1, 1)), None, {}, "x", False)
    assert scores.threads == 1
    assert not scores.prior
