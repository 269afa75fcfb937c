"""Scores the whole sentence with a masked model: its pseudo-log-likelihood."""

from __future__ import annotations

from lmprobe.models.cloze import EncodedCloze, TokenQuery
from lmprobe.scorers.scorer import scorers


@scorers.register("pll")
class PseudoLogLikelihood:
    """Sum over all words of log P(word | the rest of the sentence), pieces left to right.

    `PLL-word-l2r` of Kauf & Ivanova 2023: a piece is asked for with the later pieces of its
    word masked as well, because visible ones would give it away. Not the logarithm of a
    probability: every word is predicted from all others, so the factors do not multiply to
    P(sentence).
    """

    kind = "masked"
    whole_word = True
    hides_articles = True
    whole_sentence = True

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for every word of the sentence, the others visible."""
        return tuple(
            query
            for word in sentence.words
            for query in sentence.masked([word], left_to_right=True)
        )
