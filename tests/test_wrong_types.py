"""An argument of another type is one clear error that names it, not one from within."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import lmprobe

WRONG: Any = 5
TEXT: Any = "0.05"
TABLE = pd.DataFrame({"sex": list("mfmf"), "job": list("nncc"), "guess": list("ncnc")})
LABELS = [0, 1, 1, 0] * 5
GROUPS = ["a", "b"] * 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lmprobe.sample_size(TEXT), "`effect` must be a number: found '0.05'"),
        (lambda: lmprobe.sample_size(True), "`effect` must be a number: found True"),
        (lambda: lmprobe.sample_size(0.05, confidence=TEXT), "`confidence` must be a number"),
        (lambda: lmprobe.sample_size(0.05, group_share=TEXT), "`group_share` must be a number"),
        (lambda: lmprobe.sample_size(0.05, cost_bound=TEXT), "`cost_bound` must be a number"),
        (lambda: lmprobe.sample_size(0.05, variance=TEXT), "`variance` must be a number"),
        (lambda: lmprobe.sample_size(0.05, method=WRONG), 'no plan for "5"'),
        (lambda: lmprobe.claimable_effect([WRONG]), r"`n` must be a number: found \[5\]"),  # type: ignore[arg-type]
        (
            lambda: lmprobe.group_disparity(
                LABELS, LABELS, sensitive_features=GROUPS, protected="a", method=WRONG
            ),
            "`method` must be a function or a name: found 5",
        ),
        (lambda: lmprobe.cross(WRONG), "`columns` must be a table or columns by name: found 5"),
        (lambda: lmprobe.load_model("reference:amplified", kind=WRONG), '"5"'),
        (lambda: lmprobe.load_model("reference:amplified", device=WRONG), 'no device "5"'),
        (
            lambda: lmprobe.load_model("reference:amplified", tokenizer=WRONG),
            "`tokenizer` must be a tokenizer of transformers, a folder or a hub id: found 5",
        ),
        (lambda: lmprobe.probe("reference:amplified", WRONG), "5"),
        (lambda: lmprobe.probe("reference:amplified", min_mass=-1), "`min_mass` must be at least"),
        (
            lambda: lmprobe.probe("reference:amplified", min_mass=float("nan")),
            "`min_mass` must be a number, found nan",
        ),
        (lambda: lmprobe.probe("reference:amplified", min_mass=2), "must lie between 0 and 1"),
        (
            lambda: lmprobe.Association.from_counts([[1, 2], [3]], ["a", "b"], ["x", "y"]),
            "`counts` must be a table of numbers",
        ),
        (
            lambda: lmprobe.amplify(TABLE, attribute=WRONG, task="job", task_prediction="guess"),
            "a column is chosen by its name: found 5",
        ),
        (lambda: lmprobe.compare(WRONG), "at least two models or results"),
        (lambda: lmprobe.compare("reference:amplified"), "at least two models"),
        (lambda: lmprobe.check(WRONG, max=0.1), "its JSON or its path is expected: found 5"),
        (lambda: lmprobe.sweep(WRONG), "a sweep takes names and paths.*found 5"),
        (
            lambda: lmprobe.count_cooccurrences("text", attributes=WRONG, tasks=["nurse"]),
            "`attributes` must be several words, found 5",
        ),
    ],
)
def test_another_type_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(lmprobe.LmprobeError, match=message):
        call()
