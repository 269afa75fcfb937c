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
SENTENCE = '"{pronoun} {verb} {a:occupation}."'
OCCUPATION = '["nurse", "cook"]'
PRONOUN = '{ lexicon = "pronouns" }'
VERB = '["is", "was"]'

# What is changed in GOOD, into what, and the problem: line, key and words of the message.
MISTAKES = {
    "unknown key": (
        "source =",
        "sauce =",
        'made.toml:3: sauce: unknown key; did you mean "source"?',
    ),
    "missing key": ('description = "made"', "", "made.toml: description: missing; add a line"),
    "wrong type": (
        '"a test"',
        "3",
        "made.toml:3: source: must be a text in quotes, found the number 3",
    ),
    "empty text": ('"a test"', '" "', "made.toml:3: source: is empty"),
    "invalid toml": ('"a test"', '"a test', "made.toml:3: is not valid TOML: "),
    "toml cut short": (VERB + "\n", "[", "made.toml:11: is not valid TOML: "),
    "no sentences": (f"[{SENTENCE}]", "[]", "made.toml:6: sentences: is empty"),
    "sentences no list": (
        f"[{SENTENCE}]",
        '"x"',
        'sentences: must be a list in square brackets, found the text "x"',
    ),
    "sentence no text": (
        SENTENCE,
        "true",
        'made.toml:6: sentences[0]: must be a sentence, "..." or',
    ),
    "sentence table": (
        SENTENCE,
        '{ text = "{pronoun} {verb} {occupation}", famly = "x" }',
        'sentences[0].famly: unknown key; did you mean "family"?',
    ),
    "sentence without text": (
        SENTENCE,
        f'{SENTENCE}, {{ family = "x" }}',
        "sentences[1].text: must be a sentence in quotes, found nothing",
    ),
    "family no text": (
        SENTENCE,
        f"{{ text = {SENTENCE}, family = 2 }}",
        "sentences[0].family: must be a name in quotes, found the number 2",
    ),
    "language by name": (
        'task = "occupation"',
        'task = "occupation"\nlanguage = "German"',
        'made.toml:6: language: must be a code such as "en" or "de", found "German"',
    ),
    "unknown article": (
        "{a:occupation}",
        "{an:occupation}",
        "the slot {an} is not defined under [slots]; an article is written {a:occupation} or",
    ),
    "sentence twice": (
        SENTENCE,
        f"{SENTENCE}, {SENTENCE}",
        "made.toml:6: sentences[1]: the sentence",
    ),
    "no mask slot for the task": (
        "{a:occupation}",
        "happy",
        '"{pronoun} {verb} happy.": has no mask slot for the task; add {occupation}',
    ),
    "no mask slot for the attribute": (
        "{pronoun} {verb}",
        "It {verb}",
        "has no mask slot for the attribute; add {pronoun}",
    ),
    "slot not defined": (
        "{verb}",
        "{vreb}",
        'the slot {vreb} is not defined under [slots]; did you mean "verb"?',
    ),
    "slot not used": (
        "{pronoun} {verb}",
        "{pronoun} is",
        "made.toml:11: slots.verb: no sentence uses this slot",
    ),
    "attribute twice": (
        "{verb}",
        "{verb} {pronoun:possessive}",
        "{pronoun} stands 2 times, and one mention gives the masked other away",
    ),
    "other slot twice": ("{verb}", "{verb} {verb}", "{verb} stands 2 times; define a second slot"),
    "attribute written out": (
        "{verb}",
        "{verb} in his house",
        'the word "his" of the attribute is written out',
    ),
    "attribute written out at the start": (
        "{pronoun} {verb}",
        "She and {pronoun} {verb}",
        'the word "she" of the attribute is written out',
    ),
    "brace without partner": (
        "{verb}",
        "{verb",
        'sentences[0]: "{pronoun} {verb {a:occupation}.": a brace has no partner',
    ),
    "not a slot": (
        "{verb}",
        "{verb!r}",
        "{verb!r} is not a slot; write {slot}, {slot:form}, {a:slot} or {the:slot}",
    ),
    "unknown form": (
        "{pronoun}",
        "{pronoun:objekt}",
        'no form "objekt" for "he", "she", "they"; did you mean "object"?',
    ),
    "form of no forms": (
        "{a:occupation}",
        "{occupation:plural}",
        'no form "plural" for "nurse", "cook"; add forms = { plural = "..." }',
    ),
    "glued before": (
        "{a:occupation}",
        "un{occupation}",
        '{occupation} touches "n"; put a space before it',
    ),
    "glued after": (
        "{a:occupation}",
        "{occupation}s",
        '{occupation} touches "s"; put a space after it',
    ),
    "glued together": (
        "{pronoun} {verb}",
        "{pronoun}{verb}",
        "{pronoun} touches {verb}; put a space between",
    ),
    "unknown attribute": (
        'attribute = "pronoun"',
        'attribute = "pronuon"',
        'made.toml:4: attribute: no slot called "pronuon"; did you mean "pronoun"?',
    ),
    "unknown task": (
        'task = "occupation"',
        'task = "job"',
        'made.toml:5: task: no slot called "job"',
    ),
    "task is the attribute": (
        'task = "occupation"',
        'task = "pronoun"',
        "made.toml:5: task: is the same slot as the attribute",
    ),
    "unknown lexicon": (
        '"pronouns"',
        '"pronuons"',
        'made.toml:9: slots.pronoun.lexicon: no lexicon called "pronuons"; did you mean',
    ),
    "lexicon no name": (
        '"pronouns"',
        "1",
        "slots.pronoun.lexicon: must be the name of a lexicon in quotes",
    ),
    "lexicon and words": (
        '"pronouns" }',
        '"pronouns", words = ["x"] }',
        "slots.pronoun: needs either a lexicon or words",
    ),
    "unknown slot key": (
        'lexicon = "pronouns"',
        'lexikon = "pronouns"',
        'slots.pronoun.lexikon: unknown key; did you mean "lexicon"?',
    ),
    "empty words": (VERB, "[]", "made.toml:11: slots.verb: is empty; give words"),
    "words no list": (VERB, '{ words = "is" }', 'slots.verb: must be a list, found the text "is"'),
    "slot no list": (VERB, '"is"', "made.toml:11: slots.verb: must be a list of words or"),
    "slot called a": ("verb =", "a = ['x']\nverb =", 'slots.a: "a" cannot name a slot'),
    "slots missing": ("[slots]", "[slot]", "slots: missing; add [slots]"),
    "one task": (
        OCCUPATION,
        '["nurse"]',
        "made.toml:10: slots.occupation: the task needs at least two words, found one",
    ),
    "word twice": (
        VERB,
        '["is", "was", "is"]',
        'made.toml:11: slots.verb[2]: the word "is" stands twice',
    ),
    "word twice but for capitals": (
        VERB,
        '["is", "Is"]',
        'the word "Is" stands twice (capitals do not tell words apart)',
    ),
    "word no text": (
        VERB,
        '["is", 2]',
        "slots.verb[1]: must be a word in quotes or a table, found the number 2",
    ),
    "word with spaces": (VERB, '["is", " was"]', "slots.verb[1]: is not a word: ' was'"),
    "word with braces": (VERB, '["is", "{was}"]', "slots.verb[1]: is not a word: '{was}'"),
    "entry without word": (VERB, '[{ singular = "is" }]', "slots.verb[0].singular: unknown key"),
    "number": (
        OCCUPATION,
        '["cook", { word = "cooks", number = "dual" }]',
        'slots.occupation[1].number: must be "singular" or "plural", found the text "dual"',
    ),
    "forms": (
        OCCUPATION,
        '["cook", { word = "nurse", forms = "x" }]',
        "slots.occupation[1].forms: must be a table",
    ),
    "form no word": (
        OCCUPATION,
        '["cook", { word = "nurse", forms = { x = 1 } }]',
        "slots.occupation[1].forms.x: must be a word in quotes",
    ),
    "tags": (
        OCCUPATION,
        '["cook", { word = "nurse", tags = "x" }]',
        "slots.occupation[1].tags: must be a list of texts",
    ),
    "article": (
        OCCUPATION,
        '["cook", { word = "nurse", article = 1 }]',
        "slots.occupation[1].article: must be a word in quotes",
    ),
    "default of another slot": (
        VERB,
        '{ words = ["is", "was"], default = ["is"] }',
        'slots.verb.default: only the attribute slot "pronoun" has a default',
    ),
    "default unknown": (
        '"pronouns" }',
        '"pronouns", default = ["he", "hse"] }',
        'slots.pronoun.default: "hse" is none of the words of the slot; did you mean',
    ),
    "default of one": (
        '"pronouns" }',
        '"pronouns", default = ["he"] }',
        "slots.pronoun.default: must be a list of at least two words, found a list of 1",
    ),
    "default twice": (
        '"pronouns" }',
        '"pronouns", default = ["he", "he"] }',
        "slots.pronoun.default: has a word twice",
    ),
    "attribute with number forms": (
        PRONOUN,
        '["it", { singular = "he", plural = "they" }]',
        '"he" has singular or plural forms; give it a number instead',
    ),
    "article before a plural": (
        OCCUPATION,
        '["cook", { singular = "nurse", plural = "nurses" }]',
        "{a:occupation} has words with a plural form, which take no article",
    ),
    "article in another language": (
        'source = "a test"',
        'source = "a test"\nlanguage = "de"',
        '{a:occupation}: the gender of "nurse", "cook" is not known; give the words of the',
    ),
    "two equal templates": (
        f"[{SENTENCE}]",
        f'[{SENTENCE}, "{{pronoun}} is {{a:occupation}}."]',
        'sentences: two templates come out as "{pronoun} is {a:occupation}."',
    ),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made.toml"


def test_the_file_that_the_mistakes_are_put_into_is_good(path: Path) -> None:
    path.write_text(GOOD)
    assert len(load_templates(path).templates) == 2


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_with_its_place(path: Path, name: str) -> None:
    old, new, message = MISTAKES[name]
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    problems = [str(problem) for problem in check_set(path)[1].problems]
    assert any(message in problem for problem in problems), problems
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


def test_a_line_is_found_although_the_sentence_has_escapes(path: Path) -> None:
    path.write_text(GOOD.replace(SENTENCE, '"\\"{pronoun}\\" {verb}."'))
    assert str(check_set(path)[1].problems[0]).startswith(f"{path}:6: sentences[0]: ")


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
        (
            'entries = ["x"]\nwords = 1',
            r"words: unknown key; Known: attributes, description, entries",
        ),
        ('entries = "x"', "entries: must be a list in square brackets"),
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
