"""Reads a template file: what it says before its sentences are expanded, and every mistake."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from lmprobe.errors import did_you_mean
from lmprobe.templates.lexicon import (
    ENTRY_KEYS,
    NUMBERS,
    Findings,
    find_lexicon,
    read_document,
    read_entries,
    read_lexicon,
    read_names,
    shown,
)
from lmprobe.templates.template import ARTICLES, LexiconEntry, Pattern, parse

_KEYS = (
    "name", "description", "source", "language", "attribute", "task", "sentences", "chat", "slots",
)  # fmt: skip
_SLOT_KEYS = ("lexicon", "words", "attributes", "default")

Slots = Mapping[str, tuple[LexiconEntry, ...]]


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of the file: its key there, as written, as parsed, and its family."""

    key: str
    text: str
    pattern: Pattern
    family: str | None


@dataclass(frozen=True, slots=True)
class Contents:
    """The keys of a template file, with the words of its lexicons read in."""

    name: str = ""
    description: str = ""
    source: str = ""
    language: str = "en"
    attribute: str = ""
    """The slot of the attribute."""
    crossed: tuple[str, ...] = ()
    """The attributes of which each entry of that slot has a value, if they are several."""
    task: str = ""
    lines: tuple[Line, ...] = ()
    slots: Slots = field(default_factory=dict)
    default: tuple[str, ...] = ()
    chat: tuple[str, ...] = ()
    """Turns of the user: every sentence is the beginning of an answer to each."""
    system: str | None = None
    """What a system turn before them says; not in a file."""

    @property
    def roles(self) -> tuple[str, str]:
        """The slots of the attribute and of the task."""
        return self.attribute, self.task

    @property
    def attribute_entries(self) -> tuple[LexiconEntry, ...]:
        """The words of the attribute; none if its slot is missing."""
        return self.slots.get(self.attribute, ())

    def sha256(self) -> str:
        """Return the hash of all that decides the sentences and how they are grouped.

        Descriptions, comments, layout and the place of the files do not change it; any
        word, form, number, article, sentence, family, default or turn of a chat does.
        """
        decides = {
            "language": self.language,
            "attribute": list(self.crossed) or self.attribute,
            "task": self.task,
            "default": self.default,
            "sentences": [(line.text, line.family) for line in self.lines],
            # A list, because the order of the slots decides the order of the templates.
            "slots": [
                (slot, [_decisive(entry) for entry in entries])
                for slot, entries in self.slots.items()
            ],
        }
        decides |= {key: text for key in ("chat", "system") if (text := getattr(self, key))}
        canonical = json.dumps(decides, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def _decisive(entry: LexiconEntry) -> dict[str, Any]:
    """Return what of an entry decides sentences; keys added later appear only when used."""
    articles = dict(entry.articles)
    first = {
        "word": entry.word,
        "forms": entry.forms,
        "number": entry.number,
        "article": articles.pop("a", None),
        "tags": (),
    }
    later = {
        "group": entry.group,
        "agree": entry.agree,
        "noun_gender": entry.noun_gender,
        "articles": articles,
        "values": entry.values,
    }
    return first | {key: value for key, value in later.items() if value}


def read_set(path: Path) -> tuple[Contents, Findings]:
    """Return what a template file says and every mistake in it and in its lexicons."""
    table, findings = read_document(path)
    if findings.problems:
        return Contents(), findings
    findings.check_keys(table, _KEYS)
    texts = {key: findings.text_at(table, key) for key in ("name", "description", "source")}
    names = _attribute_names(table, findings)
    language = findings.text_at(table, "language") if "language" in table else "en"
    if language and not re.fullmatch(r"[a-z]{2,3}(-\w+)*", language):
        findings.add("language", f'must be a code such as "en" or "de", found "{language}"')
    task = findings.text_at(table, "task")
    slots = _read_slots(table, names, findings)
    attribute, slots = _attribute_slot(names, slots, findings)
    contents = Contents(
        **texts,
        language=language,
        attribute=attribute,
        crossed=() if names == (attribute,) else names,
        task=task,
        lines=_read_lines(table, findings),
        slots=slots,
        default=_read_default(table, attribute, slots, findings),
        chat=_read_chat(table, findings),
    )
    _check_roles(contents, findings)
    return contents, findings


def _attribute_names(table: Mapping[str, Any], findings: Findings) -> tuple[str, ...]:
    """Return the attribute, or the several attributes that are crossed."""
    names: Any = table.get("attribute")
    if not isinstance(names, list):
        return (findings.text_at(table, "attribute"),)
    if not names or not all(isinstance(name, str) and name for name in names):
        message = 'must be a name or a list of names, as in ["race", "gender"]'
        findings.add("attribute", message)
        return ("",)
    if len(set(names)) < len(names):
        findings.add("attribute", "has a name twice; remove one")
    if taken := sorted(set(names) & set(ENTRY_KEYS)):
        findings.add("attribute", f'"{taken[0]}" is a key of every entry; choose another name')
    return tuple(names)


def _attribute_slot(names: tuple[str, ...], slots: Slots, findings: Findings) -> tuple[str, Slots]:
    """Return the slot of the attribute, with its entries grouped by what the file compares.

    `attribute` names a slot, or values that the entries of one slot have.
    """
    if names == ("",) or not slots or (len(names) == 1 and names[0] in slots):
        return names[0], slots
    carrying = [
        slot
        for slot, entries in slots.items()
        if entries and all(set(names) <= set(entry.values) for entry in entries)
    ]
    if len(carrying) != 1:
        if len(names) == 1:
            hint = did_you_mean(names[0], slots)
            findings.add("attribute", f'no slot called "{names[0]}"; {hint}')
        elif not findings.problems:
            values = ", ".join(f'{name} = "..."' for name in names)
            message = f"the words of {len(carrying)} slots have values for {' and '.join(names)}"
            findings.add("attribute", f"{message}; one must, as in {{ word = .., {values} }}")
        return "", slots
    slot = carrying[0]
    grouped = [
        replace(entry, group=" & ".join(entry.values[name] for name in names))
        for entry in slots[slot]
    ]
    present_values = [dict.fromkeys(entry.values[name] for entry in grouped) for name in names]
    order = [" & ".join(choice) for choice in product(*present_values)]
    present = {entry.group for entry in grouped}
    for label in order:
        if label not in present:
            findings.add(f"slots.{slot}", f'no word is "{label}"; add one, or cross fewer')
    grouped.sort(key=lambda entry: order.index(entry.label))
    return slot, {**slots, slot: tuple(grouped)}


def _read_chat(table: Mapping[str, Any], findings: Findings) -> tuple[str, ...]:
    """Return the turns of the user before the sentences, each of which multiplies the set."""
    turns = findings.list_at(table, "chat") if "chat" in table else []
    if table.get("chat") == []:
        findings.add("chat", "is empty; add a turn, or remove the key")
    for index, turn in enumerate(turns):
        key = f"chat[{index}]"
        if not _is_text(turn):
            findings.expect(False, key, "what the user says, in quotes", turn)
        elif turn in turns[:index]:
            findings.add(key, f'the turn "{turn}" stands twice; remove one', near=turn, last=True)
    return tuple(turn for turn in turns if isinstance(turn, str))


def _read_lines(table: Mapping[str, Any], findings: Findings) -> tuple[Line, ...]:
    lines: dict[str, Line] = {}
    sentences = findings.list_at(table, "sentences")
    if table.get("sentences") == []:
        findings.add("sentences", "is empty; add at least one sentence")
    for index, item in enumerate(sentences):
        key = f"sentences[{index}]"
        text, family = _text_and_family(item, key, findings)
        if text in lines:
            findings.add(
                key, f'the sentence "{text}" stands twice; remove one', near=text, last=True
            )
        elif text:
            try:
                lines[text] = Line(key, text, parse(text), family)
            except ValueError as problem:
                findings.add(key, f'"{text}": {problem}', near=text)
    return tuple(lines.values())


def _text_and_family(item: Any, key: str, findings: Findings) -> tuple[str, str | None]:
    if isinstance(item, str):
        item = {"text": item}
    what = 'a sentence, "..." or { text = "...", family = "..." }'
    if not findings.expect(isinstance(item, dict), key, what, item):
        return "", None
    findings.check_keys(item, ("text", "family"), f"{key}.")
    text, family = item.get("text"), item.get("family")
    if not findings.expect(_is_text(text), f"{key}.text", "a sentence in quotes", text):
        text = ""
    fits = family is None or _is_text(family)
    if not findings.expect(fits, f"{key}.family", "a name in quotes", family):
        family = None
    return text, family


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _read_slots(table: Mapping[str, Any], attributes: tuple[str, ...], findings: Findings) -> Slots:
    slots = table.get("slots")
    if not isinstance(slots, dict) or not slots:
        what = "missing" if slots is None else f"must be a table, found {shown(slots)}"
        findings.add("slots", f'{what}; add [slots] and a line such as verb = ["is", "was"]')
        return {}
    crossed = tuple(name for name in attributes if name and name not in slots)
    return {name: _read_slot(name, value, crossed, findings) for name, value in slots.items()}


def _read_slot(
    name: str, value: Any, crossed: tuple[str, ...], findings: Findings
) -> tuple[LexiconEntry, ...]:
    """Return the words of a slot; none when they cannot be had, which is then noted."""
    key = f"slots.{name}"
    if name in ARTICLES or not re.fullmatch(r"\w[\w-]*", name):
        findings.add(key, f'"{name}" cannot name a slot; use letters, and not an article alone')
    if isinstance(value, list):
        value = {"words": value}
    what = 'a list of words or { lexicon = "name" }'
    if not findings.expect(isinstance(value, dict), key, what, value):
        return ()
    findings.check_keys(value, _SLOT_KEYS, f"{key}.")
    if ("lexicon" in value) == ("words" in value):
        findings.add(key, "needs either a lexicon or words; give one of the two")
        return ()
    if "words" in value:
        words = value["words"]
        if not isinstance(words, list) or not words:
            what = "is empty" if words == [] else f"must be a list, found {shown(words)}"
            findings.add(key, f'{what}; give words, as in ["is", "was"]')
            return ()
        valued = any(isinstance(word, dict) and set(crossed) & set(word) for word in words)
        named = read_names(value.get("attributes", []), f"{key}.attributes", findings)
        return read_entries(words, key, findings, named or (crossed if valued else ()))
    return _from_lexicon(value["lexicon"], f"{key}.lexicon", findings)


def _from_lexicon(name: Any, key: str, findings: Findings) -> tuple[LexiconEntry, ...]:
    if not findings.expect(isinstance(name, str), key, "the name of a lexicon in quotes", name):
        return ()
    path = find_lexicon(name, findings.path, key, findings)
    if path is None:
        return ()
    lexicon, lexicon_findings = read_lexicon(path)
    findings.problems += lexicon_findings.problems
    return lexicon.entries


def _read_default(
    table: Mapping[str, Any], attribute: str, slots: Slots, findings: Findings
) -> tuple[str, ...]:
    """Return the attributes that a probe takes by default; none means all."""
    default: tuple[str, ...] = ()
    for slot, entries in slots.items():
        value = table["slots"][slot]
        if not isinstance(value, dict) or "default" not in value:
            continue
        key, listed = f"slots.{slot}.default", value["default"]
        words = [entry.label for entry in entries]
        if slot != attribute and attribute in slots:
            findings.add(key, f'only the attribute slot "{attribute}" has a default; remove it')
        elif not isinstance(listed, list) or len(listed) < 2:
            findings.expect(False, key, "a list of at least two words", listed)
        elif words and (unknown := [word for word in listed if word not in words]):
            hint = did_you_mean(str(unknown[0]), words)
            findings.add(key, f'"{unknown[0]}" is none of the words of the slot; {hint}')
        elif len(set(map(str, listed))) < len(listed):
            findings.add(key, "has a word twice; remove one")
        else:
            default = tuple(listed)
    return default


def _check_roles(contents: Contents, findings: Findings) -> None:
    for role, slot in zip(("attribute", "task"), contents.roles, strict=True):
        if not slot or not contents.slots:
            continue
        if slot not in contents.slots:
            findings.add(role, f'no slot called "{slot}"; {did_you_mean(slot, contents.slots)}')
        elif len({entry.label for entry in contents.slots[slot]}) == 1:
            findings.add(f"slots.{slot}", f"the {role} needs at least two words, found one")
    if contents.attribute and contents.attribute == contents.task:
        findings.add("task", f'is the same slot as the attribute, "{contents.task}"; name another')
    for entry in contents.attribute_entries:
        if set(entry.forms) & set(NUMBERS):
            message = f'"{entry.word}" has singular or plural forms; give it a number instead'
            findings.add(f"slots.{contents.attribute}", message)
    for slot, entries in contents.slots.items():
        for entry in entries:
            if slot != contents.attribute and entry.agree:
                message = f'"{entry.word}" says agree; only words of the attribute do'
                findings.add(f"slots.{slot}", message, near=f'"{entry.word}"')
