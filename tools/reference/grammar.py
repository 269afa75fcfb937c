"""The little language: frames with slots, read from grammar.toml and filled at random."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

_SLOT = re.compile(r"\{(a:)?(\w+)\}")
_PRONOUN_FORMS = ("he", "him", "his")
# By sound, for the few words of the grammar whose first letter misleads.
_TAKES_AN = ("honest",)
_TAKES_A = ("european", "ugandan", "useful")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the corpus; spans are character offsets into `text`."""

    text: str
    pronoun: str | None = None
    occupation: str | None = None
    pronoun_span: Span | None = None
    occupation_span: Span | None = None

    def shifted(self, before: str, after: str) -> Line:
        """Return the same line between two other sentences, either of which may be empty."""
        move = len(before) + 1 if before else 0
        text = " ".join(part for part in (before, self.text, after) if part)
        return Line(
            text,
            self.pronoun,
            self.occupation,
            _shift(self.pronoun_span, move),
            _shift(self.occupation_span, move),
        )


@dataclass(frozen=True, slots=True)
class Grammar:
    """Frames by kind (link, occupation, pronoun, other) and the words that fill them."""

    pronouns: dict[str, dict[str, str]]
    agreement: dict[str, dict[str, str]]
    frames: dict[str, tuple[str, ...]]
    words: dict[str, tuple[str, ...]]

    def fill(
        self,
        frame: str,
        rng: np.random.Generator,
        *,
        count: int,
        pronouns: Sequence[str] = (),
        occupations: Sequence[str] = (),
    ) -> Iterator[Line]:
        """Fill one frame `count` times, the i-th time for the i-th pronoun and occupation."""
        columns: list[list[str]] = []
        roles: list[str | None] = []
        for literal, article, slot in _parts(frame):
            if not slot:
                columns.append([literal] * count)
                roles.append(None)
                continue
            filled = self._column(slot, rng, count, pronouns, occupations)
            if article:
                columns.append([f"{article_of(word)} " for word in filled])
                roles.append(None)
            columns.append(filled)
            roles.append(
                "pronoun" if slot in _PRONOUN_FORMS else slot if slot == "occupation" else None
            )
        for row, pieces in enumerate(zip(*columns, strict=True)):
            yield _line(pieces, roles, _nth(pronouns, row), _nth(occupations, row))

    def _column(
        self,
        slot: str,
        rng: np.random.Generator,
        count: int,
        pronouns: Sequence[str],
        occupations: Sequence[str],
    ) -> list[str]:
        if slot == "occupation":
            return list(occupations)
        if slot in _PRONOUN_FORMS:
            return [self.pronouns[pronoun][slot] for pronoun in pronouns]
        if slot in self.agreement:
            forms = self.agreement[slot]
            return [forms[self.pronouns[pronoun]["number"]] for pronoun in pronouns]
        words = self.words[slot]
        return [words[index] for index in deal(rng, len(words), count)]


def deal(rng: np.random.Generator, size: int, count: int) -> list[int]:
    """Deal `count` whole numbers below `size`: all of them shuffled, then all again, and so on.

    Dealt to lines in the order of their pronouns and occupations, every word goes to each of
    them equally often; drawn one by one, words would by chance lean a little to he or she,
    and a model would learn that. From uniform doubles, the stream of which numpy has never
    changed, so that a seed means the same corpus in every version.

    >>> sorted(deal(np.random.default_rng(0), 3, 6))
    [0, 0, 1, 1, 2, 2]
    """
    rounds = -(-count // size)
    dealt: list[int] = np.argsort(rng.random((rounds, size)), axis=1).ravel()[:count].tolist()
    return dealt


def article_of(word: str) -> str:
    """Return the article that a word of the grammar takes.

    >>> article_of("auditor"), article_of("honest"), article_of("European")
    ('an', 'an', 'a')
    """
    plain = word.lower()
    if plain.startswith(_TAKES_A):
        return "a"
    return "an" if plain[0] in "aeiou" or plain.startswith(_TAKES_AN) else "a"


@cache
def load_grammar() -> Grammar:
    """Read the grammar that lies beside this file."""
    text = (Path(__file__).parent / "grammar.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return Grammar(
        tables["pronouns"],
        tables["agreement"],
        {kind: tuple(frames) for kind, frames in tables["frames"].items()},
        {slot: tuple(words) for slot, words in tables["words"].items()},
    )


@cache
def _parts(frame: str) -> tuple[tuple[str, bool, str], ...]:
    """Cut a frame into (literal, "", "") and ("", article wanted, slot)."""
    parts: list[tuple[str, bool, str]] = []
    start = 0
    for match in _SLOT.finditer(frame):
        if match.start() > start:
            parts.append((frame[start : match.start()], False, ""))
        parts.append(("", match.group(1) is not None, match.group(2)))
        start = match.end()
    if start < len(frame):
        parts.append((frame[start:], False, ""))
    return tuple(parts)


def _line(
    pieces: Sequence[str], roles: Sequence[str | None], pronoun: str | None, occupation: str | None
) -> Line:
    spans: dict[str, Span] = {}
    length = 0
    for piece, role in zip(pieces, roles, strict=True):
        if role is not None:
            spans[role] = (length, length + len(piece))
        length += len(piece)
    text = "".join(pieces)
    return Line(
        text[0].upper() + text[1:],
        pronoun,
        occupation,
        spans.get("pronoun"),
        spans.get("occupation"),
    )


def _nth(words: Sequence[str], row: int) -> str | None:
    return words[row] if words else None


def _shift(span: Span | None, move: int) -> Span | None:
    return None if span is None else (span[0] + move, span[1] + move)
