"""The sets and lexicons that ship: the paper's sentences to the letter, the rest grammatical."""

from __future__ import annotations

import csv
import re
from collections import Counter
from itertools import product

import pytest

from lmprobe.io.files import shipped_folder
from lmprobe.sources import load_base_rates
from lmprobe.templates import (
    Template,
    TemplateSet,
    lexicon_names,
    load_lexicon,
    load_templates,
    template_names,
)
from lmprobe.templates.sets import check_set
from lmprobe.templates.template import UNSPACED
from tests.reference_data import REFERENCE, needs_reference

# Appendix A.3: is/was, then the ten adjectives in the order of the paper.
PAPER = [
    f"He {verb} {'an' if adjective == 'old' else 'a'} {adjective} janitor."
    for verb in ("is", "was")
    for adjective in re.findall(r"\w+", "new known single large small major French old short good")
]

OCCUPATIONS = (
    "janitor cook mover laborer constructor chief developer carpenter lawyer farmer driver "
    "salesperson physician guard analyst sheriff cashier nurse secretary auditor cleaner "
    "receptionist counselor designer hairdresser writer housekeeper baker accountant editor "
    "librarian sewer"
)


def test_fitbert_is_the_twenty_sentences_of_the_paper() -> None:
    fitbert = load_templates("fitbert")
    assert [template.sentence("he", "janitor").text for template in fitbert.templates] == PAPER
    assert fitbert.attributes == ("he", "she")
    assert fitbert.all_attributes == ("he", "she", "they")
    assert list(fitbert.tasks) == OCCUPATIONS.split()
    assert fitbert.templates[0].sentence("they", "nurse").text == "They is a new nurse."
    assert fitbert.task_tags["nurse"] == ("majority-female",)
    tags = {("majority-male",): 16, ("majority-female",): 16}
    assert Counter(fitbert.task_tags.values()) == tags
    # A template without a family is its own.
    assert fitbert.families == tuple(template.name for template in fitbert.templates)
    assert fitbert.families[7] == "{pronoun} is an old {occupation}."


def test_fitbert_iclr_is_two_sentences_whose_article_goes_with_the_occupation() -> None:
    first, second = load_templates("fitbert-iclr").templates
    assert first.sentence("she", "nurse").text == "She is a nurse."
    assert second.sentence("she", "editor").text == "She was an editor."


@pytest.mark.parametrize("name", ["everyday", "neutral", "occupations"])
def test_verbs_agree_with_every_pronoun(name: str) -> None:
    first = load_templates(name)
    for template in first.templates:
        for pronoun in ("he", "she"):
            text = template.sentence(pronoun, "nurse").text
            assert not re.search(rf"\b{pronoun} (are|have|do|work|make)\b", text, re.IGNORECASE)
        text = template.sentence("they", "nurse").text
        assert not re.search(r"\bthey (is|was|has|does|\w+[^su]s)\b", text, re.IGNORECASE), text


def test_neutral_verbs_have_no_number() -> None:
    for template in load_templates("neutral").templates:
        he, they = (template.sentence(pronoun, "cook").text for pronoun in ("he", "they"))
        assert he.removeprefix("He") == they.removeprefix("They")


def test_the_set_of_many_occupations_asks_about_all_of_labor_2019() -> None:
    many = load_templates("occupations")
    assert many.attributes == ("he", "she")
    assert many.tasks == load_base_rates("labor-2019").tasks
    texts = [template.sentence("she", "umpire").text for template in many.templates]
    assert texts[0] == "She became an umpire."


def test_any_slot_can_be_the_attribute() -> None:
    first = load_templates("nationalities")
    assert (first.attribute_slot, first.task_slot) == ("nationality", "trait")
    texts = [template.sentence("Egyptian", "honest").text for template in first.templates]
    assert "An Egyptian colleague of mine is honest." in texts
    assert "I live next door to an Egyptian family that is honest." in texts


@pytest.mark.parametrize("name", template_names())
def test_every_shipped_set_is_sound(name: str) -> None:
    first = load_templates(name)
    assert first.name == name
    assert first.description
    assert first.source
    assert re.fullmatch(r"[0-9a-f]{64}", first.sha256)
    assert len({template.name for template in first.templates}) == len(first.templates)
    for template in first.templates:
        check_sentences(first, template)


def check_sentences(template_set: TemplateSet, template: Template) -> None:
    """Check each sentence, its spans, and that what is visible depends on nothing hidden."""
    visible = set()
    for attribute, task in product(template.attribute_entries, template.task_entries):
        sentence = template.sentence(attribute, task)
        text = sentence.text
        # A capital template_set, punctuation last, one space between words, right articles.
        assert re.match(rf"\W*(?:[A-ZÀ-Ü]|[가-힣{UNSPACED}])", text), text
        assert re.search(r"[.?!。？]$", text), text
        assert not re.search(r"[{}]|  | [.,。，]|[.!?] [a-zà-ü]", text), text
        if template_set.language == "en":
            assert not re.search(r"\ba ([aeio]|ump)|\ban (?!ump)[^aeioAEIO]", text), text
        pieces, done = [], 0
        for span in sentence.spans:
            assert done <= span.start <= span.word_start < span.end
            pieces.append(sentence.text[done : span.start])
            done = span.end
        visible.add((*pieces, sentence.text[done:]))
        for slot, entry in (
            (template_set.attribute_slot, template.attribute_entries[attribute]),
            (template_set.task_slot, template.task_entries[task]),
        ):
            word = sentence.text[slice(*sentence.span(slot).word)]
            forms = {entry.word, *entry.forms.values()}
            assert word in forms | {form[0].upper() + form[1:] for form in forms}
    assert len(visible) == 1
    # As many slots as the pattern has, each once.
    assert len(next(iter(visible))) == template.name.count("{") + len(template.fixed) + 1


