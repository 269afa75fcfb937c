"""Expanding a file: every sentence grammatical, every span exact, in the order of the file."""

from __future__ import annotations

import json
import pickle
import re
import tempfile
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from lmprobe.errors import InputError
from lmprobe.models.language_model import Cloze, EncodedCloze
from lmprobe.probing.scores import score_directions
from lmprobe.templates import TemplateSet, load_templates
from tests.scripted_model import ScriptedModel

Written = Callable[..., TemplateSet]


def set_text(sentences: list[object], slots: dict[str, object], **changed: str) -> str:
    keys = {
        "name": "made",
        "description": "made",
        "source": "a test",
        "attribute": "who",
        "task": "what",
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in {**keys, **changed}.items()]
    lines += [f"sentences = {toml(sentences)}", "[slots]"]
    lines += [f"{slot} = {toml(words)}" for slot, words in slots.items()]
    return "\n".join(lines)


def toml(value: object) -> str:
    """Write a value as TOML, which JSON is but for tables."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(sentences: list[object], slots: dict[str, object], **changed: str) -> TemplateSet:
        path = tmp_path / "made.toml"
        path.write_text(set_text(sentences, slots, **changed), encoding="utf-8")
        return load_templates(path)

    return write


PEOPLE = [
    {"word": "he", "forms": {"object": "him", "possessive": "his"}},
    {"word": "they", "number": "plural", "forms": {"object": "them", "possessive": "their"}},
]
JOBS = ["nurse", "editor", "heir"]


def test_earlier_slots_are_slowest_and_sentences_slower_still(written: Written) -> None:
    one = written(
        ["{who} {verb} {how} {what}.", "{who} {verb} {what}."],
        {"who": ["he", "she"], "what": JOBS, "verb": ["is", "was"], "how": ["x", "y", "z"]},
    )
    texts = [template.sentence("he", "nurse").text for template in one.templates]
    expected = [f"He {verb} {how} nurse." for verb, how in product(("is", "was"), "xyz")]
    assert texts == [*expected, "He is nurse.", "He was nurse."]


def test_forms_number_and_articles(written: Written) -> None:
    be = [{"singular": "is", "plural": "are"}]
    one = written(
        ["{who} {be} {a:what}.", "We hired {who:object} as {a:what}.", "{who:possessive} {what}."],
        {"who": PEOPLE, "what": JOBS, "be": be},
    )
    he = [template.sentence("he", "heir").text for template in one.templates]
    they = [template.sentence("they", "nurse").text for template in one.templates]
    assert he == ["He is an heir.", "We hired him as an heir.", "His heir."]
    assert they == ["They are a nurse.", "We hired them as a nurse.", "Their nurse."]
    assert one.attributes == ("he", "they")


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("{who} met {a:what}.", "He met a nurse."),
        ("{what} {who} met.", "Nurse he met."),
        ('"{who} is {a:what}," I said.', '"He is a nurse," I said.'),
        ("the {what} met {who}.", "The nurse met he."),
        ("I was late. {a:what} called {who}.", "I was late. A nurse called he."),
        ("The U.S. {what} met {who}.", "The U.S. nurse met he."),
        ("At 8.30 {who} met {a:what}.", "At 8.30 he met a nurse."),
        ("¿{who} es {what}?", "¿He es nurse?"),
    ],
)
def test_a_sentence_starts_with_a_capital(written: Written, sentence: str, text: str) -> None:
    one = written([sentence], {"who": ["he", "she"], "what": JOBS})
    assert one.templates[0].sentence("he", "nurse").text == text


def test_an_article_of_the_file_goes_before_the_rule(written: Written) -> None:
    jobs = [{"word": "Arzt", "article": "ein"}, {"word": "Kraft", "article": "eine"}]
    one = written(["{who} ist {a:what}."], {"who": ["er", "sie"], "what": jobs}, language="de")
    assert one.templates[0].sentence("sie", "Kraft").text == "Sie ist eine Kraft."
    assert one.language == "de"


def test_an_article_written_for_a_word_is_known(written: Written) -> None:
    slots = {"who": ["he", "she"], "what": ["nurse", "auditor"], "how": ["old"]}
    one = written(["{a:what} met {who}.", "{who} is {a:how} {what}.", "A {what} met {who}."], slots)
    first, *others = (template.sentence("she", "auditor") for template in one.templates)
    article = first.article(first.task_slot)
    assert article is not None
    assert first.text[slice(*article)] == "An"
    assert first.article(first.attribute_slot) is None
    assert [other.article(other.task_slot) for other in others] == [None, None]


def test_families_and_names(written: Written) -> None:
    one = written(
        [{"text": "{who} {verb} {a:how} {what}.", "family": "plain"}, "{who} ran to {a:what}."],
        {"who": ["he", "she"], "what": JOBS, "verb": ["is", "was"], "how": ["old"]},
    )
    assert one.families == ("plain", "plain", "{who} ran to {a:what}.")
    assert [template.name for template in one.templates] == [
        "{who} is an old {what}.",
        "{who} was an old {what}.",
        "{who} ran to {a:what}.",
    ]


def test_words_of_the_lexicon_beside_the_set_go_first(tmp_path: Path) -> None:
    (tmp_path / "lexicons").mkdir()
    own = 'name = "pronouns"\ndescription = "d"\nsource = "s"\nentries = ["xe", "ze"]'
    (tmp_path / "lexicons" / "pronouns.toml").write_text(own)
    lexicons = {"who": {"lexicon": "pronouns"}, "what": {"lexicon": "winobias-40"}}
    (tmp_path / "made.toml").write_text(set_text(["{who} met {what}."], lexicons))
    one = load_templates(tmp_path / "made.toml")
    assert one.all_attributes == ("xe", "ze")
    assert len(one.tasks) == 40


def test_an_unknown_word_is_refused_with_the_nearest(written: Written) -> None:
    template = written(["{who} met {what}."], {"who": ["he", "she"], "what": JOBS}).templates[0]
    with pytest.raises(InputError, match=r'slot "what" has no word "nurs"; did you mean "nurse"'):
        template.sentence("he", "nurs")
    with pytest.raises(InputError, match='slot "who" has no word "it"'):
        template.sentence("it", "nurse")


def test_the_hash_follows_what_decides_the_sentences(written: Written) -> None:
    slots: dict[str, object] = {"who": ["he", "she"], "what": JOBS}
    first = written(["{who} met {what}."], slots).sha256
    assert written(["{who} met {what}."], slots, description="other words").sha256 == first
    assert written(["{who} saw {what}."], slots).sha256 != first
    assert written(["{who} met {what}."], {**slots, "what": [*JOBS, "cook"]}).sha256 != first
    family = [{"text": "{who} met {what}.", "family": "f"}]
    assert written(family, slots).sha256 != first
    tagged = [{"word": word, "tags": ["t"]} for word in JOBS]
    assert written(["{who} met {what}."], {**slots, "what": tagged}).sha256 == first


def test_a_byte_order_mark_does_no_harm_and_sets_can_be_pickled(tmp_path: Path) -> None:
    text = set_text(["{who} met {what}."], {"who": ["he", "she"], "what": JOBS})
    (tmp_path / "made.toml").write_text(text, encoding="utf-8-sig")
    one = load_templates(tmp_path / "made.toml")
    assert pickle.loads(pickle.dumps(one)) == one


def words(alphabet: str) -> st.SearchStrategy[list[str]]:
    """Draw words that differ in more than their capitals."""
    word = st.text(alphabet, min_size=1, max_size=9)
    right = word.filter(lambda one: one == one.strip() and one[0].isalpha())
    return st.lists(right, min_size=2, max_size=4, unique_by=str.casefold)


@settings(max_examples=60, deadline=None)
@given(
    who=words("abeghnouéßñ -'"),
    what=words("abeghnouéßñ -'"),
    p=words("abeghnou"),
    q=words("abeghnou"),
    frame=st.permutations(["{who}", "{a:what}", "{p}", "{a:q}", "Zx.", "zy,"]),
)
def test_spans_point_at_the_words(
    who: list[str], what: list[str], p: list[str], q: list[str], frame: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.toml"
        text = set_text([" ".join(frame)], {"who": who, "p": p, "what": what, "q": q})
        path.write_text(text, encoding="utf-8")
        one = load_templates(path)
    assert len(one.templates) == len(p) * len(q)
    for template in one.templates:
        for attribute, task in product(who, what):
            sentence = template.sentence(attribute, task)
            for word, span in ((attribute, sentence.attribute_span), (task, sentence.task_span)):
                found = sentence.text[slice(*span)]
                assert found in (word, word[0].upper() + word[1:])
            before = sentence.text[: sentence.task_span[0]]
            assert re.search(r"(?:^| )an? $", before, re.IGNORECASE)
            assert "{" not in sentence.text
            assert sentence.text[0].isupper()


GROUPS = [{"group": "a", "words": ["Al", "Bo"]}, {"group": "b", "words": ["Cy"]}]
TASKS = [{"group": "care", "words": ["nurse", "carer"]}, "cook", "heir"]


@settings(max_examples=25, deadline=None)
@given(
    people=st.sampled_from([["he", "she", "they"], GROUPS]),
    tasks=st.lists(st.sampled_from(["care", "cook", "heir"]), min_size=2, unique=True),
    kind=st.sampled_from(["masked", "causal"]),
)
def test_the_sentences_listed_are_those_that_a_probe_scores(
    people: list[object], tasks: list[str], kind: str
) -> None:
    asked: list[str] = []

    class Spy(ScriptedModel):
        def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
            asked.extend(cloze.text for cloze in clozes)
            return super().encode(clozes)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.toml")
        text = set_text(
            ["{who} is {a:what}.", "{a:what} met {who}."], {"who": people, "what": TASKS}
        )
        path.write_text(text)
        one = load_templates(path).with_words(tasks=tasks)
    score_directions(Spy((), kind), one, cache=False)
    listed = [sentence.text for sentence in one.sentences()]
    assert set(listed) == set(asked)
    assert len(listed) == len(set(listed)) == one.size
    assert {sentence.text for sentence in one.some_sentences()} <= set(listed)


def test_an_item_table_has_a_column_for_each_attribute(written: Written) -> None:
    one = written(
        [{"text": "{who} is {a:what}.", "family": "f"}, "{who} met {what}."],
        {"who": ["he", "she"], "what": ["cook", "heir"]},
    )
    assert one.item_table().to_dict("split")["data"] == [
        ["cook", "{who} is {a:what}.", "f", "He is a cook.", "She is a cook."],
        ["heir", "{who} is {a:what}.", "f", "He is an heir.", "She is an heir."],
        ["cook", "{who} met {what}.", "{who} met {what}.", "He met cook.", "She met cook."],
        ["heir", "{who} met {what}.", "{who} met {what}.", "He met heir.", "She met heir."],
    ]
    assert list(one.item_table()) == ["task", "template", "family", "he", "she"]


def test_words_of_a_task_are_items_and_groups_of_attributes_are_refused(written: Written) -> None:
    one = written(["{who} met {what}."], {"who": ["he", "she"], "what": TASKS})
    table = one.item_table()
    assert list(table["task"]) == ["care", "care", "cook", "heir"]
    assert list(table["item"]) == ["nurse", "carer", "cook", "heir"]
    one = written(["{who} met {what}."], {"who": GROUPS, "what": JOBS})
    with pytest.raises(InputError, match='made: "a" stands for 2 words'):
        one.item_table()
    one = written(["{who} met {what}."], {"who": ["he", "item"], "what": JOBS})
    with pytest.raises(InputError, match='the attribute "item" is called as a column'):
        one.item_table()


def test_a_few_sentences_come_from_all_parts_of_a_set() -> None:
    names = load_templates("names")
    few = list(names.some_sentences())
    assert len(few) == 16
    assert {sentence.attribute for sentence in few} == set(names.attributes)
    assert len({sentence.attribute_word for sentence in few}) == 16
    assert len({sentence.family for sentence in few}) == len({one.task for one in few}) == 4
    many = load_templates("nationalities")
    assert len({sentence.attribute for sentence in many.some_sentences()}) == 8
