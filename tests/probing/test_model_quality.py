"""Whether a model expects the candidates at all, and how well it knows the sentences."""

from __future__ import annotations

import html
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch

import lmprobe
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models import Cloze, TokenQuery, load_model
from lmprobe.probing.model_card import model_card
from lmprobe.probing.questions import count_words
from lmprobe.probing.scores import LEAST_RATIO, Scores, is_informed, score_directions
from lmprobe.results import NoteKind, Verdict
from lmprobe.templates import TemplateSet, load_templates
from tests.checkpoints import checkpoint, own_cache
from tests.scripted_model import ScriptedModel

__all__ = ["checkpoint", "own_cache"]

Checkpoint = Callable[[str], Path]
FORWARD = Direction.TASK_TO_ATTRIBUTE
NEUTRAL = load_templates("neutral")
FEW = replace(NEUTRAL, templates=NEUTRAL.templates[:2])
OTHERS = ("stone", "river", "cloud", "lamp", "paper", "extraordinary", "neighbourhoods", "42nd")


def test_a_trained_model_is_informed_and_a_random_one_is_not(checkpoint: Checkpoint) -> None:
    trained = lmprobe.probe("reference:amplified", "neutral", tasks=["nurse", "baker", "lawyer"])
    assert all(row.mass_ratio > 10 and row.obstacle is None for row in trained.rows)
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


def sentences_of(templates: TemplateSet) -> list[str]:
    return [
        template.sentence(who, what).text
        for template in templates.templates
        for who in templates.attributes
        for what in templates.tasks
    ]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_the_ratio_is_that_of_candidates_to_random_words_in_their_place(
    direction: Direction, kind: str
) -> None:
    model = ScriptedModel((*OTHERS, *FEW.attributes, *FEW.tasks), kind=kind)
    words = FEW.attributes if direction is FORWARD else FEW.tasks
    first = {word[: model.longest] for word in words}
    model.answer = lambda query: (  # type: ignore[method-assign]
        -1.0 if query.token >= 0 and model.pieces[query.token] in first else -3.0
    )
    scores = score_directions(model, FEW, cache=False)[direction]
    assert scores.mass_ratio == pytest.approx(np.exp(2))


@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_random_words_are_letters_that_the_model_gives_without_reading_more(kind: str) -> None:
    words = {*FEW.attributes, *FEW.tasks}
    model = ScriptedModel((*OTHERS, *words), kind=kind)
    model.encode([Cloze(text, 0, 2) for text in sentences_of(FEW)])
    before = set(model.pieces) - set(OTHERS)
    seen: list[TokenQuery] = []

    def answer(query: TokenQuery) -> float:
        seen.append(query)
        return -1.0

    model.answer = answer  # type: ignore[method-assign]
    score_directions(model, FEW, cache=False)
    random = [query for query in seen if model.pieces[query.token] in OTHERS and query.token >= 0]
    assert random
    assert all(model.pieces[query.token].isalpha() for query in random)

    def read(query: TokenQuery) -> tuple[tuple[int, ...], int]:
        ids = query.ids if kind == "masked" else query.ids[: query.position]
        return ids, query.position

    others = {read(query) for query in seen if model.pieces[query.token] in before}
    assert {read(query) for query in random} <= others
    # Eight conditions a direction, each with about 32 of them.
    assert len(random) <= 8 * 2 * (32 + len(FEW.attributes))


def test_a_causal_model_is_asked_about_the_first_that_differs(tmp_path: Path) -> None:
    """The verb before the pronoun gives it away: that is where the random word goes."""
    path = tmp_path / "agreeing.toml"
    path.write_text(
        'name = "n"\ndescription = "d"\nsource = "s"\nattribute = "who"\ntask = "job"\n'
        'sentences = ["The {job} {verb} what {who} became."]\n'
        '[slots]\nwho = ["he", { word = "they", number = "plural" }]\njob = ["nurse", "cook"]\n'
        'verb = [{ word = "was", forms = { plural = "were" } }]\n'
    )
    # So many other words that every random one is among them.
    others = ["".join(letters) for letters in combinations("abcdefghijklmnop", 4)]
    model = ScriptedModel(others, kind="causal")
    seen: list[TokenQuery] = []
    model.answer = lambda query: float(-len(seen.append(query) or seen))  # type: ignore
    score_directions(model, load_templates(path), cache=False)
    random = [query for query in seen if model.pieces[query.token] in others]
    # Guessing the job: after <s> the; guessing the pronoun: after <s> the nurse.
    assert {query.position for query in random if query.token >= 0} == {2, 3}


