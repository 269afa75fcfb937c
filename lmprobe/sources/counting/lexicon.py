"""The words of a count: attributes and tasks, each with the words that stand for it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lmprobe.errors import Argument, DataFileError, InputError, invalid
from lmprobe.sources.counting.languages import language_of
from lmprobe.templates import lexicon_names, load_lexicon, load_template_set, words_by_label
from lmprobe.templates.sets import Role, is_template_set
from lmprobe.templates.template import english

Words = tuple[str, ...]
Labelled = tuple[tuple[str, Words], ...]
"""Labels in order, each with its words."""
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

    attributes: Labelled
    tasks: Labelled
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
    people = attribute_words(attributes)
    doing = _checked(tasks, "tasks")
    if plurals:
        doing = tuple((name, _with_plurals(words)) for name, words in doing)
    _refuse_shared(doing, "tasks")
    return Lexicon(people, doing, language)


def attribute_words(attributes: Named) -> Labelled:
    """Return the checked words of at least two attributes."""
    people = _checked(attributes, "attributes")
    if len(people) < 2:
        raise InputError(f"counting needs at least two attributes, found {len(people)}")
    _refuse_shared(people, "attributes")
    return people


def read_words(text: str, role: Role = "task") -> Named:
    """Return the words of "nurse,cook", of "he=he,him;she=she,her", of a file or of a lexicon.

    Of a template set they are those of the slot with that role.

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
        return _words_and_forms(text, role)
    except DataFileError as problem:
        if path.exists():
            raise
        raise InputError(problem, "; or write words with a comma, such as nurse,cook") from None


def built_in_tasks(language: str) -> Named:
    """Return the paper's 32 occupations in a language."""
    name = "winobias-32" if language == "en" else f"occupations-{language}"
    if name not in lexicon_names():
        raise InputError(
            f"no occupations are built in for {language_of(language).name}; give ",
            Argument("tasks"),
        )
    return _words_and_forms(name)


def built_in_attributes(language: str, tasks: Named) -> Named:
    """Return the words of people that a language has built in, by he and she.

    A word that is also a task's, such as a gendered title, is left out: it would count for
    itself.
    """
    if language == "en":
        return ATTRIBUTES
    prefix = "gendered-"
    if f"{prefix}{language}" not in lexicon_names():
        language_of(language)
        languages = [name.removeprefix(prefix) for name in lexicon_names() if prefix in name]
        raise InputError(
            f'no words of people are built in for the language "{language}", only for '
            f"{', '.join(languages)}; give ",
            Argument("attributes"),
            ", such as he=他;she=她",
        )
    taken = {word.casefold() for _, words in _checked(tasks, "tasks") for word in words}
    return {
        label: [word for word in words if word.casefold() not in taken]
        for label, words in _words_and_forms(f"{prefix}{language}").items()
    }


def _words_and_forms(name: str, role: Role = "task") -> dict[str, Words]:
    """Return the words of a lexicon, or those that a template set has in a role."""
    if name not in lexicon_names() and is_template_set(name):
        return load_template_set(name).words_and_forms(role)
    return words_by_label(load_lexicon(name).entries, forms=True)


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


def _checked(named: Named, role: str) -> Labelled:
    if isinstance(named, str) or not isinstance(named, Iterable):
        raise invalid(role, f" must be several words, found {named!r}")
    pairs = named.items() if isinstance(named, Mapping) else ((word, (word,)) for word in named)
    labels: dict[str, Words] = {}
    for name, words in pairs:
        listed = (words,) if isinstance(words, str) else tuple(words)
        bad = [word for word in listed if not isinstance(word, str) or not word.strip()]
        if not isinstance(name, str) or not name or not listed or bad:
            detail = f", found {listed!r}" if bad else ""
            raise invalid(role, f": {name!r} needs one or more words{detail}")
        for word in listed:
            # A sentence never holds these, so such a word could only ever count zero.
            if any(mark in word for mark in ".\n\r"):
                raise invalid(role, f": {word!r} has a full stop or a line break in it")
            if not any(map(str.isalnum, word)):
                raise invalid(role, f": {word!r} has no letter or digit in it")
        if name in labels:
            raise invalid(role, f": {name!r} appears twice")
        composed = (unicodedata.normalize("NFC", word.strip()) for word in listed)
        labels[name] = tuple(dict.fromkeys(composed))
    if not labels:
        raise invalid(role, ": no word is given; give one or more")
    return tuple(labels.items())


def _refuse_shared(labels: Labelled, role: str) -> None:
    """A word that stands for two labels would make both of them uncountable."""
    owner: dict[str, str] = {}
    for name, words in labels:
        for word in words:
            if owner.setdefault(word, name) != name:
                raise invalid(
                    role, f": the word {word!r} stands for both {owner[word]!r} and {name!r}"
                )


def _with_plurals(words: Words) -> Words:
    plurals = (str(english().plural_noun(word)) for word in words)
    return tuple(dict.fromkeys((*words, *plurals)))
