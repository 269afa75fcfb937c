"""Counting in other languages than English, against slow versions of the rules."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings, strategies as st

from lmprobe import count_cooccurrences
from lmprobe.errors import InputError
from lmprobe.sources.counting.languages import LANGUAGES
from lmprobe.sources.counting.lexicon import built_in_attributes, lexicon
from tests.sources.oracles import counted, slow_word

VOCABULARY = {
    "de": (
        {"he": ["Mann", "Vater", "Großvater"], "she": ["Frau", "Mutter", "Großmutter"]},
        {"nurse": ["Pfleger", "Pflegerin"], "physician": ["Arzt", "Ärztin"]},
    ),
    "es": (
        {"he": ["él", "hombre"], "she": ["ella", "mujer"]},
        {"nurse": ["enfermero", "enfermera"], "editor": ["editor", "editora"]},
    ),
    "fr": (
        {"he": ["homme", "père"], "she": ["femme", "mère"]},
        {"nurse": ["infirmier", "infirmière"], "writer": ["écrivain", "écrivaine"],
         "cleaner": ["agent d'entretien", "agente d'entretien"]},
    ),
    "it": (
        {"he": ["lui", "uomo"], "she": ["lei", "donna"]},
        {"nurse": ["infermiere", "infermiera"], "editor": ["editore", "editrice"]},
    ),
    "ko": (
        {"he": ["그는", "그가"], "she": ["그녀는", "그녀가"]},
        {"nurse": ["간호사입니다", "간호사"], "cook": ["요리사"]},
    ),
    "ru": (
        {"he": ["он", "отец"], "she": ["она", "мать"]},
        {"physician": ["врач"], "cook": ["повар"]},
    ),
    "zh": (
        {"he": ["他"], "she": ["她"]},
        {"worker": ["工人"], "builder": ["建筑工人"], "nurse": ["护士"]},
    ),
    "ja": (
        {"he": ["彼"], "she": ["彼女"]},
        {"scholar": ["学者"], "economist": ["経済学者"], "nurse": ["看護師"],
         "guard": ["ガードマン"]},
    ),
}  # fmt: skip
WORDS = {
    language: lexicon(attributes, tasks, language=language)
    for language, (attributes, tasks) in VOCABULARY.items()
}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        # Compounds are other words, and capitals do not matter.
        ("de", "Der Mann war Krankenpfleger. Seine Frau ist PFLEGERIN.", {(1, 0): 1}),
        ("de", "Die Frau kam am 3. Mai als Ärztin. Der Vater blieb.", {(1, 1): 1}),
        ("de", "Die Mutter sah z. B. Dr. Arzt.", {(1, 1): 1}),
        ("de", "„Sie ist Ärztin.“ Der Mann ging.", {}),
        # Invisible hyphens and decomposed letters; the capital of ß has two spellings.
        ("de", "Die Frau ist Zahn\u00adarzt. Der Va\u00adter ist Pfle\u00adger.", {(0, 0): 1}),
        ("de", "DIE GROẞMUTTER IST ÄRZTIN. Der GROSSVATER war Arzt.", {(1, 1): 1, (0, 1): 1}),
        # "acreedor" is no editor, and an accent tells "él" from "el".
        ("es", "El acreedor vio a la mujer. El editor llegó.", {}),
        ("es", "Él es editor. ¿Ella es enfermera? ¡Sí!", {(0, 1): 1, (1, 0): 1}),
        ("es", "La Sra. García es la mujer y enfermera.", {(1, 0): 1}),
        # Elisions.
        ("fr", "L'infirmière est une femme. L’écrivain, un homme.", {(1, 0): 1, (0, 1): 1}),
        ("fr", "C'est une femme d'écrivain. à droite, un homme.", {}),
        ("fr", "Sa femme est agente d’entretien. Œdipe, l’écrivain.", {(1, 2): 1}),
        ("fr", "Sa me\u0300re est infirmie\u0300re.", {(1, 0): 1}),
        ("it", "Lei è un'infermiera. Lui, il sig. Rossi, è l'editore.", {(1, 0): 1, (0, 1): 1}),
        ("ko", "그는 요리사 입니다. 그녀는 간호사입니다.", {(0, 1): 1, (1, 0): 1}),
        ("ko", unicodedata.normalize("NFD", "그는 요리사 입니다."), {(0, 1): 1}),
        ("ru", "Она врач. Он, повар, родился в 1900 г. Москва.", {(1, 0): 1, (0, 1): 1}),
        # A small letter begins no sentence, whatever its alphabet.
        ("ru", "МАТЬ — Повар. отец врач", {}),
        ("ru", "МАТЬ — Повар. Отец врач", {(1, 1): 1, (0, 0): 1}),
        # No spaces: the longest word wins, and 其他 has nothing to do with 他.
        ("zh", "他是建筑工人。她是工人！其他护士来了。她们是护士。", {(0, 1): 1, (1, 0): 1}),
        ("zh", "她说：“我是护士。”他笑了。", {(1, 2): 1}),
        ("ja", "彼女は経済学者です。彼は学者です。彼らは看護師です。", {(1, 1): 1, (0, 0): 1}),
        ("ja", unicodedata.normalize("NFD", "彼はガードマン。彼女たちは看護師。"), {(0, 3): 1}),
    ],
)
def test_traps(language: str, text: str, expected: dict[tuple[int, int], int]) -> None:
    assert counted("word", WORDS[language], text) == expected
    assert slow_word(WORDS[language], text) == expected


PIECES = {
    "de": "Mann Frau MUTTER Vater Pfleger Krankenpfleger Pflegerin Arzt Ärztin ÄRZTIN Arztes z. B. "
    "Dr. am 3. 1990. Mai über ärgert “ ” ( . ! ? , - ... GROẞVATER großmutter A\u0308rztin "
    "Zahn\u00adarzt Va\u00adter",
    "es": "él Él ella hombre mujer enfermero ENFERMERA editor acreedor Sr. á. Ángel ¿ ? ! . , ( »",
    "fr": "homme femme l'homme l’infirmière d'écrivain Écrivaine infirmier M. Mme. Élise à . ! ? » "
    "Œdipe œuf agent d’entretien d'entretien me\u0300re",
    "it": "lui lei un'infermiera l'editore creditore EDITRICE uomo donna sig. Rossi è . ! ? ,",
    "ko": "그는 그녀는 그가 간호사 간호사입니다 요리사 요리사는 입니다. . ? ,",
    "ru": "он Она отец МАТЬ врач Врач врача повар г. др. Москва и . ! ? ,",
    "zh": "他 她 其他 他们 工人 建筑工人 建筑 护士 是 。 ！ ？ ” , \n 的",
    "ja": "彼 彼女 彼ら 彼女たち 学者 経済学者 経済 看護師 は です 。 ？ 」 』 \n と ガードマン "
    "カ\u3099ート\u3099マン",
}


@pytest.mark.parametrize("language", PIECES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_rule_is_the_slow_one(language: str, data: st.DataObject) -> None:
    spaced = LANGUAGES[language].spaced
    pieces = [*PIECES[language].split(" ")]
    gaps = [" ", " ", " ", "\n"] if spaced else [""]
    drawn = data.draw(
        st.lists(st.tuples(st.sampled_from(pieces), st.sampled_from(gaps)), max_size=24)
    )
    text = "".join(piece + gap for piece, gap in drawn)
    assert counted("word", WORDS[language], text) == slow_word(WORDS[language], text)


@pytest.mark.parametrize("language", ["de", "es", "fr", "it", "ru"])
def test_words_of_people_are_built_in_and_no_task_counts_for_itself(language: str) -> None:
    words = dict(built_in_attributes(language, ["infermiera", "Krankenschwester"]))  # type: ignore[arg-type]
    assert set(words) == {"he", "she"}
    assert all(len(forms) > 150 for forms in words.values())
    folded = {form.casefold() for forms in words.values() for form in forms}
    assert not folded & {"infermiera", "krankenschwester"}
    assert sum(map(len, words.values())) == len(folded)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        # Words of the published lists that are seldom about a man or a woman.
        ("de", "Die jungen Eltern, eine Wache und die Großeltern der Mutter sahen den Arzt."),
        ("es", "La mujer de mis hijos, vieja amiga, es médica del convento."),
        ("fr", "La mère de l'artiste est infirmière."),
        ("it", "La donna vuole crescere e formare i dirigenti come infermiera."),
        ("ru", "Женщина, врач и специалист, продолжает расти."),
    ],
)
def test_words_for_either_sex_are_not_built_in(language: str, text: str) -> None:
    tasks = ["Arzt", "Ärztin", "médica", "infirmière", "infermiera", "врач", "Koch"]
    result = count_cooccurrences([text], tasks=tasks, language=language)
    assert result.counts is not None
    assert result.counts.sum(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"language": "th"}, 'no rules for counting in the language "th"; Known: de, en'),
        ({"language": "zh"}, 'no words of people are built in for the language "zh", only for de'),
        ({"language": "de", "rule": "pattern"}, 'the rule "pattern" is for English'),
        ({"language": "de", "plurals": True}, "plurals are known for English only"),
    ],
)
def test_what_is_not_known_of_a_language_is_an_error(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        count_cooccurrences(["x"], tasks=["Koch", "Arzt"], **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "rule", "unit"),
    [
        ("en", "word", "She met Dr. Who. He is a cook. They said that the editor left. "),
        ("en", "paper", "She met Dr. Who. he is a cook . They said that the editor left. "),
        ("en", "pattern", "She met Dr. Who. He is a cook. They said that the editor left. "),
        ("zh", "word", "他是护士。大家都说好！"),
    ],
)
def test_a_long_line_has_the_counts_of_its_sentences(language: str, rule: str, unit: str) -> None:
    """A line longer than every block that is read at a time."""
    english = lexicon({"he": ["he"], "she": ["she"]}, ["cook", "editor"])
    words = english if language == "en" else WORDS[language]
    assert counted(rule, words, unit * 5_000).total() == 5_000
