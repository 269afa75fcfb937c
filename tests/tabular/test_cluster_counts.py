"""Counts of files, as a cluster makes them: what a worker sends back, and how it is added up."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import duckdb
import pandas as pd
import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.table_source import TableSource
from lmprobe.tabular import cluster_engine
from lmprobe.tabular.cluster_engine import _count_file, added_up, run_on_ray
from lmprobe.tabular.columns import Columns, Layout
from lmprobe.tabular.engine import Plan

LAYOUT = Layout(Columns(("sex",), ("t",), (), ("p",)), binary=True)
ONLY = Layout(Columns(("sex",), ("t",), (), ("p",), (), "w"), binary=True)


def test_kinds_of_rows_are_counted_together() -> None:
    one = pd.DataFrame({"a0": ["m", "f"], "t0": [1, 0], "p0": [1.0, 0.5], "n": [3, 4]})
    two = pd.DataFrame({"a0": ["m", "m"], "t0": [0, 1], "p0": [1.0, 1.0], "n": [5, 6]})
    found = added_up([one, two], LAYOUT, Plan(added=False))
    assert found.to_dict("list") == {
        "a0": ["f", "m", "m"],
        "t0": [0, 0, 1],
        "p0": [0.5, 1.0, 1.0],
        "n": [4, 5, 9],
    }
    assert found.index.tolist() == [0, 1, 2]


def test_sums_are_added_by_group_and_unit() -> None:
    one = pd.DataFrame({"a0": ["m", "f"], "unit": [1, 1], "n": [3, 4], "weight": [1.0, 2.0]})
    two = pd.DataFrame({"a0": ["m", "m"], "unit": [1, 0], "n": [5, 6], "weight": [0.5, 0.25]})
    found = added_up([one, two], LAYOUT, Plan("unit"))
    assert found[["a0", "unit", "n", "weight"]].to_numpy().tolist() == [
        ["f", "1", 4, 2.0],
        ["m", "0", 6, 0.25],
        ["m", "1", 8, 1.5],
    ]
    whole = added_up([one.drop(columns="unit"), two.drop(columns="unit")], LAYOUT, Plan())
    assert whole.to_dict("list") == {"a0": ["f", "m"], "n": [4, 14], "weight": [2.0, 1.75]}


class Rows:
    """As much of a dataset of Ray as is used: one row after the other, here."""

    def __init__(self, items: list[Any], blocks: int) -> None:
        self.items, self.blocks = items, blocks

    def map(self, act: Any) -> Rows:
        return Rows([act(item) for item in reversed(self.items)], self.blocks)

    def iter_rows(self) -> Iterator[Any]:
        return iter(self.items)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Put a cluster in this process in place of Ray; return what it was asked for."""
    asked: dict[str, Any] = {"bars": []}
    context = SimpleNamespace(enable_progress_bars="as before")
    asked["context"] = context

    def from_items(items: list[Any], override_num_blocks: int) -> Rows:
        asked["bars"].append(context.enable_progress_bars)
        asked["blocks"] = override_num_blocks
        return Rows(items, override_num_blocks)

    @contextmanager
    def session(workers: int) -> Iterator[None]:
        asked["workers"] = workers
        yield

    data: Any = ModuleType("ray.data")
    data.DataContext = SimpleNamespace(get_current=lambda: context)
    data.from_items = from_items
    ray: Any = ModuleType("ray")
    ray.data = data
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.data", data)
    monkeypatch.setattr(cluster_engine, "ray_session", session)
    return asked


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "1.csv").write_text("sex,t,p,w\nf,1,0.5,1\nm,0,1,2\n")
    (tmp_path / "2.csv").write_text("sex,t,p,w\nf,1,0.5,4\n")
    return tmp_path


@pytest.mark.parametrize(("cores", "workers"), [(3, 3), (None, 1)])
def test_every_file_is_one_block_and_every_core_a_worker(
    folder: Path,
    cluster: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    cores: int | None,
    workers: int,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with TableSource(folder) as source:
        found = run_on_ray(source, LAYOUT, Plan(added=False))
        assert found[["a0", "t0", "p0", "n"]].to_numpy().tolist() == [
            ["f", 1, 0.5, 2],
            ["m", 0, 1.0, 1],
        ]
    assert (cluster["workers"], cluster["blocks"]) == (workers, 2)
    # Without bars while it counts, and as it was afterwards.
    assert cluster["bars"] == [False]
    assert cluster["context"].enable_progress_bars == "as before"


def test_a_mistake_in_a_file_is_raised_as_it_is(folder: Path, cluster: dict[str, Any]) -> None:
    (folder / "2.csv").write_text("sex,t,p,w\nf,1,1.5,4\n")
    with (
        TableSource(folder) as source,
        pytest.raises(DataFileError, match=r"2.csv: `p` must lie in \[0, 1\]"),
    ):
        run_on_ray(source, LAYOUT, Plan(added=False))


def test_a_weight_that_does_not_fit_comes_back_to_be_counted_again(
    folder: Path, cluster: dict[str, Any]
) -> None:
    """1e30 times two to the 48th is no whole number of 64 bits."""
    (folder / "2.csv").write_text("sex,t,p,w\nf,1,0.5,1e30\n")
    with TableSource(folder) as source, pytest.raises(duckdb.ConversionException):
        run_on_ray(source, ONLY, Plan(bits=48))
    with TableSource(folder) as source:
        women, men = run_on_ray(source, ONLY, Plan(bits=-52))["weight"]
        assert women == pytest.approx(1e30)
        assert men == 0


def test_a_worker_counts_its_file_and_says_which(folder: Path) -> None:
    part = pickle.dumps((7, str(folder / "2.csv"), ONLY, Plan(bits=48)))
    number, lines = pickle.loads(_count_file({"part": part})["lines"])
    assert number == 7
    assert lines["weight"].tolist() == [4.0]


def test_a_table_in_memory_cannot_be_sent(cluster: dict[str, Any]) -> None:
    with (
        TableSource(pd.DataFrame({"sex": ["f"]})) as source,
        pytest.raises(InputError, match="counts files"),
    ):
        run_on_ray(source, LAYOUT, Plan())
    assert "workers" not in cluster
