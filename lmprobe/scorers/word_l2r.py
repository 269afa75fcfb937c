"""Scores a word by its pieces from left to right."""

from __future__ import annotations

from lmprobe.models.cloze import EncodedCloze, TokenQuery
from lmprobe.scorers.scorer import scorers


@scorers.register("word-l2r")
class WordLeftToRight:
    """Product of P(piece | pieces to its left), the pieces to its right masked.

    The chain rule within the word. A word of n pieces is asked for in a sentence with n
    masks, so its probability is that of the word given that it has n pieces.
    """

    kind = "masked"
    whole_word = True
    hides_articles = False
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for each piece with those before it visible."""
        return sentence.masked([sentence.word], left_to_right=True)
