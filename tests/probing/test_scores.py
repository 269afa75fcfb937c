"""Scores of a template set: the numbers, groups of words, the prior, and what the cache saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError, ModelError
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models import Cloze, MaskedModel, cache, load_model
from lmprobe.models.scorers import SplitWordWarning, mass_queries, score, scorers
from lmprobe.probing.scores import Scores, score_directions, score_templates
from lmprobe.templates import TemplateSet, load_templates
from tests.checkpoints import checkpoint, own_cache
from tests.scripted_model import ScriptedModel

__all__ = ["checkpoint", "own_cache"]

Checkpoint = Callable[[str], Path]
FORWARD, BACKWARD = DIRECTIONS

TINY = """
name = "tiny"
description = "three sentences"
source = "this test"
attribute = "pronoun"
task = "job"
sentences = [
    "{pronoun} became {a:adjective} {job}, people said.",
    "The {job} said that {pronoun} worked at night.",
]

[slots]
pronoun = ["he", "she", "they"]
job = ["nurse", "baker", "lawyer", "engineer"]
adjective = ["new", "known"]
"""
AGREEING = """
name = "agreeing"
description = "a verb that gives the pronoun away"
source = "this test"
attribute = "pronoun"
task = "job"
sentences = ["{pronoun} {verb} {a:job}.", "{a:job} {verb} what {pronoun} became."]

