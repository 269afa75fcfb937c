"""One measurement of tables: what goes together, where scores are cut, what is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.tabular.amplify import amplify
from lmprobe.tabular.result import AmplificationResult


def people(seed: int = 0, rows: int = 40) -> pd.DataFrame:
    """Few positives, so that a share of rows is not one of kinds of rows."""
    draw = np.random.default_rng(seed)
    made = pd.DataFrame({"sex": draw.choice(["f", "m"], rows), "seed": np.arange(rows) % 2})
    made["t"] = (draw.random(rows) < 0.2).astype(int)
    made["u"] = (draw.random(rows) < 0.6).astype(int)
    made["p"], made["q"] = 1 - made["t"], draw.integers(0, 2, rows)
    made["s"], made["r"] = draw.permutation(rows) / rows, draw.permutation(rows) / rows
    made["w"] = draw.integers(1, 4, rows)
    return made


def measured(table: Any, **choices: Any) -> AmplificationResult:
    return amplify(table, **{"attribute": "sex", "task": "t", "interval": None, **choices})


PREDICTED: dict[str, Any] = {"task_prediction": "p"}
SCORED: dict[str, Any] = {"score": "s"}


@pytest.mark.parametrize(
    ("tables", "choices", "problem"),
    [
        (1, SCORED | {"run_column": "seed"}, "each run needs its own threshold"),
        (1, SCORED | {"run_column": "seed", "threshold": "all"}, "each run needs its own"),
        (2, PREDICTED | {"run_column": "seed"}, "--run-column or several tables"),
        (1, PREDICTED | {"run_column": "seed", "metrics": "mals"}, "`metrics` is for one run"),
        (2, PREDICTED | {"metrics": "mals"}, "`metrics` is for one run"),
        (2, SCORED | {"threshold": "all"}, '`threshold="all"` is for one run'),
    ],
)
def test_what_does_not_go_with_several_runs(
    tables: int, choices: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        measured([people(seed) for seed in range(tables)], runs=True, **choices)


@pytest.mark.parametrize(
    ("tables", "choices", "runs"),
    [
        (1, SCORED, 1),
        (1, SCORED | {"threshold": "all"}, 1),
        (1, SCORED | {"run_column": "seed", "threshold": 0.5}, 2),
        (1, PREDICTED | {"run_column": "seed"}, 2),
        (2, PREDICTED, 2),
        (2, SCORED, 2),
        (1, PREDICTED | {"metrics": "directional"}, 1),
    ],
)
def test_what_goes_with_one_run_and_with_several(
    tables: int, choices: dict[str, Any], runs: int
) -> None:
    result = measured([people(seed) for seed in range(tables)], runs=True, **choices)
    assert len(result.rows[0].runs) == runs
    assert result.rows_read == 40 * tables
    assert len(result.thresholds) == (tables if "score" in choices else 0)
    assert len(result.curves) == (choices.get("threshold") == "all")
    assert len(result.metrics) == ("metrics" in choices)


@pytest.mark.parametrize("metrics", [(), ("directional",)])
@pytest.mark.parametrize("weight", [None, "w"])
def test_as_many_rows_are_positive_as_are_labelled_whatever_else_is_asked(
    metrics: tuple[str, ...], weight: str | None
) -> None:
    table = people()
    several: dict[str, Any] = {"task": ["t", "u"], "score": ["s", "r"], "weight": weight}
    result = measured(table, **several, metrics=metrics)
    weights = np.ones(40) if weight is None else table["w"].to_numpy()
    assert [cut.task for cut in result.thresholds] == ["t", "u"]
    for cut in result.thresholds:
        assert cut.wanted == pytest.approx(np.average(table[cut.task], weights=weights))
    train = measured(table, **several, train=people(1), train_weight="w", metrics=metrics)
    wanted = [cut.wanted for cut in train.thresholds]
    expected = np.average(people(1)[["t", "u"]], axis=0, weights=people(1)["w"])
    assert wanted == pytest.approx(expected.tolist())


def test_a_given_threshold_holds_for_every_score() -> None:
    result = measured(people(), task=["t", "u"], score=["s", "r"], threshold=0.25)
    assert [(cut.task, cut.value) for cut in result.thresholds] == [("t", 0.25), ("u", 0.25)]
    share = result.rows[0].runs[0].predicted[0, 0]
    table = people()
    assert share == (table["s"] >= 0.25)[table["sex"] == "f"].mean()


def test_scores_of_classes_are_refused() -> None:
    table = people().assign(t=np.where(people()["t"], "yes", "no"))
    for threshold in (None, 0.5):
        with pytest.raises(InputError, match=r'the column "t" holds no, yes'):
            measured(table, **SCORED, threshold=threshold)


def test_curves_use_the_lean_of_the_train_table() -> None:
    table = people()
    own = measured(table, **SCORED, threshold="all").curves[0]
    # The same rows with the groups exchanged lean the other way.
    train = table.assign(sex=table["sex"].map({"f": "m", "m": "f"}))
    turned = measured(table, **SCORED, threshold="all", train=train).curves[0]
    assert turned.integral == pytest.approx(-own.integral)
    assert own.integral != 0


def test_a_task_of_the_train_table_may_have_classes() -> None:
    table = people().assign(p=lambda table: table["t"])
    result = measured(table, **PREDICTED, train=people(1).assign(t=lambda table: table["u"] * 2))
    assert result.rows[0].tasks == ("0", "1", "2")


def test_progress_is_told_table_by_table() -> None:
    steps: list[tuple[int, int]] = []
    measured(
        [people(0), people(1)],
        **PREDICTED,
        runs=True,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(1, 2), (2, 2)]


def test_runs_are_called_as_their_files_or_by_number(tmp_path: Path) -> None:
    names = []
    for seed in range(2):
        people(seed).to_csv(tmp_path / f"{seed}.csv", index=False)
        names.append(str(tmp_path / f"{seed}.csv"))
    result = measured(names, **PREDICTED, runs=True)
    assert [item.run for item in result.rows[0].runs] == names
    assert result.provenance["tables"] == names
    assert result.provenance["files"]
    held = measured([people(0), people(1)], **PREDICTED, runs=True)
    assert [item.run for item in held.rows[0].runs] == ["run 1", "run 2"]
    column = measured(people(), **PREDICTED, run_column="seed")
    assert [item.run for item in column.rows[0].runs] == ["0", "1"]


def test_it_is_remembered_whether_all_tables_are_files(tmp_path: Path) -> None:
    """Only then can a command run the same again."""
    people().to_csv(tmp_path / "a.csv", index=False)
    file, frame = tmp_path / "a.csv", people()
    for table, more, files in (
        (file, {}, True),
        (frame, {}, False),
        (file, {"train": file}, True),
        (file, {"train": frame}, False),
        (file, {"validation": file}, True),
        (file, {"validation": frame}, False),
        (frame, {"train": file}, False),
    ):
        assert measured(table, **SCORED, **more).provenance["files"] is files
    assert measured(file, **SCORED, seed=3).provenance["seed"] == 3


def test_tied_scores_are_noted_where_they_are_cut() -> None:
    table = people().assign(t=[1] * 10 + [0] * 30, s=[1.0] * 20 + [0.5] * 20)
    result = measured(table, task=["t", "u"], score=["s", "r"])
    (note,) = (note for note in result.notes if note.kind.value == "threshold")
    assert note.text.startswith("s: tied scores let 0.0000 be positive where 0.2500 are wanted")


def test_which_tables_are_measured() -> None:
    first, two, three = people(0), people(1), people(2)
    for table, runs, count in (
        (first, None, 1),
        (first, True, 1),
        ([first], None, 1),
        ([first, two], True, 2),
        (first, [two, three], 3),
        ((first, two), [three], 3),
    ):
        result = measured(table, **PREDICTED, runs=runs)
        assert len(result.rows[0].runs) == count
    with pytest.raises(InputError, match="2 tables: several are training runs"):
        measured([first, two], **PREDICTED)
    with pytest.raises(InputError, match="no table was given"):
        measured([], **PREDICTED, runs=True)
    with pytest.raises(InputError, match="a column is chosen by its name: found 3"):
        measured(first, task_prediction=3)


def test_train_and_validation_tables_choose_the_threshold() -> None:
    frame = pd.DataFrame({"sex": list("ffmm"), "t": [0, 1, 0, 1], "s": [0.1, 0.2, 0.8, 0.9]})
    # Two of four rows are positive: the cut is at the second highest score.
    assert measured(frame, **SCORED).thresholds[0].value == 0.8
    scored = measured(frame, **SCORED, validation=frame.assign(s=frame["s"] + 1))
    assert scored.thresholds[0].value == 1.8
    # Of the train table three of four rows are positive.
    trained = measured(frame, **SCORED, train=frame.assign(t=[0, 1, 1, 1]))
    assert trained.thresholds[0].value == 0.2
