"""Scores a word together with the article that was written for it."""

from __future__ import annotations

from lmprobe.models.blank import Encoded, Question
from lmprobe.scorers.scorer import scorers
from lmprobe.scorers.word_l2r import WordLeftToRight


@scorers.register("phrase-l2r")
class PhraseLeftToRight(WordLeftToRight):
    """P(article) x P(word | article), each from left to right.

    "An" in sight rules out most words: behind it, P(auditor) is her share of the few words
    that begin with a vowel, and not to be compared with P(nurse) behind "a". With the
    article masked as well, all candidates are asked for in the same sentence. A word that
    has no article of its own is scored as `word-l2r` does.
    """

    def questions(self, sentence: Encoded) -> tuple[Question, ...]:
        """Ask for the article, then for each piece of the word."""
        return super().questions(sentence.with_article())
