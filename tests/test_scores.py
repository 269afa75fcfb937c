"""Scores of a template set: the numbers, the prior, the mass, and what the cache saves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError, ModelError
from lmprobe.models import Cloze, MaskedModel, cache, load_model
from lmprobe.probing.scores import Scores
from lmprobe.probing.scoring import score_directions, score_templates
from lmprobe.scorers import SplitWordWarning, score
from lmprobe.templates import TemplateSet, load_templates
from tests.checkpoints import checkpoint, own_cache

__all__ = ["checkpoint", "own_cache"]

Checkpoint = Callable[[str], Path]

TOML = """
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


@pytest.fixture
def templates(tmp_path: Path) -> TemplateSet:
    path = tmp_path / "tiny.toml"
    path.write_text(TOML)
    return load_templates(path)


@pytest.fixture
def model(checkpoint: Checkpoint) -> MaskedModel:
    return load_model(checkpoint("Bert"))


def count_sentences(model: MaskedModel, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record how many masked sentences each forward pass reads, from the second scoring on.

    The first one also tries out whether the network ignores padding.
    """
    score(model, [Cloze("He is a baker.", 0, 2), Cloze("She said that he is a baker.", 0, 3)])
    rows: list[int] = []
    forward = model.network.forward

    def counted(**inputs: Any) -> Any:
        rows.append(len(inputs["input_ids"]))
        return forward(**inputs)

    monkeypatch.setattr(model.network, "forward", counted)
    return rows


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_cell_is_the_score_of_its_sentence(
    direction: Direction, model: MaskedModel, templates: TemplateSet
) -> None:
    found = score_templates(model, templates, direction)
    assert found.log_probability.shape == (3, 3, 4)
    assert found.templates == tuple(template.name for template in templates.templates)
    for k, template in enumerate(templates.templates):
        for a, attribute in enumerate(found.attributes):
            for t, task in enumerate(found.tasks):
                sentence = template.sentence(attribute, task)
                guessed = direction == "task->attribute"
                span = sentence.attribute_span if guessed else sentence.task_span
                alone = score(model, [Cloze(sentence.text, *span)]).log_probability[0]
                assert found.log_probability[k, a, t] == pytest.approx(alone, abs=1e-4)


def test_split_words_are_those_of_the_guessed_slot(
    model: MaskedModel, templates: TemplateSet
) -> None:
    assert dict(score_templates(model, templates, "task->attribute").pieces) == {}
    split = score_templates(model, templates, "attribute->task").pieces
    assert list(split) == ["lawyer"]
    assert split["lawyer"] > 1


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_prior_divides_by_the_probability_without_the_other_word(
    direction: Direction, model: MaskedModel, templates: TemplateSet
) -> None:
    plain = score_templates(model, templates, direction)
    found = score_templates(model, templates, direction, prior=True)
    np.testing.assert_allclose(found.log_probability, plain.log_probability, atol=1e-4)
    assert found.prior
    assert found.log_prior is not None
    sentence = templates.templates[0].sentence("she", "baker")
    spans = sentence.attribute_span, sentence.task_span
    guessed, other = spans if direction == "task->attribute" else spans[::-1]
    hidden = score(model, [Cloze(sentence.text, *guessed, hidden=(other,))]).log_probability[0]
    assert found.log_prior[0, 1, 1] == pytest.approx(hidden, abs=1e-4)
    # Kurita et al. 2019: with the other word masked, it no longer matters which it was.
    axis = 2 if direction == "task->attribute" else 1
    assert np.ptp(found.log_prior, axis=axis).max() < 1e-4
    ratio = np.exp(plain.log_probability - found.log_prior)
    over = 1 if direction == "task->attribute" else 2
    np.testing.assert_allclose(
        found.probabilities(), ratio / ratio.sum(axis=over, keepdims=True), atol=1e-6
    )
    np.testing.assert_allclose(found.candidate_mass(), plain.candidate_mass(), atol=1e-6)


def made(direction: Direction) -> Scores:
    """Two templates, two attributes, two tasks; P = 1/8 to 1/2."""
    log_probability = np.log(
        [[[0.50, 0.25], [0.25, 0.125]], [[0.25, 0.25], [0.25, 0.25]]], dtype=float
    )
    return Scores(
        direction,
        ("k", "l"),
        ("he", "she"),
        ("nurse", "baker"),
        log_probability,
        None,
        {},
        "x",
        False,
    )


def test_probabilities_and_mass_by_hand() -> None:
    scores = made("task->attribute")
    np.testing.assert_allclose(scores.probabilities()[0], [[2 / 3, 2 / 3], [1 / 3, 1 / 3]])
    np.testing.assert_allclose(scores.candidate_mass(), [(0.75 + 0.375) / 2, 0.5])
    np.testing.assert_allclose(scores.candidate_mass(attributes=["she"]), [0.1875, 0.25])
    scores = made("attribute->task")
    np.testing.assert_allclose(scores.probabilities()[0], [[2 / 3, 1 / 3], [2 / 3, 1 / 3]])
    np.testing.assert_allclose(scores.candidate_mass(), [(0.75 + 0.375) / 2, 0.5])
    kept = scores.probabilities(attributes=["she"], tasks=["baker", "nurse"])
    np.testing.assert_allclose(kept[0], [[1 / 3, 2 / 3]])
    with pytest.raises(InputError, match='task "bakr" was not scored; did you mean "baker"'):
        scores.probabilities(tasks=["bakr"])


def test_probabilities_do_not_underflow() -> None:
    log_probability = np.full((1, 2, 1), -2000.0) + np.log([[[0.25], [0.75]]])
    scores = Scores(
        "task->attribute", ("k",), ("he", "she"), ("x",), log_probability, None, {}, "joint", False
    )
    np.testing.assert_allclose(scores.probabilities()[0, :, 0], [0.25, 0.75])


def test_candidates_of_one_token_share_a_forward_pass(
    model: MaskedModel, templates: TemplateSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = count_sentences(model, monkeypatch)
    steps: list[tuple[int, int]] = []
    score_templates(model, templates, "task->attribute", progress=lambda *step: steps.append(step))
    assert sum(rows) == 3 * 4, "one masked sentence per template and given task"
    assert steps[-1] == (36, 36), "three templates, twelve candidates each"
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)


def test_a_second_run_asks_nothing_and_reads_no_weights(
    checkpoint: Checkpoint, templates: TemplateSet
) -> None:
    first = score_templates(load_model(checkpoint("Bert")), templates, "attribute->task")
    assert not first.cached
    again = load_model(checkpoint("Bert"))
    second = score_templates(again, templates, "attribute->task")
    assert second.cached
    assert "network" not in vars(again)
    np.testing.assert_array_equal(second.log_probability, first.log_probability)
    assert second.pieces == first.pieces


def test_the_order_of_words_is_no_reason_to_ask_again(
    checkpoint: Checkpoint, templates: TemplateSet
) -> None:
    first = score_templates(load_model(checkpoint("Bert")), templates, "task->attribute")
    turned = score_templates(
        load_model(checkpoint("Bert")),
        templates,
        "task->attribute",
        attributes=first.attributes[::-1],
        tasks=first.tasks[::-1],
    )
    assert turned.cached
    np.testing.assert_array_equal(turned.log_probability[:, ::-1, ::-1], first.log_probability)


@pytest.mark.parametrize(
    "change",
    [
        {"scorer": "joint"},
        {"prior": True},
        {"attributes": ["he", "she"]},
        {"cache": False},
    ],
)
def test_another_question_is_asked_anew(
    change: dict[str, Any], model: MaskedModel, templates: TemplateSet
) -> None:
    score_templates(model, templates, "task->attribute")
    assert not score_templates(model, templates, "task->attribute", **change).cached


def test_an_article_written_for_the_word_is_another_question(
    model: MaskedModel, tmp_path: Path
) -> None:
    """The same text, but only one of the two hides its article with the word."""
    found = []
    for name, slot in (("literal", "a {job}"), ("fitting", "{a:job}")):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f'name = "{name}"\ndescription = "d"\nsource = "s"\nattribute = "who"\ntask = "job"\n'
            f'sentences = ["{{who}} became {slot}."]\n'
            '[slots]\nwho = ["he", "she"]\njob = ["nurse", "baker"]\n'
        )
        one = load_templates(path)
        found.append(score_templates(model, one, "attribute->task", scorer="phrase-l2r"))
    assert not found[1].cached
    assert np.abs(found[0].log_probability - found[1].log_probability).min() > 1e-3


def test_another_dtype_or_model_is_asked_anew(
    checkpoint: Checkpoint, templates: TemplateSet
) -> None:
    score_templates(load_model(checkpoint("Bert")), templates, "task->attribute")
    for other in (
        load_model(checkpoint("Bert"), dtype="float64"),
        load_model(checkpoint("Electra")),
    ):
        assert not score_templates(other, templates, "task->attribute").cached


def test_without_the_cache_nothing_is_written(
    model: MaskedModel, templates: TemplateSet, own_cache: Path
) -> None:
    score_templates(model, templates, "task->attribute", cache=False)
    assert not own_cache.exists()


def test_an_interrupted_run_goes_on_where_it_stopped(
    checkpoint: Checkpoint, templates: TemplateSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = score_templates(
        load_model(checkpoint("Bert")), templates, "task->attribute", cache=False
    )

    def stop(done: int, total: int) -> None:
        if done > 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_templates(load_model(checkpoint("Bert")), templates, "task->attribute", progress=stop)
    assert len(cache.contents()) == 1
    model = load_model(checkpoint("Bert"))
    rows = count_sentences(model, monkeypatch)
    resumed = score_templates(model, templates, "task->attribute")
    assert sum(rows) == 8, "two of the three templates were left"
    np.testing.assert_array_equal(resumed.log_probability, whole.log_probability)


def test_both_directions_are_asked_together(
    model: MaskedModel, templates: TemplateSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = {one: score_templates(model, templates, one, cache=False) for one in DIRECTIONS}
    rows = count_sentences(model, monkeypatch)
    both = score_directions(model, templates)
    assert len(rows) == len(templates.templates), "one batch for each template"
    assert len(cache.contents()) == len(templates.templates)
    for direction, found in both.items():
        expected = alone[direction].log_probability
        np.testing.assert_allclose(found.log_probability, expected, atol=1e-4)
        assert score_directions(model, templates)[direction].cached


def test_a_well_formed_entry_with_other_content_is_redone(
    model: MaskedModel, templates: TemplateSet
) -> None:
    """The checksum is right, the numbers are not those of this sheet."""
    first = score_templates(model, templates, "task->attribute")
    path, entry = cache.contents()[0]
    assert entry is not None
    short = {name: row[:-1] for name, row in entry.numbers.items()}
    for numbers in ({}, short, {name: [None] for name in short}, {name: ["x"] for name in short}):
        content = {"model": "m", "threads": 1, "numbers": numbers}
        checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps({"sha256": checksum, **content}))
        again = score_templates(model, templates, "task->attribute")
        assert not again.cached
        np.testing.assert_array_equal(again.log_probability, first.log_probability)


def test_groups_by_hand() -> None:
    """Guessed, a group has the sum of its words; given, it is the mean over them."""
    table = np.log([[[0.4, 0.1, 0.1], [0.2, 0.1, 0.3], [0.2, 0.2, 0.4]]])
    scores = Scores(
        Direction.TASK_TO_ATTRIBUTE,
        ("k",),
        ("men", "women"),
        ("care", "law"),
        table,
        None,
        {},
        "x",
        False,
        attribute_of=("men", "women", "men"),
        task_of=("care", "care", "law"),
    )
    men = [(0.6 / 0.8 + 0.3 / 0.4) / 2, 0.5 / 0.8]
    np.testing.assert_allclose(scores.probabilities()[0], [men, [1 - men[0], 1 - men[1]]])
    np.testing.assert_allclose(scores.probabilities(["women", "men"])[0, 1], men)
    np.testing.assert_allclose(scores.probabilities(tasks=["law"])[0, 0], [0.5 / 0.8])
    np.testing.assert_allclose(scores.candidate_mass(), [(0.8 + 0.4 + 0.8) / 3])
    turned = replace(scores, direction=Direction.ATTRIBUTE_TO_TASK)
    care = [(0.5 / 0.6 + 0.4 / 0.8) / 2, 0.3 / 0.6]
    np.testing.assert_allclose(turned.probabilities()[0, :, 0], care)


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


def test_what_differs_is_hidden_and_nothing_else(model: MaskedModel, tmp_path: Path) -> None:
    """The verb agrees with they: it is guessed with the pronoun, unless only he and she are."""
    path = tmp_path / "agreeing.toml"
    path.write_text(AGREEING)
    agreeing = load_templates(path)
    for attributes, verb in ((("he", "she", "they"), True), (("he", "she"), False)):
        found = score_directions(model, agreeing, attributes=attributes)
        for k, template in enumerate(agreeing.templates):
            sentence = template.sentence(attributes[-1], "engineer")
            spans = {span.slot: (span.start, span.end) for span in sentence.spans}
            hidden = [spans["pronoun"], *([spans["verb"]] if verb else [])]
            cloze = Cloze(sentence.text, *sentence.attribute_span, differing=tuple(hidden))
            alone = score(model, [cloze]).log_probability[0]
            guessed = found[Direction.TASK_TO_ATTRIBUTE].log_probability[k, -1, -1]
            assert guessed == pytest.approx(alone, abs=1e-4)
            cloze = Cloze(sentence.text, *sentence.task_span, article=sentence.task_article)
            alone = score(model, [cloze], scorer="phrase-l2r").log_probability[0]
            guessed = found[Direction.ATTRIBUTE_TO_TASK].log_probability[k, -1, -1]
            assert guessed == pytest.approx(alone, abs=1e-4), "with its article, even the same one"


def test_a_damaged_entry_is_redone(
    checkpoint: Checkpoint, templates: TemplateSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = score_templates(load_model(checkpoint("Bert")), templates, "task->attribute")
    path, _ = cache.contents()[0]
    path.write_text(path.read_text()[:-40])
    model = load_model(checkpoint("Bert"))
    rows = count_sentences(model, monkeypatch)
    second = score_templates(model, templates, "task->attribute")
    assert sum(rows) == 4
    np.testing.assert_allclose(second.log_probability, first.log_probability, atol=1e-4)
    assert all(entry is not None for _, entry in cache.contents())


def test_first_piece_warns_also_from_the_cache(model: MaskedModel, templates: TemplateSet) -> None:
    for cached in (False, True):
        with pytest.warns(SplitWordWarning, match="lawyer") as seen:
            found = score_directions(model, templates, scorer="first-piece")
        assert found[Direction.ATTRIBUTE_TO_TASK].cached is cached
        assert [one.filename for one in seen] == [__file__]


def test_mistakes(model: MaskedModel, templates: TemplateSet) -> None:
    with pytest.raises(InputError, match='no direction "task->task"; Known: attribute->task'):
        score_templates(model, templates, "task->task")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one attribute and one task"):
        score_templates(model, templates, "task->attribute", tasks=[])


def test_an_unknown_given_word_is_an_error(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """P(he | [UNK]) would be the same for every word that the model does not know."""
    path = tmp_path / "unknown.toml"
    path.write_text(TOML.replace('"baker"', '"Ж"').replace('"engineer"', '"Ω"'))
    for direction in DIRECTIONS:
        with pytest.raises(ModelError, match="unknown to its tokenizer: Ω, Ж"):
            score_templates(load_model(checkpoint("Bert")), load_templates(path), direction)
