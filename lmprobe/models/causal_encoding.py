"""The tokens of a sentence as a causal model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import ModelError
from lmprobe.models.cloze import Cloze, EncodedCloze, Span
from lmprobe.models.encoding import TokenizedText, WordProblems, locate, tokenize


def encode_causal(
    tokenizer: Any, clozes: Sequence[Cloze], word_start: NDArray[np.bool_]
) -> list[EncodedCloze]:
    """Tokenize the sentences for a causal model.

    They begin with what the tokenizer puts there itself, else with the beginning-of-text
    token, else with the end-of-text token, and have no end token.
    """
    texts = tokenize(tokenizer, [cloze.text for cloze in clozes])
    problems = WordProblems()
    start = tokenizer.bos_token_id
    start = tokenizer.eos_token_id if start is None else start
    encoded = []
    for cloze in clozes:
        text, first = _framed(texts[cloze.text], start)
        found = locate(cloze, text, tokenizer.unk_token_id, problems, may_share=True)
        if first == 0 and found.differing[0][0] == 0:
            raise ModelError(
                f"its tokenizer has neither a beginning-of-text nor an end-of-text token, so the "
                f"first word of {cloze.text!r} has no probability; use templates in which the "
                "words to guess do not begin the sentence"
            )
        encoded.append(
            replace(found, first=max(first, 1), boundary=_boundary(found, text, word_start))
        )
    problems.raise_any()
    return encoded


def _framed(text: TokenizedText, start: int | None) -> tuple[TokenizedText, int]:
    """Return the sentence as it is read, and the number of tokens before its first."""
    inside = [number for number, place in enumerate(text.places) if place is not None]
    if not inside:
        return text, 0
    first, end = inside[0], inside[-1] + 1
    added = first == 0 and start is not None
    lead: tuple[int, ...] = (start,) if added and start is not None else ()
    move = len(lead)
    return (
        replace(
            text,
            ids=(*lead, *text.ids[:end]),
            segments=(),
            places=(*[None] * move, *text.places[:end]),
            words=tuple((left + move, right + move) for left, right in text.words),
        ),
        first + move,
    )


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
