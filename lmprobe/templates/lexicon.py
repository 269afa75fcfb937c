"""A lexicon: the words that may fill a slot, with their forms, groups and tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from lmprobe.errors import did_you_mean
from lmprobe.io.resources import find, names
from lmprobe.templates.articles import ARTICLES
from lmprobe.templates.problems import Findings, found, read_document

FOLDER = "templates/lexicons"
NUMBERS = ("singular", "plural")
_LEXICON_KEYS = ("name", "description", "source", "attributes", "entries")
ENTRY_KEYS = ("word", "key", "forms", "number", "agree", "noun_gender", "article", "tags")
_GROUP_KEYS = ("group", "words", "tags")


@dataclass(frozen=True, slots=True)
class Entry:
    """One word of a slot: how it is written where, what agrees with it, what it counts as."""

    word: str
    forms: Mapping[str, str] = field(default_factory=dict)
    number: str = "singular"
    tags: tuple[str, ...] = ()
    group: str | None = None
    """The group whose word it is, or the key that it shares with other languages."""
    agree: str | None = None
    """The form, such as "feminine", of the words that agree with it."""
    noun_gender: str | None = None
    """The gender of the word itself, where it does not follow the attribute."""
    articles: Mapping[str, str] = field(default_factory=dict)
    """Its articles by kind, "a" or "the", or by kind and agreement, "a-feminine"."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Its value in each of several crossed attributes."""

    @property
    def label(self) -> str:
        """What results and base tables call it: its group or key, or else the word."""
        return self.group or self.word

    def written(self, form: str | None, who: Entry) -> str:
        """Return the word in a form, as it agrees with the attribute's entry `who`.

        The most specific form that it has: `dative-feminine-plural`, `dative-feminine`,
        `dative-plural`, `dative`; without a form asked for, the same without `dative`.
        """
        return self.forms.get(self.best_form(form, who.agree, who.number) or "", self.word)

    def best_form(self, form: str | None, agree: str | None, number: str) -> str | None:
        """Return the name of the form that `written` takes; None is the word itself."""
        form = None if form == "subject" and form not in self.forms else form
        for parts in ((form, agree, number), (form, agree), (form, number), (form,)):
            name = "-".join(part for part in parts if part)
            if name in self.forms:
                return name
        return None

    def has(self, form: str) -> bool:
        """Tell whether the word can be written in that form; the word itself is the subject."""
        return form == "subject" or any(
            name == form or name.startswith(f"{form}-") for name in self.forms
        )


@dataclass(frozen=True, slots=True)
class Lexicon:
    """A file of entries, with what they are and where they come from."""

    name: str
    description: str
    source: str
    entries: tuple[Entry, ...]


def load_lexicon(name_or_path: str | Path) -> Lexicon:
    """Load a bundled lexicon by name, or one of your own by path."""
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
    crossed = read_names(table.get("attributes", []), "attributes", findings)
    entries = read_entries(findings.list_at(table, "entries"), "entries", findings, crossed)
    if table.get("entries") == []:
        findings.add("entries", 'the lexicon is empty; add words, as in entries = ["one", "two"]')
    return Lexicon(name, description, source, entries), findings


def read_names(value: Any, key: str, findings: Findings) -> tuple[str, ...]:
    """Return the names of the values that entries have, such as race and gender."""
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return tuple(value)
    message = f'must be a list of names such as ["race", "gender"], found {found(value)}'
    findings.add(key, message)
    return ()


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


def read_entries(
    items: Iterable[Any], key: str, findings: Findings, crossed: Sequence[str] = ()
) -> tuple[Entry, ...]:
    """Return the entries of a list, noting the ones that are wrong and the ones listed twice.

    `crossed` are the attributes of which every entry must have a value.
    """
    entries: dict[str, Entry] = {}
    reader = _EntryReader(findings, crossed)
    listed = chain.from_iterable(
        reader.read(item, f"{key}[{index}]") for index, item in enumerate(items)
    )
    for place, entry in listed:
        # Uncased models, and every model at the start of a sentence, see them as one.
        if entry.word.casefold() in entries:
            message = f'the word "{entry.word}" stands twice (capitals do not tell words apart)'
            findings.add(place, f"{message}; remove one", near=entry.word, last=True)
        else:
            entries[entry.word.casefold()] = entry
    labels = {entry.label.casefold() for entry in entries.values()}
    for entry in entries.values():
        if entry.group and entry.word.casefold() in labels - {entry.label.casefold()}:
            message = f'"{entry.word}" is a word of "{entry.group}" and the name of another'
            findings.add(key, f"{message}; rename one", near=f'"{entry.word}"')
    return tuple(entries.values())


