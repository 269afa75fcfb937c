"""The words that an option means: written out, in a text file, or a lexicon."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lmprobe.errors import DataFileError, InputError
from lmprobe.sources.counting.languages import language_of
from lmprobe.templates import TemplateLexicon, lexicon_names, load_lexicon


def read_words(text: str) -> Named:
    """Return the words of "nurse,cook", of "he=he,him;she=she,her", of a file or of a lexicon.

    >>> read_words("m=he,him;f=she")
    {'m': ['he', 'him'], 'f': ['she']}
    """
    if "=" in text:
        return _named(text)
    if "," in text:
        return _split(text)
    path = Path(text)
    if path.is_file() and path.suffix != ".toml":
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as problem:
            raise DataFileError(f"{path}: the words are not UTF-8: {problem.reason}") from None
        return [line.strip() for line in lines if line.strip()]
    try:
        return words_of(load_lexicon(text))
    except DataFileError as problem:
        if path.exists():
            raise
        raise InputError(f"{problem}; or write words with a comma, such as nurse,cook") from None


def built_in_tasks(language: str) -> Named:
    """Return the paper's 32 occupations in a language."""
    name = "winobias-32" if language == "en" else f"occupations-{language}"
    if name not in lexicon_names():
        raise InputError(
            f"no occupations are built in for {language_of(language).name}; give `tasks`"
        )
    return words_of(load_lexicon(name))


def _named(text: str) -> dict[str, list[str]]:
    named: dict[str, list[str]] = {}
    for part in text.split(";"):
        name, _, words = (piece.strip() for piece in part.partition("="))
        if name in named:
            raise InputError(f'"{name}" appears twice in "{text}"; give all its words at once')
        if name or words:
            named[name] = _split(words)
    return named


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


Words = tuple[str, ...]
Named = Mapping[str, Iterable[str]] | Iterable[str]
"""A mapping name -> words, or words that are their own names."""

# The two groups of the published counting code.
PAPER_ATTRIBUTES: Mapping[str, Words] = {
    "he": ("he", "man", "his", "boy", "son"),
    "she": ("she", "woman", "her", "girl", "daughter"),
}
# Every form of the pronoun, and the plurals that whole-word matching would miss.
ATTRIBUTES: Mapping[str, Words] = {
    "he": ("he", "him", "his", "himself", "man", "men", "boy", "boys", "son", "sons"),
    "she": ("she", "her", "hers", "herself", "woman", "women", "girl", "girls", "daughter",
            "daughters"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Attributes and tasks in order, each with the words that stand for it."""

    attributes: tuple[tuple[str, Words], ...]
    tasks: tuple[tuple[str, Words], ...]
    language: str = "en"

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The attributes, in the order of the table's columns."""
        return tuple(name for name, _ in self.attributes)

    @property
    def task_names(self) -> tuple[str, ...]:
        """The tasks, in the order of the table's rows."""
        return tuple(name for name, _ in self.tasks)


def lexicon(
    attributes: Named, tasks: Named, *, plurals: bool = False, language: str = "en"
) -> Lexicon:
    """Return the checked words of a count; `plurals` lets a task match in the plural too."""
    language_of(language)
    if plurals and language != "en":
        raise InputError(
            f'plurals are known for English only, and the language is "{language}"; list them '
            "among the words of a task, as in nurse=Krankenpfleger,Krankenpflegerinnen"
        )
    groups = _checked(attributes, "attributes")
    if len(groups) < 2:
        raise InputError(f"counting needs at least two attributes, found {len(groups)}")
    doing = _checked(tasks, "tasks")
    if plurals:
        doing = tuple((name, _with_plurals(words)) for name, words in doing)
    _refuse_shared(groups, "attributes")
    _refuse_shared(doing, "tasks")
    return Lexicon(groups, doing, language)


def built_in_attributes(language: str, tasks: Named) -> Named:
    """Return the words of people that a language has built in, by he and she.

    A word that is also a task's, such as a gendered title, is left out: it would count for
    itself.
    """
    if language == "en":
        return ATTRIBUTES
    name = f"gendered-{language}"
    if name not in lexicon_names():
        language_of(language)
        known = [one.removeprefix("gendered-") for one in lexicon_names() if "gendered-" in one]
        raise InputError(
            f'no words of people are built in for the language "{language}", only for '
            f"{', '.join(known)}; give `attributes`, such as he=他;she=她"
        )
    taken = {word.casefold() for _, words in _checked(tasks, "tasks") for word in words}
    return {
        label: [word for word in words if word.casefold() not in taken]
        for label, words in words_of(load_lexicon(name)).items()
    }


def words_of(words: TemplateLexicon) -> dict[str, tuple[str, ...]]:
    """Return all words and forms of each label of a lexicon of templates."""
    named: dict[str, tuple[str, ...]] = {}
    for entry in words.entries:
        forms = (entry.word, *entry.forms.values())
        named[entry.label] = (*named.get(entry.label, ()), *forms)
    return named


def _checked(named: Named, role: str) -> tuple[tuple[str, Words], ...]:
    if isinstance(named, str) or not isinstance(named, Iterable):
        raise InputError(f"`{role}` must be several words, found {named!r}")
    pairs = named.items() if isinstance(named, Mapping) else ((word, (word,)) for word in named)
    found = []
    for name, words in pairs:
        listed = (words,) if isinstance(words, str) else tuple(words)
        bad = [word for word in listed if not isinstance(word, str) or not word.strip()]
        if not isinstance(name, str) or not name or not listed or bad:
            raise InputError(f"`{role}`: {name!r} needs one or more words, found {listed!r}")
        # A sentence never holds these, so such a word could only ever count zero.
        split = [word for word in listed if any(mark in word for mark in ".\n\r")]
        if split:
            raise InputError(f"`{role}`: {split[0]!r} has a full stop or a line break in it")
        empty = [word for word in listed if not any(map(str.isalnum, word))]
        if empty:
            raise InputError(f"`{role}`: {empty[0]!r} has no letter or digit in it")
        composed = (unicodedata.normalize("NFC", word.strip()) for word in listed)
        found.append((name, tuple(dict.fromkeys(composed))))
    if not found:
        raise InputError(f"`{role}` are empty; give at least one word")
    names = [name for name, _ in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"`{role}`: {twice[0]!r} appears twice")
    return tuple(found)


def _refuse_shared(named: tuple[tuple[str, Words], ...], role: str) -> None:
    """A word that stands for two labels would make both of them uncountable."""
    owner: dict[str, str] = {}
    for name, words in named:
        for word in words:
            if owner.setdefault(word, name) != name:
                raise InputError(
                    f"`{role}`: the word {word!r} stands for both {owner[word]!r} and {name!r}"
                )


def _with_plurals(words: Words) -> Words:
    import inflect

    engine = inflect.engine()

    more = [str(engine.plural_noun(word)) for word in words]
    return tuple(dict.fromkeys((*words, *more)))
