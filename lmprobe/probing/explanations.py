"""What a reader must know of a row's numbers: why its parts disagree, and what its base allows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.inference.planning import sentences_needed
from lmprobe.intervals.base_uncertainty import BaseCorrection, is_enough
from lmprobe.results import Estimate, Note, NoteKind
from lmprobe.results.format import format_signed
from lmprobe.sources import AlignedBaseRates

# A preference is worth a sentence where it moves a tenth of the probability.
_MOVED = 0.1
# The reliability that is worth counting more sentences for.
_GOOD = 0.9


def preference_notes(
    parts: Mapping[str, Estimate], rates: AlignedBaseRates, direction: Direction, predicted: Floats
) -> tuple[Note, ...]:
    """Return one sentence where the value and the association differ in size or verdict."""
    value, association, preference = (
        parts[name] for name in ("value", "association", "preference")
    )
    word, moved = preferred(rates, direction, predicted)
    large = abs(preference.claimed) > abs(value.claimed) / 2
    if not (large and moved > _MOVED) and value.verdict is association.verdict:
        return ()
    share = "mostly" if large else "partly"
    number = "value" if value.corrected is None else "corrected value"
    text = (
        f"the {number} ({format_signed(value.claimed)}) differs from the association "
        f"({format_signed(association.claimed)}), {share} because the model prefers “{word}” in "
        "all sentences"
    )
    return (Note(NoteKind.PREFERENCE, text),)


def preferred(
    rates: AlignedBaseRates, direction: Direction, predicted: Floats
) -> tuple[str, float]:
    """Return the candidate that the model prefers most, whatever is given, against the base.

    With it comes the share of the probability that the model gives to other candidates than
    the base does (the total variation distance of the two margins).
    """
    world = rates.association
    if direction is Direction.TASK_TO_ATTRIBUTE:
        found = predicted.mean(axis=0) @ world.p_task
        expected, names = world.p_attribute, world.attributes
    else:
        found = world.p_attribute @ predicted.mean(axis=0)
        expected, names = world.p_task, world.tasks
    more = found - expected
    return names[int(np.argmax(more))], float(np.abs(more).sum() / 2)


def base_notes(
    estimate: Estimate,
    corrections: tuple[BaseCorrection, BaseCorrection],
    counts: Floats,
    direction: Direction,
) -> tuple[Note, ...]:
    """Return what the noise of a sampled base did to the value, and how to have less of it.

    The corrections are those of the value and of the association; a verdict needs both.
    """
    assert estimate.base_bias is not None
    sentences = corrections[0].sentences
    if sentences is None:
        text = (
            "the value is corrected for the bias that the standard errors of the base cause, "
            f"{format_signed(estimate.base_bias)}"
        )
        return (Note(NoteKind.BASE, text),)
    found, association = (one.reliability.proportional for one in corrections)
    text = (
        f"the base was counted in {sentences:,} sentences; the value is corrected for the bias "
        f"that their noise causes, {format_signed(estimate.base_bias)}. A base of this size shows "
        f"{found:.0%} of an amplification"
    )
    if not is_enough(association) and is_enough(found):
        text += f", but only {association:.0%} of the association"
    if not is_enough(min(found, association)):
        text += "; this is too little for a verdict"
    if found >= _GOOD:
        return (Note(NoteKind.BASE, text),)
    enough = sentences_needed(counts, direction, reliable=_GOOD)
    needed = (
        "no number of sentences would show more, because the table has no clear link"
        if enough is None
        else f"about {enough:,} would show {_GOOD:.0%}"
    )
    return (Note(NoteKind.BASE, f"{text}; {needed}"),)
