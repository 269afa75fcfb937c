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


@pytest.mark.parametrize("word", AN.split())
def test_an_before_a_vowel_sound(word: str) -> None:
    assert article(word) == "an"


@pytest.mark.parametrize("word", A.split())
def test_a_before_a_consonant_sound(word: str) -> None:
    assert article(word) == "a"


def test_several_words_go_by_the_first() -> None:
    assert article("honest construction worker") == "an"
    assert article("one-armed editor") == "a"


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
