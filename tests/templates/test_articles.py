"""The article goes by the sound of a word."""

from __future__ import annotations

from lmprobe.templates.template import article

AN = (
    "hour honest heir heiress honorary honor MRI FBI MP NGO MBA HR X-ray x-ray umbrella apple "
    "engineer auditor oncologist unimportant uninteresting Israeli Egyptian 8 11 18 8-year-old "
    "18-year-old 800 SOS old accountant analyst editor"
)
A = (
    "European university one-off one-time one-armed unicorn uniform union unit unanimous "
    "Ukrainian Ugandan eunuch ewe euro once US UK UFO USB UNESCO NASA hotel historian herbalist "
    "hairdresser housekeeper used urologist utopian U-turn 1 10 100 118 7 new known French janitor"
)
ELIDED = (
    "homme héritier héroïne haltérophile hippologue huissier horloger habitué hallucinée "
    "harmoniciste infirmière écrivain œnologue hôtesse"
)
ASPIRATED = (
    "hacker handballeur hallebardier harpiste hautboïste héros hérisson hiérarque hippie hockeyeur "
    "Hongrois hors-la-loi hussard huitième onzième coiffeur yogi"
)


def test_english_articles_go_by_the_sound_of_the_first_word() -> None:
    assert {word: article(word) for word in AN.split()} == dict.fromkeys(AN.split(), "an")
    assert {word: article(word) for word in A.split()} == dict.fromkeys(A.split(), "a")
    assert article("honest construction worker") == "an"
    assert article("one-armed editor") == "a"


def test_french_articles_elide_but_not_before_an_aspirated_h() -> None:
    for words, expected in ((ELIDED.split(), "l'"), (ASPIRATED.split(), "le")):
        actual = {word: article(word, "the", language="fr", gender="masculine") for word in words}
        assert actual == dict.fromkeys(words, expected)


def test_articles_of_each_language_and_gender() -> None:
    genders, kinds = ("masculine", "feminine"), ("a", "the")
    for language, expected in {
        "es": "un una el la", "fr": "un une le la", "it": "un una il la", "pt": "um uma o a",
        "de": "ein eine der die",
    }.items():  # fmt: skip
        actual = [
            article("b", kind, language=language, gender=gender)
            for kind in kinds
            for gender in genders
        ]
        assert actual == expected.split()
    assert article("Kind", "the", language="de", gender="neuter", case="dative") == "dem"
    assert article("amica", language="it", gender="feminine") == "un'"
    assert article("zio", "the", language="it", gender="masculine") == "lo"
    assert article("x", language="ru", gender="masculine") is None
    assert article("x", language="es") is None
