"""The protocol of a language model, its queries, and the tokens that write a word.

The pieces of a word come from tokenizing the whole sentence and following character
offsets, never from tokenizing the word alone: the same letters are other tokens after a
space, at the start of a sentence or before a full stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import Argument, InputError, ModelError
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.association import Floats
from lmprobe.metrics.labels import some_names

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
    article. `prompt` is what a causal model reads before the sentence, if not the beginning of a
    text: the turns of a chat as its template writes them; spans do not count it. `candidates` are
    the sentences of all candidates, where each was finished on its own; a token that writes a part
    of the word and of the text beside it is then hidden as a whole.
    """

    text: str
    start: int
    end: int
    hidden: tuple[Span, ...] = ()
    given: tuple[Span, ...] = ()
    article: Span | None = None
    differing: tuple[Span, ...] = ()
    prompt: str = ""
    candidates: tuple[str, ...] = ()

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
    candidates: tuple[tuple[int, ...], ...] = ()
    """The tokens of all candidates, for a masked model and finished sentences."""

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


Place = Literal["bundled", "folder", "file", "hub", "memory", "server"]


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
    """A model ready to be probed; `load_model` makes the ones that lmprobe has.

    One that takes turns of a chat also has `chat_prompt(turn, system)`: what it reads before the
    answer, which is the `prompt` of its clozes.
    """

    name: str
    """What the user called it."""
    revision: str | None
    """The commit on the hub, for a model that came from there."""
    origin: Origin
    """Where it was found, and what was chosen to load it."""
    content_hash: str
    """The hash of all that decides its answers: weights, configuration, tokenizer."""
    device: str
    """Where it runs, such as "cpu" or "cuda:0"."""
    dtype: str
    """The precision it runs in, such as "float32"."""
    tokenizer_name: str
    """The class of its tokenizer."""
    batch_policy: str
    """How many sentences run together: "auto" or a number."""

    @property
    def kind(self) -> str:
        """The name of its kind: "masked" fills masks, "causal" reads from left to right."""

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


# How tokenizers write the space before a word: SentencePiece's, byte-level BPE's space,
# line break and tab, and bytes spelled out.
_SPACES = ("▁", "Ġ", "Ċ", "ĉ", " ", "<0x20>", "<0x0A>", "<0x09>")


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A sentence's tokens, where each is written, and which of them make each word."""

    text: str
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    places: tuple[Span | None, ...]
    """Character offsets of each token; None for a special token."""
    words: tuple[Span, ...]
    """Ranges of tokens."""
    prompt: str = ""
    """What is read before the sentence; its tokens have no place in it."""

    def shown(self, tokens: Span) -> str:
        """Return what each token of a range writes, with a bar between."""
        places = self.places[slice(*tokens)]
        return "|".join(self.text[slice(*place)] for place in places if place) or "no token"

    def tokens_of(self, span: Span) -> tuple[Span, bool]:
        """Return the range of tokens that write `text[span]`, and whether it shares none."""
        start, end = span
        numbers = []
        alone = True
        for number, place in enumerate(self.places):
            if place is not None and place[0] < end and place[1] > start and place[0] < place[1]:
                numbers.append(number)
                alone = alone and start <= place[0] and place[1] <= end
        if not numbers:
            return (0, 0), False
        first = numbers[0]
        # A space that is a token of its own ("▁", "Ġ") belongs to the word it begins.
        while first and (before := self.places[first - 1]) is not None and before[0] == before[1]:
            first -= 1
        return (first, numbers[-1] + 1), alone


