"""The tables of a probe: a whole terminal, what is left out of it, parts, robustness, pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS
from lmprobe.inference.unevenness import Unevenness
from lmprobe.probing.groups import GroupedWord
from lmprobe.probing.result import Margin
from lmprobe.probing.tables import pair_table, part_table, robustness_table
from lmprobe.report.terminal import table_text
from lmprobe.results import Estimate, Interval, Verdict
from tests.probing.made_rows import made_result, made_row

FORWARD, BACKWARD = DIRECTIONS
NAN = np.nan
UNEVEN = Unevenness(0.2, Interval(0.1, 0.3, 0.95, "bootstrap-deviation"), 0.02)
PART = Estimate(0.25, Interval(0.2, 0.3, 0.95, "bootstrap"), Verdict.AMPLIFIES)
PLAIN = [[0.1, 0.2], [0.3, 0.4]]
WORDS = (
    GroupedWord("attribute", "men", "he", 0.75),
    GroupedWord("attribute", "men", "him", 0.25),
    GroupedWord("attribute", "women", "she", 1.0),
    # Another axis with a group of the same name has one word of its own.
    GroupedWord("task", "women", "nurse", 1.0),
)
WHOLE = """\
task->attribute: given the task, the model predicts the group
                                                                       association                     preference
base     value  corrected  95% interval        verdict    association  interval            preference  interval            undefined
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
labor  +0.2500    +0.1250  +0.1000 to +0.3000  amplifies      +0.2500  +0.2000 to +0.3000     +0.7500  +0.2000 to +0.3000  0 of 4
town   +0.2667          –  +0.1000 to +0.3000  amplifies            –  –                            –  –                   1 of 4

attribute->task: given the group, the model predicts the task
                                                            association
base     value  95% interval        verdict    association  interval            undefined
─────────────────────────────────────────────────────────────────────────────────────────
labor  +0.2500  +0.1000 to +0.3000  amplifies      +0.2500  +0.2000 to +0.3000  0 of 4

task->attribute: given the task, the model predicts the group; no lean is known, so only its size
base     absolute  95% interval         p  verdict
──────────────────────────────────────────────────
uniform    0.2000  0.1000 to 0.3000  0.02  uneven

race alone: task->attribute: given the task, the model predicts the group
base    value  95% interval        verdict
────────────────────────────────────────────
r     +0.2500  +0.1000 to +0.3000  amplifies

words behind the groups, and the part of the group's probability that each carried
axis       group  word  share
─────────────────────────────
attribute  men    he      75%
attribute  men    him     25%
"""  # noqa: E501


def test_a_whole_terminal() -> None:
    """Bases without a lean, crossed attributes and words have tables of their own."""
    result = made_result(
        made_row(
            PLAIN,
            association=PART,
            preference=replace(PART, value=9.0, corrected=0.75),
            corrected=0.125,
        ),
        made_row(PLAIN, direction=BACKWARD, association=PART),
        made_row(PLAIN, [[0.5, NAN], [0.5, 0.5]], base="town"),
        made_row(PLAIN, base="uniform", unevenness=UNEVEN),
        margins=(Margin("race", made_row(PLAIN, base="r")),),
        words=WORDS,
    )
    text = "\n".join(table_text(table, 140) for table in result.tables())
    assert "\n".join(line.rstrip() for line in text.splitlines()) + "\n" == WHOLE


def test_the_parts_of_all_rows_forward_first() -> None:
    rows = [
        made_row(PLAIN, direction=BACKWARD, association=PART),
        made_row(PLAIN, association=PART, preference=replace(PART, value=0.5, corrected=0.75)),
        made_row(PLAIN, base="none"),
    ]
    assert [cells[:4] for cells in part_table(rows).rows] == [
        (FORWARD, "labor", "association", 0.25),
        (FORWARD, "labor", "preference", 0.75),
        (BACKWARD, "labor", "association", 0.25),
    ]


def test_robustness_is_that_of_the_templates() -> None:
    cells = np.full((3, 2, 2), 0.1) * np.array([1.0, 4.0, -2.0])[:, None, None]
    (line,) = robustness_table(FORWARD, [made_row(cells)]).rows
    # 0.1, 0.4 and -0.2: without one the mean is between -0.05 and 0.25.
    assert line == (
        "labor",
        pytest.approx(np.std([0.1, 0.4, -0.2])),
        "−0.0500 to +0.2500",
        pytest.approx(1 / 3),
    )


def test_pairs_come_by_size_and_undefined_ones_last() -> None:
    """By what the model says, or by the order of the words, the first would be he and cook."""
    rates = [[0.9, NAN], [0.2, 0.4]]
    cells: Any = [[[0.0, 0.1], [-0.3, 0.1]], [[0.1, 0.1], [-0.1, 0.2]]]
    table = pair_table([made_row(cells, rates, tasks=("cook", "nurse"))])
    pairs = [line[2:] for line in table.rows]
    assert [pair[:2] for pair in pairs] == [
        ("she", "cook"), ("she", "nurse"), ("he", "cook"), ("he", "nurse"),
    ]  # fmt: skip
    # The amplification, the model's mean over templates, the base rate, the lean.
    assert pairs[0][2:] == pytest.approx((-0.2, 0.0, 0.2, 1.0))
    assert pairs[2][2:] == pytest.approx((0.05, 0.95, 0.9, 1.0))
    assert np.isnan(pairs[3][2])
