"""Scores everything in which the candidates' sentences differ; the default for masked models."""

from __future__ import annotations

from lmprobe.models.cloze import EncodedCloze, TokenQuery
from lmprobe.scorers.scorer import scorers


@scorers.register("difference-l2r")
class DifferenceLeftToRight:
    """Product of P(piece | pieces to its left) over all that differs between candidates.

    The word, its article, words that agree with it: what differs from candidate to candidate
    would give the answer away if it stayed visible. All of it is masked at once and asked
    for from left to right. Where candidates differ in one word this is `word-l2r`, with an
    article `phrase-l2r`.
    """

    kind = "masked"
    whole_word = True
    hides_articles = True
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for each piece of each span that differs, in the order of the sentence."""
        return sentence.masked(sentence.differing, left_to_right=True)
