"""Agreement, definite articles, scripts without spaces, groups of words, crossed attributes."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.sources import load_base_rates
from lmprobe.templates import Sentence, TemplateSet, differing_slots, load_templates
from lmprobe.templates.sets import check_set
from tests.templates.test_sentences import set_text, toml

EL = {"word": "él", "key": "he", "agree": "masculine"}
ELLA = {"word": "ella", "key": "she", "agree": "feminine"}
NURSE = {"word": "enfermero", "key": "nurse", "forms": {"feminine": "enfermera"}}
COOK = {"word": "cocinero", "key": "cook", "forms": {"feminine": "cocinera"}}
GUARD = {"word": "guardia", "key": "guard"}


def write(folder: Path, sentences: list[object], slots: dict[str, object], **keys: str) -> Path:
    path = folder / "made.toml"
    path.write_text(set_text(sentences, slots, **keys), encoding="utf-8")
    return path


@pytest.fixture
def spanish(tmp_path: Path) -> TemplateSet:
    good = {"word": "bueno", "forms": {"feminine": "buena"}}
    hired = [{"word": "contratado", "forms": {"feminine": "contratada"}}]
    slots: dict[str, object] = {
        "who": [EL, ELLA],
        "what": [NURSE, COOK, GUARD],
        "how": [good],
        "hired": hired,
    }
    sentences: list[object] = [
        "{who} es {a:what}.",
        "{the:what} dijo que {who} no venía.",
        "{who} fue {hired} como {how} {what}.",
    ]
    return load_templates(write(tmp_path, sentences, slots, language="es"))


def texts(template_set: TemplateSet, attribute: str, task: str) -> list[str]:
    return [template.sentence(attribute, task).text for template in template_set.templates]


def visible(sentence: Sentence, hidden: tuple[str, ...]) -> str:
    text, done = "", 0
    for span in sentence.spans:
        if span.slot in hidden:
            text += sentence.text[done : span.start] + "_"
            done = span.end
    return text + sentence.text[done:]


def test_titles_articles_and_participles_agree_with_the_attribute(spanish: TemplateSet) -> None:
    assert texts(spanish, "él", "enfermero") == [
        "Él es un enfermero.",
        "El enfermero dijo que él no venía.",
        "Él fue contratado como bueno enfermero.",
    ]
    assert texts(spanish, "ella", "enfermero") == [
        "Ella es una enfermera.",
        "La enfermera dijo que ella no venía.",
        "Ella fue contratada como buena enfermera.",
    ]


def test_a_task_with_two_titles_is_one_task_under_its_key(spanish: TemplateSet) -> None:
    assert spanish.tasks == ("nurse", "cook", "guard")
    assert spanish.attributes == ("he", "she")
    assert spanish.task_words == {
        "nurse": ("enfermero",), "cook": ("cocinero",), "guard": ("guardia",),
    }  # fmt: skip
    assert texts(spanish, "she", "guard")[0] == "Ella es una guardia."


def test_what_differs_between_the_candidates_is_hidden_and_nothing_else(
    spanish: TemplateSet,
) -> None:
    first, second, third = spanish.templates
    by_group = [first.sentence(who, "nurse") for who in ("he", "she")]
    assert differing_slots(by_group) == ("who", "what")
    assert {visible(item, differing_slots(by_group)) for item in by_group} == {"_ es _."}
    by_task = [first.sentence("she", what) for what in spanish.tasks]
    assert {visible(item, differing_slots(by_task)) for item in by_task} == {"Ella es _."}
    guards = [first.sentence(who, "guard") for who in ("he", "she")]
    # "guardia" is both, but its article is not.
    assert {visible(guard, differing_slots(guards)) for guard in guards} == {"_ es _."}
    said = [second.sentence(who, "cook") for who in ("he", "she")]
    assert visible(said[0], differing_slots(said)) == "_ dijo que _ no venía."
    hired = [third.sentence(who, "cook") for who in ("he", "she")]
    assert visible(hired[1], differing_slots(hired)) == "_ fue _ como _ _."


def test_an_elided_article_touches_the_word(tmp_path: Path) -> None:
    slots: dict[str, object] = {
        "who": [{"word": "il", "agree": "masculine"}, {"word": "elle", "agree": "feminine"}],
        "what": [{"word": "infirmier", "forms": {"feminine": "infirmière"}}, "comptable"],
    }
    first = load_templates(write(tmp_path, ["{the:what} dit qu'{who} part."], slots, language="fr"))
    assert texts(first, "elle", "infirmier") == ["L'infirmière dit qu'elle part."]
    assert texts(first, "il", "comptable") == ["Le comptable dit qu'il part."]
    sentence = first.templates[0].sentence("elle", "infirmier")
    assert sentence.written("what") == "L'infirmière"
    assert sentence.text[slice(*sentence.task_span)] == "infirmière"


@pytest.mark.parametrize(
    ("language", "sentence", "who", "text"),
    [
        ("zh", "{who}是{what}。", ["他", "她"], "她是护士。"),
        ("ja", "{who}は{what}です。", ["彼", "彼女"], "彼女は护士です。"),
        ("th", "{who}เป็น{what}", ["เขา", "เธอ"], "เธอเป็น护士"),
    ],
)
def test_a_slot_may_touch_letters_of_a_script_without_spaces(
    tmp_path: Path, language: str, sentence: str, who: list[str], text: str
) -> None:
    slots: dict[str, object] = {"who": who, "what": ["护士", "律师"]}
    first = load_templates(write(tmp_path, [sentence], slots, language=language))
    result = first.templates[0].sentence(who[1], "护士")
    assert result.text == text
    assert result.written("who") == who[1]
    assert result.written("what") == "护士"


def test_in_such_a_script_slots_may_touch_and_a_word_written_out_is_found(tmp_path: Path) -> None:
    slots: dict[str, object] = {"who": ["他", "她"], "what": ["护士", "律师"], "be": ["是"]}
    first = load_templates(write(tmp_path, ["{who}{be}{what}。"], slots, language="zh"))
    assert texts(first, "他", "律师") == ["他是律师。"]
    slots["be"] = ["is"]
    with pytest.raises(DataFileError, match=r"\{who\} touches \{be\}; put a space between"):
        load_templates(write(tmp_path, ["{who}{be}{what}。"], slots, language="zh"))
    del slots["be"]
    with pytest.raises(DataFileError, match='the word "他" of the attribute is written out'):
        load_templates(write(tmp_path, ["我说他和{who}是{what}。"], slots, language="zh"))


def test_decomposed_letters_are_composed(tmp_path: Path) -> None:
    slots: dict[str, object] = {"who": ["él", "ella"], "what": ["médico", "policía"]}
    path = write(tmp_path, ["{who} ya fue {what} aquí."], slots, language="es")
    path.write_text(unicodedata.normalize("NFD", path.read_text("utf-8")), encoding="utf-8")
    first = load_templates(path)
    assert first.templates[0].sentence("él", "policía").text == "Él ya fue policía aquí."
    rates = tmp_path / "rates.csv"
    text = unicodedata.normalize("NFD", "task,él,ella\nmédico,1,2\npolicía,3,4\n")
    rates.write_text(text, encoding="utf-8")
    result = load_base_rates(rates).association(first.attributes, first.tasks)
    assert result.counts is not None
    assert result.counts.tolist() == [[1, 3], [2, 4]]


def test_a_korean_particle_is_a_form(tmp_path: Path) -> None:
    slots: dict[str, object] = {
        "who": [
            {"word": "그", "key": "he", "forms": {"topic": "그는"}},
            {"word": "그녀", "key": "she", "forms": {"topic": "그녀는"}},
        ],
        "what": [
            {"word": "간호사", "forms": {"copula": "간호사입니다"}},
            {"word": "경찰관", "forms": {"copula": "경찰관입니다"}},
        ],
    }
    first = load_templates(write(tmp_path, ["{who:topic} {what:copula}."], slots, language="ko"))
    sentence = first.templates[0].sentence("she", "간호사")
    assert sentence.text == "그녀는 간호사입니다."
    assert sentence.written("who") == "그녀는"
    with pytest.raises(DataFileError, match=r'touches "는"; give its words a form with the part'):
        load_templates(write(tmp_path, ["{who}는 {what:copula}."], slots, language="ko"))


NAMES: list[object] = [
    {"group": "Black women", "words": ["Lakisha", "Ebony"]},
    {"group": "white men", "words": ["Brad", {"word": "Todd"}, "Greg"]},
]


def test_groups_of_words(tmp_path: Path) -> None:
    slots: dict[str, object] = {"who": NAMES, "what": ["nurse", "cook"]}
    first = load_templates(write(tmp_path, ["{who} is {a:what}."], slots))
    assert first.attributes == ("Black women", "white men")
    assert first.attribute_words == {
        "Black women": ("Lakisha", "Ebony"), "white men": ("Brad", "Todd", "Greg"),
    }  # fmt: skip
    assert first.task_words == {"nurse": ("nurse",), "cook": ("cook",)}
    template = first.templates[0]
    assert template.sentence("Todd", "cook").text == "Todd is a cook."
    with pytest.raises(InputError, match="has several words: Lakisha, Ebony"):
        template.sentence("Black women", "cook")


CROSSED: list[object] = [
    {"word": "Emily", "race": "White", "gender": "female"},
    {"word": "Jamal", "race": "Black", "gender": "male"},
    {"word": "Brad", "race": "White", "gender": "male"},
    {"word": "Ebony", "race": "Black", "gender": "female"},
    {"word": "Greg", "race": "White", "gender": "male"},
]


def crossed(folder: Path, names: str, words: list[object] = CROSSED) -> Path:
    slots: dict[str, object] = {"name": words, "what": ["nurse", "cook"]}
    path = write(folder, ["{name} is {a:what}."], slots)
    path.write_text(path.read_text().replace('attribute = "who"', f"attribute = {names}"))
    return path


def test_crossed_attributes_form_every_intersection(tmp_path: Path) -> None:
    first = load_templates(crossed(tmp_path, '["race", "gender"]'))
    assert first.attribute_words == {
        "White & female": ("Emily",),
        "White & male": ("Brad", "Greg"),
        "Black & female": ("Ebony",),
        "Black & male": ("Jamal",),
    }
    assert first.attributes == tuple(first.attribute_words)
    assert first.crossed == ("race", "gender")
    assert first.attribute_values["Black & male"] == ("Black", "male")
    assert first.attribute_slot == "name"


def test_one_of_several_values_can_be_the_attribute(tmp_path: Path) -> None:
    (tmp_path / "lexicons").mkdir()
    lexicon = 'name = "n"\ndescription = "d"\nsource = "s"\nattributes = ["race", "gender"]\n'
    (tmp_path / "lexicons" / "n.toml").write_text(f"{lexicon}entries = {toml(CROSSED)}")
    slots: dict[str, object] = {"name": {"lexicon": "n"}, "what": ["nurse", "cook"]}
    first = load_templates(write(tmp_path, ["{name} is {a:what}."], slots, attribute="gender"))
    assert first.attribute_words == {
        "female": ("Emily", "Ebony"),
        "male": ("Jamal", "Brad", "Greg"),
    }


@pytest.mark.parametrize(
    ("names", "words", "message"),
    [
        ('["race", "gender"]', CROSSED[:3], 'slots.name: no word is "Black & female"; add one'),
        ('["race", "gender"]', [*CROSSED, "Ann"], '"Ann" has no race; add race = "..."'),
        ('["race", "age"]', CROSSED, '"Emily" has no age; add age'),
        ("[]", CROSSED, "attribute: must be a name or a list of names"),
    ],
)
def test_mistakes_in_crossed_attributes(
    tmp_path: Path, names: str, words: list[object], message: str
) -> None:
    problems = check_set(crossed(tmp_path, names, words))[1].problems
    assert any(message in str(problem) for problem in problems), problems


@pytest.mark.parametrize(
    ("language", "sentence", "message"),
    [
        ("es", "{who} es una {what}.", 'the article "una" is written out'),
        ("es", "El {what} vio a {who}.", 'the article "el" is written out'),
        ("fr", "{who} parle de {what}.", '"de" is written out before {what}'),
        ("en", "{who} is a {what}.", 'the article "a" is written out'),
    ],
)
def test_visible_text_that_depends_on_the_hidden_word_is_a_warning(
    tmp_path: Path, language: str, sentence: str, message: str
) -> None:
    slots: dict[str, object] = {"who": [EL, ELLA], "what": [NURSE, COOK, GUARD]}
    path = write(tmp_path, [sentence], slots, language=language)
    findings = check_set(path)[1]
    assert findings.problems == []
    assert any(message in str(warning) for warning in findings.warnings), findings.warnings
    assert load_templates(path).language == language


@pytest.mark.parametrize(
    ("sentence", "slots", "message"),
    [
        (
            "{who} vio {what:dative}.",
            {"what": [{**NURSE, "forms": {"feminine": "x", "dative": "y"}},
                      {**COOK, "forms": {"dative": "z"}}]},
            'no form "dative-feminine" for "enfermero"',
        ),
        (
            "{who} es {what}.",
            {"what": [NURSE, {**COOK, "forms": {"femenine": "cocinera"}}]},
            'the form "femenine" is never used: no word says agree = "femenine"; did you mean "fem',
        ),
        (
            "{who} es {what}.",
            {"what": ["guardia", "artista"]},
            "no form of any word is called feminine or masculine",
        ),
        (
            "{who} es {what}.",
            {"what": [NURSE, {"word": "nurse", "key": "helper"}]},
            '"nurse" is a word of "helper" and the name of another; rename one',
        ),
    ],
)  # fmt: skip
def test_mistakes_in_agreement(
    tmp_path: Path, sentence: str, slots: dict[str, object], message: str
) -> None:
    path = write(tmp_path, [sentence], {"who": [EL, ELLA], **slots}, language="es")
    problems = check_set(path)[1].problems
    assert any(message in str(problem) for problem in problems), problems


def test_too_many_combinations_are_refused_with_their_number(tmp_path: Path) -> None:
    slots: dict[str, object] = {"who": ["he", "she"], "what": ["nurse", "cook"]}
    for slot in "bcdefghij":
        slots[slot] = [f"{slot}{number}" for number in range(10)]
    frame = " ".join(f"{{{slot}}}" for slot in slots)
    with pytest.raises(DataFileError, match=r"come to 1,000,000,000 templates; at most 100,000"):
        load_templates(write(tmp_path, [f"{frame}."], slots))
