"""The directions of bias amplification, and the other options that are a closed set."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, get_args

from lmprobe.errors import InputError, did_you_mean

MissingCells = Literal["error", "drop"]
"""What becomes of the rows of a table that lack a value."""


class Direction(StrEnum):
    """A direction of prediction: `task->attribute` (T->A) or `attribute->task` (A->T).

    >>> Direction.parse("T->A").question
    'given the task, the model predicts the group'
    """

    TASK_TO_ATTRIBUTE = "task->attribute"
    ATTRIBUTE_TO_TASK = "attribute->task"

    @classmethod
    def parse(cls, text: str) -> Direction:
        """Return the direction that a name or its abbreviation (T->A, A->T) means."""
        for direction in cls:
            if str(text).strip().lower() in (direction.value, direction.short.lower()):
                return direction
        names = [name for direction in cls for name in (direction.value, direction.short)]
        raise InputError(f'no direction "{text}"; {did_you_mean(str(text), names)}')

    @property
    def given(self) -> str:
        """`task` or `attribute`: what is given to the model."""
        return self.value.partition("->")[0]

    @property
    def predicted(self) -> str:
        """`task` or `attribute`: what the model predicts."""
        return self.value.partition("->")[2]

    @property
    def axis(self) -> int:
        """The axis of a table (..., attribute, task) over which predictions add up to one.

        It also selects what is predicted from a pair: `(attributes, tasks)[direction.axis]`.
        """
        return ("attribute", "task").index(self.predicted) - 2

    @property
    def given_axis(self) -> int:
        """The other axis: that of the conditions."""
        return ("attribute", "task").index(self.given) - 2

    @property
    def short(self) -> str:
        """The abbreviation of the papers: T->A or A->T."""
        return f"{self.given[0]}->{self.predicted[0]}".upper()

    @property
    def slug(self) -> str:
        """The direction as part of a name: task_to_attribute."""
        return f"{self.given}_to_{self.predicted}"

    @property
    def question(self) -> str:
        """What the model predicts, in words."""
        words = {"task": "task", "attribute": "group"}
        return f"given the {words[self.given]}, the model predicts the {words[self.predicted]}"


DIRECTIONS: tuple[Direction, ...] = tuple(Direction)


Missing = Literal["drop", "error", "smooth", "keep"]
"""What happens to words that a base does not know."""
MISSING: tuple[Missing, ...] = get_args(Missing)

Resample = Literal["both", "templates", "tasks"]
"""What the bootstrap of a probe draws anew."""
RESAMPLES: tuple[Resample, ...] = get_args(Resample)

LeanWeighting = Literal["joint", "paper"]
"""How the lean weighs tasks and groups: Eq. 2 of the paper, or its published code."""
LEAN_WEIGHTINGS: tuple[LeanWeighting, ...] = get_args(LeanWeighting)

Pairs = Literal["first", "all"]
"""Which models are compared: every one with the first, or every two."""

Dtype = Literal["float32", "float64", "bfloat16", "float16"]
"""The precision in which a model computes."""

DisparityMeasure = Literal[
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "fpr_difference",
    "tpr_difference",
    "accuracy_difference",
]
"""What is compared between groups; `lmprobe.metrics.disparity` says what each charges."""
