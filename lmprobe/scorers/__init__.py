"""Says which tokens are asked for to score a candidate: one file per scorer."""

from lmprobe.scorers.scorer import (
    CandidateScores,
    Scorer,
    SplitWordWarning,
    choose_scorer,
    score,
    scorers,
)

__all__ = [
    "CandidateScores",
    "Scorer",
    "SplitWordWarning",
    "choose_scorer",
    "score",
    "scorers",
]
