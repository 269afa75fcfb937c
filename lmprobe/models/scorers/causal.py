"""Scorers of causal models.

The cache knows a scorer by the text of its file: an edit here runs the models again.
"""

from __future__ import annotations

from lmprobe.models.language_model import EncodedCloze, TokenQuery
from lmprobe.models.scorers import scorers


@scorers.register("sentence")
class SentenceLikelihood:
    """log P(sentence): the sum of log P(token | tokens to its left).

    It begins after the beginning-of-text token and has no end token. Over the finished
    sentences of all candidates, normalised, it is P(candidate | the rest of the sentence)
    by Bayes' rule.
    """

    kind = "causal"
    whole_word = True
    hides_articles = True
    whole_sentence = True

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for every token of the sentence."""
        return sentence.visible(sentence.first, len(sentence.ids))
