"""Finds the tokens that write each word of a sentence.

The pieces of a word come from tokenizing the whole sentence and following character
offsets, never from tokenizing the word alone: the same letters are other tokens after a
space, at the start of a sentence or before a full stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from lmprobe.errors import ModelError
from lmprobe.models.cloze import Cloze, EncodedCloze, Span


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

    def shown(self, tokens: Span) -> str:
        """Return what each token of a range writes, with a bar between."""
        places = self.places[slice(*tokens)]
        return "|".join(self.text[slice(*place)] for place in places if place) or "no token"

    def tokens_of(self, span: Span) -> tuple[Span, bool]:
        """Return the range of tokens that write `text[span]`, and whether it shares none."""
        start, end = span
        found = []
        alone = True
        for number, place in enumerate(self.places):
            if place is not None and place[0] < end and place[1] > start and place[0] < place[1]:
                found.append(number)
                alone = alone and start <= place[0] and place[1] <= end
        if not found:
            return (0, 0), False
        first = found[0]
        # A space that is a token of its own ("▁", "Ġ") belongs to the word it begins.
        while first and (before := self.places[first - 1]) is not None and before[0] == before[1]:
            first -= 1
        return (first, found[-1] + 1), alone


def tokenize(tokenizer: Any, texts: Sequence[str]) -> dict[str, TokenizedText]:
    """Tokenize each different sentence once."""
    different = list(dict.fromkeys(texts))
    if not different:
        return {}
    batch = tokenizer(
        different, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False
    )
    segments = batch["token_type_ids"] if "token_type_ids" in batch else [()] * len(different)
    return {
        text: TokenizedText(
            text,
            tuple(batch["input_ids"][row]),
            tuple(segments[row]),
            tuple(_places(batch, row, text)),
            tuple(_words(batch.word_ids(row))),
        )
        for row, text in enumerate(different)
    }


class WordProblems:
    """Collects the words that a model cannot be asked about, to name all of them at once."""

    def __init__(self) -> None:
        """Begin with none."""
        self.glued: dict[str, str] = {}
        """The words without tokens of their own, and the tokens that write them."""
        self.unknown: set[str] = set()

    def raise_any(self) -> None:
        """Raise one error that names every word which has no tokens of its own, or unknown ones."""
        problems = []
        if self.glued:
            problems.append(
                "share a token with the text beside them, so they cannot be masked: "
                + _listed(f"{word} (in {tokens})" for word, tokens in self.glued.items())
            )
        if self.unknown:
            problems.append(f"are unknown to its tokenizer: {_listed(self.unknown)}")
        if problems:
            raise ModelError(
                "the model cannot be asked about all the words: these "
                + "; these ".join(problems)
                + ". Leave them out or choose another model"
            )


def encode_masked(tokenizer: Any, clozes: Sequence[Cloze]) -> list[EncodedCloze]:
    """Tokenize the sentences for a masked model; every word that cannot be found is named."""
    texts = tokenize(tokenizer, [cloze.text for cloze in clozes])
    problems = WordProblems()
    encoded = []
    for cloze in clozes:
        found = locate(cloze, texts[cloze.text], tokenizer.unk_token_id, problems)
        found = replace(found, mask=tokenizer.mask_token_id)
        hidden = [_alone(texts[cloze.text], span, problems) for span in cloze.hidden]
        encoded.append(_collapsed(found, hidden) if hidden else found)
    problems.raise_any()
    return encoded


def locate(
    cloze: Cloze,
    text: TokenizedText,
    unknown: int | None,
    problems: WordProblems,
    *,
    may_share: bool = False,
) -> EncodedCloze:
    """Return the tokens of a cloze; words without tokens of their own are noted as problems."""
    word = (cloze.start, cloze.end)
    find = _covering if may_share else _alone
    place = find(text, word, problems)
    article = find(text, cloze.article, problems) if cloze.article else place
    for span in (word, *cloze.given):
        if unknown is not None and unknown in text.ids[slice(*find(text, span, problems))]:
            problems.unknown.add(cloze.text[slice(*span)])
    return EncodedCloze(
        ids=text.ids,
        word=place,
        differing=_joined(find(text, span, problems) for span in cloze.differing),
        phrase=(article[0], place[1]),
        words=text.words,
        segments=text.segments,
    )


def _alone(text: TokenizedText, span: Span, problems: WordProblems) -> Span:
    tokens, alone = text.tokens_of(span)
    if not alone:
        problems.glued[text.text[slice(*span)]] = text.shown(tokens)
    return tokens


def _covering(text: TokenizedText, span: Span, problems: WordProblems) -> Span:
    tokens, _ = text.tokens_of(span)
    if tokens[0] == tokens[1]:
        problems.glued[text.text[slice(*span)]] = text.shown(tokens)
    return tokens


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


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))
