"""The corpora of the reference models: how often each pronoun goes with each occupation, drawn.

The planted sentences stand among many others.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lmprobe.io.files import find_shipped
from lmprobe.metrics.association import Floats
from tools.reference.grammar import Grammar, Line, deal, load_grammar

Kind = Literal["faithful", "amplified"]
KINDS: tuple[Kind, ...] = ("faithful", "amplified")

PRONOUNS = ("he", "she", "they")

PUSH = 2.0
"""Amplified: the odds of `she` in an occupation, over those of all work, to this power."""

THEY_SHARE = 0.1
"""The share of `they`, the same in every occupation."""

SENTENCES_PER_THOUSAND = 2
"""Sentences about an occupation for every thousand people who have it."""

# Occupations of the other shipped lexicons, for which the labour table has no row: known to the
# models, even between he and she, each as common as a small occupation of the table.
EVEN_OCCUPATIONS = (
    "supervisor", "manager", "mechanician", "CEO", "teacher", "assistant", "clerk", "attendant",
    "technician", "engineer", "worker", "educator", "inspector", "mechanic", "therapist",
    "administrator", "advisor", "pharmacist", "psychologist", "investigator", "bartender",
    "specialist", "electrician", "officer", "pathologist", "planner", "practitioner", "plumber",
    "instructor", "surgeon", "veterinarian", "paramedic", "examiner", "chemist", "machinist",
    "appraiser", "nutritionist", "architect", "programmer", "paralegal", "hygienist", "scientist",
    "dispatcher", "dietitian", "painter", "broker", "chef", "doctor", "firefighter",
)  # fmt: skip
EVEN_THOUSANDS = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """The exact number of sentences for every pronoun and occupation, (3, T)."""

    occupations: tuple[str, ...]
    counts: NDArray[np.int64]


def labor() -> tuple[tuple[str, ...], Floats]:
    """Return the occupations of the labour table and its he and she rows, (2, T)."""
    with find_shipped("labor", "base_rates", ".csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    table = [[float(row[pronoun]) for row in rows] for pronoun in ("he", "she")]
    return tuple(row["task"] for row in rows), np.array(table)


def pushed_apart(people: Floats, push: float) -> Floats:
    """Return the (2, T) table with as many people in each occupation, he and she further apart.

    The odds of `she` in an occupation, divided by her odds in all occupations together, are
    raised to the power `push`: 1 changes nothing, 2 squares them.
    """
    he, she = people
    overall = she.sum() / he.sum()
    odds = overall * (she / he / overall) ** push
    share = odds / (1 + odds)
    total = he + she
    return np.stack([total * (1 - share), total * share])


def planted(kind: Kind) -> Planted:
    """Return the counts that the corpus of a reference model is drawn from.

    Whole numbers by rounding, not by chance: the corpus says what the table says.
    """
    occupations, people = labor()
    people = pushed_apart(people, PUSH if kind == "amplified" else 1.0)
    even = np.full((2, len(EVEN_OCCUPATIONS)), EVEN_THOUSANDS / 2)
    both = np.rint(SENTENCES_PER_THOUSAND * np.hstack([people, even])).astype(np.int64)
    they = np.rint(both.sum(axis=0) * THEY_SHARE / (1 - THEY_SHARE)).astype(np.int64)
    return Planted(occupations + EVEN_OCCUPATIONS, np.vstack([both, they]))


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
        selected = [pairs[index] for index in sorted(deal(rng, len(pairs), size))]
        lines += _fill(grammar, kind, rng, selected)
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
    selected = np.flatnonzero(chance < _WITH_NEIGHBOUR)
    nothing = [("", "")] * len(selected)
    others = _fill(grammar, "other", rng, nothing)
    order = np.argsort(rng.random(len(selected)), kind="stable")
    result = list(lines)
    for row, other in zip(selected.tolist(), order.tolist(), strict=True):
        sentence = others[other].text
        first = chance[row] < _WITH_NEIGHBOUR / 2
        result[row] = lines[row].shifted(sentence if first else "", "" if first else sentence)
    return result
