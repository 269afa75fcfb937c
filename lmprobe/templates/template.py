"""Templates: words with their forms and articles, and the sentences that they are put into."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lmprobe.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from inflect import engine


@dataclass(frozen=True, slots=True)
class LexiconEntry:
    """One word of a slot: how it is written where, what agrees with it, what it counts as."""

    word: str
    forms: Mapping[str, str] = field(default_factory=dict)
    number: str = "singular"
    tags: tuple[str, ...] = ()
    group: str | None = None
    """The group whose word it is, or the key that it shares with other languages."""
    agree: str | None = None
    """The form, such as "feminine", of the words that agree with it."""
    noun_gender: str | None = None
    """The gender of the word itself, where it does not follow the attribute."""
    articles: Mapping[str, str] = field(default_factory=dict)
    """Its articles by kind, "a" or "the", or by kind and agreement, "a-feminine"."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Its value in each of several crossed attributes."""

    @property
    def label(self) -> str:
        """What results and base tables call it: its group or key, or else the word."""
        return self.group or self.word

    def written(self, form: str | None, who: LexiconEntry) -> str:
        """Return the word in a form, as it agrees with the attribute's entry `who`.

        The most specific form that it has: `dative-feminine-plural`, `dative-feminine`,
        `dative-plural`, `dative`; without a form asked for, the same without `dative`.
        """
        return self.forms.get(self.best_form(form, who.agree, who.number) or "", self.word)

    def best_form(self, form: str | None, agree: str | None, number: str) -> str | None:
        """Return the name of the form that `written` takes; None is the word itself."""
        form = None if form == "subject" and form not in self.forms else form
        for parts in ((form, agree, number), (form, agree), (form, number), (form,)):
            name = "-".join(part for part in parts if part)
            if name in self.forms:
                return name
        return None

    def has(self, form: str) -> bool:
        """Tell whether the word can be written in that form; the word itself is the subject."""
        return form == "subject" or any(
            name == form or name.startswith(f"{form}-") for name in self.forms
        )


def words_by_label(
    entries: Iterable[LexiconEntry], *, forms: bool = False
) -> dict[str, tuple[str, ...]]:
    """Return the words of each label, in their order, with or without their forms."""
    words: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        more = entry.forms.values() if forms else ()
        words[entry.label] = (*words.get(entry.label, ()), entry.word, *more)
    return words


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

    def article(self, slot: str) -> tuple[int, int] | None:
        """Return where the article of a slot's word is written, if it has one of its own."""
        span = self.span(slot)
        lead = self.text[span.start : span.word_start].rstrip()
        return (span.start, span.start + len(lead)) if lead else None


def differing_slots(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """Return the slots whose text, article included, is not the same in all the sentences.

    The sentences are the candidates of one blank, so they have the same slots. To guess
    between them, these slots are what must be hidden and scored.
    """
    written = zip(
        *([item.text[span.start : span.end] for span in item.spans] for item in sentences),
        strict=True,
    )
    slots = (span.slot for span in sentences[0].spans)
    return tuple(slot for slot, texts in zip(slots, written, strict=True) if len(set(texts)) > 1)


@dataclass(frozen=True, slots=True)
class Template:
    """One sentence pattern; its name is the pattern with all other slots filled in.

    The turn of a chat is part of the name and of the template, and not of its sentences.
    """

    name: str
    family: str | None
    language: str
    pattern: Pattern = field(repr=False)
    fixed: Mapping[str, LexiconEntry] = field(repr=False)
    attribute_slot: str = field(repr=False)
    task_slot: str = field(repr=False)
    attribute_entries: Mapping[str, LexiconEntry] = field(repr=False)
    task_entries: Mapping[str, LexiconEntry] = field(repr=False)
    turn: str = ""
    """What the user of a chat says before the sentence."""

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

    def sentences(
        self, attributes: Iterable[str], tasks: Iterable[str]
    ) -> dict[tuple[str, str], Sentence]:
        """Return the sentence about every attribute and task, tasks fastest."""
        pairs = product(attributes, tasks)
        return {(who, what): self.sentence(who, what) for who, what in pairs}


def written_article(
    piece: Field, entry: LexiconEntry, word: str, language: str, agree: str | None
) -> str | None:
    """Return the article of a word in a field, None if neither entry nor language has it."""
    kind = piece.article or ""
    own = entry.articles.get(f"{kind}-{agree}") or entry.articles.get(kind)
    gender = entry.noun_gender or agree
    return own or article(word, kind, language=language, gender=gender, case=piece.form)


def _entry(entries: Mapping[str, LexiconEntry], word: str, slot: str) -> LexiconEntry:
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


# Han, Hiragana, Katakana, Thai, Lao, Burmese and Khmer letters, by Unicode block.
UNSPACED = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"
)
"""The letters of these scripts, as the inside of a character class of `re`."""

_UNSPACED = re.compile(f"[{UNSPACED}]")


def is_unspaced(character: str) -> bool:
    """Tell whether words of the character's script are written without spaces between.

    >>> [is_unspaced(letter) for letter in "是のไ한a"]
    [True, True, True, False, False]
    """
    return _UNSPACED.match(character) is not None


