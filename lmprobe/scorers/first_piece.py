"""Scores a word by its first piece, as FitBERT and so the paper did."""

from __future__ import annotations

from lmprobe.models.cloze import EncodedCloze, TokenQuery
from lmprobe.scorers.scorer import scorers


@scorers.register("first-piece")
class FirstPiece:
    """P(first piece) at one mask: P("janitor") is P("jan"). Only to reproduce the paper."""

    kind = "masked"
    whole_word = False
    hides_articles = False
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for the first piece at one mask in place of the whole word."""
        return (sentence.one_mask(),)
