"""A template set: the sentences of one file, expanded, with what they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from lmprobe.resources import find, names
from lmprobe.templates.article import article
from lmprobe.templates.contents import Contents, Line
from lmprobe.templates.lexicon import Entry
from lmprobe.templates.pattern import fields
from lmprobe.templates.problems import Findings
from lmprobe.templates.reader import read_set
from lmprobe.templates.template import Template


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """Templates over one attribute and one task, and the words that may fill these."""

    name: str
    description: str
    source: str
    language: str
    sha256: str
    attribute_slot: str
    task_slot: str
    attributes: tuple[str, ...]
    all_attributes: tuple[str, ...]
    tasks: tuple[str, ...] = field(repr=False)
    templates: tuple[Template, ...] = field(repr=False)
    attribute_tags: Mapping[str, tuple[str, ...]] = field(repr=False)
    task_tags: Mapping[str, tuple[str, ...]] = field(repr=False)

    @property
    def families(self) -> tuple[str, ...]:
        """Return the paraphrase family of each template.

        A template whose sentence names no family is a family of its own, under its own name.
        """
        return tuple(template.family or template.name for template in self.templates)


def load_templates(name_or_path: str | Path) -> TemplateSet:
    """Return a shipped template set by name, or one of your own by path, checked.

    >>> load_templates("fitbert").templates[0].sentence("she", "nurse").text
    'She is a new nurse.'
    """
    contents, findings = check_set(find(name_or_path, "templates", ".toml"))
    findings.raise_any()
    attributes = contents.slots[contents.attribute]
    tasks = contents.slots[contents.task]
    words = tuple(entry.word for entry in attributes)
    return TemplateSet(
        name=contents.name,
        description=contents.description,
        source=contents.source,
        language=contents.language,
        sha256=contents.sha256(),
        attribute_slot=contents.attribute,
        task_slot=contents.task,
        attributes=contents.default or words,
        all_attributes=words,
        tasks=tuple(entry.word for entry in tasks),
        templates=_expand(contents),
        attribute_tags={entry.word: entry.tags for entry in attributes},
        task_tags={entry.word: entry.tags for entry in tasks},
    )


def check_set(path: Path) -> tuple[Contents, Findings]:
    """Return what a template file says and every mistake in it, two equal templates included."""
    contents, findings = read_set(path)
    if not findings.problems:
        seen: set[str] = set()
        for template in _expand(contents):
            if template.name in seen:
                findings.add("sentences", f'two templates come out as "{template.name}"')
            seen.add(template.name)
    return contents, findings


def template_names() -> tuple[str, ...]:
    """Return the names of the template sets that come with lmprobe."""
    return names("templates", ".toml")


def _expand(contents: Contents) -> tuple[Template, ...]:
    """Return one template per sentence and choice of words, earlier slots slowest."""
    open_slots = (contents.attribute, contents.task)
    who, what = ({entry.word: entry for entry in contents.slots[slot]} for slot in open_slots)
    templates = []
    for line in contents.lines:
        used = {one.slot for one in fields(line.pattern)} - set(open_slots)
        varying = [slot for slot in contents.slots if slot in used]
        for choice in product(*(contents.slots[slot] for slot in varying)):
            fixed = dict(zip(varying, choice, strict=True))
            templates.append(
                Template(
                    name=_name(line, fixed),
                    family=line.family,
                    pattern=line.pattern,
                    fixed=fixed,
                    attribute_slot=contents.attribute,
                    task_slot=contents.task,
                    attribute_entries=who,
                    task_entries=what,
                )
            )
    return tuple(templates)


def _name(line: Line, fixed: Mapping[str, Entry]) -> str:
    """Return the sentence as the file has it, with the words of this template filled in."""
    name = ""
    for piece in line.pattern:
        if isinstance(piece, str):
            name += piece
        elif piece.slot in fixed:
            entry = fixed[piece.slot]
            word = entry.written(piece.form, "singular")
            name += f"{entry.article or article(word)} {word}" if piece.article else word
        else:
            form = f":{piece.form}" if piece.form else ""
            name += f"{{{'a:' if piece.article else ''}{piece.slot}{form}}}"
    return name
