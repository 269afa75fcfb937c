"""Lexicons: the words that may fill a slot, read from TOML with every mistake noted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from lmprobe.errors import DataFileError, did_you_mean
from lmprobe.io.files import Problem, find_shipped, parse_toml, shipped_names
from lmprobe.templates.template import ARTICLES, LexiconEntry

FOLDER = "templates/lexicons"
NUMBERS = ("singular", "plural")
_LEXICON_KEYS = ("name", "description", "source", "attributes", "entries")
ENTRY_KEYS = ("word", "key", "forms", "number", "agree", "noun_gender", "article", "tags")
_GROUP_KEYS = ("group", "words", "tags")


class Findings:
    """The mistakes found so far in one file and in the files it names."""

    def __init__(self, path: Path, text: str = "") -> None:
        """Start with none; `text` is what line numbers are looked up in."""
        self.path = path
        self.text = text
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def add(self, key: str, message: str, *, near: str | None = None, last: bool = False) -> None:
        """Note a mistake; its line is the first (or last) one that has `near`, or else the key."""
        self.problems.append(Problem(self.path, key, message, self._line(key, near, last)))

    def warn(self, key: str, message: str, *, near: str | None = None) -> None:
        """Note what makes results misleading, although the file can be used."""
        line = self._line(key, near, last=False)
        self.warnings.append(Problem(self.path, key, message, line, warning=True))

    def expect(
        self, fits: bool, key: str, what: str, value: object, *, near: str | None = None
    ) -> bool:
        """Return whether a value is what it must be; note it if not."""
        if not fits:
            self.add(key, f"must be {what}, found {shown(value)}", near=near)
        return fits

    def raise_any(self) -> None:
        """Raise the first mistake as an error that says how many more there are."""
        if not self.problems:
            return
        more = len(self.problems) - 1
        rest = f" ({more} more; `lmprobe validate {self.path}` shows all)" if more else ""
        raise DataFileError(f"{self.problems[0]}{rest}")

    def check_keys(self, keys: Iterable[str], allowed: Sequence[str], where: str = "") -> None:
        """Note every key that is none of those allowed."""
        for key in keys:
            if key not in allowed:
                self.add(f"{where}{key}", f"unknown key; {did_you_mean(key, allowed)}")

    def text_at(self, table: Mapping[str, Any], key: str) -> str:
        """Return the text under a key that must be there, or note what is wrong and return ""."""
        text: str = self._value_at(table, key, "", '"..."', "a text in quotes")
        if isinstance(table.get(key), str) and not text.strip():
            self.add(key, "is empty; write something")
        return text

    def list_at(self, table: Mapping[str, Any], key: str) -> list[Any]:
        """Return the list under a key that must be there, or note what is wrong and return []."""
        items: list[Any] = self._value_at(table, key, [], "[...]", "a list in square brackets")
        return items

    def _value_at(
        self, table: Mapping[str, Any], key: str, default: Any, like: str, what: str
    ) -> Any:
        if key not in table:
            self.add(key, f"missing; add a line {key} = {like}")
            return default
        fits = self.expect(isinstance(table[key], type(default)), key, what, table[key])
        return table[key] if fits else default

    def _line(self, key: str, near: str | None, last: bool) -> int | None:
        # tomllib keeps no positions, so the place is looked up in the text again.
        bare = re.escape(re.sub(r"\[\d+\]$", "", key).rpartition(".")[2])
        named = rf'^\s*\[?"?{bare}"?\s*[\]=]|\b{bare}\s*='
        for pattern in (re.escape(near), named) if near else (named,):
            lines = [
                number
                for number, line in enumerate(self.text.splitlines(), start=1)
                if not line.lstrip().startswith("#") and re.search(pattern, line)
            ]
            if lines:
                return lines[-1] if last else lines[0]
        return None


def shown(value: object) -> str:
    """Return a value of a TOML file as an error message names it."""
    match value:
        case None:
            return "nothing"
        case str():
            return f'the text "{value}"'
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "a table"
        case _:
            return f"{type(value).__name__} {value}"


def read_document(path: Path) -> tuple[dict[str, Any], Findings]:
    """Return the content of a TOML file and its findings; unreadable, it is empty with one."""
    raw = path.read_bytes()
    findings = Findings(path)
    try:
        # Editors on Windows put a byte-order mark first, which TOML itself refuses; some on macOS
        # write letters and accents apart, which are other tokens to a model.
        findings.text = unicodedata.normalize("NFC", raw.decode("utf-8-sig"))
        return parse_toml(findings.text), findings
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8 (byte 0x{raw[error.start]:02x}); save it in that encoding"
    except ValueError as error:
        place = re.search(r"at line (\d+)", str(error))
        # "at end of document" is the only other place that tomllib names.
        line = int(place[1]) if place else len(findings.text.splitlines())
        message = f"is not valid TOML: {error}"
    findings.problems.append(Problem(path, "", message, line))
    return {}, findings


@dataclass(frozen=True, slots=True)
class TemplateLexicon:
    """A file of entries, with what they are and where they come from."""

    name: str
    description: str
    source: str
    entries: tuple[LexiconEntry, ...]


def load_lexicon(name_or_path: str | Path) -> TemplateLexicon:
    """Load a bundled lexicon by name, or one of your own by path."""
    lexicon, findings = read_lexicon(find_shipped(name_or_path, FOLDER, ".toml"))
    findings.raise_any()
    return lexicon


def lexicon_names() -> tuple[str, ...]:
    """Return the names of the lexicons that come with lmprobe."""
    return shipped_names(FOLDER, ".toml")


def read_lexicon(path: Path) -> tuple[TemplateLexicon, Findings]:
    """Return what a lexicon file says and every mistake in it."""
    table, findings = read_document(path)
    if findings.problems:
        return TemplateLexicon(path.stem, "", "", ()), findings
    findings.check_keys(table, _LEXICON_KEYS)
    texts = {key: findings.text_at(table, key) for key in ("name", "description", "source")}
    crossed = read_names(table.get("attributes", []), "attributes", findings)
    entries = read_entries(findings.list_at(table, "entries"), "entries", findings, crossed)
    if table.get("entries") == []:
        findings.add("entries", 'the lexicon is empty; add words, as in entries = ["one", "two"]')
    return TemplateLexicon(**texts, entries=entries), findings


def read_names(value: Any, key: str, findings: Findings) -> tuple[str, ...]:
    """Return the names of the values that entries have, such as race and gender."""
    fits = isinstance(value, list) and all(isinstance(name, str) for name in value)
    what = 'a list of names such as ["race", "gender"]'
    return tuple(value) if findings.expect(fits, key, what, value) else ()


def find_lexicon(name: str, beside: Path, key: str, findings: Findings) -> Path | None:
    """Return the file of a lexicon that a set names: beside the set first, then shipped."""
    own = {path.stem: path for path in (beside.parent / "lexicons").glob("*.toml")}
    if name in own:
        return own[name]
    if name in lexicon_names():
        return find_shipped(name, FOLDER, ".toml")
    hint = did_you_mean(name, {*own, *lexicon_names()})
    findings.add(key, f'no lexicon called "{name}"; {hint}', near=f'"{name}"')
    return None


def read_entries(
    items: Iterable[Any], key: str, findings: Findings, crossed: Sequence[str] = ()
) -> tuple[LexiconEntry, ...]:
    """Return the entries of a list, noting the ones that are wrong and the ones listed twice.

    `crossed` are the attributes of which every entry must have a value.
    """
    entries: dict[str, LexiconEntry] = {}
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

    def read(self, item: Any, key: str, group: str | None = None) -> list[tuple[str, LexiconEntry]]:
        """Return each entry with its place in the file; a group has several."""
        if isinstance(item, dict) and ("group" in item or "words" in item) and group is None:
            return self._group(item, key)
        entry = self._entry(item, key, group)
        return [] if entry is None else [(key, entry)]

    def _group(self, item: Mapping[str, Any], key: str) -> list[tuple[str, LexiconEntry]]:
        self.findings.check_keys(item, (*_GROUP_KEYS, *self.crossed), f"{key}.")
        name, words = item.get("group"), item.get("words")
        if not self._is_word(name, f"{key}.group"):
            return []
        if not isinstance(words, list) or not words:
            message = f'"{name}" needs a list of words, found {shown(words)}'
            self.findings.add(f"{key}.words", message, near=f'"{name}"')
            return []
        shared = {part: item[part] for part in ("tags", *self.crossed) if part in item}
        members = []
        for index, word in enumerate(words):
            own = {"word": word} if isinstance(word, str) else word
            full = {**shared, **own} if isinstance(own, dict) else own
            members += self.read(full, f"{key}.words[{index}]", name)
        return members

    def _entry(self, item: Any, key: str, group: str | None) -> LexiconEntry | None:
        if isinstance(item, str):
            item = {"word": item}
        if not self.findings.expect(
            isinstance(item, dict), key, "a word in quotes or a table", item
        ):
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
        return LexiconEntry(
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
        what, near = '"singular" or "plural"', f'"{item["word"]}"'
        fits = self.findings.expect(number in NUMBERS, f"{key}.number", what, number, near=near)
        return str(number) if fits else "singular"

    def _tags(self, item: Mapping[str, Any], key: str) -> tuple[str, ...]:
        tags = item.get("tags", [])
        fits = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
        what, near = 'a list of texts such as ["majority-male"]', f'"{item["word"]}"'
        return (
            tuple(tags) if self.findings.expect(fits, f"{key}.tags", what, tags, near=near) else ()
        )

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
        key, forms = f"{key}.{name}", item.get(name, {})
        if not self.findings.expect(isinstance(forms, dict), key, f"a table such as {like}", forms):
            return {}
        return {form: word for form, word in forms.items() if self._is_word(word, f"{key}.{form}")}

    def _text(self, item: Mapping[str, Any], name: str, key: str) -> str | None:
        """Return an optional text; a crossed attribute must be there."""
        if name not in item:
            if name in self.crossed:
                message = f'"{item["word"]}" has no {name}; add {name} = "..."'
                self.findings.add(key, message, near=f'"{item["word"]}"')
            return None
        return item[name] if self._is_word(item[name], f"{key}.{name}") else None

    def _is_word(self, value: Any, key: str) -> bool:
        if not self.findings.expect(isinstance(value, str), key, "a word in quotes", value):
            return False
        if not value or value != value.strip() or re.search(r"[{}\n\t]", value):
            message = f"is not a word: {value!r}; no spaces around it, no braces, not empty"
            self.findings.add(key, message, near=f'"{value}"')
            return False
        return True
