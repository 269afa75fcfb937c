"""Tables give what their columns give; several are training runs; errors name the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lmprobe.errors import DataFileError, InputError
from lmprobe.leakage.attackers import Mlp
from lmprobe.leakage.measure import (
    dataset_leakage,
    leakage_amplification,
    model_leakage,
    table_leakage,
)
from lmprobe.leakage.result import LeakageResult
from lmprobe.leakage.settings import LeakageSettings
from lmprobe.results import NoteKind, Verdict
from lmprobe.results.codec import to_json
from tests.leakage.leaking_data import one_label

EXACT = LeakageSettings(attacker="exact", rounds=3)
BOTH: dict[str, Any] = {"attribute": "group", "labels": ["label"], "predictions": ["guess"]}


def frame_of(seed: int) -> pd.DataFrame:
    """Return one training run: the labels and groups are the same in all, the guesses are not."""
    labels, group = one_label(np.random.default_rng(3), 600, 0.5)
    rng = np.random.default_rng(seed)
    smiles = labels % 2
    return pd.DataFrame(
        {
            "label": labels,
            "guess": np.where(rng.random(600) < 0.2, rng.integers(0, 4, 600), labels),
            "smiles": smiles,
            "sings": (labels > 1).astype(int),
            "p_smiles": 0.4 * smiles + 0.6 * rng.random(600),
            "p_sings": 0.4 * (labels > 1) + 0.6 * rng.random(600),
            "group": np.where(group, "w", "m"),
            "part": ["train", "train", "dev", "test"] * 150,
        }
    )


FRAMES = [frame_of(seed) for seed in range(3)]
FRAME = FRAMES[0]
GROUP = FRAME["group"]


@pytest.mark.parametrize("form", ["frame", "file"])
def test_a_table_gives_what_its_columns_give(form: str, tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "run.csv", index=False)
    table = FRAME if form == "frame" else tmp_path / "run.csv"
    two, scores = FRAME[["smiles", "sings"]], FRAME[["p_smiles", "p_sings"]].to_numpy()
    exact: dict[str, Any] = {"attacker": "exact", "rounds": 3}
    tuned: dict[str, Any] = {
        "attacker": "logistic", "rounds": 2, "seed": 4, "share": 0.5, "confidence": 0.9,
        "average": "micro", "threshold": 0.6,
    }  # fmt: skip
    small: dict[str, Any] = {"layers": 1, "width": 4}
    for columns, options, expected in (
        ({"labels": ["label"]}, exact, dataset_leakage(FRAME["label"], GROUP, **exact)),
        ({"predictions": ["guess"]}, exact, model_leakage(FRAME["guess"], GROUP, **exact)),
        (
            {
                "labels": ["smiles", "sings"],
                "predictions": ["p_smiles", "p_sings"],
                "split": "part",
            },
            tuned,
            leakage_amplification(two, scores, GROUP, split=FRAME["part"], **tuned),
        ),
        (
            {"predictions": ["guess"]},
            small | {"attacker": "mlp", "rounds": 2},
            model_leakage(FRAME["guess"], GROUP, attacker=Mlp(**small), rounds=2),
        ),
    ):
        settings = LeakageSettings(**options)
        result = table_leakage(table, attribute="group", settings=settings, **columns)  # type: ignore[arg-type]
        assert to_json(result.rows) == to_json(expected.rows)
        assert result.notes == expected.notes
        assert result.provenance["settings"] == settings.to_dict()


def test_several_tables_or_the_values_of_a_column_are_several_runs() -> None:
    each = [table_leakage(frame, **BOTH, settings=EXACT) for frame in FRAMES]
    result = table_leakage(*FRAMES, **BOTH, settings=EXACT)
    values = np.array([item.value for item in each])
    assert result.rounds == pytest.approx(values)
    assert result.value == pytest.approx(values.mean())
    half = stats.t.ppf(0.975, 2) * values.std(ddof=1) / np.sqrt(3)
    assert result.rows[-1].over_runs == result.rows[-1].estimate
    # The interval over rows is as wide as those of the runs; runs scatter besides.
    below = np.mean([run.value - run.interval.low for run in each])
    assert result.interval.low == pytest.approx(values.mean() - np.hypot(below, half))
    assert result.f1 == pytest.approx(np.mean([item.f1 for item in each]))
    assert [note.kind for note in result.notes] == [NoteKind.ASSUMPTION, NoteKind.RUNS]
    assert LeakageResult.from_json(result.to_json()).to_json() == result.to_json()
    together = pd.concat([frame.assign(seed=number) for number, frame in enumerate(FRAMES)])
    by_column = table_leakage(together, **BOTH, run_column="seed", settings=EXACT)
    assert by_column.to_dict()["rows"] == result.to_dict()["rows"]
    alone = table_leakage(FRAME.assign(seed=1), **BOTH, run_column="seed", settings=EXACT)
    assert alone.to_dict()["rows"] == each[0].to_dict()["rows"]
    with pytest.raises(InputError, match="not both"):
        table_leakage(*FRAMES, **BOTH, run_column="label", settings=EXACT)


def test_runs_have_the_same_attacker_and_one_progress() -> None:
    numbers = FRAME.assign(guess=FRAME["p_smiles"])
    columns: dict[str, Any] = {"attribute": "group", "predictions": ["guess"]}
    settings = LeakageSettings(rounds=3)
    assert table_leakage(FRAME, **columns, settings=settings).provenance["attacker"] == "exact"
    seen: list[tuple[int, int]] = []
    result = table_leakage(
        FRAME, numbers, **columns, settings=settings, progress=lambda *at: seen.append(at)
    )
    assert result.provenance["attacker"] == "logistic"
    named = LeakageSettings(rounds=3, attacker="logistic")
    each = [table_leakage(frame, **columns, settings=named).value for frame in (FRAME, numbers)]
    assert result.rounds == pytest.approx(each)
    # Two runs of three rounds with four ridges.
    assert seen == [(number, 24) for number in range(1, 25)]


def test_runs_that_agree_add_no_spread() -> None:
    result = table_leakage(FRAME, FRAME, attribute="group", labels=["label"], settings=EXACT)
    alone = table_leakage(FRAME, attribute="group", labels=["label"], settings=EXACT)
    assert result.interval.width == pytest.approx(alone.interval.width)
    assert (result.verdict, result.f1) == (Verdict.LEAKS, None)
    assert alone.rows[0].over_runs is None


def test_an_error_names_the_run() -> None:
    def measure(*tables: pd.DataFrame, **options: Any) -> None:
        table_leakage(*tables, attribute="group", labels=["label"], settings=EXACT, **options)

    with pytest.raises(InputError, match=r"^too few examples"):
        measure(FRAME.iloc[:20])
    with pytest.raises(InputError, match=r"^table 2: too few examples"):
        measure(FRAME, FRAME.iloc[:20])
    together = pd.concat([FRAME.assign(seed="a"), FRAME.iloc[:20].assign(seed="b")])
    with pytest.raises(InputError, match=r'^the table, run "b": too few examples'):
        measure(together, run_column="seed")
    other = FRAME.assign(group=GROUP.replace("w", "x"))
    with pytest.raises(InputError, match=r"^table 3: the groups are m, x, in table 1"):
        measure(FRAME, FRAME, other)


@pytest.mark.parametrize(
    ("usual", "wrong", "role", "message"),
    [
        (1, 2, "labels", 'the column "cell" must be 0 or 1: found .*2.* in ROW'),
        ("0.5", "x", "predictions", "ROW: 'x' in the column \"cell\" is not a number"),
        (0.5, np.nan, "predictions", r'1 of 600 rows lacks a value \("cell" 1\), .* in ROW'),
    ],
)
def test_a_wrong_cell_is_named_by_file_column_and_row(
    usual: Any, wrong: Any, role: str, message: str, tmp_path: Path
) -> None:
    frame = FRAME.assign(cell=[wrong if row == 6 else usual for row in range(600)])
    frame.to_csv(tmp_path / "table.csv", index=False)
    path = tmp_path / "table.csv"
    for table, name, row in ((path, r"table\.csv", "line 8"), (frame, "the table", "row 7")):
        columns: dict[str, Any] = {role: ["smiles", "cell"]}
        with pytest.raises(DataFileError, match=f"{name}: {message.replace('ROW', row)}"):
            table_leakage(table, attribute="group", settings=EXACT, **columns)
    two = {"labels": ["smiles", "cell"]}
    with pytest.raises(DataFileError, match='the column "cell" must be 0 or 1: found '):
        table_leakage(frame.assign(cell="x"), attribute="group", settings=EXACT, **two)
    with pytest.raises(DataFileError, match='no column "lable"'):
        table_leakage(frame, attribute="group", labels=["lable"], settings=EXACT)


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        ({}, {}, "needs `labels`, `predictions` or both"),
        ({"labels": "label"}, {}, "lists of columns"),
        ({"predictions": ["guess"]}, {"at": 0.5}, "`at` perturbs labels"),
        ({"labels": ["label"]}, {"threshold": 0.5}, "needs both"),
        ({"labels": ["label"]}, {"attacker": "exact", "layers": 2}, '"exact" has no `layers`'),
        ({"labels": ["label"]}, {"width": 2}, '"auto" has no `width`; use mlp'),
    ],
)
def test_settings_that_would_do_nothing_are_refused(
    columns: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        table_leakage(FRAME, attribute="group", settings=LeakageSettings(**settings), **columns)


def test_the_provenance_has_a_command_only_for_files(tmp_path: Path) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in paths:
        FRAME.to_csv(path, index=False)
    options: dict[str, Any] = {"attribute": "group", "labels": ["label"], "settings": EXACT}
    result = table_leakage(*paths, **options, split="part").provenance
    assert (result["subject"], result["split"]) == (f"{paths[0]}, {paths[1]}", "part")
    assert result["command"] == (
        f"lmprobe leak {paths[0]} {paths[1]} --attribute=group --split part --labels label "
        "--attacker exact --rounds 3"
    )
    result = table_leakage(paths[0], FRAME, **options).provenance
    assert result["subject"] == f"{paths[0]}, a table"
    assert "command" not in result