ARTICLES = ("a", "the")
"""The kinds of article that a sentence can ask for: `{a:slot}` and `{the:slot}`."""

GENDERED = ("de", "es", "fr", "it", "pt")
"""The languages, beside English, whose articles are known; they follow the word's gender."""

# (kind, gender) -> nominative, accusative, dative, genitive.
_GERMAN = {
    ("a", "masculine"): ("ein", "einen", "einem", "eines"),
    ("a", "feminine"): ("eine", "eine", "einer", "einer"),
    ("a", "neuter"): ("ein", "ein", "einem", "eines"),
    ("the", "masculine"): ("der", "den", "dem", "des"),
    ("the", "feminine"): ("die", "die", "der", "der"),
    ("the", "neuter"): ("das", "das", "dem", "des"),
}
_CASES = ("nominative", "accusative", "dative", "genitive")
# (kind, gender) -> Spanish, French, Italian, Portuguese.
_ROMANCE = {
    ("a", "masculine"): ("un", "un", "un", "um"),
    ("a", "feminine"): ("una", "une", "una", "uma"),
    ("the", "masculine"): ("el", "le", "il", "o"),
    ("the", "feminine"): ("la", "la", "la", "a"),
}
_VOWEL = re.compile(r"[aeiouàâäáãéèêëíìîïóòôöúùûüœæ]", re.IGNORECASE)
# French words that do not elide although they begin with a vowel or an h.
_ASPIRATED = re.compile(
    r"h(ach|ack|all(?!uc)|alte\b|am(?!eç)|an|ar(?!mon)|as|ât|au|av|enn|ér(aut|iss|on|os\b)|ern|ers"
    r"|êt|eurt|ibou|ideu|iérar|ip-|ippie|iss|obb|och|ock|oll|omard|ongr|ont|oqu|ord|ors|ott|ou"
    r"|ublot|uch|ué|uer|ugue|uit(?!r)|ul|url|us[ks]|utt)|onz|oui",
    re.IGNORECASE,
)
# Italian words before which "uno" and "lo" are written: gn, pn, ps, x, y, z, s + consonant.
_IMPURE = re.compile(r"gn|pn|ps|x|y|z|s[^aeiouàèéìòù]|i[aeou]", re.IGNORECASE)
# Words that inflect 7.5 gets wrong: numbers that begin with a vowel sound, and names.
_AN = (r"8.*", r"1[18](\D.*)?", r"SOS.*", r"Uber.*", r"Ubuntu.*")


def elides(word: str) -> bool:
    """Tell whether a French article loses its vowel before the word: l'infirmière.

    >>> [elides(word) for word in ("infirmière", "homme", "héros", "coiffeur")]
    [True, True, False, False]
    """
    if _ASPIRATED.match(word):
        return False
    return word[:1].lower() == "h" or _VOWEL.match(word) is not None


def article(
    word: str,
    kind: str = "a",
    *,
    language: str = "en",
    gender: str | None = None,
    case: str | None = None,
) -> str | None:
    """Return the article that a word takes, None where no rule is known.

    It ends with an apostrophe where it is written onto the word.

    >>> [article(word) for word in ("hour", "European", "MRI", "one-off")]
    ['an', 'a', 'an', 'a']
    >>> article("infirmière", "the", language="fr", gender="feminine")
    "l'"
    >>> article("studente", language="it", gender="masculine")
    'uno'
    """
    if language == "en":
        return "the" if kind == "the" else _english(word)
    if language == "de":
        row = _GERMAN.get((kind, gender or ""))
        return row[_CASES.index(case) if case in _CASES else 0] if row else None
    forms = _ROMANCE.get((kind, gender or ""))
    if forms is None or language not in GENDERED:
        return None
    base = forms[GENDERED.index(language) - 1]
    if language == "fr" and kind == "the" and elides(word):
        return "l'"
    return _italian(word, base) if language == "it" else base


def _italian(word: str, base: str) -> str:
    if base in ("un", "il") and _IMPURE.match(word):
        return {"un": "uno", "il": "lo"}[base]
    if not _VOWEL.match(word) or _IMPURE.match(word):
        return base
    return {"un": "un", "una": "un'", "il": "l'", "la": "l'"}[base]


@cache
def _english(word: str) -> str:
    return str(english().a(word)).partition(" ")[0]


@cache
def english() -> engine:
    """Return what knows the articles and plurals of English words."""
    # inflect has its arguments checked by typeguard, which parses the whole source again
    # for each method: seconds at the first article, for calls that we check ourselves.
    unchecked: Any = ModuleType("typeguard")
    unchecked.typechecked = lambda function: function
    before = sys.modules.get("typeguard")
    sys.modules["typeguard"] = unchecked
    try:
        import inflect
    finally:
        del sys.modules["typeguard"]
        if before is not None:
            sys.modules["typeguard"] = before
    made = inflect.engine()
    for pattern in _AN:
        made.defan(pattern)
    return made
