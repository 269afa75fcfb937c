"""Disparity and leakage read every kind of table as amplification does, with the same errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lmprobe
from lmprobe.errors import DataFileError, InputError
from lmprobe.leakage.measure import table_leakage
from lmprobe.leakage.settings import LeakageSettings
from lmprobe.results import NoteKind
from lmprobe.tabular.disparity import table_disparities
from lmprobe.tabular.settings import DisparitySettings

EXACT = LeakageSettings(attacker="exact", rounds=2)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    draw = np.random.default_rng(5)
    sex = draw.choice(["f", "m"], 300)
    hired = (draw.random(300) < np.where(sex == "m", 0.7, 0.3)).astype(int)
    return pd.DataFrame({"sex": sex, "hired": hired, "said": draw.integers(0, 2, 300)})


@pytest.fixture(scope="module")
def tables(people: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Return the same rows in every form."""
    folder = tmp_path_factory.mktemp("people")
    (folder / "parts").mkdir()
    people[:100].to_csv(folder / "parts" / "1.csv", index=False)
    people[100:].to_csv(folder / "parts" / "2.csv", index=False)
    people.to_csv(folder / "people.csv.zst", index=False)
    people.to_json(folder / "people.jsonl.gz", orient="records", lines=True)
    people.to_parquet(folder / "people.parquet")
    files = ("parts", "parts/*.csv", "people.csv.zst", "people.jsonl.gz", "people.parquet")
    return [people, pa.Table.from_pandas(people), *(str(folder / name) for name in files)]


def test_all_forms_give_the_same(tables: list[Any]) -> None:
    actual = [
        (
            table_disparities(table, prediction="said", attribute=["sex"], label="hired").rows[0],
            table_leakage(table, attribute="sex", labels=["hired"], settings=EXACT).value,
            lmprobe.amplify(
                table, attribute="sex", task="hired", task_prediction="said", interval=None
            ).rows[0],
        )
        for table in tables
    ]
    for disparity, leakage, amplification in actual:
        assert disparity == actual[0][0]
        assert leakage == actual[0][1]
        assert amplification.value == actual[0][2].value


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("x", "ROW: 'x' in the column \"said\" is not a number"),
        (None, r'1 of .* rows lacks a value \("said" 1\), first "said" in ROW'),
        (2, "`said` must lie in .*: found 2.* in ROW"),
    ],
)
def test_a_wrong_cell_is_named(
    people: pd.DataFrame, tmp_path: Path, cell: str | int | None, problem: str
) -> None:
    broken = people.astype({"said": object})
    broken.loc[7, "said"] = cell
    broken.to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "people.csv"
    for table, name, row in ((broken, "the table", "row 8"), (path, "people.csv", "line 9")):
        with pytest.raises(DataFileError, match=f"{name}: {problem.replace('ROW', row)}"):
            table_disparities(table, prediction="said", attribute=["sex"])


def test_rows_that_lack_a_value_can_be_left_out(people: pd.DataFrame, tmp_path: Path) -> None:
    """In every job and form the rest is measured as if the rows had never been there."""
    broken = people.astype(object)
    broken.loc[3, "sex"] = broken.loc[[5, 9], "said"] = None
    whole = broken.dropna().reset_index(drop=True).astype(people.dtypes.to_dict())
    broken.to_csv(tmp_path / "people.csv", index=False)
    broken.convert_dtypes().to_parquet(tmp_path / "people.parquet", index=False)
    columns: dict[str, Any] = {"attribute": "sex", "task": "hired"}

    def measured(table: Any, cells: Any) -> list[Any]:
        disparity = replace(DisparitySettings(), missing_cells=cells)
        leakage = replace(EXACT, missing_cells=cells)
        named = {"prediction": "said", "attribute": ["sex"], "label": "hired"}
        return [
            lmprobe.amplify(table, **columns, task_prediction="said", missing_cells=cells),
            lmprobe.amplify(table, **columns, score="said", missing_cells=cells),
            table_disparities(table, **named, settings=disparity),
            table_leakage(table, attribute="sex", labels=["said", "hired"], settings=leakage),
        ]

    expected = measured(whole, "error")
    for table in (broken, tmp_path / "people.csv", tmp_path / "people.parquet"):
        results = measured(table, "drop")
        for result, same in zip(results, expected, strict=True):
            assert result.rows[0].value == same.rows[0].value
            assert result.rows[0].interval == same.rows[0].interval
            note = result.notes[-1]
            assert note.kind is NoteKind.LEFT_OUT
            assert f'3 of {len(people)} rows lack a value ("' in note.text
            (left_out,) = result.provenance["rows_left_out"]
            assert (left_out["rows"], left_out["of"]) == (3, len(people))
    with_train = lmprobe.amplify(
        whole, **columns, task_prediction="said", train=broken, missing_cells="drop"
    )
    (note,) = [note for note in with_train.notes if note.kind is NoteKind.LEFT_OUT]
    assert '1 of 300 rows lacks a value ("sex" 1)' in note.text
    with pytest.raises(DataFileError, match=r'\("sex" 1, "said" 2\)'):
        measured(broken, "error")
    with pytest.raises(InputError, match='no `missing_cells` "impute"'):
        measured(broken, "impute")
