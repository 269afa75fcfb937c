"""Scores a word together with the article that was written for it."""

from __future__ import annotations

from lmprobe.models.cloze import EncodedCloze, TokenQuery
from lmprobe.scorers.scorer import scorers


@scorers.register("phrase-l2r")
class PhraseLeftToRight:
    """P(article) x P(word | article), each from left to right.

    A visible "an" rules out most words: after it, P(auditor) is its share of the few words
    that begin with a vowel, and not comparable with P(nurse) after "a". With the article
    masked as well, all candidates are asked for in the same sentence. A word that has no
    article of its own is scored as `word-l2r` does.
    """

    kind = "masked"
    whole_word = True
    hides_articles = True
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for the article, then for each piece of the word."""
        return sentence.masked([sentence.phrase], left_to_right=True)
