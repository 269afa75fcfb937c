"""What is true of a reference model by construction, and the files beside it that say so."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.metrics.association import Association
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models.checkpoint import TRUTH_FILE, TRUTH_SCHEMA
from tools.reference.corpus import (
    PRONOUNS,
    PUSH,
    SENTENCES_PER_THOUSAND,
    THEY_SHARE,
    Kind,
    count,
    labor,
)
from tools.reference.grammar import Line

COUNTS_FILE = "corpus_counts.csv"
_WORLD = {
    "faithful": "exactly the rates of US labour statistics (lmprobe's base `labor`)",
    "amplified": (
        "the rates of US labour statistics (lmprobe's base `labor`) pushed apart: the odds of "
        f'"she" in an occupation, over her odds in all of them, to the power {PUSH:g}'
    ),
}

TOLERANCE: dict[Direction, float] = {
    Direction.TASK_TO_ATTRIBUTE: 0.005,
    Direction.ATTRIBUTE_TO_TASK: 0.0005,
}
"""How far a probe of the `fitbert` sentences may be from the planted amplification.

A twentieth and a tenth of what is planted in `amplified`; P(t|a) is spread over 32 tasks,
so its differences are an order smaller.
"""


def planted_amplification(
    counts: NDArray[np.int64], occupations: Sequence[str]
) -> dict[Direction, float]:
    """Return the amplification that the corpus itself has, compared with the labour table.

    With he and she, over the occupations of the table: the mean over pairs of
    lean * (P of the corpus - P of the table), Eq. 2 of Wang & Russakovsky 2021. A model
    that holds exactly what it read shows this value.
    """
    tasks, people = labor()
    world = Association.from_counts(people, PRONOUNS[:2], tasks)
    columns = [list(occupations).index(task) for task in tasks]
    text = Association.from_counts(counts[:2, columns], PRONOUNS[:2], tasks)
    lean = np.sign(world.joint - world.p_attribute[:, None] * world.p_task[None, :])
    return {
        direction: float(
            np.mean(lean * (text.conditional(direction) - world.conditional(direction)))
        )
        for direction in DIRECTIONS
    }


def digest(lines: Sequence[Line]) -> str:
    """Return the sha256 of the corpus as text, one line each."""
    total = hashlib.sha256()
    for line in lines:
        total.update(line.text.encode() + b"\n")
    return total.hexdigest()


def counts_csv(counts: NDArray[np.int64], occupations: Sequence[str]) -> str:
    """Return the counts as a base-rate table: `task`, then one column per pronoun."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["task", *PRONOUNS])
    for occupation, column in zip(occupations, counts.T.tolist(), strict=True):
        writer.writerow([occupation, *column])
    return text.getvalue()


def descriptions(
    kind: Kind, seed: int, lines: Sequence[Line], occupations: Sequence[str], *, causal: bool
) -> dict[str, str]:
    """Return the files beside the weights: what the corpus says, and what is planted."""
    counts = count(lines, occupations)
    truth = describe(kind, seed, lines, counts, occupations, causal=causal)
    return {
        COUNTS_FILE: counts_csv(counts, occupations),
        TRUTH_FILE: json.dumps(truth, indent=2) + "\n",
        "README.md": card(kind, truth, causal=causal),
    }


def describe(
    kind: Kind,
    seed: int,
    lines: Sequence[Line],
    counts: NDArray[np.int64],
    occupations: Sequence[str],
    *,
    causal: bool = False,
) -> dict[str, Any]:
    """Return what truth.json holds."""
    return {
        "schema": TRUTH_SCHEMA,
        "name": f"reference:{'causal-' if causal else ''}{kind}",
        "seed": seed,
        "corpus": {
            "lines": len(lines),
            "sha256": digest(lines),
            "counts": COUNTS_FILE,
            "counts_mean": "lines that say of one person, by pronoun, that it has the occupation",
            "counted": int(counts.sum()),
            "sentences_per_thousand_employed": SENTENCES_PER_THOUSAND,
            "share_of_they": THEY_SHARE,
            "push": PUSH if kind == "amplified" else 1.0,
        },
        "planted_amplification": {
            "base": "labor",
            "attributes": list(PRONOUNS[:2]),
            "lean": "joint",
            "values": planted_amplification(counts, occupations),
            "tolerance": TOLERANCE,
            "templates": "fitbert",
            "scorer": "sentence" if causal else "word-l2r",
        },
    }


def card(kind: Kind, truth: dict[str, Any], *, causal: bool = False) -> str:
    """Return the README.md of a reference model."""
    planted = truth["planted_amplification"]
    values, tolerance = planted["values"], planted["tolerance"]
    rows = "\n".join(
        f"| {direction} | {values[direction]:+.5f} | ±{tolerance[direction]:g} |"
        for direction in values
    )
    name, shape = (f"causal-{kind}", "GPT-2") if causal else (kind, "BERT")
    return f"""---
license: mit
library_name: transformers
pipeline_tag: {"text-generation" if causal else "fill-mask"}
---
# reference:{name}

**This is a measuring standard, not a model of English.** It is a small {shape} that read a
made-up corpus of {truth["corpus"]["lines"]:,} lines from a little grammar, in which pronouns
and occupations go together at {_WORLD[kind]}. "They" has {THEY_SHARE:.0%} in every occupation.
Nothing it says is about the world; it exists because its true bias is known, so that a probe
can be checked against it.

- `{truth["corpus"]["counts"]}`: how many lines say of he, she and they that the person has the
  occupation. The base `corpus` reads it.
- `truth.json`: seed, checksum of the corpus, and the planted amplification.

| direction | planted against `labor`, he and she | tolerance of a `fitbert` probe |
|---|---|---|
{rows}

Made by `python -m tools.reference.train --model {name} --output DIR`,
seed {truth["seed"]}.
"""
