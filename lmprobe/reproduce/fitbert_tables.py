"""What the two versions of the paper printed about FitBERT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lmprobe.core.direction import Direction
from lmprobe.reproduce.fitbert_presets import PAPER, PAPER_LIKELIEST, THREE, TWO, Preset

TO_ATTRIBUTE: Direction = Direction.TASK_TO_ATTRIBUTE
TO_TASK: Direction = Direction.ATTRIBUTE_TO_TASK

Key = tuple[str, tuple[str, ...]]
LABELS: dict[Key, str] = {
    ("uniform", TWO): "Uniform (2)",
    ("uniform", THREE): "Uniform (3)",
    ("wikipedia", TWO): "Wikipedia (2)",
    ("labor", TWO): "US Labor (2)",
}


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """What a paper printed: value and the ± after it, for each base and direction."""

    name: str
    title: str
    where: str
    templates: str
    paper: Preset
    printed: Mapping[Key, Mapping[Direction, tuple[float, float | None]]]
    notes: tuple[str, ...]


ICML = PrintedTable(
    name="fitbert",
    title="Bias amplification of FitBERT for different base correlation sources",
    where="Wang & Russakovsky 2021 (ICML), Table 2 and Figure 5",
    templates="fitbert",
    paper=PAPER,
    printed={
        ("uniform", TWO): {TO_ATTRIBUTE: (0.1368, 0.0226), TO_TASK: (0.0084, 0.0054)},
        ("uniform", THREE): {TO_ATTRIBUTE: (0.0914, 0.0151), TO_TASK: (0.0056, 0.0036)},
        ("wikipedia", TWO): {TO_ATTRIBUTE: (0.0372, 0.0307), TO_TASK: (-0.0002, 0.0043)},
        ("labor", TWO): {TO_ATTRIBUTE: (-0.1254, 0.0026), TO_TASK: (-0.0089, 0.0054)},
    },
    notes=(
        "The paper's ± is the standard deviation over the 20 templates, not an interval.",
        "The printed labour T->A deviation of .0026 is inconsistent with the .0226 of uniform "
        "(2): the two rows differ by a constant, so their deviations must be equal. It is "
        "probably a misprint.",
        "The paper counted WikiText-103; without --wikipedia ours is the shipped WikiText-2.",
    ),
)
ICLR = PrintedTable(
    name="fitbert-iclr",
    title="Bias amplification of FitBERT, earlier version with two sentences",
    where="Wang & Russakovsky, ICLR submission, Table 1",
    templates="fitbert-iclr",
    paper=PAPER_LIKELIEST,
    printed={
        ("uniform", TWO): {TO_ATTRIBUTE: (0.1875, None), TO_TASK: (0.0156, None)},
        ("uniform", THREE): {TO_ATTRIBUTE: (0.1250, None), TO_TASK: (0.0104, None)},
        ("wikipedia", TWO): {TO_ATTRIBUTE: (0.2457, None), TO_TASK: (0.0088, None)},
        ("labor", TWO): {TO_ATTRIBUTE: (-0.0747, None), TO_TASK: (-0.0017, None)},
    },
    notes=(
        "The printed values are multiples of 1/64 and 1/96 against the uniform bases, so the "
        "most likely word was used as a discrete prediction; the preset `paper` does the same.",
        "The minus signs of the labour row are missing in the text of the paper; its constant "
        "differences from uniform (2), 0.2622 in T->A and 0.0173 in A->T, show that both are "
        "negative.",
        "In these sentences a or an is right before the occupation, so in A->T a word competes "
        "mainly with words of the same article; `lmprobe run --templates fitbert-iclr --scorer "
        "phrase-l2r` predicts both.",
    ),
)
