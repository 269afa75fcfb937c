"""Scores a word by its pieces from left to right; the default."""

from __future__ import annotations

from lmprobe.models.blank import Encoded, Question
from lmprobe.scorers.scorer import scorers


@scorers.register("word-l2r")
class WordLeftToRight:
    """Product of P(piece | pieces to its left), the pieces to its right masked.

    The chain rule within the word. A word of n pieces is asked for in a sentence with n
    masks, so its probability is that of the word given that n pieces stand there.
    """

    whole_word = True

    def questions(self, sentence: Encoded) -> tuple[Question, ...]:
        """Ask for each piece with those before it shown."""
        return tuple(sentence.ask(piece, shown=piece) for piece in range(len(sentence.pieces)))
