"""Reads a template file and notes every mistake in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmprobe.errors import did_you_mean
from lmprobe.templates.checks import check_sentences
from lmprobe.templates.contents import Contents, Line
from lmprobe.templates.document import read_document
from lmprobe.templates.lexicon import Entry, find_lexicon, read_entries, read_lexicon
from lmprobe.templates.pattern import parse
from lmprobe.templates.problems import Findings, found

_KEYS = ("name", "description", "source", "language", "attribute", "task", "sentences", "slots")
_SLOT_KEYS = ("lexicon", "words", "default")

Slots = Mapping[str, tuple[Entry, ...]]


def read_set(path: Path) -> tuple[Contents, Findings]:
    """Return what a template file says and every mistake in it and in its lexicons."""
    table, findings = read_document(path)
    if findings.problems:
        return Contents(), findings
    findings.check_keys(table, _KEYS)
    name, description, source, attribute, task = (
        findings.text_at(table, key)
        for key in ("name", "description", "source", "attribute", "task")
    )
    language = findings.text_at(table, "language") if "language" in table else "en"
    slots = _read_slots(table, findings)
    default = _read_default(table, attribute, slots, findings)
    lines = _read_lines(table, findings)
    contents = Contents(
        name=name,
        description=description,
        source=source,
        language=language,
        attribute=attribute,
        task=task,
        lines=lines,
        slots=slots,
        default=default,
    )
    _check_roles(contents, findings)
    check_sentences(contents, findings)
    return contents, findings


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
    if not isinstance(item, dict):
        form = '"..." or { text = "...", family = "..." }'
        findings.add(key, f"must be a sentence, {form}, found {found(item)}")
        return "", None
    findings.check_keys(item, ("text", "family"), f"{key}.")
    text, family = item.get("text"), item.get("family")
    if not isinstance(text, str) or not text.strip():
        findings.add(f"{key}.text", f"must be a sentence in quotes, found {found(text)}")
        text = ""
    if family is not None and not (isinstance(family, str) and family.strip()):
        findings.add(f"{key}.family", f"must be a name in quotes, found {found(family)}")
        family = None
    return text, family


def _read_slots(table: Mapping[str, Any], findings: Findings) -> Slots:
    slots = table.get("slots")
    if not isinstance(slots, dict) or not slots:
        what = "missing" if slots is None else f"must be a table, found {found(slots)}"
        findings.add("slots", f'{what}; add [slots] and a line such as verb = ["is", "was"]')
        return {}
    return {name: _read_slot(name, value, findings) for name, value in slots.items()}


def _read_slot(name: str, value: Any, findings: Findings) -> tuple[Entry, ...]:
    """Return the words of a slot; none when they cannot be had, which is then noted."""
    key = f"slots.{name}"
    if name == "a" or not re.fullmatch(r"\w[\w-]*", name):
        findings.add(key, f'"{name}" cannot name a slot; use letters, and not "a" alone')
    if isinstance(value, list):
        value = {"words": value}
    if not isinstance(value, dict):
        form = 'a list of words or { lexicon = "name" }'
        findings.add(key, f"must be {form}, found {found(value)}")
        return ()
    findings.check_keys(value, _SLOT_KEYS, f"{key}.")
    if ("lexicon" in value) == ("words" in value):
        findings.add(key, "needs either a lexicon or words; give one of the two")
        return ()
    if "words" in value:
        words = value["words"]
        if not isinstance(words, list) or not words:
            what = "is empty" if words == [] else f"must be a list, found {found(words)}"
            findings.add(key, f'{what}; give words, as in ["is", "was"]')
            return ()
        return read_entries(words, key, findings)
    return _from_lexicon(value["lexicon"], f"{key}.lexicon", findings)


def _from_lexicon(name: Any, key: str, findings: Findings) -> tuple[Entry, ...]:
    if not isinstance(name, str):
        findings.add(key, f"must be the name of a lexicon in quotes, found {found(name)}")
        return ()
    path = find_lexicon(name, findings.path, key, findings)
    if path is None:
        return ()
    lexicon, its = read_lexicon(path)
    findings.problems += its.problems
    return lexicon.entries


def _read_default(
    table: Mapping[str, Any], attribute: str, slots: Slots, findings: Findings
) -> tuple[str, ...]:
    """Return the attributes that a probe takes when it is not told which; none means all."""
    default: tuple[str, ...] = ()
    for slot, entries in slots.items():
        value = table["slots"][slot]
        if not isinstance(value, dict) or "default" not in value:
            continue
        key, chosen = f"slots.{slot}.default", value["default"]
        words = [entry.word for entry in entries]
        if slot != attribute and attribute in slots:
            findings.add(key, f'only the attribute slot "{attribute}" has a default; remove it')
        elif not isinstance(chosen, list) or len(chosen) < 2:
            findings.add(key, f"must be a list of at least two words, found {found(chosen)}")
        elif words and (unknown := [word for word in chosen if word not in words]):
            hint = did_you_mean(str(unknown[0]), words)
            findings.add(key, f'"{unknown[0]}" is none of the words of the slot; {hint}')
        elif len(set(map(str, chosen))) < len(chosen):
            findings.add(key, "has a word twice; remove one")
        else:
            default = tuple(chosen)
    return default


def _check_roles(contents: Contents, findings: Findings) -> None:
    for role, slot in (("attribute", contents.attribute), ("task", contents.task)):
        if not slot or not contents.slots:
            continue
        if slot not in contents.slots:
            findings.add(role, f'no slot called "{slot}"; {did_you_mean(slot, contents.slots)}')
        elif len(contents.slots[slot]) == 1:
            findings.add(f"slots.{slot}", f"the {role} needs at least two words, found one")
    if contents.attribute and contents.attribute == contents.task:
        findings.add("task", f'is the same slot as the attribute, "{contents.task}"; name another')
    for entry in contents.slots.get(contents.attribute, ()):
        if set(entry.forms) & {"singular", "plural"}:
            message = f'"{entry.word}" has singular or plural forms; give it a number instead'
            findings.add(f"slots.{contents.attribute}", message)
