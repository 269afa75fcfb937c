"""Scorers of masked models.

The cache knows a scorer by the text of its file: an edit here runs the models again.
"""

from __future__ import annotations

from lmprobe.models.language_model import EncodedCloze, TokenQuery
from lmprobe.models.scorers import scorers


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


@scorers.register("word-l2r")
class WordLeftToRight:
    """Product of P(piece | pieces to its left), the pieces to its right masked.

    The chain rule within the word. A word of n pieces is asked for in a sentence with n
    masks, so its probability is that of the word given that it has n pieces.
    """

    kind = "masked"
    whole_word = True
    hides_articles = False
    whole_sentence = False

    def queries(self, sentence: EncodedCloze) -> tuple[TokenQuery, ...]:
        """Ask for each piece with those before it visible."""
        return sentence.masked([sentence.word], left_to_right=True)


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
