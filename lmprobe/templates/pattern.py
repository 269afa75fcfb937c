"""A sentence as it stands in a template file: literal text and the slots between it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SLOT = re.compile(r"\{([^{}]*)\}")
_FIELD = re.compile(r"(?P<article>a:)?(?P<slot>\w[\w-]*)(?::(?P<form>\w[\w-]*))?")


@dataclass(frozen=True, slots=True)
class Field:
    """The place of a slot: `{slot}`, `{slot:form}`, or with its article `{a:slot}`."""

    slot: str
    form: str | None = None
    article: bool = False


Pattern = tuple[str | Field, ...]


def parse(text: str) -> Pattern:
    """Return the literal texts and fields of a sentence, or raise ValueError saying why not.

    >>> parse("{pronoun} is {a:occupation}.")[1:]
    (' is ', Field(slot='occupation', form=None, article=True), '.')
    """
    pieces: list[str | Field] = []
    for index, part in enumerate(_SLOT.split(text)):
        if index % 2:
            pieces.append(_field(part))
        elif "{" in part or "}" in part:
            raise ValueError("a brace has no partner; slots are written {slot}")
        elif part:
            pieces.append(part)
    return tuple(pieces)


def fields(pattern: Pattern) -> tuple[Field, ...]:
    """Return the fields of a pattern, in order."""
    return tuple(piece for piece in pattern if isinstance(piece, Field))


def literal(pattern: Pattern) -> str:
    """Return the text of a pattern that does not depend on any word."""
    return " ".join(piece for piece in pattern if isinstance(piece, str))


def _field(inside: str) -> Field:
    match = _FIELD.fullmatch(inside)
    if not match:
        raise ValueError(f"{{{inside}}} is not a slot; write {{slot}}, {{slot:form}} or {{a:slot}}")
    return Field(match["slot"], match["form"], bool(match["article"]))
