"""Draws the corpus of a reference model: the planted sentences among many others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lmprobe.models.reference.grammar import Grammar, Line, deal, load_grammar
from lmprobe.models.reference.rates import PRONOUNS, Planted

# For every sentence that links a pronoun to an occupation, so many of the other kinds.
_OTHERS = {"occupation": 0.15, "pronoun": 0.25, "other": 0.6}
# So many lines are two sentences: the planted one and another, in either order.
_WITH_NEIGHBOUR = 0.2


def generate(planted: Planted, seed: int | Sequence[int]) -> list[Line]:
    """Return the corpus, shuffled; the same planted counts and seed give the same lines.

    Frames and words go to every pronoun and every occupation alike. Sentences with an
    occupation alone, or a pronoun alone, keep the shares of the planted counts.
    """
    rng = np.random.default_rng(seed)
    grammar = load_grammar()
    pairs = [
        (pronoun, occupation)
        for row, pronoun in zip(planted.counts, PRONOUNS, strict=True)
        for count, occupation in zip(row, planted.occupations, strict=True)
        for _ in range(count)
    ]
    lines = _fill(grammar, "link", rng, pairs)
    for kind, share in _OTHERS.items():
        size = round(share * len(pairs))
        chosen = [pairs[index] for index in sorted(deal(rng, len(pairs), size))]
        lines += _fill(grammar, kind, rng, chosen)
    lines = _with_neighbours(grammar, rng, lines)
    return [lines[index] for index in np.argsort(rng.random(len(lines)), kind="stable").tolist()]


def count(
    lines: Sequence[Line], occupations: Sequence[str], pronouns: Sequence[str] = PRONOUNS
) -> NDArray[np.int64]:
    """Count the lines in which a pronoun is said to be an occupation, (A, T)."""
    column = {occupation: index for index, occupation in enumerate(occupations)}
    row = {pronoun: index for index, pronoun in enumerate(pronouns)}
    counts = np.zeros((len(pronouns), len(occupations)), dtype=np.int64)
    for line in lines:
        if line.pronoun is not None and line.occupation is not None:
            counts[row[line.pronoun], column[line.occupation]] += 1
    return counts


def _fill(
    grammar: Grammar, kind: str, rng: np.random.Generator, pairs: Sequence[tuple[str, str]]
) -> list[Line]:
    """Return one line per pair; a kind without pronoun or occupation leaves that half out."""
    frames = grammar.frames[kind]
    frame_of = np.array(deal(rng, len(frames), len(pairs)))
    lines: list[Line] = []
    for index, frame in enumerate(frames):
        here = [pairs[row] for row in np.flatnonzero(frame_of == index).tolist()]
        lines += grammar.fill(
            frame,
            rng,
            count=len(here),
            pronouns=[pronoun for pronoun, _ in here] if kind in ("link", "pronoun") else (),
            occupations=[work for _, work in here] if kind in ("link", "occupation") else (),
        )
    return lines


def _with_neighbours(
    grammar: Grammar, rng: np.random.Generator, lines: Sequence[Line]
) -> list[Line]:
    """Put another sentence before or after some of the lines."""
    chance = rng.random(len(lines))
    chosen = np.flatnonzero(chance < _WITH_NEIGHBOUR)
    nothing = [("", "")] * len(chosen)
    others = _fill(grammar, "other", rng, nothing)
    order = np.argsort(rng.random(len(chosen)), kind="stable")
    result = list(lines)
    for row, other in zip(chosen.tolist(), order.tolist(), strict=True):
        sentence = others[other].text
        first = chance[row] < _WITH_NEIGHBOUR / 2
        result[row] = lines[row].shifted(sentence if first else "", "" if first else sentence)
    return result
