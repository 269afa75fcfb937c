"""How often each pronoun goes with each occupation in the corpora of the reference models."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats
from lmprobe.io import resources

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
    with resources.find("labor", "base_rates", ".csv").open(encoding="utf-8", newline="") as file:
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