[slots]
pronoun = ["he", "she", { word = "they", number = "plural" }]
job = ["nurse", "baker", "engineer"]
verb = [{ word = "was", forms = { plural = "were" } }]
"""


def written(folder: Path, text: str) -> TemplateSet:
    path = folder / "set.toml"
    path.write_text(text)
    return load_templates(path)


def guessed_words(
    templates: TemplateSet, direction: Direction
) -> Iterator[tuple[tuple[int, int, int], Cloze]]:
    """Yield every cell of the scores with its sentence and the place of the guessed word."""
    for k, template in enumerate(templates.templates):
        for a, attribute in enumerate(templates.attributes):
            for t, task in enumerate(templates.tasks):
                sentence = template.sentence(attribute, task)
                span = sentence.attribute_span if direction is FORWARD else sentence.task_span
                yield (k, a, t), Cloze(sentence.text, *span)


@pytest.fixture
def templates(tmp_path: Path) -> TemplateSet:
    return written(tmp_path, TINY)


@pytest.fixture
def model(checkpoint: Checkpoint) -> MaskedModel:
    return load_model(checkpoint("Bert"))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_cell_is_the_score_of_its_sentence(
    direction: Direction, model: MaskedModel, templates: TemplateSet
) -> None:
    found = score_templates(model, templates, direction)
    assert found.log_probability.shape == (3, 3, 4)
    assert found.templates == tuple(template.name for template in templates.templates)
    for cell, cloze in guessed_words(templates, direction):
        alone = score(model, [cloze]).log_probability[0]
        assert found.log_probability[cell] == pytest.approx(alone, abs=1e-4)
    split = {} if direction is FORWARD else {"lawyer"}
    assert set(found.pieces) == set(split), "only words of the guessed slot"


@pytest.mark.parametrize(("kind", "scorer"), [("masked", "pll"), ("causal", "sentence")])
def test_scorers_of_whole_sentences_also_give_the_mass(
    templates: TemplateSet, kind: str, scorer: str
) -> None:
    scripted = ScriptedModel([], kind=kind)
    for direction, found in score_directions(scripted, templates, scorer=scorer).items():
        assert found.log_mass is not None
        assert found.log_mass_table is found.log_mass
        for cell, cloze in guessed_words(templates, direction):
            (encoded,) = scripted.encode([cloze])
            whole = sum(map(scripted.answer, scorers.get(scorer)().queries(encoded)))
            assert found.log_probability[cell] == pytest.approx(whole)
            mass = mass_queries(encoded, kind)
            added, less = (
                sum(map(scripted.answer, queries)) for queries in (mass.added, mass.subtracted)
            )
            assert found.log_mass[cell] == pytest.approx(added - less)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_prior_divides_by_the_probability_without_the_other_word(
    direction: Direction, model: MaskedModel, templates: TemplateSet
) -> None:
    plain = score_templates(model, templates, direction)
    found = score_templates(model, templates, direction, prior=True)
    np.testing.assert_allclose(found.log_probability, plain.log_probability, atol=1e-4)
    assert plain.log_prior is None
    assert found.log_prior is not None
    sentence = templates.templates[0].sentence("she", "baker")
    spans = sentence.attribute_span, sentence.task_span
    guessed, other = spans if direction is FORWARD else spans[::-1]
    hidden = score(model, [Cloze(sentence.text, *guessed, hidden=(other,))]).log_probability[0]
    assert found.log_prior[0, 1, 1] == pytest.approx(hidden, abs=1e-4)
    # Kurita et al. 2019: with the other word masked, it no longer matters which it was.
    assert np.ptp(found.log_prior, axis=2 if direction is FORWARD else 1).max() < 1e-4
    ratio = np.exp(plain.log_probability - found.log_prior)
    expected = ratio / ratio.sum(axis=direction.axis, keepdims=True)
    np.testing.assert_allclose(found.probabilities(), expected, atol=1e-6)
    np.testing.assert_allclose(found.candidate_mass(), plain.candidate_mass(), atol=1e-6)


def test_a_prior_needs_masks(templates: TemplateSet) -> None:
    causal = ScriptedModel([], kind="causal")
    with pytest.raises(InputError, match="a prior needs a masked model, and scripted is causal"):
        score_directions(causal, templates, prior=True)


def test_what_differs_is_hidden_and_nothing_else(model: MaskedModel, tmp_path: Path) -> None:
    """The verb agrees with they: it is guessed with the pronoun, unless only he and she are."""
    agreeing = written(tmp_path, AGREEING)
    for attributes, verb in ((("he", "she", "they"), True), (("he", "she"), False)):
        found = score_directions(model, agreeing, attributes=attributes)
        for k, template in enumerate(agreeing.templates):
            sentence = template.sentence(attributes[-1], "engineer")
            spans = {span.slot: (span.start, span.end) for span in sentence.spans}
            hidden = [spans["pronoun"], *([spans["verb"]] if verb else [])]
            cloze = Cloze(sentence.text, *sentence.attribute_span, differing=tuple(hidden))
            alone = score(model, [cloze]).log_probability[0]
            guessed = found[FORWARD].log_probability[k, -1, -1]
            assert guessed == pytest.approx(alone, abs=1e-4)
            cloze = Cloze(
                sentence.text, *sentence.task_span, article=sentence.article(sentence.task_slot)
            )
            alone = score(model, [cloze], scorer="phrase-l2r").log_probability[0]
            guessed = found[BACKWARD].log_probability[k, -1, -1]
            assert guessed == pytest.approx(alone, abs=1e-4), "with its article, even the same one"
    assert found[BACKWARD].articles == ("A", "An", "a", "an")
    assert found[FORWARD].articles == (), "no pronoun has one"


LOGS = np.log(np.random.default_rng(2).uniform(0.01, 0.3, (4, 3, 5)))


def plain_scores(direction: Direction, logs: Any = LOGS) -> Scores:
    labels = ("he", "she", "they"), tuple("abcde")
    return Scores(direction, tuple("klmn"), *labels, logs, None, {}, "x", False)


def grouped_scores(direction: Direction) -> Scores:
    """Return scores of two groups of words by three of jobs; a group's words need not adjoin."""
    return replace(
        plain_scores(direction), attributes=("men", "women"), tasks=("care", "law", "cook"),
        attribute_of=("men", "women", "men"), task_of=("care", "care", "law", "law", "cook"),
    )  # fmt: skip


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_probabilities_and_mass_by_a_loop(direction: Direction) -> None:
    scores, shares = plain_scores(direction), np.exp(LOGS)
    found, mass = scores.probabilities(), scores.candidate_mass()
    for k in range(4):
        for a in range(3):
            for t in range(5):
                rest = shares[k, :, t] if direction is FORWARD else shares[k, a]
                assert found[k, a, t] == pytest.approx(shares[k, a, t] / rest.sum())
        assert mass[k] == pytest.approx(shares[k].sum() / (5 if direction is FORWARD else 3))
    kept = scores.probabilities(attributes=["she", "he"], tasks=["d", "a"])
    part = shares[:, [1, 0]][:, :, [3, 0]]
    np.testing.assert_allclose(kept, part / part.sum(axis=direction.axis, keepdims=True))
    with pytest.raises(InputError, match='task "f" was not scored'):
        scores.probabilities(tasks=["f"])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_probabilities_of_groups_by_a_loop(direction: Direction) -> None:
    """Guessed, a group has the sum over its words; given, the mean."""
    scores = grouped_scores(direction)
    found = scores.probabilities()
    rows, columns = [[0, 2], [1]], [[0, 1], [2, 3], [4]]
    shares = np.exp(LOGS)
    for k in range(4):
        for a, words in enumerate(rows):
            for t, jobs in enumerate(columns):
                total = 0.0
                for word in words:
                    for job in jobs:
                        rest = shares[k, :, job] if direction is FORWARD else shares[k, word]
                        total += shares[k, word, job] / rest.sum()
                given = len(jobs) if direction is FORWARD else len(words)
                assert found[k, a, t] == pytest.approx(total / given)
    table = scores.log_table(scores.attributes, scores.tasks)
    np.testing.assert_allclose(np.exp(table), found)
    np.testing.assert_allclose(scores.probabilities(["women", "men"]), found[:, ::-1])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_small_probabilities_do_not_underflow(direction: Direction) -> None:
    tiny = plain_scores(direction, LOGS - 5000)
    np.testing.assert_allclose(tiny.probabilities(), plain_scores(direction).probabilities())
    table = tiny.log_table(("they", "he"), ("b", "a"))
    np.testing.assert_array_equal(table, (LOGS - 5000)[:, [2, 0]][:, :, [1, 0]])
    impossible = LOGS.copy()
    impossible[:, 1], impossible[:, :, 4] = -5000, -5000
    grouped = replace(grouped_scores(direction), log_probability=impossible)
    assert np.isfinite(grouped.log_table(grouped.attributes, grouped.tasks)).all()


