"""What a template file says, before its sentences are expanded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from lmprobe.templates.lexicon import Entry
from lmprobe.templates.pattern import Pattern


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
            "attribute": self.attribute,
            "task": self.task,
            "default": self.default,
            "sentences": [(line.text, line.family) for line in self.lines],
            # A list, because the order of the slots decides the order of the templates.
            "slots": [
                (slot, [asdict(entry) | {"tags": ()} for entry in entries])
                for slot, entries in self.slots.items()
            ],
        }
        canonical = json.dumps(decides, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()
