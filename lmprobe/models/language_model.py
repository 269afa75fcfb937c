"""What a language model is asked, and the protocol that every kind of model follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats

Span = tuple[int, int]

WORD_START = -1
"""Asked for as a token: any token that begins a word, or ends the text."""


@dataclass(frozen=True, slots=True)
class Cloze:
    """A sentence and the span of the word to guess, as character offsets.

    `hidden` are spans that are masked as well; `given` are spans whose words the model
    must know, because the guess is about them. `article` is the span of the article right
    before the word, where it was chosen to fit the word. `differing` are all spans in which
    this sentence differs from those of the other candidates: by default the word and its
    article.
    """

    text: str
    start: int
    end: int
    hidden: tuple[Span, ...] = ()
    given: tuple[Span, ...] = ()
    article: Span | None = None
    differing: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        """Check that every span holds a word of the text, and the article's comes first."""
        lead = () if self.article is None else (self.article,)
        word = (self.start, self.end)
        for start, end in (word, *self.hidden, *self.given, *lead, *self.differing):
            if not self.text[start:end].strip() or start < 0:
                raise InputError(f"no word at characters {start} to {end} of {self.text!r}")
        for _, end in lead:
            if end > self.start or self.text[end : self.start].strip():
                raise InputError(f"no article right before {self.word!r} in {self.text!r}")
        if not self.differing:
            object.__setattr__(self, "differing", (*lead, word))

    @property
    def word(self) -> str:
        """The word to guess, as it is written in the sentence."""
        return self.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class TokenQuery:
    """A sentence as a model reads it, one position in it, and the token asked for there.

    A masked model reads the whole sentence; a causal one reads what is left of the position,
    which may be the one after the last token.
    """

    ids: tuple[int, ...]
    position: int
    token: int
    segments: tuple[int, ...] = ()
    """Token type ids, for a tokenizer that gives them; else empty."""


@dataclass(frozen=True, slots=True)
class EncodedCloze:
    """The tokens of a cloze, and which of them write the word and what differs with it."""

    ids: tuple[int, ...]
    word: Span
    differing: tuple[Span, ...]
    """In the order of the sentence; spans that touch are one."""
    phrase: Span
    """The word with its article."""
    words: tuple[Span, ...] = ()
    """Every word of the sentence, as the tokenizer separates them."""
    mask: int = -1
    """The token that hides another; -1 for a model that has none."""
    segments: tuple[int, ...] = ()
    first: int = 1
    """The first token that a model reading from left to right can be asked for."""
    boundary: tuple[bool, bool] = (True, True)
    """Whether tokens show that a word begins before, and ends after, the first that differs."""

    @property
    def pieces(self) -> tuple[int, ...]:
        """The tokens of the word to guess."""
        return self.ids[slice(*self.word)]

    def masked(self, spans: Sequence[Span], *, left_to_right: bool) -> tuple[TokenQuery, ...]:
        """Ask for every token of the spans, all masked, one mask for each token.

        With `left_to_right`, the tokens before the one asked for are visible: the chain rule.
        """
        places = [place for span in spans for place in range(*span)]
        ids = list(self.ids)
        for place in places:
            ids[place] = self.mask
        queries = []
        for place in places:
            queries.append(TokenQuery(tuple(ids), place, self.ids[place], self.segments))
            if left_to_right:
                ids[place] = self.ids[place]
        return tuple(queries)

    def one_mask(self) -> TokenQuery:
        """Ask for the first token of the word at a single mask in place of the whole word."""
        first, last = self.word
        return TokenQuery(
            (*self.ids[:first], self.mask, *self.ids[last:]),
            first,
            self.ids[first],
            (*self.segments[: first + 1], *self.segments[last:]),
        )

    def visible(self, first: int, end: int) -> tuple[TokenQuery, ...]:
        """Ask for the tokens from `first` up to `end`, nothing masked, as a causal model reads."""
        return tuple(TokenQuery(self.ids, place, self.ids[place]) for place in range(first, end))


Place = Literal["bundled", "folder", "file", "hub", "memory"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a model was found, and what was chosen to load it; its answers do not depend on it."""

    place: Place
    kind: str = "auto"
    """The kind that was asked for; what it turned out to be is the model's `kind`."""
    tokenizer: str | None = None
    """The folder or hub id of the tokenizer, where it is not the model's own."""


@dataclass(frozen=True, slots=True, eq=False)
class WordTokens:
    """Of each token: whether it begins a word, and whether it has nothing but letters."""

    begins: NDArray[np.bool_]
    """Also true of punctuation and of what ends the text: a word ends before them."""
    letters: NDArray[np.bool_]


class LanguageModel(Protocol):
    """A model ready to be probed; `load_model` makes the ones that lmprobe has."""

    @property
    def name(self) -> str:
        """What the user called it."""

    @property
    def kind(self) -> str:
        """The name of its kind: "masked" fills masks, "causal" reads from left to right."""

    @property
    def revision(self) -> str | None:
        """The commit on the hub, for a model that came from there."""

    @property
    def origin(self) -> Origin:
        """Where it was found, and what was chosen to load it."""

    @property
    def content_hash(self) -> str:
        """The hash of all that decides its answers: weights, configuration, tokenizer."""

    @property
    def device(self) -> str:
        """Where it runs, such as "cpu" or "cuda:0"."""

    @property
    def dtype(self) -> str:
        """The precision it runs in, such as "float32"."""

    @property
    def tokenizer_name(self) -> str:
        """The class of its tokenizer."""

    @property
    def batch_policy(self) -> str:
        """How many sentences run together: "auto" or a number."""

    @property
    def threads(self) -> int:
        """How many threads its answers are computed with."""

    @property
    def word_tokens(self) -> WordTokens:
        """What is known of the tokens of its vocabulary."""

    def remember(self) -> None:
        """Keep what is needed to use its answers another time without opening it."""

    def encode(self, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
        """Return the tokens of each cloze; raise for words or sentences that do not fit."""

    def log_probabilities(
        self, queries: Sequence[TokenQuery], *, progress: Progress = silent
    ) -> Floats:
        """Return log P(token at its position | what the model reads there) of each query (n,)."""
