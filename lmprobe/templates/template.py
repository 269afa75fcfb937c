"""A template: a sentence in which only the attribute and the task are still open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lmprobe.errors import InputError, did_you_mean
from lmprobe.templates.article import article
from lmprobe.templates.lexicon import Entry
from lmprobe.templates.pattern import Pattern

# Nothing before it, or a full stop that does not belong to an initial ("U.S.", "e.g.").
_SENTENCE_START = re.compile(r"(?:^|(?:(?<!\b[^\W\d_])\.|[!?…])[\"'”’)\]]*\s)\W*$")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A finished sentence, and where in it the attribute and the task are written.

    Spans are character offsets: `text[slice(*attribute_span)]` is the word as it is
    written here, in its form and with its capital. An article that was written for the word
    (`{a:slot}`) has its own span.
    """

    text: str
    attribute_span: Span
    task_span: Span
    attribute_article: Span | None = None
    task_article: Span | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """One sentence pattern; its name is the pattern with all other slots filled in."""

    name: str
    family: str | None
    pattern: Pattern = field(repr=False)
    fixed: Mapping[str, Entry] = field(repr=False)
    attribute_slot: str = field(repr=False)
    task_slot: str = field(repr=False)
    attribute_entries: Mapping[str, Entry] = field(repr=False)
    task_entries: Mapping[str, Entry] = field(repr=False)

    def sentence(self, attribute: str, task: str) -> Sentence:
        """Return the sentence about that attribute and task: articles, number, capital right."""
        who = _entry(self.attribute_entries, attribute, self.attribute_slot)
        what = _entry(self.task_entries, task, self.task_slot)
        chosen = {**self.fixed, self.attribute_slot: who, self.task_slot: what}
        text = ""
        spans: dict[str, Span] = {}
        articles: dict[str, Span] = {}
        for piece in self.pattern:
            if isinstance(piece, str):
                text += piece if text else _capitalized(piece)
                continue
            entry = chosen[piece.slot]
            word = entry.written(piece.form, who.number)
            if piece.article:
                before = _fitting(entry.article or article(word), text)
                articles[piece.slot] = (len(text), len(text) + len(before))
                text += before + " "
            word = _fitting(word, text)
            spans[piece.slot] = (len(text), len(text) + len(word))
            text += word
        return Sentence(
            text,
            spans[self.attribute_slot],
            spans[self.task_slot],
            articles.get(self.attribute_slot),
            articles.get(self.task_slot),
        )


def _entry(entries: Mapping[str, Entry], word: str, slot: str) -> Entry:
    if word not in entries:
        raise InputError(f'the slot "{slot}" has no word "{word}"; {did_you_mean(word, entries)}')
    return entries[word]


def _fitting(word: str, before: str) -> str:
    return _capitalized(word) if _SENTENCE_START.search(before) else word


def _capitalized(text: str) -> str:
    start = re.match(r"\W*", text)
    end = start.end() + 1 if start else 1
    return text[:end].upper() + text[end:]
