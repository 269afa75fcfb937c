"""What every leakage measurement gives: rows with verdicts, tables, a page, JSON and back."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lmprobe.errors import DataFileError, InputError
from lmprobe.leakage.measure import dataset_leakage, leakage_amplification
from lmprobe.leakage.result import LeakageResult
from lmprobe.leakage.row import Measure, leakage_row
from lmprobe.leakage.settings import LeakageSettings
from lmprobe.leakage.table import table_leakage
from lmprobe.leakage.tradeoff import Point, Tradeoff
from lmprobe.results import Interval, IntervalStatus, Note, NoteKind, Verdict
from tests.leakage.leaking_data import one_label

EXACT = LeakageSettings(attacker="exact", rounds=3)


@pytest.fixture(scope="module")
def frames() -> list[pd.DataFrame]:
    """Return three training runs on the same labels."""
    rng = np.random.default_rng(3)
    labels, group = one_label(rng, 600, 0.5)
    runs = []
    for _ in range(3):
        wrong = rng.random(600) < 0.2
        guess = np.where(wrong, rng.integers(0, 4, 600), labels)
        runs.append(pd.DataFrame({"label": labels, "guess": guess, "group": group}))
    return runs


@pytest.mark.parametrize(
    ("measure", "ends", "verdict"),
    [
        (Measure.DATASET, (0.51, 0.6), Verdict.LEAKS),
        (Measure.DATASET, (0.4, 0.6), Verdict.UNDECIDED),
        (Measure.MODEL, (0.1, 0.4), Verdict.UNDECIDED),
        (Measure.AMPLIFICATION, (0.1, 0.4), Verdict.LEAKS_MORE),
        (Measure.AMPLIFICATION, (-0.4, -0.1), Verdict.LEAKS_LESS),
        (Measure.AMPLIFICATION, (-0.4, 0.1), Verdict.UNDECIDED),
    ],
)
def test_the_verdict_follows_the_interval(
    measure: Measure, ends: tuple[float, float], verdict: Verdict
) -> None:
    interval = Interval(*ends, 0.95, "t")
    row = leakage_row(measure, sum(ends) / 2, interval, (), chance=0.5)
    assert row.verdict is verdict


numbers = st.floats(-1, 1)
intervals = st.one_of(
    st.tuples(numbers, numbers).map(lambda ends: Interval(min(ends), max(ends), 0.9, "t")),
    st.just(Interval.undefined(0.9, "none")),
    st.just(Interval.too_few_units(0.9, "t")),
    st.just(Interval(0.1, math.inf, 0.9, "half")),
)
rows = st.builds(
    lambda measure, value, interval, rounds, f1: leakage_row(
        measure, value, interval, rounds, chance=0.5, f1=f1
    ),
    st.sampled_from(Measure),
    numbers,
    intervals,
    st.lists(numbers, max_size=4),
    st.none() | numbers,
)


@given(st.lists(rows, min_size=1, max_size=4))
def test_round_trip(rows: list[object]) -> None:
    note = Note(NoteKind.DATA, "as it was", "somewhere")
    result = LeakageResult(tuple(rows), ("a", "b"), (note,), {"subject": "x"})  # type: ignore[arg-type]
    again = LeakageResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert [row.interval.status for row in again.rows] == [
        row.interval.status for row in result.rows
    ]
    assert again.notes == result.notes
    # Every form can be made of it.
    assert result.to_markdown()
    assert result.to_html()
    assert result.tables()[0].to_frame().shape[0] == len(rows)


def test_a_tradeoff_comes_back() -> None:
    row = leakage_row(
        Measure.AMPLIFICATION, 0.1, Interval(0.0, 0.2, 0.95, "t"), (0.1,), chance=0.0, f1=0.7
    )
    made = Tradeoff((Point("original", 0.0, row), Point("adversarial", 0.5, row)), {"seed": 0})
    assert [point.level for point in made.of("adversarial")] == [0.5]
    assert [point.level for point in made.of("original")] == [0.0]
    again = Tradeoff.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert again.of("adversarial")[0].f1 == 0.7
    assert len(again.to_frame()) == 2


def test_a_table_gives_what_its_columns_give(frames: list[pd.DataFrame], tmp_path: Path) -> None:
    frame = frames[0]
    path = tmp_path / "run.csv"
    frame.to_csv(path, index=False)
    expected = leakage_amplification(
        frame["label"], frame["guess"], frame["group"], attacker="exact", rounds=3
    )
    for table in (frame, path):
        found = table_leakage(
            table, attribute="group", labels=["label"], predictions=["guess"], settings=EXACT
        )
        assert found.rounds == expected.rounds
        assert found.interval == expected.interval
    assert found.provenance["command"] == (
        f"lmprobe leak {path} --attribute=group --labels label --predictions guess "
        "--attacker exact --rounds 3"
    )


def test_several_tables_are_several_runs(frames: list[pd.DataFrame]) -> None:
    options = {"attribute": "group", "labels": ["label"], "predictions": ["guess"]}
    each = [table_leakage(frame, **options, settings=EXACT) for frame in frames]  # type: ignore[arg-type]
    found = table_leakage(*frames, **options, settings=EXACT)  # type: ignore[arg-type]
    values = np.array([one.value for one in each])
    assert found.rounds == pytest.approx(values)
    assert found.value == pytest.approx(values.mean())
    half = stats.t.ppf(0.975, 2) * values.std(ddof=1) / np.sqrt(3)
    over_runs = found.rows[-1].over_runs
    assert over_runs is not None
    assert (over_runs.interval.low, over_runs.interval.high) == pytest.approx(
        (values.mean() - half, values.mean() + half)
    )
    assert over_runs.interval.method == "t"
    # Beside it the interval over rows, as wide as those of the runs.
    assert found.interval.width == pytest.approx(np.mean([one.interval.width for one in each]))
    assert found.f1 == pytest.approx(np.mean([one.f1 for one in each]))
    assert NoteKind.RUNS in {note.kind for note in found.notes}
    assert "verdict over runs" in [column.heading for column in found.tables()[0].columns]
    assert LeakageResult.from_json(found.to_json()).to_json() == found.to_json()
    together = pd.concat([frame.assign(seed=number) for number, frame in enumerate(frames)])
    by_column = table_leakage(together, **options, run_column="seed", settings=EXACT)  # type: ignore[arg-type]
    assert by_column.to_dict()["rows"] == found.to_dict()["rows"]
    with pytest.raises(InputError, match="not both"):
        table_leakage(*frames, **options, run_column="label", settings=EXACT)  # type: ignore[arg-type]


def test_an_error_names_the_run(frames: list[pd.DataFrame]) -> None:
    def measure(*tables: pd.DataFrame, **options: Any) -> None:
        table_leakage(*tables, attribute="group", labels=["label"], settings=EXACT, **options)

    with pytest.raises(InputError, match=r"^table 2: too few examples"):
        measure(frames[0], frames[1].iloc[:20])
    together = pd.concat([frames[0].assign(seed="a"), frames[1].iloc[:20].assign(seed="b")])
    with pytest.raises(InputError, match=r'^the table, run "b": too few examples'):
        measure(together, run_column="seed")
    other = frames[1].assign(group="not " + frames[1]["group"].astype(str))
    with pytest.raises(InputError, match=r"^table 2: the groups are not .*must have the same"):
        measure(frames[0], other)


def test_runs_that_agree_have_no_interval(frames: list[pd.DataFrame]) -> None:
    found = table_leakage(frames[0], frames[0], attribute="group", labels=["label"], settings=EXACT)
    over_runs = found.rows[0].over_runs
    assert over_runs is not None
    assert over_runs.interval.status is IntervalStatus.UNDEFINED
    assert over_runs.verdict is Verdict.UNDECIDED
    assert found.verdict is Verdict.LEAKS


def test_a_wrong_cell_is_named_by_file_column_and_row(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [0, 1, 1], "b": [1, 0, 2], "c": ["x", "0.5", "1"], "g": list("fmf")})
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    for options, message in (
        ({"labels": ["a", "b"]}, '"b" must be 0 or 1: found .*2.* in row 3'),
        ({"predictions": ["a", "c"]}, "\"c\" must hold numbers .*: found 'x' in row 1"),
        ({"labels": ["a", "d"]}, 'no column "d"'),
    ):
        for table, name in ((path, "table.csv"), (frame, "the table")):
            with pytest.raises(DataFileError, match=f"{name}: .*{message}|{name}: {message}"):
                table_leakage(table, attribute="g", settings=EXACT, **options)  # type: ignore[arg-type]
    with pytest.raises(DataFileError, match='"g" has no value in row 2'):
        table_leakage(frame.assign(g=["f", None, "m"]), attribute="g", labels=["a"], settings=EXACT)
    with pytest.raises(DataFileError, match='"p" is infinite in row 3'):
        table_leakage(
            frame.assign(p=[0.5, 1.5, np.inf]), attribute="g", predictions=["p"], settings=EXACT
        )


def test_one_clear_error_each(frames: list[pd.DataFrame]) -> None:
    for options, message in (
        ({}, "needs `labels`, `predictions` or both"),
        ({"labels": "label"}, "lists of columns"),
        ({"predictions": ["guess"], "settings": LeakageSettings(at=0.5)}, "`at` perturbs labels"),
    ):
        with pytest.raises(InputError, match=message):
            table_leakage(frames[0], attribute="group", **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"`rounds` must be a whole number, found 'five'"):
        LeakageSettings(rounds="five")  # type: ignore[arg-type]


def test_a_short_repr_and_a_row_by_name() -> None:
    labels, group = one_label(np.random.default_rng(2), 400, 1.0)
    found = dataset_leakage(labels, group, attacker="exact", rounds=2)
    assert repr(found).startswith("<LeakageResult: dataset leakage 1.0000: the group can be")
    assert found.row("dataset leakage") is found.dataset
    with pytest.raises(KeyError):
        _ = found.model
