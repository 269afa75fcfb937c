"""One template's sentences: articles, places, what a prior hides, the mass that is filed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmprobe.core.direction import Direction
from lmprobe.models import Cloze
from lmprobe.probing.sheet import Sheet, Words, _subtracted, _without_given, model_facts
from lmprobe.templates import load_templates
from tests.scripted_model import ScriptedModel

FORWARD, BACKWARD = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK
WORDS = Words(("he", "she", "they"), ("nurse", "auditor", "cook", "baker"))
AGREEING = """
name = "agreeing"
description = "a verb that gives the pronoun away"
source = "this test"
attribute = "pronoun"
task = "job"
sentences = ["{a:job} {verb} what {pronoun} became."]

[slots]
pronoun = ["he", "she", { word = "they", number = "plural" }]
job = ["nurse", "auditor", "cook", "baker"]
verb = [{ word = "was", forms = { plural = "were" } }]
"""


@pytest.fixture
def sheet(tmp_path: Path) -> Sheet:
    path = tmp_path / "agreeing.toml"
    path.write_text(AGREEING)
    return Sheet(load_templates(path).templates[0], WORDS, (FORWARD, BACKWARD))


def test_the_cloze_at_a_place_is_that_of_its_words(sheet: Sheet) -> None:
    for a, attribute in enumerate(WORDS.attributes):
        for t, task in enumerate(WORDS.tasks):
            who, what = sheet.cloze(FORWARD, a, t), sheet.cloze(BACKWARD, a, t)
            verb = "were" if attribute == "they" else "was"
            article = "An" if task == "auditor" else "A"
            assert who.text == what.text == f"{article} {task} {verb} what {attribute} became."
            assert (who.word, what.word) == (attribute, task)
            assert [who.text[slice(*span)] for span in who.given] == [task]
            assert [who.text[slice(*span)] for span in what.given] == [attribute]


def test_what_differs_between_candidates_is_what_must_be_hidden(sheet: Sheet) -> None:
    """The verb agrees with the pronoun, the article with the job."""
    who, what = sheet.cloze(FORWARD, 2, 1), sheet.cloze(BACKWARD, 2, 1)
    assert [who.text[slice(*span)] for span in who.differing] == ["were", "they"]
    assert [who.text[slice(*span)] for span in what.differing] == ["An auditor"]
    assert who.article is None
    assert what.article == (0, 2)


def test_articles_are_told_where_they_differ(sheet: Sheet) -> None:
    assert sheet.articles(BACKWARD) == {"A", "An"}
    assert sheet.articles(FORWARD) == set(), "no pronoun has one"
    template = load_templates("neutral").templates[0]
    same = Sheet(template, Words(("he", "she"), ("nurse", "cook")), (BACKWARD,))
    assert same.articles(BACKWARD) == set(), "all have the same"


@pytest.mark.parametrize(
    ("guessed", "hidden"),
    [
        ((0, 3), True),
        ((0, 4), True),
        ((0, 5), False),
        ((4, 8), False),
        ((5, 7), False),
        ((7, 9), False),
        ((8, 11), True),
        ((9, 11), True),
    ],
)
def test_a_prior_hides_the_given_word_unless_it_is_guessed(
    guessed: tuple[int, int], hidden: bool
) -> None:
    """Spans that touch do not overlap: the given word is at the characters 4 to 8."""
    cloze = Cloze("abcdefghijklmno", 12, 15, given=((4, 8),), differing=(guessed, (12, 15)))
    assert _without_given(cloze).hidden == (((4, 8),) if hidden else ())


def test_what_is_subtracted_from_the_mass_is_taken_off_it() -> None:
    numbers = {
        "task->attribute log_probability": (-9.0, -8.0),
        "task->attribute log_mass": (-3.0, -2.0),
        "task->attribute subtracted": (-1.0, -0.5),
        "attribute->task log_mass": (-5.0,),
        "attribute->task subtracted": (-0.25,),
    }
    assert _subtracted(numbers) == {
        "task->attribute log_probability": (-9.0, -8.0),
        "task->attribute log_mass": (-2.0, -1.5),
        "attribute->task log_mass": (-4.75,),
    }


def test_the_number_of_a_device_decides_no_answer() -> None:
    assert model_facts(ScriptedModel([], device="cuda:1"))["device"] == "cuda"
    assert model_facts(ScriptedModel([], device="cpu"))["device"] == "cpu"