def tokenize(tokenizer: Any, texts: Sequence[str], prompt: str = "") -> dict[str, TokenizedText]:
    """Tokenize each different sentence once, after the prompt.

    A prompt has its special tokens written out, and the tokenizer adds none.
    """
    different = list(dict.fromkeys(texts))
    if not different:
        return {}
    batch = tokenizer(
        [prompt + text for text in different],
        add_special_tokens=not prompt,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        verbose=False,
    )
    before = tokenizer(prompt, add_special_tokens=False)["input_ids"] if prompt else []
    segments = batch["token_type_ids"] if "token_type_ids" in batch else [()] * len(different)
    texts_by_row = {}
    for row, text in enumerate(different):
        ids, places = batch["input_ids"][row], list(_places(batch, row, prompt + text))
        if prompt:
            starts = batch["offset_mapping"][row][len(before) :]
            if ids[: len(before)] != before or not starts or starts[0][0] < len(prompt):
                raise ModelError(
                    f"its tokenizer joins the end of the chat prompt, {prompt[-20:]!r}, and the "
                    f"beginning of {text!r} in one token, so the sentence has no probability of "
                    "its own; leave out the turns (",
                    Argument("chat"),
                    ")",
                )
            places = [
                None if place is None else (place[0] - len(prompt), place[1] - len(prompt))
                for place in [None] * len(before) + places[len(before) :]
            ]
        texts_by_row[text] = TokenizedText(
            text, tuple(ids), tuple(segments[row]), tuple(places),
            tuple(_words(batch.word_ids(row))), prompt,
        )  # fmt: skip
    return texts_by_row


class _WordProblems:
    """Collects the words that a model cannot be asked about, to name all of them at once."""

    def __init__(self, *, may_share: bool) -> None:
        self.may_share = may_share
        """Whether a word may share its tokens with the text beside it."""
        self.glued: dict[str, str] = {}
        """The words without tokens of their own, and the tokens that write them."""
        self.known: set[str] = set()
        self.unknown: set[str] = set()
        # A span of a sentence is looked up for each direction, as the word and as what differs.
        self._tokens: dict[tuple[str, str, Span], Span] = {}

    def tokens(self, text: TokenizedText, span: Span, *, may_share: bool = False) -> Span:
        """Return the range of tokens of a word, noting a word that has none of its own."""
        key = text.prompt, text.text, span
        if key in self._tokens:
            return self._tokens[key]
        tokens, alone = text.tokens_of(span)
        if tokens[0] == tokens[1] or not (alone or self.may_share or may_share):
            self.glued[text.text[slice(*span)]] = text.shown(tokens)
        self._tokens[key] = tokens
        return tokens

    def locate(
        self, cloze: Cloze, text: TokenizedText, unknown: int | None, mask: int = -1
    ) -> EncodedCloze:
        """Return the tokens of a cloze, noting the words that have none or unknown ones."""
        may_share = bool(cloze.candidates)
        word = self.tokens(text, (cloze.start, cloze.end), may_share=may_share)
        article = self.tokens(text, cloze.article) if cloze.article else word
        for span in ((cloze.start, cloze.end), *cloze.given):
            tokens = text.ids[slice(*self.tokens(text, span))]
            words = self.known if unknown is None or unknown not in tokens else self.unknown
            words.add(cloze.text[slice(*span)])
        return EncodedCloze(
            ids=text.ids,
            word=word,
            differing=_joined(
                self.tokens(text, span, may_share=may_share) for span in cloze.differing
            ),
            phrase=(article[0], word[1]),
            words=text.words,
            mask=mask,
            segments=text.segments,
        )

    def raise_any(self) -> None:
        """Raise one error that names every word which has no tokens of its own, or unknown ones."""
        problems = []
        if self.glued:
            words = sorted(f"{word} (in {tokens})" for word, tokens in self.glued.items())
            problems.append(
                "share a token with the text beside them, so they cannot be masked: "
                + ", ".join(words)
            )
        if self.unknown:
            problems.append(f"are unknown to its tokenizer: {', '.join(sorted(self.unknown))}")
        if self.unknown and not self.known:
            raise ModelError(
                "the tokenizer knows none of the words "
                f"({some_names(tuple(sorted(self.unknown)))}): it is not that of the model, "
                "or lacks its vocabulary. Give the right one (",
                Argument("tokenizer"),
                "), or words of the model's language",
            )
        if problems:
            raise ModelError(
                "the model cannot be asked about all the words: these "
                + "; these ".join(problems)
                + ". Leave them out, or choose another model or tokenizer (",
                Argument("tokenizer"),
                ")",
            )


