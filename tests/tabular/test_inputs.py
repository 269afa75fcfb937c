"""Disparity and leakage read every kind of table as amplification does, with the same errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lmprobe
from lmprobe.errors import DataFileError
from lmprobe.leakage.measure import table_leakage
from lmprobe.leakage.settings import LeakageSettings
from lmprobe.tabular.disparity import table_disparities

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


@pytest.mark.parametrize(("cell", "problem"), [("x", "found 'x' in row 8"), (None, "row 8")])
def test_a_wrong_cell_is_named(
    people: pd.DataFrame, tmp_path: Path, cell: str | None, problem: str
) -> None:
    broken = people.astype({"said": object})
    broken.loc[7, "said"] = cell
    broken.to_csv(tmp_path / "people.csv", index=False)
    for table, name in ((broken, "the table"), (tmp_path / "people.csv", "people.csv")):
        with pytest.raises(DataFileError, match=f'{name}: the column "said" .*{problem}'):
            table_disparities(table, prediction="said", attribute=["sex"])