def test_a_second_run_asks_nothing_and_reads_no_weights(
    checkpoint: Checkpoint, templates: TemplateSet
) -> None:
    first = score_directions(load_model(checkpoint("Bert")), templates)
    again = load_model(checkpoint("Bert"))
    second = score_directions(again, templates)
    assert "network" not in vars(again)
    for direction in DIRECTIONS:
        assert (first[direction].cached, second[direction].cached) == (False, True)
        expected = first[direction].log_probability
        np.testing.assert_array_equal(second[direction].log_probability, expected)
        assert second[direction].pieces == first[direction].pieces
        # The order of the words is no reason to ask again.
        turned = score_directions(
            again, templates, attributes=templates.attributes[::-1], tasks=templates.tasks[::-1]
        )[direction]
        assert turned.cached
        np.testing.assert_array_equal(turned.log_probability[:, ::-1, ::-1], expected)


@pytest.mark.parametrize(
    "change",
    [{"scorer": "joint"}, {"prior": True}, {"attributes": ["he", "she"]}, {"cache": False}],
)
def test_another_question_is_asked_anew(
    change: dict[str, Any], templates: TemplateSet, own_cache: Path
) -> None:
    model = ScriptedModel([])
    score_templates(model, templates, FORWARD, cache=False)
    assert not own_cache.exists()
    score_templates(model, templates, FORWARD)
    assert not score_templates(model, templates, FORWARD, **change).cached


def test_an_article_written_for_the_word_is_another_question(
    model: MaskedModel, tmp_path: Path
) -> None:
    """The same text, but only one of the two hides its article with the word."""
    found = []
    for slot in ("a {job}", "{a:job}"):
        templates = written(
            tmp_path,
            'name = "n"\ndescription = "d"\nsource = "s"\nattribute = "who"\ntask = "job"\n'
            f'sentences = ["{{who}} became {slot}."]\n'
            '[slots]\nwho = ["he", "she"]\njob = ["nurse", "baker"]\n',
        )
        found.append(score_templates(model, templates, BACKWARD, scorer="phrase-l2r"))
    assert not found[1].cached
    assert np.abs(found[0].log_probability - found[1].log_probability).min() > 1e-3


def test_another_dtype_or_model_is_asked_anew_and_another_device_number_is_not(
    checkpoint: Checkpoint, templates: TemplateSet
) -> None:
    score_templates(load_model(checkpoint("Bert")), templates, FORWARD)
    for other in (
        load_model(checkpoint("Bert"), dtype="float64"),
        load_model(checkpoint("Electra")),
    ):
        assert not score_templates(other, templates, FORWARD).cached
    score_templates(ScriptedModel([], device="cuda:0"), templates, FORWARD)
    assert score_templates(ScriptedModel([], device="cuda:1"), templates, FORWARD).cached
    assert not score_templates(ScriptedModel([], device="cpu"), templates, FORWARD).cached


