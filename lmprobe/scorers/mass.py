"""How probable a candidate is by itself, for scorers that judge the whole sentence.

The likelihoods of whole sentences say which candidate is preferred, not whether the model
expected any of them. That is the mass: the probability of the words in which candidates
differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmprobe.models.cloze import WORD_START, EncodedCloze, TokenQuery
from lmprobe.models.kind import kinds


@dataclass(frozen=True, slots=True)
class MassQueries:
    """The log-probability of the mass is the sum of `added` minus the sum of `subtracted`."""

    added: tuple[TokenQuery, ...]
    subtracted: tuple[TokenQuery, ...] = ()


def mass_queries(sentence: EncodedCloze, kind: str) -> MassQueries:
    """Return what to ask for the mass of a candidate.

    Masked models: all that differs, left to right, as `difference-l2r` does.

    Causal models: the first span that differs, as a whole word after what is left of it.
    The tokens' chain rule gives the probability of a text that begins with these letters;
    times P(the next token begins a word) over P(this one does) it is that of the word
    (Pimentel & Meister 2024; Oh & Schuler 2024). The start of a sentence is a boundary.
    """
    if kinds.get(kind).masks:
        return MassQueries(sentence.masked(sentence.differing, left_to_right=True))
    start, end = sentence.differing[0]
    before, after = sentence.boundary
    added = sentence.visible(max(start, sentence.first), end)
    if after:
        added += (TokenQuery(sentence.ids, end, WORD_START),)
    if before and start > sentence.first:
        return MassQueries(added, (TokenQuery(sentence.ids, start, WORD_START),))
    return MassQueries(added)
