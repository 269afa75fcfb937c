"""Turns token log-probabilities into the probability of a word: one file per scorer."""

from lmprobe.scorers.scorer import Scorer, SplitWordWarning, WordScores, score, scorers

__all__ = ["Scorer", "SplitWordWarning", "WordScores", "score", "scorers"]
