"""The choices of `amplify`: defaults, limits, and what does not go together."""

from __future__ import annotations

from typing import Any

import pytest

from lmprobe.errors import InputError
from lmprobe.results.settings import options_of
from lmprobe.tabular.settings import AmplifySettings


def test_options_of_several_columns_are_given_once_per_column() -> None:
    """A name of a column may hold a comma."""
    options = options_of(type(AmplifySettings()))
    repeated = {option.name for option in options if option.repeated}
    several = {option.name for option in options if option.several}
    assert repeated == several
    assert repeated == {
        *("attribute", "task", "task_prediction", "attribute_prediction", "score", "metrics"),
    }


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"confidence": 0.0}, "between 0 and 1, both excluded: found 0"),
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"confidence": 1.5}, "between 0 and 1"),
        ({"seed": -1}, "seed"),
        ({"threshold": "0.5"}, "`threshold` and `validation` need `score`"),
        ({"validation": "v.csv"}, "`threshold` and `validation` need `score`"),
        ({"score": ("s",), "threshold": "0.5", "validation": "v.csv"}, "gives one already"),
        ({"score": ("s",), "threshold": "0", "validation": "v.csv"}, "gives one already"),
        ({"score": ("s",), "threshold": "high", "validation": "v.csv"}, "all or a number"),
        ({"train_weight": "w"}, "`train_weight` needs `train`"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(choices: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        AmplifySettings(**choices)


@pytest.mark.parametrize(
    ("threshold", "value"),
    [(None, None), ("calibrated", None), ("all", None), ("0.25", 0.25), ("-3", -3.0), ("0", 0.0)],
)
def test_a_threshold_is_a_number_or_a_rule(threshold: str | None, value: float | None) -> None:
    assert AmplifySettings(score=("s",), threshold=threshold).fixed_threshold == value


@pytest.mark.parametrize("threshold", ["high", "nan", "inf", ""])
def test_another_word_is_no_threshold(threshold: str) -> None:
    with pytest.raises(InputError, match="calibrated, all or a number"):
        _ = AmplifySettings(score=("s",), threshold=threshold).fixed_threshold
