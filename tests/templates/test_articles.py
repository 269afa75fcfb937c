"""The article goes by the sound of a word."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lmprobe.templates.articles import article

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


@pytest.mark.parametrize("word", AN.split())
def test_an_before_a_vowel_sound(word: str) -> None:
    assert article(word) == "an"


@pytest.mark.parametrize("word", A.split())
def test_a_before_a_consonant_sound(word: str) -> None:
    assert article(word) == "a"


def test_several_words_go_by_the_first() -> None:
    assert article("honest construction worker") == "an"
    assert article("one-armed editor") == "a"


@pytest.mark.parametrize("word", ELIDED.split())
def test_french_articles_elide(word: str) -> None:
    assert article(word, "the", language="fr", gender="feminine") == "l'"


@pytest.mark.parametrize("word", ASPIRATED.split())
def test_french_articles_do_not_elide_before_an_aspirated_h(word: str) -> None:
    assert article(word, "the", language="fr", gender="masculine") == "le"


def test_typeguard_is_left_as_it_was() -> None:
    program = (
        "import typeguard; before = typeguard.typechecked\n"
        "from lmprobe.templates.articles import article; article('hour')\n"
        "print(typeguard.typechecked is before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"
