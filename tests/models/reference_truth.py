"""What lies beside the bundled reference models, and small corpora like theirs."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe.models.reference import corpus, truth
from lmprobe.models.reference.grammar import Line
from lmprobe.models.reference.rates import (
    KINDS,
    PRONOUNS,
    Kind,
    Planted,
    planted,
)

BUNDLED = Path(truth.__file__).parent
PAIR = PRONOUNS[:2]
CAUSAL = tuple(f"causal-{kind}" for kind in KINDS)
each_kind = pytest.mark.parametrize("kind", KINDS)
each_model = pytest.mark.parametrize("name", [*KINDS, *CAUSAL])


def shipped_counts(kind: str) -> tuple[tuple[str, ...], np.ndarray]:
    with (BUNDLED / kind / truth.COUNTS_FILE).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    counts = np.array([[int(row[pronoun]) for row in rows] for pronoun in PRONOUNS])
    return tuple(row["task"] for row in rows), counts


def shipped_truth(kind: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((BUNDLED / kind / truth.TRUTH_FILE).read_text())
    return read


@cache
def lines_of(kind: Kind) -> list[Line]:
    return corpus.generate(planted(kind), shipped_truth(kind)["seed"])


@cache
def small_corpus() -> list[Line]:
    whole = planted("faithful")
    return corpus.generate(Planted(whole.occupations, np.ceil(whole.counts / 100).astype(int)), 3)
