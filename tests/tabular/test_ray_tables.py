"""Files that are counted one by one, here or by Ray Data, give the result of the whole table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lmprobe
from lmprobe.errors import DataFileError, InputError
from lmprobe.io.table_source import TableSource
from lmprobe.tabular import engine
from lmprobe.tabular.cluster_engine import added_up
from lmprobe.tabular.columns import Layout
from lmprobe.tabular.engine import Plan

SOFT: dict[str, Any] = {
    "attribute": "sex",
    "task": "t0",
    "task_prediction": "soft",
    "weight": "weight",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw = np.random.default_rng(2)
    n = 3000
    table = pd.DataFrame(draw.integers(0, 2, (n, 4)), columns=["t0", "t1", "p0", "p1"])
    table["sex"], table["soft"] = draw.choice(["f", "m"], n), draw.random(n)
    table["weight"], table["person"] = draw.random(n), draw.integers(0, 300, n)
    for number in range(3):
        table[number::3].to_csv(tmp_path / f"part{number}.csv", index=False)
    return tmp_path


def file_by_file(source: TableSource, layout: Layout, plan: Plan) -> pd.DataFrame:
    """Count as the cluster does, one file after the other."""
    assert source.files is not None
    parts = []
    for number, path in enumerate(source.files.paths):
        with TableSource(path) as part:
            parts.append(plan.of_file(number).run(part, layout))
    return added_up(parts, layout, plan)


@pytest.mark.parametrize(
    "choices",
    [
        {"attribute": "sex", "task": ["t0", "t1"], "task_prediction": ["p0", "p1"]},
        SOFT | {"cluster": "person"},
        SOFT | {"interval": None},
        SOFT,
    ],
    ids=["kinds", "clusters", "value", "bins"],
)
def test_counts_of_files_add_up(
    folder: Path, choices: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_many_kinds", lambda source, layout: choices is SOFT)
    here = lmprobe.amplify(folder, **choices).to_dict()
    monkeypatch.setattr("lmprobe.tabular.cluster_engine.run_on_ray", file_by_file)
    there = lmprobe.amplify(folder, **choices, engine="ray").to_dict()
    numbers = [[row["value"], *row["interval"].values()] for row in (*here["rows"], *there["rows"])]
    assert numbers[1] == pytest.approx(numbers[0], rel=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own, in its threads and at its end
@pytest.mark.xdist_group("ray")
def test_a_cluster_counts_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    from lmprobe.io.ray_session import ray_session

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with ray_session(2):
        here, there = (
            lmprobe.amplify(folder, **SOFT, engine=one).row("A->T").estimate
            for one in ("local", "ray")
        )
        assert there.value == pytest.approx(here.value, rel=1e-12)
        assert there.interval.low == pytest.approx(here.interval.low, rel=1e-9)
        names = (folder / "part0.csv").read_text().partition("\n")[0]
        (folder / "part3.csv").write_text(f"{names}\n1,0,7,1,f,1.5,1,9\n")
        with pytest.raises(DataFileError, match=r"part3.csv: `soft` must lie in \[0, 1\]"):
            lmprobe.amplify(folder, **SOFT, engine="ray")


def test_a_table_in_memory_is_no_file() -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    frame = pd.DataFrame({"sex": ["f", "m"], "t0": [0, 1], "soft": [0.1, 0.9], "weight": 1})
    with pytest.raises(InputError, match="counts files"):
        lmprobe.amplify(frame, **SOFT, engine="ray")
