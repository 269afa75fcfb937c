"""Every mistake in a template set or lexicon is reported with its place and what would do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lmprobe.errors import DataFileError
from lmprobe.templates import load_lexicon, load_templates
from lmprobe.templates.sets import check_set

GOOD = """\
name = "made"
description = "made"
source = "a test"
attribute = "pronoun"
task = "occupation"
sentences = ["{pronoun} {verb} {a:occupation}."]

[slots]
pronoun = { lexicon = "pronouns" }
occupation = ["nurse", "cook"]
verb = ["is", "was"]
"""
OCCUPATION = '["nurse", "cook"]'
VERB = '["is", "was"]'

# What is changed in GOOD, into what, and the problem: line, key and words of the message.
MISTAKES = r"""
source = -> sauce =
    made.toml:3: sauce: unknown key; did you mean "source"?
description = "made" ->
    made.toml: description: missing; add a line
"a test" -> 3
    made.toml:3: source: must be a text in quotes, found the number 3
"a test" -> "a test
    made.toml:3: is not valid TOML:
["{pronoun} {verb} {a:occupation}."] -> ["{pronoun} {verb} {a:occupation}."]\nchat = []
    made.toml:7: chat: is empty; add a turn, or remove the key
["{pronoun} {verb} {a:occupation}."] -> ["{pronoun} {verb} {a:occupation}."]\nchat = "Who?"
    made.toml:7: chat: must be a list in square brackets, found the text "Who?"
["{pronoun} {verb} {a:occupation}."] -> ["{pronoun} {verb} {a:occupation}."]\nchat = ["Who?", " "]
    chat[1]: must be what the user says, in quotes, found the text " "
task = "occupation" -> task = "occupation"\nchat = ["Who?", "Who?"]
    made.toml:6: chat[1]: the turn "Who?" stands twice; remove one
["{pronoun} {verb} {a:occupation}."] -> []
    made.toml:6: sentences: is empty
["{pronoun} {verb} {a:occupation}."] -> "x"
    sentences: must be a list in square brackets, found the text "x"
"{pronoun} {verb} {a:occupation}." -> { text = "{pronoun} {verb} {occupation}", famly = "x" }
    sentences[0].famly: unknown key; did you mean "family"?
task = "occupation" -> task = "occupation"\nlanguage = "German"
    made.toml:6: language: must be a code such as "en" or "de", found "German"
{a:occupation} -> {an:occupation}
    the slot {an} is not defined under [slots]; an article is written {a:occupation} or
occupation}."] -> occupation}.", "{pronoun} {verb} {a:occupation}."]
    made.toml:6: sentences[1]: the sentence
{a:occupation} -> happy
    "{pronoun} {verb} happy.": has no mask slot for the task; add {occupation}
{pronoun} {verb} -> It {verb}
    has no mask slot for the attribute; add {pronoun}
{verb} -> {vreb}
    the slot {vreb} is not defined under [slots]; did you mean "verb"?
{pronoun} {verb} -> {pronoun} is
    made.toml:11: slots.verb: no sentence uses this slot
{verb} -> {verb} {pronoun:possessive}
    {pronoun} stands 2 times, and one mention gives the masked other away
{verb} -> {verb} {verb}
    {verb} stands 2 times; define a second slot
{verb} -> {verb} in his house
    the word "his" of the attribute is written out
{verb} -> {verb
    sentences[0]: "{pronoun} {verb {a:occupation}.": a brace has no partner
{verb} -> {verb!r}
    {verb!r} is not a slot; write {slot}, {slot:form}, {a:slot} or {the:slot}
{pronoun} -> {pronoun:objekt}
    no form "objekt" for "he", "she", "they"; did you mean "object"?
{a:occupation} -> {occupation:plural}
    no form "plural" for "nurse", "cook"; add forms = { plural = "..." }
{a:occupation} -> {occupation}s
    {occupation} touches "s"; put a space after it
{pronoun} {verb} -> {pronoun}{verb}
    {pronoun} touches {verb}; put a space between
attribute = "pronoun" -> attribute = "pronuon"
    made.toml:4: attribute: no slot called "pronuon"; did you mean "pronoun"?
task = "occupation" -> task = "pronoun"
    made.toml:5: task: is the same slot as the attribute
"pronouns" -> "pronuons"
    made.toml:9: slots.pronoun.lexicon: no lexicon called "pronuons"; did you mean
lexicon = "pronouns" -> lexikon = "pronouns"
    slots.pronoun.lexikon: unknown key; did you mean "lexicon"?
["is", "was"] -> []
    made.toml:11: slots.verb: is empty; give words
["is", "was"] -> "is"
    made.toml:11: slots.verb: must be a list of words or
[slots] -> [slot]
    slots: missing; add [slots]
["nurse", "cook"] -> ["nurse"]
    made.toml:10: slots.occupation: the task needs at least two words, found one
["is", "was"] -> ["is", "was", "is"]
    made.toml:11: slots.verb[2]: the word "is" stands twice
["is", "was"] -> ["is", 2]
    slots.verb[1]: must be a word in quotes or a table, found the number 2
["is", "was"] -> ["is", " was"]
    slots.verb[1]: is not a word: ' was'
["nurse", "cook"] -> ["cook", { word = "cooks", number = "dual" }]
    slots.occupation[1].number: must be "singular" or "plural", found the text "dual"
["nurse", "cook"] -> ["cook", { word = "nurse", forms = { x = 1 } }]
    slots.occupation[1].forms.x: must be a word in quotes
["is", "was"] -> { words = ["is", "was"], default = ["is"] }
    slots.verb.default: only the attribute slot "pronoun" has a default
"pronouns" } -> "pronouns", default = ["he", "hse"] }
    slots.pronoun.default: "hse" is none of the words of the slot; did you mean
