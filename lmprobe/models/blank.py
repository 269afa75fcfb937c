"""A finished sentence with a word to guess, and the tokens that this word is made of.

The pieces of a word come from tokenizing the whole sentence and following character
offsets, never from tokenizing the word alone: the same letters are other tokens after a
space, at the start of a sentence or before a full stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmprobe.errors import InputError, ModelError

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Blank:
    """A sentence and the span of the word to guess, as character offsets.

    `hidden` are spans that are masked as well; `given` are spans whose words the model
    must know, because the guess is about them. `article` is the span of the article right
    before the word, where it was chosen to fit the word.
    """

    text: str
    start: int
    end: int
    hidden: tuple[Span, ...] = ()
    given: tuple[Span, ...] = ()
    article: Span | None = None

    def __post_init__(self) -> None:
        """Check that every span holds a word of the text, and the article's comes first."""
        lead = () if self.article is None else (self.article,)
        for start, end in ((self.start, self.end), *self.hidden, *self.given, *lead):
            if not self.text[start:end].strip() or start < 0:
                raise InputError(f"no word at characters {start} to {end} of {self.text!r}")
        for _, end in lead:
            if end > self.start or self.text[end : self.start].strip():
                raise InputError(f"no article right before {self.word!r} in {self.text!r}")

    @property
    def word(self) -> str:
        """The word to guess, as it is written in the sentence."""
        return self.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Question:
    """A masked sentence, one masked position in it, and the token asked for there."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    position: int
    token: int


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of a blank's sentence, and which of them the word and the hidden words are."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    """Token type ids, for a tokenizer that gives them; else empty."""
    word: Span
    hidden: tuple[Span, ...]
    mask: int
    article: int = 0
    """How many tokens right before the word write its article."""

    @property
    def pieces(self) -> tuple[int, ...]:
        """The tokens of the word to guess."""
        return self.ids[slice(*self.word)]

    def with_article(self) -> Encoded:
        """Return the same sentence with the article as part of what is to be guessed."""
        return replace(self, word=(self.word[0] - self.article, self.word[1]), article=0)

    def ask(self, piece: int, *, shown: int = 0, masks: int | None = None) -> Question:
        """Ask for one piece of the word.

        The first `shown` pieces are visible; `masks` masks follow, by default one for each
        piece left. A hidden word becomes a single mask, so that its length says nothing.
        """
        count = len(self.pieces) - shown if masks is None else masks
        new = {self.word: self.pieces[:shown] + (self.mask,) * count}
        new |= dict.fromkeys(self.hidden, (self.mask,))
        ids: list[int] = []
        segments: list[int] = []
        position = done = 0
        for span in sorted(new):
            ids += self.ids[done : span[0]]
            segments += self.segments[done : span[0]]
            if span == self.word:
                position = len(ids) + piece
            ids += new[span]
            segments += self.segments[span[0] : span[0] + 1] * len(new[span])
            done = span[1]
        ids += self.ids[done:]
        segments += self.segments[done:]
        return Question(tuple(ids), tuple(segments), position, self.pieces[piece])


def encode(tokenizer: Any, blanks: Sequence[Blank]) -> list[Encoded]:
    """Tokenize the sentences and find the words; every word that cannot be found is named."""
    texts = list(dict.fromkeys(blank.text for blank in blanks))
    if not texts:
        return []
    batch = tokenizer(
        texts, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False
    )
    row = {text: number for number, text in enumerate(texts)}
    places = [_places(batch, number, text) for text, number in row.items()]
    glued: set[str] = set()
    unknown: set[str] = set()
    encoded = []
    for blank in blanks:
        number = row[blank.text]
        ids = batch["input_ids"][number]
        word, *others = (
            _tokens_of(blank.text, span, places[number], glued)
            for span in ((blank.start, blank.end), *blank.hidden, *blank.given)
        )
        hidden, given = others[: len(blank.hidden)], others[len(blank.hidden) :]
        for span, place in zip(
            ((blank.start, blank.end), *blank.given), (word, *given), strict=True
        ):
            if tokenizer.unk_token_id in ids[slice(*place)]:
                unknown.add(blank.text[slice(*span)])
        segments = batch["token_type_ids"][number] if "token_type_ids" in batch else ()
        lead = (
            _tokens_of(blank.text, blank.article, places[number], glued) if blank.article else word
        )
        mask = tokenizer.mask_token_id
        encoded.append(
            Encoded(tuple(ids), tuple(segments), word, tuple(hidden), mask, word[0] - lead[0])
        )
    _complain(glued, unknown)
    return encoded


def _places(batch: Any, number: int, text: str) -> list[Span | None]:
    """Return where each token of a sentence is written; None for those that are not."""
    offsets, special = batch["offset_mapping"][number], batch["special_tokens_mask"][number]
    return [
        None if added else _stripped(text, *span)
        for span, added in zip(offsets, special, strict=True)
    ]


def _stripped(text: str, left: int, right: int) -> Span:
    """Return a token's offsets without the white space that some tokenizers count in."""
    while left < right and text[left].isspace():
        left += 1
    while left < right and text[right - 1].isspace():
        right -= 1
    return left, right


def _tokens_of(text: str, span: Span, places: Sequence[Span | None], glued: set[str]) -> Span:
    """Return the range of tokens that write `text[span]`; note a word that has none of its own."""
    start, end = span
    found = []
    for number, place in enumerate(places):
        if place is not None and place[0] < end and place[1] > start and place[0] < place[1]:
            found.append(number)
            if place[0] < start or place[1] > end:
                glued.add(text[start:end])
    if not found:
        glued.add(text[start:end])
        return (0, 0)
    first = found[0]
    # A space that is a token of its own ("▁", "Ġ") belongs to the word it begins.
    while first and (before := places[first - 1]) is not None and before[0] == before[1]:
        first -= 1
    return (first, found[-1] + 1)


def _complain(glued: Iterable[str], unknown: Iterable[str]) -> None:
    """Raise one error that names every word which has no tokens, or shares one."""
    problems = []
    if glued:
        problems.append(
            f"share a token with the text beside them, so they cannot be masked: {_listed(glued)}"
        )
    if unknown:
        problems.append(f"are unknown to its tokenizer: {_listed(unknown)}")
    if problems:
        raise ModelError(
            "the model cannot be asked about all the words: these "
            + "; these ".join(problems)
            + ". Leave them out or choose another model"
        )


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))
