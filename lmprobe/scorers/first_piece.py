"""Scores a word by its first piece, as FitBERT and so the paper did."""

from __future__ import annotations

from lmprobe.models.blank import Encoded, Question
from lmprobe.scorers.scorer import scorers


@scorers.register("first-piece")
class FirstPiece:
    """P(first piece) at one mask: P("janitor") is P("jan"). Only to reproduce the paper."""

    whole_word = False

    def questions(self, sentence: Encoded) -> tuple[Question, ...]:
        """Ask for the first piece at one mask that stands for the whole word."""
        return (sentence.ask(0, masks=1),)