class _EntryReader:
    """Reads entries of one list: words, tables of one word, and groups of words."""

    def __init__(self, findings: Findings, crossed: Sequence[str]) -> None:
        self.findings = findings
        self.crossed = crossed

    def read(self, item: Any, key: str, group: str | None = None) -> list[tuple[str, Entry]]:
        """Return each entry with its place in the file; a group has several."""
        if isinstance(item, dict) and ("group" in item or "words" in item) and group is None:
            return self._group(item, key)
        entry = self._entry(item, key, group)
        return [] if entry is None else [(key, entry)]

    def _group(self, item: Mapping[str, Any], key: str) -> list[tuple[str, Entry]]:
        self.findings.check_keys(item, (*_GROUP_KEYS, *self.crossed), f"{key}.")
        name, words = item.get("group"), item.get("words")
        if not self._is_word(name, f"{key}.group"):
            return []
        if not isinstance(words, list) or not words:
            message = f'"{name}" needs a list of words, found {found(words)}'
            self.findings.add(f"{key}.words", message, near=f'"{name}"')
            return []
        shared = {part: item[part] for part in ("tags", *self.crossed) if part in item}
        members = []
        for index, word in enumerate(words):
            own = {"word": word} if isinstance(word, str) else word
            full = {**shared, **own} if isinstance(own, dict) else own
            members += self.read(full, f"{key}.words[{index}]", name)
        return members

    def _entry(self, item: Any, key: str, group: str | None) -> Entry | None:
        if isinstance(item, str):
            item = {"word": item}
        if not isinstance(item, dict):
            message = f"must be a word in quotes or a table, found {found(item)}"
            self.findings.add(key, message)
            return None
        if set(item) == set(NUMBERS):
            item = {"word": item["singular"], "forms": item}
        self.findings.check_keys(item, (*ENTRY_KEYS, *self.crossed), f"{key}.")
        if "word" not in item:
            form = '{ word = "..." } or { singular = .., plural = .. }'
            self.findings.add(key, f"has no word; write {form}")
            return None
        if not self._is_word(item["word"], key):
            return None
        values = {name: self._text(item, name, key) or "" for name in self.crossed}
        return Entry(
            word=item["word"],
            forms=self._words(item, "forms", key, '{ object = "him" }'),
            number=self._number(item, key),
            tags=self._tags(item, key),
            group=group or self._text(item, "key", key),
            agree=self._text(item, "agree", key),
            noun_gender=self._text(item, "noun_gender", key),
            articles=self._articles(item, key),
            values=values,
        )

    def _number(self, item: Mapping[str, Any], key: str) -> str:
        number = item.get("number", "singular")
        if number in NUMBERS:
            return str(number)
        message = f'must be "singular" or "plural", found {found(number)}'
        self.findings.add(f"{key}.number", message, near=f'"{item["word"]}"')
        return "singular"

    def _articles(self, item: Mapping[str, Any], key: str) -> dict[str, str]:
        if not isinstance(item.get("article"), dict):
            own = self._text(item, "article", key)
            return {} if own is None else {"a": own}
        written = self._words(item, "article", key, '{ a = "ein", the = "der" }')
        for kind in written:
            if kind.partition("-")[0] not in ARTICLES:
                message = "is no kind of article; write a, the, or one of them and an agreement"
                self.findings.add(f"{key}.article.{kind}", f"{message}, as in a-feminine")
        return written

    def _words(self, item: Mapping[str, Any], name: str, key: str, like: str) -> dict[str, str]:
        forms = item.get(name, {})
        if not isinstance(forms, dict):
            message = f"must be a table such as {like}, found {found(forms)}"
            self.findings.add(f"{key}.{name}", message)
            return {}
        return {
            form: word
            for form, word in forms.items()
            if self._is_word(word, f"{key}.{name}.{form}")
        }

    def _tags(self, item: Mapping[str, Any], key: str) -> tuple[str, ...]:
        tags = item.get("tags", [])
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            message = f'must be a list of texts such as ["majority-male"], found {found(tags)}'
            self.findings.add(f"{key}.tags", message, near=f'"{item["word"]}"')
            return ()
        return tuple(tags)

    def _text(self, item: Mapping[str, Any], name: str, key: str) -> str | None:
        """Return an optional text; a crossed attribute must be there."""
        if name not in item:
            if name in self.crossed:
                message = f'"{item["word"]}" has no {name}; add {name} = "..."'
                self.findings.add(key, message, near=f'"{item["word"]}"')
            return None
        return item[name] if self._is_word(item[name], f"{key}.{name}") else None

    def _is_word(self, value: Any, key: str) -> bool:
        if not isinstance(value, str):
            self.findings.add(key, f"must be a word in quotes, found {found(value)}")
            return False
        if not value or value != value.strip() or re.search(r"[{}\n\t]", value):
            message = f"is not a word: {value!r}; no spaces around it, no braces, not empty"
            self.findings.add(key, message, near=f'"{value}"')
            return False
        return True
