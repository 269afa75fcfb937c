"""The WordPiece vocabulary of the reference models: whole words, and some that are split."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from typing import Any

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# Occupations and pieces they are cut into, so that a probe meets words of two and three
# pieces, pieces that are words themselves (cash, hair), and an ending that several share.
SPLIT = {
    "janitor": ("jan", "##itor"),
    "mover": ("move", "##r"),
    "laborer": ("labor", "##er"),
    "constructor": ("construct", "##or"),
    "salesperson": ("sales", "##person"),
    "cashier": ("cash", "##ier"),
    "hairdresser": ("hair", "##dress", "##er"),
    "housekeeper": ("house", "##keep", "##er"),
    "receptionist": ("reception", "##ist"),
    "mechanician": ("mech", "##anic", "##ian"),
    "psychologist": ("psycho", "##log", "##ist"),
    "machinist": ("machin", "##ist"),
    "nutritionist": ("nutrition", "##ist"),
    "firefighter": ("fire", "##fight", "##er"),
}

_WORD = re.compile(r"\w+|[^\w\s]")


def pieces(texts: Iterable[str]) -> list[str]:
    """Return the vocabulary for these texts, in a fixed order.

    Single letters come first, whole and as endings, so that no word of plain English is
    unknown; words that the texts do not have are spelled.
    """
    words = Counter(word for text in texts for word in _WORD.findall(text.lower()))
    letters = string.ascii_lowercase + string.digits
    vocabulary = dict.fromkeys(SPECIAL)
    vocabulary.update(dict.fromkeys(string.punctuation + letters))
    vocabulary.update(dict.fromkeys(f"##{letter}" for letter in letters))
    vocabulary.update(dict.fromkeys(piece for split in SPLIT.values() for piece in split))
    whole = sorted(words.keys() - SPLIT.keys(), key=lambda word: (-words[word], word))
    vocabulary.update(dict.fromkeys(whole))
    return list(vocabulary)


def tokenizer(vocabulary: Iterable[str]) -> Any:
    """Return the uncased BERT tokenizer with this vocabulary."""
    from transformers import BertTokenizerFast

    ids = {piece: index for index, piece in enumerate(vocabulary)}
    return BertTokenizerFast(vocab=ids, do_lower_case=True, model_max_length=64)