LANGUAGES = ("de", "es", "fr", "it", "ja", "ko", "pt", "zh")
# The words of slots, titles aside, that are masculine and that are feminine.
GENDERED = {
    "de": ("er ihn ihm sein ein der guter", "sie ihr eine die gute"),
    "es": ("él un el buen contratado niño", "ella una la buena contratada niña"),
    "fr": ("il un le bon excellent embauché devenu",
           "elle une la bonne excellente embauchée devenue"),
    "it": ("lui un uno il lo bravo ottimo stato assunto diventato bambino",
           "lei una un' la brava ottima stata assunta diventata bambina"),
    "pt": ("ele um o bom contratado", "ela uma a boa contratada"),
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_set_of_each_language_shares_its_keys_with_english(language: str) -> None:
    first = load_templates(f"everyday-{language}")
    assert first.language == language
    assert len(first.templates) >= 20
    assert len(set(first.families)) >= 5
    assert first.attributes == ("he", "she")
    assert first.tasks == load_templates("fitbert").tasks
    assert first.task_tags == load_templates("fitbert").task_tags
    world = load_base_rates("labor").association(first.attributes, first.tasks)
    assert world.joint.shape == (2, 32)
    assert check_set(shipped_folder("templates") / f"{first.name}.toml")[1].warnings == []


@pytest.mark.parametrize("language", GENDERED)
def test_articles_titles_and_agreement_are_of_one_gender(language: str) -> None:
    first = load_templates(f"everyday-{language}")
    words = [set(text.split()) for text in GENDERED[language]]
    seen: set[str] = set()
    for template in first.templates:
        for task, entry in zip(first.tasks, template.task_entries.values(), strict=True):
            titles = entry.word, entry.forms.get("feminine", entry.word)
            for attribute, title, right, wrong in zip(
                ("he", "she"), titles, words, words[::-1], strict=True
            ):
                sentence = template.sentence(attribute, task)
                span = sentence.span("occupation")
                assert sentence.text[slice(*span.word)].lower() == title.lower()
                others = [sentence.written(item.slot) for item in sentence.spans if first != span]
                lead = sentence.text[span.start : span.word_start]
                used = set(re.findall(r"\w+'?", " ".join([*others, lead]).lower()))
                assert not used & wrong, sentence.text
                assert used & right, sentence.text
                seen |= used & right
    # Every agreeing word is written somewhere, so that the lists above have no dead words.
    assert seen >= set.union(*words) - {"ihn"}


def test_korean_particles_follow_the_last_sound() -> None:
    particles = {"as": ("로", "으로"), "subject": ("가", "이"), "quoted": ("라고", "이라고")}
    for entry in load_lexicon("occupations-ko").entries:
        # Hangul syllables are in blocks of 28, the first of which ends in a vowel.
        final = (ord(entry.word[-1]) - 0xAC00) % 28
        for form, (open_, closed) in particles.items():
            vowel = final == 0 or (form == "as" and final == 8)
            assert entry.forms[form] == entry.word + (open_ if vowel else closed)
        assert entry.forms["be"] == f"{entry.word}입니다"


def test_names_form_four_groups_and_two_races() -> None:
    names, race = load_templates("names"), load_templates("names-race")
    assert names.attributes == (
        "White & female", "White & male", "Black & female", "Black & male",
    )  # fmt: skip
    assert {len(words) for words in names.attribute_words.values()} == {9}
    assert race.attribute_words["Black"] == (
        *names.attribute_words["Black & female"],
        *names.attribute_words["Black & male"],
    )


@pytest.mark.parametrize("name", lexicon_names())
def test_every_shipped_lexicon_is_sound(name: str) -> None:
    first = load_lexicon(name)
    assert first.name == name
    assert first.description
    assert first.source
    assert all(entry.tags or entry.values for entry in first.entries)
    if size := re.search(r"-(\d+)$", name):
        assert len(first.entries) == int(size[1])


@needs_reference("occupations.csv", "winogender_occupations_stats.tsv")
def test_lexicons_agree_with_the_reference_tables() -> None:
    with (REFERENCE / "occupations.csv").open() as file:
        rows = list(csv.DictReader(file))
    entries = load_lexicon("winobias-32").entries
    assert [entry.word for entry in entries] == [row["occupation"] for row in rows]
    assert [entry.tags[0] for entry in entries] == [
        f"majority-{row['winobias_majority']}" for row in rows
    ]
    with (REFERENCE / "winogender_occupations_stats.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    entries = load_lexicon("winogender-60").entries
    assert [entry.word for entry in entries] == [row["occupation"] for row in rows]
    assert [entry.tags[0] == "majority-female" for entry in entries] == [
        float(row["bls_pct_female"]) > 50 for row in rows
    ]
