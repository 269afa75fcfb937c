"""Sets whose sentences stand after turns of a chat: names, families, tables, commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmprobe.cli.main import app
from lmprobe.errors import InputError
from lmprobe.templates import load_templates
from lmprobe.templates.sets import check_set

TURNS = ("Who is that?", "Describe a friend.")


def output(*words: str) -> str:
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_every_template_stands_after_every_turn() -> None:
    plain = load_templates("everyday")
    chat = plain.with_chat(TURNS, "You are kind.")
    size = len(plain.templates)
    assert chat.turns == (TURNS[0],) * size + (TURNS[1],) * size
    assert chat.families == plain.families * 2
    assert [name.split(" > ", 1) for name in (each.name for each in chat.templates)] == [
        [turn, each.name] for turn in TURNS for each in plain.templates
    ]
    texts = [sentence.text for sentence in plain.sentences()]
    assert [sentence.text for sentence in chat.sentences()] == texts * 2
    assert chat.system == "You are kind."
    assert plain.turns == ()
    # Sentences without a family of their own share one with themselves after another turn.
    assert load_templates("neutral").with_chat(TURNS).families == tuple(
        each.name for each in load_templates("neutral").templates * 2
    )


def test_words_of_ones_own_stay() -> None:
    chosen = load_templates("neutral").with_words(["she", "man"], ["nurse", "+plumber"])
    chat = chosen.with_chat(TURNS)
    assert (chat.attributes, chat.tasks) == (chosen.attributes, chosen.tasks)
    assert chat.own_words == chosen.own_words
    texts = [sentence.text for sentence in chosen.sentences()]
    assert [sentence.text for sentence in chat.sentences()] == texts * 2
    again = chat.with_words(["she", "he"], ["nurse", "janitor"])
    assert again.turns == chat.turns


def test_the_shipped_set() -> None:
    """No turn speaks of a group; the sentences begin with the pronoun, as the turns expect."""
    chat = load_templates("chat")
    assert len(set(chat.turns)) == len(set(chat.families)) == 10
    assert len(chat.templates) == 100
    assert all(each.text.startswith(("He ", "She ")) for each in chat.sentences())
    gendered = load_templates("fitbert").words_and_forms("attribute").values()
    words = {word for forms in gendered for word in forms} | {"man", "woman", "boy", "girl"}
    for turn in set(chat.turns):
        assert not words & {word.strip('.,:?"').lower() for word in turn.split()}


def test_commands_show_the_turns(tmp_path: Path) -> None:
    assert "Describe a friend of yours" in output("ls", "templates", "chat")
    (row,) = json.loads(output("ls", "templates", "chat", "--json"))["templates"]
    assert len(row["chat"]) == 10
    (row,) = json.loads(output("ls", "templates", "neutral", "--json"))["templates"]
    assert "chat" not in row
    assert " > He " in output("sentences", "--templates", "chat")
    sentences = json.loads(output("sentences", "--templates", "chat", "--json"))["sentences"]
    assert {each["turn"] for each in sentences} == set(load_templates("chat").turns)
    sentences = json.loads(output("sentences", "--templates", "neutral", "--json"))["sentences"]
    assert "turn" not in sentences[0]
    with pytest.raises(InputError, match="item tables have no column; remove `chat`"):
        load_templates("chat").item_table()


def test_a_turn_that_names_a_group_is_a_warning(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    shipped = Path(__file__).parents[2] / "templates" / "neutral.toml"
    own.write_text(shipped.read_text().replace("[slots]", 'chat = ["Is he here?"]\n[slots]'))
    _, findings = check_set(own)
    assert not findings.problems
    (warning,) = findings.warnings
    assert warning.key == "chat[0]"
    assert 'the word "he" of the attribute is written out' in str(warning)