def test_pseudo_perplexity_against_a_loop(checkpoint: Checkpoint) -> None:
    """Of four sentences three are drawn."""
    model = load_model(checkpoint("Bert"))
    templates = replace(NEUTRAL, templates=NEUTRAL.templates[:1])
    texts = [
        templates.templates[0].sentence(who, what).text
        for who in ("he", "she")
        for what in ("nurse", "baker")
    ]

    def log_likelihood(text: str) -> float:
        tokens = model.tokenizer(text)
        ids, owner = tokens["input_ids"], tokens.word_ids()
        total = 0.0
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
        return total

    expected = [
        np.exp(-sum(map(log_likelihood, drawn)) / sum(map(count_words, drawn)))
        for drawn in combinations(texts, 3)
    ]
    result = lmprobe.probe(
        model, templates, attributes=["he", "she"], tasks=["nurse", "baker"], cache=False
    )
    assert min(abs(result.perplexity / value - 1) for value in expected) < 1e-4


def test_perplexity_of_a_causal_model_is_about_every_sentence_of_a_small_set(
    checkpoint: Checkpoint,
) -> None:
    model = load_model("reference:causal-faithful")
    templates = replace(NEUTRAL, templates=NEUTRAL.templates[:2])
    total, words = 0.0, 0
    for template in templates.templates:
        for who in ("he", "she"):
            for what in ("nurse", "baker", "lawyer"):
                text = template.sentence(who, what).text
                # [CLS] at the beginning; [SEP] at the end is not read.
                ids = model.tokenizer(text)["input_ids"][:-1]
                with torch.no_grad():
                    logits = model.network(torch.tensor([ids])).logits[0].double().log_softmax(-1)
                total += sum(float(logits[n, item]) for n, item in enumerate(ids[1:]))
                words += count_words(text)
    result = lmprobe.probe(
        model,
        templates,
        attributes=["he", "she"],
        tasks=["nurse", "baker", "lawyer"],
        cache=False,
    )
    assert result.perplexity == pytest.approx(np.exp(-total / words), rel=1e-4)


def test_control_questions_are_in_the_cache_with_the_answers() -> None:
    model = ScriptedModel((*OTHERS, *FEW.attributes, *FEW.tasks))
    # Once before, so that all words of the sentences are in the vocabulary from now on.
    score_directions(model, FEW, cache=False)
    first = score_directions(model, FEW)[FORWARD]
    model.asked = 0
    again = score_directions(model, FEW)[FORWARD]
    assert model.asked == 0
    assert (again.mass_ratio, again.perplexity) == (first.mass_ratio, first.perplexity)


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
        given = {"task": "occupation", "attribute": "pronoun"}[row.direction.given]
        said = f"Given the {given}, {text}."
        assert said in [statement.text for statement in again.page().headline]
        assert said in html.unescape(model_card(again)).replace("\\", "")
        (checked,) = again.check(max=0.5, direction=row.direction).rows
        assert checked.explanation.endswith(text)
    enough = probed(ScriptedModel(OTHERS, kind=kind))
    assert not any(row.tiny_mass for row in enough.rows)
    assert all("probability" not in statement.text for statement in enough.page().headline)
    # Of "a nurse" and "an editor" a small mass is natural.
    phrase = probed(Reluctant(OTHERS, kind=kind), "neutral")
    assert [row.tiny_mass for row in phrase.rows] == [True, False]
