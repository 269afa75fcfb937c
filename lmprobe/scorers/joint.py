"""Scores a word by all its pieces, masked at once."""

from __future__ import annotations

from lmprobe.models.cloze import EncodedCloze, TokenQuery
from lmprobe.scorers.scorer import scorers


@scorers.register("joint")
class Joint:
    """Product of P(piece) with every piece masked: the pieces do not see each other."""

    kind = "masked"
    whole_word = True
    hides_articles = False
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for every piece in one sentence with as many masks."""
        return sentence.masked([sentence.word], left_to_right=False)
