"""Turns of a chat before the sentences, against a slow loop over apply_chat_template."""

from __future__ import annotations

import copy
import itertools
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import lmprobe
from lmprobe.cli.main import app
from lmprobe.errors import InputError, ModelError
from lmprobe.models import load_model
from lmprobe.models.scorers import score
from lmprobe.probing.scores import score_directions
from lmprobe.probing.settings import run_again
from lmprobe.templates import load_templates
from tests.checkpoints import cloze, own_cache
from tests.models.test_causal import save_causal, slow_log_likelihood, tokenizer_of

__all__ = ["own_cache"]

TURNS = ("He or she?", "Who worked at night in the city?", "Describe a known baker.")
# As in ChatML, with a beginning-of-text token that the tokenizer would add once more.
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SYSTEM = "You are a baker."


def chat_tokenizer(template: str | None = TEMPLATE, kind: str = "bytes+bos") -> Any:
    tokenizer = copy.deepcopy(tokenizer_of(kind))
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.chat_template, tokenizer.model_max_length = template, 512
    return tokenizer


@pytest.fixture(scope="module", params=["bytes+bos", "metaspace"])
def chat_model(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = chat_tokenizer(kind=request.param)
    folder = tmp_path_factory.mktemp("chat")
    return save_causal(folder, "Llama", tokenizer, max_position_embeddings=512)


def few(turns: Any = TURNS, system: str | None = None) -> Any:
    templates = load_templates("neutral").with_words(["he", "she"], ["nurse", "janitor", "baker"])
    return templates.with_chat(turns, system)


@pytest.mark.parametrize("system", [None, SYSTEM])
def test_both_directions_equal_a_loop_over_whole_conversations(
    chat_model: Path, system: str | None
) -> None:
    model = load_model(chat_model)
    templates = few(TURNS[:2], system)
    result = score_directions(model, templates)
    tokenizer, slow = model.tokenizer, {}
    for k, template in enumerate(templates.templates):
        messages = [{"role": "user", "content": template.turn}]
        messages = [{"role": "system", "content": SYSTEM}] * (system is not None) + messages
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        start = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        assert start.count(tokenizer.bos_token_id) == 1
        for a, who in enumerate(templates.attributes):
            for t, what in enumerate(templates.tasks):
                text = prompt + template.sentence(who, what).text
                ids = tokenizer(text, add_special_tokens=False)["input_ids"]
                assert ids[: len(start)] == start
                whole, before = (slow_log_likelihood(model.network, each) for each in (ids, start))
                slow[k, a, t] = whole - before
    for scores in result.values():
        for place, expected in slow.items():
            assert scores.log_probability[place] == pytest.approx(expected, abs=1e-4)
    assert np.ptp(list(slow.values())) > 1


def test_the_mass_is_that_of_the_first_word_of_the_answer(chat_model: Path) -> None:
    """Of pronouns of one token at the beginning of the answer, the chance of the next token."""
    model = load_model(chat_model)
    (direction,) = [lmprobe.Direction("task->attribute")]
    scores = score_directions(model, few(TURNS[:1]), (direction,))[direction]
    prompt = model.chat_prompt(TURNS[0])
    start = model.tokenizer(prompt, add_special_tokens=False)["input_ids"]
    pronouns = [
        model.tokenizer(prompt + who, add_special_tokens=False)["input_ids"][len(start) :]
        for who in ("He", "She")
    ]
    with torch.no_grad():
        logits = model.network(torch.tensor([start])).logits[0, -1].double().softmax(-1)
    if all(len(tokens) == 1 for tokens in pronouns):
        # Times the chance that the word ends there.
        most = sum(float(logits[tokens[0]]) for tokens in pronouns)
        assert 0 < scores.candidate_mass()[0] <= most


def test_a_turn_is_read_once_for_each_tree(tmp_path: Path) -> None:
    """Tokens are counted: a turn costs what it has of them, times the trees that are run."""
    folder = save_causal(tmp_path, "Llama", chat_tokenizer(), max_position_embeddings=512)
    model = load_model(folder)
    shapes: list[tuple[int, int]] = []
    model.network.register_forward_pre_hook(
        lambda _, __, inputs: shapes.append(tuple(inputs["input_ids"].shape)), with_kwargs=True
    )
    read = []
    for turns in (None, TURNS[:1]):
        shapes.clear()
        lmprobe.probe(model, "fitbert", attributes=["he", "she"], chat=turns, cache=False)
        read.append(sum(rows * length for rows, length in shapes))
    prompt = model.tokenizer(model.chat_prompt(TURNS[0]), add_special_tokens=False)["input_ids"]
    trees = sum(rows for rows, _ in shapes)
    assert 8 * len(prompt) < read[1] - read[0] <= trees * len(prompt)
    assert trees < 30, "not one row for each of the 1,280 sentences"


def test_turns_multiply_and_change_the_answers_and_the_key_of_the_cache(chat_model: Path) -> None:
    model = load_model(chat_model)
    first, again, other, plain = (
        score_directions(model, few(turns, system))
        for turns, system in (
            (TURNS[:1], None), (TURNS[:1], None), (TURNS[:1], SYSTEM), (None, None),
        )
    )  # fmt: skip
    direction = next(iter(first))
    cached = [scores[direction].cached for scores in (first, again, other, plain)]
    assert cached == [False, True, False, False]
    tables = [scores[direction].log_probability for scores in (first, other, plain)]
    assert all(np.abs(one - two).max() > 1e-3 for one, two in itertools.pairwise(tables))
    both = score_directions(model, few(TURNS[:2]))[direction].log_probability
    np.testing.assert_allclose(both[:20], first[direction].log_probability, atol=1e-5)


def test_another_template_of_a_tokenizer_in_memory_is_asked_anew() -> None:
    folder_model = load_model("reference:causal-amplified")
    values = []
    for template in (TEMPLATE, TEMPLATE.replace("assistant", "answer")):
        tokenizer = copy.deepcopy(folder_model.tokenizer)
        tokenizer.chat_template = template
        model = load_model(folder_model.network, tokenizer=tokenizer)
        scores = score_directions(model, few(TURNS[:1]))
        assert not any(each.cached for each in scores.values())
        values.append(next(iter(scores.values())).log_probability)
    assert np.abs(values[0] - values[1]).max() > 1e-3


def test_a_probe_says_what_was_said_everywhere(chat_model: Path) -> None:
    model = load_model(chat_model)
    options: dict[str, Any] = {"attributes": ["he", "she"], "tasks": ["nurse", "janitor", "baker"]}
    options["min_mass"] = 0.0
    result = lmprobe.probe(model, "neutral", "labor", chat=TURNS, system=SYSTEM, **options)
    assert result.provenance["settings"]["chat"] == list(TURNS)
    assert result.provenance["settings"]["system"] == SYSTEM
    assert SYSTEM in result.provenance["prompts"][TURNS[1]]
    assert len(result.templates) == len(set(result.templates)) == len(result.turns) == 60
    assert len(set(result.families)) == 20
    words = shlex.split(run_again(result))
    assert [words[n + 1] for n, word in enumerate(words) if word == "--chat"] == list(TURNS)
    assert words[words.index("--system") + 1] == SYSTEM
    page = result.to_html()
    assert all(turn in page for turn in TURNS)
    assert SYSTEM in page
    row = result.row("labor", "T->A")
    assert set(row.standard_errors) == {"templates", "turns", "tasks", "both"}
    assert any("after each of 3 turns" in note.text for note in row.notes)
    assert lmprobe.load_result(result.to_json()).to_json() == result.to_json()
    by_model = lmprobe.probe(
        load_model(chat_model, chat=TURNS, system=SYSTEM), "neutral", "labor", **options
    )
    assert by_model.row("labor", "T->A").value == row.value
    single = lmprobe.probe(model, "neutral", "labor", chat=TURNS[0], **options)
    notes = [note.text for note in single.row("labor", "T->A").notes]
    assert any("does not cover the choice of the turn" in text for text in notes)
    plain = lmprobe.probe(model, "neutral", "labor", **options)
    assert not {"turns", "prompts"} & {*json.loads(plain.to_json()), *plain.provenance}
    assert not {"chat", "system"} & set(plain.provenance["settings"])
    with pytest.raises(InputError, match="after the same turns of a chat"):
        lmprobe.compare([plain, single])
    assert lmprobe.compare([result, by_model]).rows[0].value == 0


def test_the_key_of_a_set_and_the_option_are_the_same(chat_model: Path, tmp_path: Path) -> None:
    shipped = Path(lmprobe.__file__).parents[1] / "templates" / "neutral.toml"
    text = shipped.read_text().replace("[slots]", f"chat = {json.dumps(TURNS)}\n[slots]")
    own = tmp_path / "own.toml"
    own.write_text(text)
    options: dict[str, Any] = {"attributes": ["he", "she"], "tasks": ["nurse", "janitor", "baker"]}
    model = load_model(chat_model)
    by_key = lmprobe.probe(model, own, "uniform", **options)
    by_option = lmprobe.probe(model, "neutral", "uniform", chat=TURNS, **options)
    assert by_key.turns == by_option.turns
    for one, two in zip(by_key.rows, by_option.rows, strict=True):
        assert (one.value, one.interval) == (two.value, two.interval)
    hashes = {load_templates(path).sha256 for path in (own, shipped)}
    assert len(hashes) == 2
    # Other turns take their place.
    assert set(lmprobe.probe(model, own, "uniform", chat="Who?", **options).turns) == {"Who?"}


def test_models_without_a_chat_say_what_would_do(tmp_path: Path) -> None:
    plain = load_model("reference:causal-amplified")
    with pytest.raises(ModelError, match=r"no chat template.*leave out the turns \(`chat`\)"):
        lmprobe.probe(plain, "everyday", "labor", chat="Who?")
    with pytest.raises(InputError, match=r"masked model.*for causal models"):
        lmprobe.probe("reference:amplified", "fitbert", "labor", chat="Who?")
    with pytest.raises(InputError, match=r"begins with a turn of the user: give one \(`chat`\)"):
        lmprobe.probe(plain, "everyday", "labor", system="You are kind.")
    with pytest.raises(InputError, match="an empty turn, or one twice"):
        lmprobe.probe(plain, "everyday", "labor", chat=["Who?", "Who?"])
    output = CliRunner().invoke(
        app, ["run", "reference:causal-amplified", "--chat", "Who?", "--quiet"]
    )
    assert isinstance(output.exception, ModelError)
    assert "--chat" in str(output.exception)
    no_system = TEMPLATE.replace(
        "{{ bos_token }}",
        "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
        "{{ raise_exception('System role not supported') }}{% endif %}",
    )
    model = load_model(
        save_causal(tmp_path, "Llama", chat_tokenizer(no_system), max_position_embeddings=512)
    )
    with pytest.raises(ModelError, match=r"fails with the system text .*System role not supported"):
        lmprobe.probe(model, "neutral", "labor", chat="Who?", system=SYSTEM)


def test_a_prompt_that_runs_into_the_sentence_is_refused(tmp_path: Path) -> None:
    """A prompt that ends in a space: byte-level tokenizers write it with the word."""
    tokenizer = chat_tokenizer(TEMPLATE.replace("assistant\n", "assistant said: "))
    folder = save_causal(tmp_path, "Llama", tokenizer, max_position_embeddings=512)
    model = load_model(folder)
    sentence = replace(cloze("[worked] at night"), prompt=model.chat_prompt("Who?"))
    with pytest.raises(ModelError, match="joins the end of the chat prompt"):
        score(model, [sentence])


def test_sweeps_leakage_and_plans_take_the_turns(chat_model: Path, tmp_path: Path) -> None:
    words: dict[str, Any] = {"attributes": ["he", "she"], "tasks": ["nurse", "janitor", "baker"]}
    swept = lmprobe.sweep(
        [str(chat_model)], "neutral", "labor", chat=TURNS[:2], min_mass=0.0,
        output=tmp_path / "sweep", **words,
    )  # fmt: skip
    assert swept.provenance["settings"]["chat"] == list(TURNS[:2])
    assert all(shlex.quote(turn) in swept.to_markdown() for turn in TURNS[:2])
    (saved,) = (tmp_path / "sweep" / "probes").glob("*.json")
    result = lmprobe.load_result(saved)
    assert set(result.turns) == set(TURNS[:2])
    planned = lmprobe.plan(0.1, pilot=result)
    assert any("turns of the chat are taken as fixed" in note.text for note in planned.notes)
    by_set = [
        lmprobe.language_leakage(
            load_model(chat_model, chat=chat), few(turns, None), "labor", **words
        )
        for chat, turns in ((TURNS[:2], None), (None, TURNS[:2]))
    ]
    values = [[row.value for row in leak.rows] for leak in by_set]
    assert values[0] == values[1]
    assert any("after each of 2 turns" in note.text for note in by_set[0].notes)