def test_an_interrupted_run_goes_on_where_it_stopped() -> None:
    """The progress counts sentences of what is left: two times 20 templates of 2 x 32 pairs."""
    templates = load_templates("fitbert")
    # All of them, so that every model has the same vocabulary.
    words = [
        word
        for template in templates.templates
        for task in templates.tasks
        for word in template.sentence("she", task).text.lower().strip(".").split()
    ]
    steps: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        steps.append((done, total))
        if done > 1280:
            raise KeyboardInterrupt

    def scored(**options: Any) -> dict[Direction, Scores]:
        return score_directions(ScriptedModel([*words, "he", "."]), templates, **options)

    whole = scored(cache=False)
    with pytest.raises(KeyboardInterrupt):
        scored(progress=stop)
    assert steps == [(640, 2560), (1280, 2560), (1920, 2560)]
    assert len(cache.contents()) == 1
    steps.clear()
    resumed = scored(progress=lambda *step: steps.append(step))
    assert steps == [(640, 1280), (1280, 1280)]
    for direction in DIRECTIONS:
        for name in ("log_probability", "mass_ratio", "perplexity"):
            expected = getattr(whole[direction], name)
            np.testing.assert_array_equal(getattr(resumed[direction], name), expected)


@pytest.mark.parametrize("name", ["reference:amplified", "reference:causal-amplified"])
def test_answers_do_not_depend_on_what_was_asked_before(name: str) -> None:
    """To the last bit, so that a sweep gives the same bytes with any number of workers."""
    templates, others = load_templates("fitbert"), load_templates("neutral")
    model = load_model(name)
    score_directions(model, others, cache=False)
    after = score_directions(model, templates, cache=False)
    alone = score_directions(load_model(name), templates, cache=False)
    for direction in DIRECTIONS:
        np.testing.assert_array_equal(
            after[direction].log_probability, alone[direction].log_probability
        )


def test_a_damaged_entry_is_redone_and_no_other() -> None:
    templates, model = load_templates("fitbert"), ScriptedModel([])
    first = score_templates(model, templates, FORWARD)
    asked = model.asked
    path, _ = cache.contents()[0]
    path.write_text(path.read_text()[:-40])
    second = score_templates(model, templates, FORWARD)
    assert model.asked < 2 * asked
    np.testing.assert_array_equal(second.log_probability, first.log_probability)
    assert all(entry is not None for _, entry in cache.contents())


def test_first_piece_warns_also_from_the_cache(model: MaskedModel, templates: TemplateSet) -> None:
    for cached in (False, True):
        with pytest.warns(SplitWordWarning, match="lawyer") as seen:
            found = score_directions(model, templates, scorer="first-piece")
        assert found[BACKWARD].cached is cached
        assert [warning.filename for warning in seen] == [__file__]


def test_mistakes(templates: TemplateSet) -> None:
    with pytest.raises(InputError, match='no direction "task->task"'):
        score_templates(ScriptedModel([]), templates, "task->task")
    for nothing in ({"tasks": []}, {"attributes": []}):
        with pytest.raises(InputError, match="at least one attribute and one task"):
            score_templates(ScriptedModel([]), templates, FORWARD, **nothing)


def test_a_tokenizer_that_knows_no_word_is_the_wrong_one(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    text = TINY
    for word in ("he", "she", "they", "nurse", "baker", "engineer", "lawyer", "janitor"):
        text = text.replace(f'"{word}"', f'"Ж{word}Ω"')
    with pytest.raises(ModelError, match=r"knows none of the words \(.*`tokenizer`"):
        score_templates(load_model(checkpoint("Bert")), written(tmp_path, text), FORWARD)


def test_an_unknown_given_word_is_an_error(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """P(he | [UNK]) would be the same for every word that the model does not know."""
    text = TINY.replace('"baker"', '"Ж"').replace('"engineer"', '"Ω"')
    for direction in DIRECTIONS:
        with pytest.raises(ModelError, match="unknown to its tokenizer: Ω, Ж"):
            score_templates(load_model(checkpoint("Bert")), written(tmp_path, text), direction)
