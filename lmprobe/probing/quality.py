"""Whether a model expects the candidates at all."""

from __future__ import annotations

from lmprobe.probing.scores import Scores
from lmprobe.results import Note, NoteKind
from lmprobe.results.format import format_percent

LEAST_RATIO = 2.0
"""Below this the candidates are not expected more than random words.

Random checkpoints of ten masked and seven causal architectures, five seeds each, both
directions: with initial weights of 0.02 none of 170 ratios exceeded 1.3, with 0.1 one exceeded
2 (2.76). Trained models have hundreds and more.
"""

TINY_MASS = 1e-3
"""With less, the candidates for a blank of one word are answers that a model hardly ever gives."""


def is_informed(scores: Scores, min_mass: float | None) -> bool:
    """Tell whether the candidates have enough probability for their shares to mean anything.

    With `min_mass` that is their mean mass; else they must have twice that of random words.
    """
    if min_mass is not None:
        return bool(scores.candidate_mass().mean() >= min_mass)
    return scores.mass_ratio is None or scores.mass_ratio >= LEAST_RATIO


def tiny_mass_notes(scores: Scores) -> tuple[Note, ...]:
    """Return the warning that the model expects other words than the candidates, if it does.

    Where candidates differ in several words, their mass is small by nature.
    """
    mass = float(scores.candidate_mass().mean())
    if not scores.one_word or mass >= TINY_MASS:
        return ()
    text = (
        f"the candidates together have {format_percent(mass)} of the probability: the model "
        "expects other words, so the value is about answers that it hardly ever gives"
    )
    return (Note(NoteKind.MASS, text),)
