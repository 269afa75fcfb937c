"""Scores a word by all its pieces, masked at once."""

from __future__ import annotations

from lmprobe.models.blank import Encoded, Question
from lmprobe.scorers.scorer import scorers


@scorers.register("joint")
class Joint:
    """Product of P(piece) with every piece masked: the pieces do not see each other."""

    whole_word = True

    def questions(self, sentence: Encoded) -> tuple[Question, ...]:
        """Ask for every piece in one sentence with as many masks."""
        return tuple(sentence.ask(piece) for piece in range(len(sentence.pieces)))
