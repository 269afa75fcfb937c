"""Which tokens of a vocabulary begin a word, and which are made of letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# How tokenizers write the space before a word: SentencePiece's, byte-level BPE's space,
# line break and tab, and bytes spelled out.
_SPACES = ("▁", "Ġ", "Ċ", "ĉ", " ", "<0x20>", "<0x0A>", "<0x09>")


@dataclass(frozen=True, slots=True, eq=False)
class WordTokens:
    """Of each token: whether it begins a word, and whether it has nothing but letters."""

    begins: NDArray[np.bool_]
    """Also true of punctuation and of what ends the text: a word ends before them."""
    letters: NDArray[np.bool_]


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
