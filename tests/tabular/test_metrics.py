"""`amplify(metrics=...)`: the values are those of the metrics on the rows themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.metric import metrics
from lmprobe.tabular.amplify import amplify
from lmprobe.tabular.result import AmplificationResult

NAMES = ("directional", "mals", "multi-attribute", "predictability")


def rows(seed: int, n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 2, (n, 4)), columns=["cook", "drive", "p_cook", "p_drive"])
    groups = np.array(["man", "woman"])
    return frame.assign(
        sex=groups[rng.integers(0, 2, n)],
        p_sex=groups[rng.integers(0, 2, n)],
        weight=rng.integers(1, 4, n),
    )


COLUMNS: dict[str, Any] = {
    "attribute": "sex",
    "task": ["cook", "drive"],
    "task_prediction": ["p_cook", "p_drive"],
    "attribute_prediction": "p_sex",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("with_train", [False, True])
def test_values_are_those_of_the_rows(name: str, weight: str | None, with_train: bool) -> None:
    frame, train = rows(0), rows(1, 200)
    result = amplify(
        frame,
        **COLUMNS,
        weight=weight,
        train=train if with_train else None,
        train_weight=weight if with_train else None,
        metrics=name,
        interval=None,
    )
    options: dict[str, Any] = {}
    if with_train and name != "predictability":
        options = {
            "train_attribute_labels": train["sex"],
            "train_task_labels": train[["cook", "drive"]],
            "train_sample_weight": None if weight is None else train["weight"],
        }
    guesses = frame[["p_cook", "p_drive"]].set_axis(["cook", "drive"], axis=1)
    expected = metrics.get(name)(
        frame["sex"],
        frame[["cook", "drive"]],
        attribute_predictions=frame["p_sex"],
        task_predictions=guesses,
        sample_weight=None if weight is None else frame["weight"],
        **options,
    ).values
    assert {metric.direction: metric.value for metric in result.metrics} == pytest.approx(
        dict(expected)
    )
    assert {item.metric for item in result.metrics} == {name}


def test_they_are_in_the_tables_the_page_and_the_file(tmp_path: Path) -> None:
    rows(2).to_csv(tmp_path / "rows.csv", index=False)
    result = amplify(tmp_path / "rows.csv", **COLUMNS, metrics=NAMES, interval=None)
    assert not {"interval", "verdict"} & {column.key for column in result.tables()[0].columns}
    assert [row[0] for row in result.table("metrics").rows][:2] == ["directional"] * 2
    assert result.row("A->T").value == pytest.approx(
        next(metric.value for metric in result.metrics if metric.direction == "attribute->task")
    )
    again = AmplificationResult.from_json(result.to_json())
    assert again.metrics == result.metrics
    assert "Other metrics" in result.to_html()
    assert "--metric mals" in result.to_markdown()


def test_mistakes() -> None:
    with pytest.raises(InputError, match='no metric called "dpa"'):
        amplify(rows(0), **COLUMNS, metrics="dpa")
    with pytest.raises(InputError, match="mals: MALS needs both"):
        amplify(rows(0), **{**COLUMNS, "attribute_prediction": None}, metrics="mals")
    with pytest.raises(InputError, match="few kinds of rows"):
        amplify(rows(0).assign(who=range(300)), **COLUMNS, cluster="who", metrics="mals")
    with pytest.raises(InputError, match="`metrics` is for one run"):
        amplify([rows(0), rows(1)], runs=True, **COLUMNS, metrics="mals")
