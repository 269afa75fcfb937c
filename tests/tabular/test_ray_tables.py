"""Ray Data gives the result of one machine, and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lmprobe
from lmprobe.errors import DataFileError, InputError
from lmprobe.tabular import engine

pytest.importorskip("ray", reason="the extra `ray` is not installed")

COLUMNS: dict[str, Any] = {
    "attribute": "sex",
    "task": ["t0", "t1"],
    "task_prediction": ["p0", "p1"],
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own, in its threads and at its end
@pytest.mark.xdist_group("ray")
def test_a_cluster_counts_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lmprobe.io.ray_session import ray_session

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    draw = np.random.default_rng(2)
    n = 4000
    table = pd.DataFrame(draw.integers(0, 2, (n, 4)), columns=["t0", "t1", "p0", "p1"])
    table["sex"], table["soft"] = draw.choice(["f", "m"], n), draw.random(n)
    table["weight"] = draw.random(n)
    for number in range(3):
        table[number::3].to_csv(tmp_path / f"part{number}.csv", index=False)
    with ray_session(2):
        here, there = (
            lmprobe.amplify(tmp_path, **COLUMNS, engine=one).to_dict() for one in ("local", "ray")
        )
        assert there["rows"] == here["rows"]
        monkeypatch.setattr(engine, "_many_kinds", lambda source, layout: True)
        soft = COLUMNS | {"task": "t0", "task_prediction": "soft", "weight": "weight"}
        here, there = (
            lmprobe.amplify(tmp_path, **soft, engine=one).row("A->T").estimate
            for one in ("local", "ray")
        )
        assert there.value == pytest.approx(here.value, rel=1e-12)
        assert there.interval.low == pytest.approx(here.interval.low, rel=1e-9)
        (tmp_path / "part3.csv").write_text(",".join(table.columns) + "\n1,0,7,1,f,0.5,1\n")
        with pytest.raises(DataFileError, match=r"part3.csv: `p0` must lie in \[0, 1\]"):
            lmprobe.amplify(tmp_path, **COLUMNS, engine="ray")
        with pytest.raises(InputError, match="counts files"):
            lmprobe.amplify(table, **COLUMNS, engine="ray")
