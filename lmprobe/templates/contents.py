"""What a template file says, before its sentences are expanded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmprobe.templates.lexicon import Entry
from lmprobe.templates.template import Pattern


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
    slots: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    default: tuple[str, ...] = ()

    def sha256(self) -> str:
        """Return the hash of all that decides the sentences and how they are grouped.

        Descriptions, comments, layout and the place of the files do not change it; any
        word, form, number, article, sentence, family or default does.
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
        canonical = json.dumps(decides, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def _decisive(entry: Entry) -> dict[str, Any]:
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
