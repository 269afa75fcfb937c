"""The arguments of `amplify` and of its command: which tables they mean, and which columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.tabular import measure
from lmprobe.tabular.measure import amplify, amplify_files
from lmprobe.tabular.settings import AmplifySettings


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return what is asked of the job: tables, settings, train and validation table."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(measure, "_measured", lambda *arguments: found.append(arguments))
    return found


COLUMNS: dict[str, Any] = {"attribute": "sex", "task": "t"}


@pytest.mark.parametrize(
    ("table", "runs", "tables"),
    [
        ("a", None, ["a"]),
        ("a", True, ["a"]),
        (["a"], None, ["a"]),
        (("a",), False, ["a"]),
        (["a", "b"], True, ["a", "b"]),
        (("a", "b"), True, ["a", "b"]),
        ("a", ["b", "c"], ["a", "b", "c"]),
        ("a", ("b",), ["a", "b"]),
        (["a", "b"], ["c"], ["a", "b", "c"]),
    ],
)
def test_which_tables_are_measured(
    asked: list[tuple[Any, ...]], table: Any, runs: Any, tables: list[str]
) -> None:
    amplify(table, **COLUMNS, runs=runs)
    assert asked[0][0] == tables


def test_two_tables_that_are_no_runs_are_refused(asked: list[tuple[Any, ...]]) -> None:
    for table in (["a", "b"], ("a", "b")):
        with pytest.raises(InputError, match="2 tables: several are training runs"):
            amplify(table, **COLUMNS)
    for runs in (None, True):
        with pytest.raises(InputError, match="no table was given"):
            amplify([], **COLUMNS, runs=runs)
    assert asked == []


def test_files_of_the_command_are_one_table_or_runs(asked: list[tuple[Any, ...]]) -> None:
    one, two = Path("one.csv"), Path("two.csv")
    plain = AmplifySettings()
    amplify_files([one], plain, runs=False)
    amplify_files([one], plain, runs=True)
    amplify_files([one, two], plain, runs=True)
    assert [tables for tables, *_ in asked] == [[one], [one], [one, two]]
    with pytest.raises(InputError, match="2 tables"):
        amplify_files([one, two], plain, runs=False)
    named = AmplifySettings(score=("s",), train="t.csv", validation="v.csv")
    amplify_files([one], named, runs=False)
    assert asked[-1][1:4] == (named, "t.csv", "v.csv")


def test_one_column_or_several_and_names_of_tables(asked: list[tuple[Any, ...]]) -> None:
    frame = pd.DataFrame({"sex": ["f"]})
    amplify(
        frame, attribute=["sex", "race"], task="t", score=("s",), threshold=0.5, interval=None,
        train=frame, metrics="mals",
    )  # fmt: skip
    amplify(
        frame, attribute="sex", task=["t"], score="s", validation=Path("v.csv"), train="t.csv",
        interval="bootstrap-percentile",
    )  # fmt: skip
    first, second = (settings for _, settings, *_ in asked)
    assert first.attribute == ("sex", "race")
    assert first.task == ("t",)
    assert first.task_prediction == ()
    assert (first.threshold, first.interval) == ("0.5", "none")
    assert (first.train, first.validation) == ("a table in memory", None)
    assert first.metrics == ("mals",)
    assert asked[0][2] is frame
    assert asked[0][3] is None
    assert second.score == ("s",)
    assert (second.threshold, second.interval) == (None, "bootstrap-percentile")
    assert (second.train, second.validation) == ("t.csv", "v.csv")


def test_a_number_of_the_threshold_may_be_zero(asked: list[tuple[Any, ...]]) -> None:
    amplify("a", **COLUMNS, score="s", threshold=0)
    assert asked[0][1].fixed_threshold == 0.0


def test_train_and_validation_tables_are_opened_if_there_are_any() -> None:
    frame = pd.DataFrame({"sex": list("ffmm"), "t": [0, 1, 0, 1], "s": [0.1, 0.2, 0.8, 0.9]})
    choices: dict[str, Any] = {**COLUMNS, "score": "s", "interval": None}
    alone = amplify(frame, **choices)
    # Two of four rows are positive: the cut is at the second highest score.
    assert alone.thresholds[0][1].value == 0.8
    scored = amplify(frame, **choices, validation=frame.assign(s=frame["s"] + 1))
    assert scored.thresholds[0][1].value == 1.8
    # Of the train table three of four rows are positive.
    trained = amplify(frame, **choices, train=frame.assign(t=[0, 1, 1, 1]))
    assert trained.thresholds[0][1].value == 0.2
