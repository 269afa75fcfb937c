"""What a reader must know about a number; renderers select notes by kind, never by words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class NoteKind(StrEnum):
    """What a note is about."""

    ASSUMPTION = "assumption"
    """What the interval takes for granted."""
    FEW_UNITS = "few_units"
    """The interval rests on too few units to be trusted."""
    NO_INTERVAL = "no_interval"
    UNDEFINED = "undefined"
    """Pairs that are left out of the mean."""
    LEFT_OUT = "left_out"
    """Words, rows or classes that take no part."""
    SMOOTHED = "smoothed"
    LEAN = "lean"
    """Where the lean comes from, where not from the base."""
    BASE = "base"
    """The base's own uncertainty, or what it does not cover."""
    SPLIT_WORDS = "split_words"
    SCORER = "scorer"
    """What the scorer does not see, or gets wrong."""
    ARTICLE = "article"
    MASS = "mass"
    """How much probability the candidates had."""
    QUALITY = "quality"
    """How well the model knows sentences like these."""
    TIE = "tie"
    PREFERENCE = "preference"
    """Why the value and the association differ."""
    THRESHOLD = "threshold"
    RUNS = "runs"
    """What an interval over training runs covers, beside one over rows."""
    MULTIPLICITY = "multiplicity"
    COMPARISON = "comparison"
    GROUPS = "groups"
    DATA = "data"
    METHOD = "method"
    OTHER = "other"
    """Notes of results written by version 1, which had no kinds."""

    @property
    def topic(self) -> str:
        """The heading under which a report lists notes of this kind."""
        return _TOPICS.get(self, "Other notes")


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know about a number; `scope` names the rows, and is empty for all."""

    kind: NoteKind
    text: str
    scope: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        document = {"kind": self.kind.value, "text": self.text}
        return document | ({"scope": self.scope} if self.scope else {})

    @classmethod
    def from_dict(cls, document: Mapping[str, Any] | str) -> Note:
        """Read the JSON form; in version 1 a note was its text alone."""
        if isinstance(document, str):
            return cls(NoteKind.OTHER, document)
        return cls(NoteKind(document["kind"]), document["text"], document.get("scope", ""))


_TOPICS = {
    NoteKind(kind): topic
    for topic, kinds in {
        "What the intervals assume": "assumption few_units no_interval method multiplicity",
        "What is left out": "undefined left_out smoothed",
        "The base": "base lean tie",
        "How the words are scored": "split_words scorer article mass",
        "The data": "data groups threshold comparison",
    }.items()
    for kind in kinds.split()
}