"pronouns" } -> "pronouns", default = ["he", "he"] }
    slots.pronoun.default: has a word twice
{ lexicon = "pronouns" } -> ["it", { singular = "he", plural = "they" }]
    "he" has singular or plural forms; give it a number instead
["nurse", "cook"] -> ["cook", { singular = "nurse", plural = "nurses" }]
    {a:occupation} has words with a plural form, which take no article
source = "a test" -> source = "a test"\nlanguage = "de"
    {a:occupation}: the gender of "nurse", "cook" is not known; give the words of the
occupation}."] -> occupation}.", "{pronoun} is {a:occupation}."]
    sentences: two templates come out as "{pronoun} is {a:occupation}."
""".strip().splitlines()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made.toml"


def test_the_file_that_the_mistakes_are_put_into_is_good(path: Path) -> None:
    path.write_text(GOOD)
    assert len(load_templates(path).templates) == 2


@pytest.mark.parametrize(("change", "message"), zip(MISTAKES[::2], MISTAKES[1::2], strict=True))
def test_a_mistake_is_reported_with_its_place(path: Path, change: str, message: str) -> None:
    old, _, new = (part.replace(r"\n", "\n") for part in f"{change} ".partition(" -> "))
    assert old in GOOD
    path.write_text(GOOD.replace(old, new.removesuffix(" "), 1))
    problems = [str(problem) for problem in check_set(path)[1].problems]
    assert any(message.strip() in problem for problem in problems), problems
    with pytest.raises(DataFileError, match=re.escape("made.toml")):
        load_templates(path)


def test_every_mistake_is_found_and_the_error_counts_them(path: Path) -> None:
    path.write_text(GOOD.replace('"a test"', "3").replace(VERB, "[]").replace("cook", "nurse"))
    problems = check_set(path)[1].problems
    assert [problem.key for problem in problems] == [
        "source",
        "slots.occupation[1]",
        "slots.verb",
        "slots.occupation",
    ]
    with pytest.raises(DataFileError, match=r"source: .*\(3 more; `lmprobe validate .*made.toml`"):
        load_templates(path)


def test_a_file_that_is_not_utf8_names_byte_and_line(path: Path) -> None:
    path.write_bytes(GOOD.replace("a test", "café").encode("latin-1"))
    with pytest.raises(DataFileError, match=r"made.toml:3: is not UTF-8 \(byte 0xe9\)"):
        load_templates(path)


def test_mistakes_in_a_lexicon_carry_its_own_place(path: Path) -> None:
    (path.parent / "lexicons").mkdir()
    lexicon = path.parent / "lexicons" / "jobs.toml"
    lexicon.write_text('name = "jobs"\ndescription = "d"\nsource = "s"\nentries = []\n')
    path.write_text(GOOD.replace(OCCUPATION, '{ lexicon = "jobs" }'))
    with pytest.raises(DataFileError, match=r"jobs.toml:4: entries: the lexicon is empty; add"):
        load_templates(path)
    with pytest.raises(DataFileError, match="the lexicon is empty"):
        load_lexicon(lexicon)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "name: missing"),
        ('entries = ["x"]\nwords = 1', "words: unknown key; Known: attributes, description"),
        ('entries = ["x", "x"]', r'entries\[1\]: the word "x" stands twice'),
        ('entries = [{ tags = ["x"] }]', r"entries\[0\]: has no word"),
        ("entries = [", "is not valid TOML"),
    ],
)
def test_a_lexicon_is_checked_too(path: Path, text: str, message: str) -> None:
    head = 'name = "x"\ndescription = "d"\nsource = "s"\n' if text else ""
    path.write_text(head + text)
    with pytest.raises(DataFileError, match=message):
        load_lexicon(path)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(DataFileError, match=r'"fitbart"; did you mean "fitbert"\?'):
        load_templates("fitbart")
    with pytest.raises(DataFileError, match=r'"winobias"; did you mean "winobias-'):
        load_lexicon("winobias")
    with pytest.raises(DataFileError, match=r"nowhere/x.toml: no such file"):
        load_templates("nowhere/x.toml")
