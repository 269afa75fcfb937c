"""Tables against a slow loop over rows, in every mode and for every kind of table."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import lmprobe
from lmprobe.errors import DataFileError, InputError
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import directional_amplification
from lmprobe.results import Obstacle

A_TO_T, T_TO_A = Direction.ATTRIBUTE_TO_TASK, Direction.TASK_TO_ATTRIBUTE


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """A table with crossed groups, a task of some kind, predictions of both, weights."""
    n = draw(st.integers(2, 14))

    def column(values: Any) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    kind = draw(st.sampled_from(["categories", "binary", "several", "scores"]))
    frame = pd.DataFrame(
        {
            "sex": column(st.sampled_from("fm")),
            "race": column(st.sampled_from("bw")),
            "sex_said": column(st.sampled_from("fm")),
            "race_said": column(st.sampled_from("bw")),
            "weight": column(st.integers(0, 3)),
        }
    )
    frame.loc[0, "weight"] = 1
    eighths = st.integers(0, 8).map(lambda number: number / 8)
    for name in ("t0", "t1"):
        values = st.sampled_from("xyz") if kind == "categories" else st.integers(0, 1)
        frame[name] = column(values)
        frame[f"{name}_said"] = column(values if kind == "categories" else eighths)
    choices: dict[str, Any] = {
        "attribute": draw(st.sampled_from([["sex"], ["sex", "race"]])),
        "task": ["t0", "t1"] if kind == "several" else ["t0"],
    }
    said = [f"{name}_said" for name in choices["task"]]
    if kind == "scores":
        choices |= {"score": said, "threshold": draw(st.sampled_from([0.5, "calibrated"]))}
    else:
        choices["task_prediction"] = said
    if draw(st.booleans()):
        choices["attribute_prediction"] = [f"{name}_said" for name in choices["attribute"]]
    if draw(st.booleans()):
        choices["weight"] = "weight"
    return {"frame": frame, "choices": choices, "kind": kind}


def slow(frame: pd.DataFrame, choices: dict[str, Any], kind: str) -> dict[Direction, float]:
    """Eq. 2, one pair and one row at a time."""
    rows = frame.to_dict("records")
    weights = [float(row[choices["weight"]]) if "weight" in choices else 1.0 for row in rows]

    def group(row: dict[str, Any], columns: list[str]) -> str:
        return " & ".join(str(row[name]) for name in columns)

    cut = 0.5
    if choices.get("threshold") == "calibrated":
        cut = slow_cut([row["t0_said"] for row in rows], [row["t0"] for row in rows], weights)

    def has(row: dict[str, Any], task: str, said: bool) -> float:
        if kind == "categories":
            return float(row["t0_said" if said else "t0"] == task)
        if kind == "scores" and said:
            return float(row[f"{task}_said"] >= cut)
        return float(row[f"{task}_said" if said else task])

    said_groups = choices.get("attribute_prediction")
    groups = {group(row, choices["attribute"]) for row in rows}
    groups |= {group(row, said_groups) for row in rows} if said_groups else set()
    tasks = choices["task"]
    if kind == "categories":
        tasks = sorted({row[name] for row in rows for name in ("t0", "t0_said")})
    actual: dict[Direction, list[float]] = {A_TO_T: []}
    if said_groups:
        actual[T_TO_A] = []
    for a, t in itertools.product(sorted(groups), tasks):
        in_group = [float(group(row, choices["attribute"]) == a) for row in rows]
        in_task = [has(row, t, said=False) for row in rows]
        total = sum(weights)
        p_a = math.fsum(w * g for w, g in zip(weights, in_group, strict=True)) / total
        p_t = math.fsum(w * d for w, d in zip(weights, in_task, strict=True)) / total
        both = [w * g * d for w, g, d in zip(weights, in_group, in_task, strict=True)]
        if not (p_a > 0 and p_t > 0):
            continue
        joint = math.fsum(both) / total
        tie = math.isclose(joint, p_a * p_t, rel_tol=1e-9)
        lean = 0 if tie else 1 if joint > p_a * p_t else -1
        guess = [has(row, t, said=True) for row in rows]
        said = [w * g * d for w, g, d in zip(weights, in_group, guess, strict=True)]
        actual[A_TO_T].append(lean * (math.fsum(said) - math.fsum(both)) / (p_a * total))
        if said_groups:
            guess = [float(group(row, said_groups) == a) for row in rows]
            said = [w * g * d for w, g, d in zip(weights, guess, in_task, strict=True)]
            actual[T_TO_A].append(lean * (math.fsum(said) - math.fsum(both)) / (p_t * total))
    return {
        direction: sum(pairs) / len(pairs) if pairs else math.nan
        for direction, pairs in actual.items()
    }


def slow_cut(scores: list[float], labels: list[int], weights: list[float]) -> float:
    """Return the cut whose share of positives is nearest to that of the labels, ties together."""
    wanted = math.fsum(w * t for w, t in zip(weights, labels, strict=True)) / sum(weights)

    def miss(cut: float) -> float:
        positive = [w for w, score in zip(weights, scores, strict=True) if score >= cut]
        return abs(math.fsum(positive) / sum(weights) - wanted)

    # From nobody to everybody; of two cuts that are as near, the one with fewer positives.
    return min([math.inf, *sorted(set(scores), reverse=True)], key=miss)


def is_refused(made: dict[str, Any]) -> bool:
    """Tell whether no prediction is a label, so that the table is refused."""
    frame, choices = made["frame"], made["choices"]
    if made["kind"] == "categories" and not set(frame["t0"]) & set(frame["t0_said"]):
        return True
    if "attribute_prediction" not in choices:
        return False
    guesses, labels = (
        set(map(tuple, frame[choices[option]].to_numpy()))
        for option in ("attribute_prediction", "attribute")
    )
    return min(len(guesses), len(labels)) > 1 and not guesses & labels


@settings(max_examples=60, deadline=None)
@given(tables())
def test_it_agrees_with_a_loop_over_rows(made: dict[str, Any]) -> None:
    expected = slow(made["frame"], made["choices"], made["kind"])
    if is_refused(made):
        return
    if any(math.isnan(value) for value in expected.values()):
        with pytest.raises(InputError, match="is defined"):
            lmprobe.amplify(made["frame"], **made["choices"], interval=None)
        return
    result = lmprobe.amplify(made["frame"], **made["choices"], interval=None)
    assert {row.direction: row.value for row in result.rows} == pytest.approx(expected, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(tables(), st.data())
def test_a_missing_cell_is_named_wherever_it_is(made: dict[str, Any], data: st.DataObject) -> None:
    frame, choices = made["frame"].astype(object), made["choices"]
    options = ("attribute", "task", "task_prediction", "attribute_prediction", "score")
    used = [column for option in options for column in choices.get(option, [])]
    column = data.draw(
        st.sampled_from([*used, *([choices["weight"]] if "weight" in choices else [])])
    )
    row = data.draw(st.integers(0, len(frame) - 1))
    frame.loc[row, column] = None
    with pytest.raises(DataFileError, match=f'1 of .*first "{column}" in row {row + 1};'):
        lmprobe.amplify(frame, **choices, interval=None)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    draw = np.random.default_rng(3)
    n = 3000
    sex = draw.choice(["f", "m"], n)
    man = (sex == "m")[:, None]
    tasks = (draw.random((n, 3)) < 0.3 + 0.2 * man).astype(int)
    said = (draw.random((n, 3)) < 0.25 + 0.35 * man).astype(int)
    frame = pd.DataFrame(
        {"sex": sex, "sex_said": np.where(draw.random(n) < 0.8, sex, "m")},
    )
    for number in range(3):
        frame[f"t{number}"], frame[f"p{number}"] = tasks[:, number], said[:, number]
        frame[f"soft{number}"] = np.clip(said[:, number] * 0.8 + 0.1 * draw.random(n), 0, 1)
    frame["weight"] = draw.random(n)
    frame["person"] = draw.integers(0, 400, n)
    return frame


TASKS = {"attribute": "sex", "task": ["t0", "t1", "t2"], "attribute_prediction": "sex_said"}
HARD = TASKS | {"task_prediction": ["p0", "p1", "p2"]}
SOFT = TASKS | {"task_prediction": ["soft0", "soft1", "soft2"]}


@pytest.fixture(scope="module")
def many(people: pd.DataFrame) -> pd.DataFrame:
    """Return more rows than are counted by their kinds: no two predictions are alike."""
    table = pd.concat([people] * 34, ignore_index=True)
    noise = np.random.default_rng(0).random(len(table))
    return table.assign(soft=np.clip(0.8 * table["p0"] + 0.2 * noise, 0, 1))


SOFT_ONE: dict[str, Any] = {"attribute": "sex", "task": "t0", "task_prediction": "soft"}


@pytest.mark.parametrize("weight", [None, "weight"])
def test_bins_of_rows_give_the_value_of_the_rows_in_any_order(
    many: pd.DataFrame, weight: str | None
) -> None:
    expected = directional_amplification(
        many["sex"],
        many["t0"],
        task_predictions=many["soft"],
        sample_weight=None if weight is None else many[weight],
    ).attribute_to_task
    assert expected is not None
    shuffled = many.sample(frac=1, random_state=1)
    for interval in ("bootstrap", None):
        actual = [
            lmprobe.amplify(table, **SOFT_ONE, weight=weight, interval=interval).rows[0].value
            for table in (many, shuffled)
        ]
        assert actual[0] == pytest.approx(expected.value, rel=1e-12)
        # Sums are made in whole numbers.
        assert actual[1] == (actual[0] if interval is None else pytest.approx(actual[0], rel=1e-12))


def test_an_interval_in_bins_is_as_wide_as_one_over_rows(many: pd.DataFrame) -> None:
    binned = lmprobe.amplify(many, **SOFT_ONE).rows[0].estimate
    # With two digits there are few kinds of rows, and each row is a unit.
    rounded = lmprobe.amplify(many.round({"soft": 2}), **SOFT_ONE).rows[0].estimate
    assert binned.value == pytest.approx(rounded.value, abs=1e-3)
    assert binned.interval.width == pytest.approx(rounded.interval.width, rel=0.15)


@pytest.mark.parametrize("scale", [1e-280, 1e-9, 1e12, 1e300])
def test_the_scale_of_the_weights_does_not_matter(people: pd.DataFrame, scale: float) -> None:
    options: dict[str, Any] = SOFT | {"weight": "weight", "interval": None}
    scaled = people.assign(weight=people["weight"] * scale)
    expected = lmprobe.amplify(people, **options)
    for row in lmprobe.amplify(scaled, **options).rows:
        assert row.value == pytest.approx(expected.row(row.direction).value, rel=1e-9)


def test_a_weight_much_larger_than_the_first_ones() -> None:
    n = 120_000
    frame = pd.DataFrame({"sex": ["f", "m"] * (n // 2), "t": 1, "said": 0.5, "w": 1.0})
    frame.loc[0, "t"] = 0
    frame.loc[n - 1, ["w", "said"]] = [1e12, 1.0]
    choices: dict[str, Any] = {"attribute": "sex", "task": "t", "task_prediction": "said"}
    row = lmprobe.amplify(frame, **choices, weight="w", interval=None).rows[0]
    # The heavy row is all there is among men; women are half predicted.
    assert row.runs[0].predicted[:, 0] == pytest.approx([0.5, 1.0], abs=1e-6)


class TestClusters:
    def test_they_are_drawn_whole(self, people: pd.DataFrame) -> None:
        photos = pd.concat([people.assign(person=people.index)] * 4)
        alone = lmprobe.amplify(people, **HARD).row("A->T").estimate
        together = lmprobe.amplify(photos, **HARD, cluster="person").row("A->T").estimate
        naive = lmprobe.amplify(photos, **HARD).row("A->T").estimate
        assert together.value == pytest.approx(alone.value, abs=1e-12)
        assert together.interval.width == pytest.approx(alone.interval.width, rel=0.1)
        assert naive.interval.width < 0.6 * together.interval.width

    def test_very_many_clusters_are_as_wide_as_rows(self, many: pd.DataFrame) -> None:
        each = lmprobe.amplify(many.assign(row=many.index), **SOFT_ONE, cluster="row").rows[0]
        rows = lmprobe.amplify(many, **SOFT_ONE).rows[0]
        assert each.value == pytest.approx(rows.value, rel=1e-12)
        width = each.estimate.interval.width
        assert width == pytest.approx(rows.estimate.interval.width, rel=0.2)

    def test_a_row_without_one_is_named(self, people: pd.DataFrame) -> None:
        some = people.assign(person=people["person"].where(people.index != 7))
        with pytest.raises(DataFileError, match=r'\("person" 1\), first "person" in row 8'):
            lmprobe.amplify(some, **HARD, cluster="person")


@pytest.fixture(scope="module")
def runs(people: pd.DataFrame) -> list[pd.DataFrame]:
    actual = []
    for seed in range(4):
        flip = np.random.default_rng(seed).random(len(people)) < 0.1
        actual.append(people.assign(p0=np.where(flip, 1 - people["p0"], people["p0"])))
    return actual


class TestRuns:
    def test_files_and_a_column_give_the_same(
        self, runs: list[pd.DataFrame], tmp_path: Path
    ) -> None:
        names = []
        for number, run in enumerate(runs):
            run.to_parquet(tmp_path / f"run{number}.parquet")
            names.append(str(tmp_path / f"run{number}.parquet"))
        value: dict[str, Any] = HARD | {"interval": None}
        files = lmprobe.amplify(names, **value, runs=True)
        further = lmprobe.amplify(runs[0], **value, runs=runs[1:])
        together = pd.concat([run.assign(seed=number) for number, run in enumerate(runs)])
        column = lmprobe.amplify(together, **value, run_column="seed")
        alone = [lmprobe.amplify(run, **value) for run in runs]
        for direction in ("A->T", "T->A"):
            values = [run.value for run in files.row(direction).runs]
            assert values == [item.row(direction).value for item in alone]
            assert files.row(direction).value == pytest.approx(np.mean(values))
            for other in (further, column):
                assert [run.value for run in other.row(direction).runs] == values
        assert [item.run for item in column.rows[0].runs] == ["0", "1", "2", "3"]

    def test_the_interval_covers_rows_and_runs(self, runs: list[pd.DataFrame]) -> None:
        from scipy import stats

        result = lmprobe.amplify(runs, **HARD, runs=True)
        row = result.row("A->T")
        values = [run.value for run in row.runs]
        half = stats.t.ppf(0.975, 3) * stats.sem(values)
        assert row.over_runs is row.estimate
        # Over rows the errors go together: the mean of the half-widths.
        below = np.mean([run.value - run.interval.low for run in row.runs])
        assert row.estimate.interval.low == pytest.approx(np.mean(values) - np.hypot(below, half))
        plain = lmprobe.amplify(runs, **HARD, runs=True, interval=None).row("A->T").estimate
        assert plain.interval.high == pytest.approx(np.mean(values) + half)
        assert [note.kind.value for note in result.notes] == ["assumption", "runs"]
        assert type(result).from_json(result.to_json()).to_json() == result.to_json()
        assert len(result.pairs()) == 2 * 4 * 6

    def test_an_interval_is_shown_beside_the_value_it_belongs_to(self) -> None:
        draw = np.random.default_rng(1)
        sex = draw.integers(0, 2, 400)
        # One task is linked to the group, the other is close to a tie.
        labels = {"strong": draw.random(400) < 0.3 + 0.4 * sex, "weak": draw.random(400) < 0.5}
        frames = [
            pd.DataFrame({"sex": sex})
            .assign(**labels, **{f"{name}_said": draw.random(400) < 0.5 for name in labels})
            .astype(int)
            for _ in range(2)
        ]
        choices: dict[str, Any] = {
            "attribute": "sex",
            "task": list(labels),
            "task_prediction": [f"{name}_said" for name in labels],
        }
        result = lmprobe.amplify(frames, **choices, runs=True)
        corrected = [run.corrected for run in result.rows[0].runs]
        assert None not in corrected
        assert [row[3] for row in result.table("runs").rows] == corrected
        assert list(result.figure("runs").figure.series[0].y) == corrected
        alone = lmprobe.amplify(frames[0], **choices, interval=None)
        assert "without an interval there is no verdict" in alone.page().headline[0].text

    def test_several_tables_must_be_runs(self, runs: list[pd.DataFrame]) -> None:
        with pytest.raises(InputError, match="several are training runs of one model"):
            lmprobe.amplify(runs, **HARD)
        with pytest.raises(InputError, match="not both"):
            lmprobe.amplify(runs, **HARD, runs=True, run_column="person")


def test_every_kind_of_table_gives_the_same_bytes(people: pd.DataFrame, tmp_path: Path) -> None:
    people.to_parquet(tmp_path / "people.parquet")
    people.to_csv(tmp_path / "people.csv.gz", index=False)
    (tmp_path / "parts").mkdir()
    people[:1000].to_csv(tmp_path / "parts" / "1.csv", index=False)
    people[1000:].to_csv(tmp_path / "parts" / "2.csv", index=False)
    sources: list[Any] = [
        people,
        pa.Table.from_pandas(people),
        tmp_path / "people.parquet",
        tmp_path / "people.csv.gz",
        tmp_path / "parts",
        str(tmp_path / "parts" / "*.csv"),
    ]
    rows = [lmprobe.amplify(source, **HARD).to_dict()["rows"] for source in sources]
    for item in rows[1:]:
        for row in item:
            row["runs"][0]["run"] = rows[0][0]["runs"][0]["run"]
        assert item == rows[0]


def test_later_rows_may_make_classes_of_what_looked_like_0_and_1() -> None:
    n = 30_000
    frame = pd.DataFrame({"sex": ["f", "m"] * (n // 2), "t": "0", "said": "1"})
    frame.loc[n - 2 :, ["t", "said"]] = ["2", "1"]
    frame.loc[: n // 3, "t"] = "1"
    result = lmprobe.amplify(frame, attribute="sex", task="t", task_prediction="said")
    assert result.rows[0].tasks == ("0", "1", "2")


def test_01_and_1_are_two_classes() -> None:
    codes = ["01", "1", "1", "1", "1", "01"]
    frame = pd.DataFrame({"sex": list("ffmmmm"), "t": codes, "said": ["01", *codes[:-1]]})
    words = frame.replace({"t": {"01": "x", "1": "y"}, "said": {"01": "x", "1": "y"}})
    actual, expected = (
        lmprobe.amplify(word, attribute="sex", task="t", task_prediction="said", interval=None)
        for word in (frame, words)
    )
    assert actual.rows[0].tasks == ("01", "1")
    assert actual.rows[0].value == expected.rows[0].value != 0


def test_patterns_of_columns_are_paired_by_name_not_by_place(people: pd.DataFrame) -> None:
    names = {f"t{k}": f"object.{k}" for k in range(3)} | {f"p{k}": f"said.{k}" for k in range(3)}
    frame = people.rename(columns=names)
    frame = frame[["sex", "said.1", "object.2", "said.0", "object.0", "object.1"]]
    frame["said.2"], frame["said.other"] = people["p2"], 1
    star: dict[str, Any] = {"attribute": "sex", "task": "object.*", "task_prediction": "said.*"}
    result = lmprobe.amplify(frame, **star, interval=None).row("A->T")
    expected = lmprobe.amplify(people, **HARD, interval=None).row("A->T")
    assert result.tasks == ("object.2", "object.0", "object.1")
    assert result.by_pair[:, [1, 2, 0]].tolist() == expected.by_pair.tolist()
    with pytest.raises(DataFileError, match=r'no column "said\.1"'):
        lmprobe.amplify(frame.drop(columns="said.1"), **star)


def test_crossed_columns_that_cannot_be_told_apart_are_named(people: pd.DataFrame) -> None:
    frame = people.assign(age="old & wise", race="b & w")
    choices: dict[str, Any] = {"task": "t0", "task_prediction": "p0"}
    with pytest.raises(InputError, match='age and race hold " & "'):
        lmprobe.amplify(frame, attribute=["age", "race"], **choices)
    with pytest.raises(InputError, match='`attribute` names the column "sex" twice'):
        lmprobe.amplify(frame, attribute=["sex", "sex"], **choices)


@pytest.mark.parametrize("same", [{"sex": "f"}, {"t0": 1}])
def test_a_table_in_which_nothing_leans_says_so(people: pd.DataFrame, same: Any) -> None:
    result = lmprobe.amplify(
        people.assign(**same), attribute="sex", task="t0", task_prediction="p0"
    )
    assert result.rows[0].value == 0
    assert result.rows[0].estimate.obstacle is Obstacle.NO_LEAN
    assert result.rows[0].notes[-1].text.startswith("the labels show no link")


WHOLE = pd.DataFrame(
    {
        "sex": list("ffm"),
        "t": [1, 0, 1],
        "u": 1,
        "p": [0.5, 0.25, 1.0],
        "w": 1.0,
        "who": list("xyx"),
    }
)
ONE: dict[str, Any] = {"attribute": "sex", "task": "t", "task_prediction": "p", "weight": "w"}
WRONG: dict[str, tuple[str, Any, str]] = {
    "far above one": ("p", 1e300, r"`p` must lie in \[0, 1\]: found 1e\+300 in row 2"),
    "just above one": ("p", 1.01, r"`p` must lie in \[0, 1\]: found 1.01 in row 2"),
    "below zero": ("p", -0.5, "turn scores into probabilities"),
    "a word": ("p", "x", "row 2: 'x' in the column \"p\" is not a number"),
    "nothing": ("p", None, r'1 of 3 rows lacks a value \("p" 1\), first "p" in row 2; fill it in'),
    "infinite weight": ("w", math.inf, 'the weights "w" must be finite .* found inf in row 2'),
    "negative weight": ("w", -0.5, "not negative; found -0.5 in row 2"),
    "no weight": ("w", None, r'lacks a value \("w" 1\), first "w" in row 2'),
    "a word as weight": ("w", "x", "row 2: 'x' in the column \"w\" is not a number"),
    "no group": ("sex", None, r'lacks a value \("sex" 1\), first "sex" in row 2'),
}


@pytest.mark.parametrize("way", [{"interval": None}, {"cluster": "who"}, {}])
@pytest.mark.parametrize(("column", "cell", "problem"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_cell_is_named_however_rows_are_counted(
    way: dict[str, Any], column: str, cell: Any, problem: str
) -> None:
    table = WHOLE.astype({column: object})
    table.loc[1, column] = cell
    # Columns that hold words come from files, as text.
    table[column] = table[column].astype(str) if cell == "x" else table[column]
    with pytest.raises(DataFileError, match=f"the table: .*{problem}"):
        lmprobe.amplify(table, **ONE, **way)


@pytest.mark.parametrize("way", [{"interval": None}, {"cluster": "who"}, {}])
@pytest.mark.parametrize("guess", [{"task_prediction": "p"}, {"score": "p"}])
@pytest.mark.parametrize("column", ["age", "t", "p", "w"])
def test_nan_in_a_file_with_statistics_is_a_missing_value(
    tmp_path: Path, column: str, guess: dict[str, str], way: dict[str, Any]
) -> None:
    """The least and largest value that a Parquet file states for a column leave NaN out."""
    cells = {"t": [0.0, 1.0, 1.0], "p": [0.0, 0.5, 1.0], "w": [1.0, 2.0, 3.0], "who": [1, 2, 3]}
    table = pa.table(cells | {"age": [1.0, 2.0, 1.0]} | {column: [0.0, math.nan, 1.0]})
    pq.write_table(table, tmp_path / "table.parquet")
    choices: dict[str, Any] = {"attribute": "age", "task": "t", "weight": "w"}
    with pytest.raises(DataFileError, match=f'first "{column}" in row 2;'):
        lmprobe.amplify(tmp_path / "table.parquet", **choices, **guess, **way)


@pytest.mark.parametrize("way", [{"interval": None}, {"cluster": "who"}, {}])
def test_a_table_without_rows_is_refused(way: dict[str, Any]) -> None:
    with pytest.raises(DataFileError, match="no row below the column names"):
        lmprobe.amplify(WHOLE[:0], **ONE, **way)


def test_a_column_of_fractions_is_no_group() -> None:
    draw = np.random.default_rng(0)
    table = pd.concat([WHOLE] * 20).assign(age=lambda rows: draw.random(len(rows)))
    with pytest.raises(DataFileError, match=r'"age" holds fractions such as 0\.'):
        lmprobe.amplify(table, attribute="age", task="t", task_prediction="p")
    few = table.assign(age=[0.5, 1.5] * 30)
    assert lmprobe.amplify(few, attribute="age", task="t", task_prediction="p").rows


def test_a_column_that_numbers_the_rows_is_no_group() -> None:
    n = 10_001
    table = pd.DataFrame({"sex": range(n), "t": [0, 1] * (n // 2) + [1], "p": 1})
    choices: dict[str, Any] = {"attribute": "sex", "task": "t", "task_prediction": "p"}
    with pytest.raises(DataFileError, match='"sex" has more than 10,000 different values'):
        lmprobe.amplify(table, **choices)
    assert len(lmprobe.amplify(table[1:], **choices, interval=None).rows[0].attributes) == n - 1


@pytest.mark.parametrize(
    ("values", "tasks"),
    [
        ([0, 1, 1], ("t",)),
        ([0.0, 0.25, 1.0], ("t",)),
        (["true", "False", "true"], ("t",)),
        (["0", "1", "x"], ("0", "1", "x")),
        ([0, 1, 2], ("0", "1", "2")),
        ([0.0, -0.5, 1.0], ("-0.5", "0", "1")),
        (["0", "01", "1"], ("0", "01", "1")),
    ],
)
def test_a_task_is_a_number_between_0_and_1_or_a_class(
    values: list[Any], tasks: tuple[str, ...]
) -> None:
    table = pd.DataFrame({"sex": list("ffm"), "t": values, "p": values})
    choices: dict[str, Any] = {"attribute": "sex", "task": "t", "task_prediction": "p"}
    assert lmprobe.amplify(table, **choices, interval=None).rows[0].tasks == tasks


LABELS = pd.DataFrame(
    {"sex": list("fmfm"), "job": list("xyyx"), "b": list("mfmf"), "p": list("xyxy")}
)
NAMED: dict[str, Any] = {
    "attribute": "sex",
    "task": "job",
    "attribute_prediction": "b",
    "task_prediction": "p",
    "interval": None,
}


@pytest.mark.parametrize(
    ("changed", "train", "problem"),
    [
        ({"b": list("pqpq")}, {}, r"no predicted group \(p, q\) is one of those labelled \(f, m\)"),
        ({"p": list("pqpq")}, {}, r'no value of "p" \(p, q\) is one of those labelled \(x, y\)'),
        ({}, {"sex": list("pqpq")}, r"no group of a table in memory \(p, q\)"),
        ({}, {"job": list("pppp")}, r"no task of a table in memory \(p\)"),
        # A single stranger may be a model with one answer.
        ({"b": list("pppp")}, {}, None),
        ({"p": list("pppp")}, {}, None),
        ({"p": list("pqpq")}, {"job": list("xpxp")}, None),
    ],
)
def test_labels_of_which_none_is_known_are_refused(
    changed: dict[str, Any], train: dict[str, Any], problem: str | None
) -> None:
    table = LABELS.assign(**changed)
    other = LABELS.assign(**train) if train else None
    if problem is None:
        (row, _) = lmprobe.amplify(table, **NAMED, train=other).rows
        assert {"f", "m"} <= set(row.attributes)
        assert {"x", "y"} <= set(row.tasks)
    else:
        with pytest.raises(InputError, match=problem):
            lmprobe.amplify(table, **NAMED, train=other)
