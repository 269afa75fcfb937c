"""The words that an option means: written out, in a text file, or a lexicon."""

from __future__ import annotations

from pathlib import Path

from lmprobe.corpus.languages import language_of
from lmprobe.corpus.lexicon import Named, words_of
from lmprobe.errors import DataFileError, InputError
from lmprobe.templates import lexicon_names, load_lexicon


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
