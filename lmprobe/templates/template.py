"""A template: a sentence in which only the attribute and the task are still open."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lmprobe.errors import InputError, did_you_mean
from lmprobe.templates.articles import article
from lmprobe.templates.lexicon import Entry

_SLOT = re.compile(r"\{([^{}]*)\}")
_FIELD = re.compile(r"(?:(?P<article>a|the):)?(?P<slot>\w[\w-]*)(?::(?P<form>\w[\w-]*))?")
# Nothing before it, or a full stop that does not belong to an initial ("U.S.", "e.g.").
_SENTENCE_START = re.compile(r"(?:^|(?:(?<!\b[^\W\d_])\.|[!?…])[\"'”’)\]]*\s)\W*$")


@dataclass(frozen=True, slots=True)
class Field:
    """The place of a slot: `{slot}`, `{slot:form}`, with its article `{a:slot}`, `{the:slot}`."""

    slot: str
    form: str | None = None
    article: str | None = None

    def __str__(self) -> str:
        """Return the field as a template file writes it."""
        lead = f"{self.article}:" if self.article else ""
        return f"{{{lead}{self.slot}{f':{self.form}' if self.form else ''}}}"


Pattern = tuple[str | Field, ...]


def parse(text: str) -> Pattern:
    """Return the literal texts and fields of a sentence, or raise ValueError saying why not.

    >>> parse("{pronoun} is {a:occupation}.")[1:]
    (' is ', Field(slot='occupation', form=None, article='a'), '.')
    """
    pieces: list[str | Field] = []
    for index, part in enumerate(_SLOT.split(text)):
        if index % 2:
            match = _FIELD.fullmatch(part)
            if not match:
                forms = "{slot}, {slot:form}, {a:slot} or {the:slot}"
                raise ValueError(f"{{{part}}} is not a slot; write {forms}")
            pieces.append(Field(match["slot"], match["form"], match["article"]))
        elif "{" in part or "}" in part:
            raise ValueError("a brace has no partner; slots are written {slot}")
        elif part:
            pieces.append(part)
    return tuple(pieces)


def fields(pattern: Pattern) -> tuple[Field, ...]:
    """Return the fields of a pattern, in order."""
    return tuple(piece for piece in pattern if isinstance(piece, Field))


@dataclass(frozen=True, slots=True)
class Span:
    """Where a slot is written in a sentence, its article included, as character offsets."""

    slot: str
    start: int
    end: int
    word_start: int
    """Where the word itself begins; `start` if it has no article of its own."""

    @property
    def word(self) -> tuple[int, int]:
        """The offsets of the word alone."""
        return self.word_start, self.end


@dataclass(frozen=True, slots=True)
class Sentence:
    """A finished sentence, and where in it every slot is written.

    What agrees with the attribute (a verb, an adjective, a participle) is a slot too, so the
    text between the spans is the same for every attribute and task of the template.
    """

    text: str
    spans: tuple[Span, ...]
    """In the order of the sentence; one per slot."""
    attribute_slot: str
    task_slot: str

    def span(self, slot: str) -> Span:
        """Return the span of a slot of the sentence."""
        return next(span for span in self.spans if span.slot == slot)

    def written(self, slot: str) -> str:
        """Return the text of a slot, its article included."""
        span = self.span(slot)
        return self.text[span.start : span.end]

    @property
    def attribute_span(self) -> tuple[int, int]:
        """Where the word of the attribute is written."""
        return self.span(self.attribute_slot).word

    @property
    def task_span(self) -> tuple[int, int]:
        """Where the word of the task is written."""
        return self.span(self.task_slot).word

    @property
    def attribute_article(self) -> tuple[int, int] | None:
        """Where the article of the attribute's word is written, if it has one of its own."""
        return self._article(self.attribute_slot)

    @property
    def task_article(self) -> tuple[int, int] | None:
        """Where the article of the task's word is written, if it has one of its own."""
        return self._article(self.task_slot)

    def _article(self, slot: str) -> tuple[int, int] | None:
        span = self.span(slot)
        lead = self.text[span.start : span.word_start].rstrip()
        return (span.start, span.start + len(lead)) if lead else None


def differing_slots(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """Return the slots whose text, article included, is not the same in all the sentences.

    The sentences are the candidates of one blank, so they have the same slots. To guess
    between them, these slots are what must be hidden and scored.
    """
    return tuple(
        span.slot
        for span in sentences[0].spans
        if len({sentence.written(span.slot) for sentence in sentences}) > 1
    )


@dataclass(frozen=True, slots=True)
class Template:
    """One sentence pattern; its name is the pattern with all other slots filled in."""

    name: str
    family: str | None
    language: str
    pattern: Pattern = field(repr=False)
    fixed: Mapping[str, Entry] = field(repr=False)
    attribute_slot: str = field(repr=False)
    task_slot: str = field(repr=False)
    attribute_entries: Mapping[str, Entry] = field(repr=False)
    task_entries: Mapping[str, Entry] = field(repr=False)

    def sentence(self, attribute: str, task: str) -> Sentence:
        """Return the sentence about that attribute and task: articles, agreement, capital right.

        Both are words of the set; the name of a group or a key stands for its only word.
        """
        who = _entry(self.attribute_entries, attribute, self.attribute_slot)
        what = _entry(self.task_entries, task, self.task_slot)
        words = {**self.fixed, self.attribute_slot: who, self.task_slot: what}
        text = ""
        spans = []
        for piece in self.pattern:
            if isinstance(piece, str):
                text += piece if text else _capitalized(piece)
                continue
            start = len(text)
            entry = words[piece.slot]
            word = entry.written(piece.form, who)
            if piece.article:
                lead = written_article(piece, entry, word, self.language, who.agree)
                assert lead is not None, "the reader refuses sets whose articles are not known"
                lead = _capitalized_at_start(lead, text)
                text += lead if lead.endswith("'") else f"{lead} "
            word = _capitalized_at_start(word, text)
            spans.append(Span(piece.slot, start, len(text) + len(word), len(text)))
            text += word
        return Sentence(text, tuple(spans), self.attribute_slot, self.task_slot)


def written_article(
    piece: Field, entry: Entry, word: str, language: str, agree: str | None
) -> str | None:
    """Return the article of a word in a field, None if neither entry nor language has it."""
    kind = piece.article or ""
    own = entry.articles.get(f"{kind}-{agree}") or entry.articles.get(kind)
    gender = entry.noun_gender or agree
    return own or article(word, kind, language=language, gender=gender, case=piece.form)


def _entry(entries: Mapping[str, Entry], word: str, slot: str) -> Entry:
    if word in entries:
        return entries[word]
    members = [entry for entry in entries.values() if entry.label == word]
    if len(members) == 1:
        return members[0]
    if members:
        words = ", ".join(entry.word for entry in members)
        raise InputError(f'the group "{word}" of the slot "{slot}" has several words: {words}')
    raise InputError(f'the slot "{slot}" has no word "{word}"; {did_you_mean(word, entries)}')


def _capitalized_at_start(word: str, before: str) -> str:
    return _capitalized(word) if _SENTENCE_START.search(before) else word


def _capitalized(text: str) -> str:
    start = re.match(r"\W*", text)
    end = start.end() + 1 if start else 1
    return text[:end].upper() + text[end:]
