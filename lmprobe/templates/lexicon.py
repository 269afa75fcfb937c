"""A lexicon: the words that may stand in a slot, with their forms and tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmprobe.errors import did_you_mean
from lmprobe.resources import find, names
from lmprobe.templates.document import read_document
from lmprobe.templates.problems import Findings, found

FOLDER = "templates/lexicons"
NUMBERS = ("singular", "plural")
_LEXICON_KEYS = ("name", "description", "source", "entries")
_ENTRY_KEYS = ("word", "forms", "number", "article", "tags")


@dataclass(frozen=True, slots=True)
class Entry:
    """One word of a slot: how it is called, how it is written where, what it agrees with."""

    word: str
    forms: Mapping[str, str] = field(default_factory=dict)
    number: str = "singular"
    article: str | None = None
    tags: tuple[str, ...] = ()

    def written(self, form: str | None, number: str) -> str:
        """Return the word in a form; without one, in the number that the attribute asks for."""
        return self.forms.get(form or number, self.word)

    def has(self, form: str) -> bool:
        """Tell whether the word can be written in that form; the word itself is the subject."""
        return form in self.forms or form == "subject"


@dataclass(frozen=True, slots=True)
class Lexicon:
    """A file of entries, with what they are and where they come from."""

    name: str
    description: str
    source: str
    entries: tuple[Entry, ...]


def load_lexicon(name_or_path: str | Path) -> Lexicon:
    """Return a shipped lexicon by name, or one of your own by path, checked."""
    lexicon, findings = read_lexicon(find(name_or_path, FOLDER, ".toml"))
    findings.raise_any()
    return lexicon


def lexicon_names() -> tuple[str, ...]:
    """Return the names of the lexicons that come with lmprobe."""
    return names(FOLDER, ".toml")


def read_lexicon(path: Path) -> tuple[Lexicon, Findings]:
    """Return what a lexicon file says and every mistake in it."""
    table, findings = read_document(path)
    if findings.problems:
        return Lexicon(path.stem, "", "", ()), findings
    findings.check_keys(table, _LEXICON_KEYS)
    name, description, source = (
        findings.text_at(table, key) for key in ("name", "description", "source")
    )
    entries = read_entries(findings.list_at(table, "entries"), "entries", findings)
    if table.get("entries") == []:
        findings.add("entries", 'the lexicon is empty; add words, as in entries = ["one", "two"]')
    return Lexicon(name, description, source, entries), findings


def find_lexicon(name: str, beside: Path, key: str, findings: Findings) -> Path | None:
    """Return the file of a lexicon that a set names: beside the set first, then shipped."""
    own = sorted((beside.parent / "lexicons").glob("*.toml"))
    known = {path.stem: path for path in own}
    if name in known:
        return known[name]
    if name in lexicon_names():
        return find(name, FOLDER, ".toml")
    hint = did_you_mean(name, {*known, *lexicon_names()})
    findings.add(key, f'no lexicon called "{name}"; {hint}', near=f'"{name}"')
    return None


def read_entries(items: Iterable[Any], key: str, findings: Findings) -> tuple[Entry, ...]:
    """Return the entries of a list, noting the ones that are wrong and the ones said twice."""
    entries: dict[str, Entry] = {}
    for index, item in enumerate(items):
        entry = _read_entry(item, f"{key}[{index}]", findings)
        if entry is None:
            continue
        # Uncased models, and every model at the start of a sentence, see them as one.
        if entry.word.casefold() in entries:
            message = f'the word "{entry.word}" stands twice (capitals do not tell words apart)'
            findings.add(f"{key}[{index}]", f"{message}; remove one", near=entry.word, last=True)
        else:
            entries[entry.word.casefold()] = entry
    return tuple(entries.values())


def _read_entry(item: Any, key: str, findings: Findings) -> Entry | None:
    if isinstance(item, str):
        return Entry(item) if _is_word(item, key, findings) else None
    if not isinstance(item, dict):
        findings.add(key, f"must be a word in quotes or a table, found {found(item)}")
        return None
    if set(item) == set(NUMBERS):
        item = {"word": item["singular"], "forms": item}
    findings.check_keys(item, _ENTRY_KEYS, f"{key}.")
    if "word" not in item:
        findings.add(key, 'has no word; write { word = "..." } or { singular = .., plural = .. }')
        return None
    if not _is_word(item["word"], key, findings):
        return None
    word = item["word"]
    number = item.get("number", "singular")
    if number not in NUMBERS:
        message = f'must be "singular" or "plural", found {found(number)}'
        findings.add(f"{key}.number", message, near=f'"{word}"')
        number = "singular"
    written = item.get("article")
    if written is not None and not _is_word(written, f"{key}.article", findings):
        written = None
    return Entry(
        word=word,
        forms=_read_forms(item, key, findings),
        number=number,
        article=written,
        tags=_read_tags(item, key, findings),
    )


def _read_forms(item: Mapping[str, Any], key: str, findings: Findings) -> dict[str, str]:
    forms = item.get("forms", {})
    if not isinstance(forms, dict):
        message = f'must be a table such as {{ object = "him" }}, found {found(forms)}'
        findings.add(f"{key}.forms", message)
        return {}
    return {
        name: form
        for name, form in forms.items()
        if _is_word(form, f"{key}.forms.{name}", findings)
    }


def _read_tags(item: Mapping[str, Any], key: str, findings: Findings) -> tuple[str, ...]:
    tags = item.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        message = f'must be a list of texts such as ["majority-male"], found {found(tags)}'
        findings.add(f"{key}.tags", message, near=f'"{item["word"]}"')
        return ()
    return tuple(tags)


def _is_word(value: Any, key: str, findings: Findings) -> bool:
    if not isinstance(value, str):
        findings.add(key, f"must be a word in quotes, found {found(value)}")
        return False
    if not value or value != value.strip() or re.search(r"[{}\n\t]", value):
        message = f"is not a word: {value!r}; no spaces around it, no braces, not empty"
        findings.add(key, message, near=f'"{value}"')
        return False
    return True