def encode_masked(tokenizer: Any, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
    """Tokenize the sentences for a masked model; every word that cannot be found is named."""
    texts = tokenize(
        tokenizer, [text for cloze in clozes for text in (cloze.text, *cloze.candidates)]
    )
    problems = _WordProblems(may_share=False)
    # Attributes of a tokenizer are slow to look up.
    unknown, mask = tokenizer.unk_token_id, tokenizer.mask_token_id
    encoded = []
    for cloze in clozes:
        text = texts[cloze.text]
        sentence = problems.locate(cloze, text, unknown, mask)
        if cloze.candidates:
            candidates = tuple(texts[other].ids for other in cloze.candidates)
            sentence = replace(sentence, candidates=candidates)
        hidden = [problems.tokens(text, span) for span in cloze.hidden]
        encoded.append(_collapsed(sentence, hidden))
    problems.raise_any()
    return encoded


def encode_causal(
    tokenizer: Any, clozes: Sequence[Cloze], word_start: NDArray[np.bool_]
) -> list[EncodedCloze]:
    """Tokenize the sentences for a causal model.

    They begin with their prompt, else with what the tokenizer puts there itself, else with the
    beginning-of-text token, else with the end-of-text token, and have no end token.
    """
    by_prompt: dict[str, list[str]] = {}
    for cloze in clozes:
        by_prompt.setdefault(cloze.prompt, []).append(cloze.text)
    texts = {prompt: tokenize(tokenizer, same, prompt) for prompt, same in by_prompt.items()}
    start = tokenizer.bos_token_id
    start = tokenizer.eos_token_id if start is None else start
    framed = [_framed(texts[cloze.prompt][cloze.text], start) for cloze in clozes]
    lacking = "its tokenizer has neither a beginning-of-text nor an end-of-text token"
    return encode_framed(framed, clozes, lacking, unknown=tokenizer.unk_token_id, begins=word_start)


def encode_framed(
    texts: Sequence[tuple[TokenizedText, int]],
    clozes: Sequence[Cloze],
    lacking: str,
    *remedy: str | Argument,
    unknown: int | None = None,
    begins: NDArray[np.bool_] | None = None,
) -> list[EncodedCloze]:
    """Find the words of each cloze in its sentence as a causal model reads it.

    A sentence is given with the number of tokens before its first; `lacking` and `remedy` are for
    the message where there are none. Without `begins`, which tokens begin a word is not asked.
    """
    problems = _WordProblems(may_share=True)
    encoded = []
    for cloze, (text, first) in zip(clozes, texts, strict=True):
        sentence = problems.locate(cloze, text, unknown)
        if first == 0 and sentence.differing[0][0] == 0:
            raise ModelError(
                f"{lacking}, so the first word of {cloze.text!r} has no probability; ",
                *remedy,
                "use templates in which the words to guess do not begin the sentence",
            )
        boundary = (False, False) if begins is None else _boundary(sentence, text, begins)
        encoded.append(replace(sentence, first=max(first, 1), boundary=boundary))
    problems.raise_any()
    return encoded


def _framed(text: TokenizedText, start: int | None) -> tuple[TokenizedText, int]:
    """Return the sentence as it is read, and the number of tokens before its first."""
    inside = [number for number, place in enumerate(text.places) if place is not None]
    if not inside:
        return text, 0
    first, end = inside[0], inside[-1] + 1
    lead = (start,) if first == 0 and start is not None else ()
    move = len(lead)
    framed = replace(
        text,
        ids=(*lead, *text.ids[:end]),
        segments=(),
        places=(*[None] * move, *text.places[:end]),
        words=tuple((left + move, right + move) for left, right in text.words),
    )
    return framed, first + move


def _boundary(
    cloze: EncodedCloze, text: TokenizedText, word_start: NDArray[np.bool_]
) -> tuple[bool, bool]:
    """Tell whether a word is seen to begin before the first span that differs, and end after it.

    In a script without spaces it is not.
    """
    start, end = cloze.differing[0]
    place: Span | None = text.places[end - 1]
    last = len(text.text) if place is None else place[1]
    after = last >= len(text.text) or not text.text[last].isalnum()
    return bool(word_start[cloze.ids[start]]), after


TEMPLATE_OPTIONS = {"date_string": "26 Jul 2024"}
"""A chat template that writes the date is given the same one every day, where it can be given."""


def chat_messages(turn: str, system: str | None = None) -> list[dict[str, str]]:
    """Return the turn of a user, after that of a system if there is one, as templates take them."""
    before = [] if system is None else [{"role": "system", "content": system}]
    return [*before, {"role": "user", "content": turn}]


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans in order, those that touch or overlap as one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def _collapsed(cloze: EncodedCloze, hidden: Sequence[Span]) -> EncodedCloze:
    """Put one mask in place of each hidden word, so that its number of pieces tells nothing."""
    for start, end in sorted(hidden, reverse=True):

        def moved(span: Span, start: int = start, end: int = end) -> Span:
            removed = end - start - 1 if span[0] >= end else 0
            return span[0] - removed, span[1] - removed

        cloze = replace(
            cloze,
            ids=(*cloze.ids[:start], cloze.mask, *cloze.ids[end:]),
            segments=(*cloze.segments[: start + 1], *cloze.segments[end:]),
            word=moved(cloze.word),
            phrase=moved(cloze.phrase),
            differing=tuple(moved(span) for span in cloze.differing if span != (start, end)),
            words=tuple(moved(span) for span in cloze.words if not start <= span[0] < end),
        )
    return cloze


def _words(numbers: Sequence[int | None]) -> Iterator[Span]:
    """Return the range of tokens of each word, from the word that each token belongs to."""
    for number, tokens in groupby(range(len(numbers)), key=lambda place: numbers[place]):
        inside = list(tokens)
        if number is not None:
            yield inside[0], inside[-1] + 1


def _places(batch: Any, row: int, text: str) -> Iterator[Span | None]:
    """Return where each token of a sentence is written; None for those that are not."""
    offsets, special = batch["offset_mapping"][row], batch["special_tokens_mask"][row]
    for (left, right), added in zip(offsets, special, strict=True):
        # Some tokenizers count the white space before a word into its offsets.
        while left < right and text[left].isspace():
            left += 1
        while left < right and text[right - 1].isspace():
            right -= 1
        yield None if added else (left, right)


def word_tokens(tokenizer: Any) -> WordTokens:
    """Return what is known of every token of a tokenizer."""
    size = len(tokenizer)
    written = tokenizer.convert_ids_to_tokens(range(size))
    special = set(tokenizer.all_special_ids)
    # A vocabulary of text has tokens such as "##" that continue nothing: the model decides.
    continues = "##" if type(tokenizer.backend_tokenizer.model).__name__ == "WordPiece" else None
    begins = np.zeros(size, dtype=bool)
    letters = np.zeros(size, dtype=bool)
    for number, token in enumerate(written):
        if number in special or token is None:
            begins[number] = True
            continue
        if continues is not None:
            begins[number] = not token.startswith(continues)
        else:
            begins[number] = token.startswith(_SPACES) or _is_punctuation(tokenizer, number, token)
        letters[number] = token.removeprefix(continues or "").lstrip("▁Ġ").isalpha()
    return WordTokens(begins, letters)


def _is_punctuation(tokenizer: Any, number: int, token: str) -> bool:
    """Tell whether a token without a space begins with neither a letter nor a digit."""
    if token[:1].isascii() and token[:1].isalnum():
        return False
    text = tokenizer.decode([number], clean_up_tokenization_spaces=False)
    # Part of a letter that is written with several bytes has no character of its own.
    return bool(text) and text[0] != "\ufffd" and not text[0].isalnum()
