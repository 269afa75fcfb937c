"""Articles and writing systems: what a word needs beside it in a sentence."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inflect import engine


# Han, Hiragana, Katakana, Thai, Lao, Burmese and Khmer letters, by Unicode block.
UNSPACED = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"
)
"""The letters of these scripts, as the inside of a character class of `re`."""

_UNSPACED = re.compile(f"[{UNSPACED}]")


def is_unspaced(character: str) -> bool:
    """Tell whether words of the character's script are written without spaces between.

    >>> [is_unspaced(letter) for letter in "是のไ한a"]
    [True, True, True, False, False]
    """
    return _UNSPACED.match(character) is not None


ARTICLES = ("a", "the")
"""The kinds of article that a sentence can ask for: `{a:slot}` and `{the:slot}`."""

GENDERED = ("de", "es", "fr", "it", "pt")
"""The languages, beside English, whose articles are known; they follow the word's gender."""

# (kind, gender) -> nominative, accusative, dative, genitive.
_GERMAN = {
    ("a", "masculine"): ("ein", "einen", "einem", "eines"),
    ("a", "feminine"): ("eine", "eine", "einer", "einer"),
    ("a", "neuter"): ("ein", "ein", "einem", "eines"),
    ("the", "masculine"): ("der", "den", "dem", "des"),
    ("the", "feminine"): ("die", "die", "der", "der"),
    ("the", "neuter"): ("das", "das", "dem", "des"),
}
_CASES = ("nominative", "accusative", "dative", "genitive")
# (kind, gender) -> Spanish, French, Italian, Portuguese.
_ROMANCE = {
    ("a", "masculine"): ("un", "un", "un", "um"),
    ("a", "feminine"): ("una", "une", "una", "uma"),
    ("the", "masculine"): ("el", "le", "il", "o"),
    ("the", "feminine"): ("la", "la", "la", "a"),
}
_VOWEL = re.compile(r"[aeiouàâäáãéèêëíìîïóòôöúùûüœæ]", re.IGNORECASE)
# French words that do not elide although they begin with a vowel or an h.
_ASPIRATED = re.compile(
    r"h(ach|ack|all(?!uc)|alte\b|am(?!eç)|an|ar(?!mon)|as|ât|au|av|enn|ér(aut|iss|on|os\b)|ern|ers"
    r"|êt|eurt|ibou|ideu|iérar|ip-|ippie|iss|obb|och|ock|oll|omard|ongr|ont|oqu|ord|ors|ott|ou"
    r"|ublot|uch|ué|uer|ugue|uit(?!r)|ul|url|us[ks]|utt)|onz|oui",
    re.IGNORECASE,
)
# Italian words before which "uno" and "lo" are written: gn, pn, ps, x, y, z, s + consonant.
_IMPURE = re.compile(r"gn|pn|ps|x|y|z|s[^aeiouàèéìòù]|i[aeou]", re.IGNORECASE)
# Words that inflect 7.5 gets wrong: numbers that begin with a vowel sound, and names.
_AN = (r"8.*", r"1[18](\D.*)?", r"SOS.*", r"Uber.*", r"Ubuntu.*")


def elides(word: str) -> bool:
    """Tell whether a French article loses its vowel before the word: l'infirmière.

    >>> [elides(word) for word in ("infirmière", "homme", "héros", "coiffeur")]
    [True, True, False, False]
    """
    if _ASPIRATED.match(word):
        return False
    return word[:1].lower() == "h" or _VOWEL.match(word) is not None


def article(
    word: str,
    kind: str = "a",
    *,
    language: str = "en",
    gender: str | None = None,
    case: str | None = None,
) -> str | None:
    """Return the article that a word takes, None where no rule is known.

    It ends with an apostrophe where it is written onto the word.

    >>> [article(word) for word in ("hour", "European", "MRI", "one-off")]
    ['an', 'a', 'an', 'a']
    >>> article("infirmière", "the", language="fr", gender="feminine")
    "l'"
    >>> article("studente", language="it", gender="masculine")
    'uno'
    """
    if language == "en":
        return "the" if kind == "the" else _english(word)
    if language == "de":
        row = _GERMAN.get((kind, gender or ""))
        return row[_CASES.index(case) if case in _CASES else 0] if row else None
    forms = _ROMANCE.get((kind, gender or ""))
    if forms is None or language not in GENDERED:
        return None
    base = forms[GENDERED.index(language) - 1]
    if language == "fr" and kind == "the" and elides(word):
        return "l'"
    return _italian(word, base) if language == "it" else base


def _italian(word: str, base: str) -> str:
    if base in ("un", "il") and _IMPURE.match(word):
        return {"un": "uno", "il": "lo"}[base]
    if not _VOWEL.match(word) or _IMPURE.match(word):
        return base
    return {"un": "un", "una": "un'", "il": "l'", "la": "l'"}[base]


@cache
def _english(word: str) -> str:
    return str(_engine().a(word)).partition(" ")[0]


@cache
def _engine() -> engine:
    # inflect has its arguments checked by typeguard, which parses the whole source again
    # for each method: seconds at the first article, for calls that we check ourselves.
    import typeguard

    checked = typeguard.typechecked
    typeguard.typechecked = lambda function: function  # type: ignore[assignment]
    try:
        import inflect
    finally:
        typeguard.typechecked = checked
    english = inflect.engine()
    for pattern in _AN:
        english.defan(pattern)
    return english
