"""`lmprobe amplify`: the library's numbers from tables of any kind, and clear errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.core.labels import cross
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.thresholds import amplification_curves
from lmprobe.tabular import counting
from lmprobe.tabular.result import AmplificationResult

Run = Callable[..., Any]


@pytest.fixture
def run(command: Callable[..., Run]) -> Run:
    """Return (exit code, standard output, standard error) of the command."""
    return command("amplify", columns=80)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 400
    sex = rng.choice(["f", "m"], n)
    hired = (rng.random(n) < np.where(sex == "m", 0.6, 0.3)).astype(int)
    score = np.round(0.5 * hired + 0.2 * (sex == "m") + 0.5 * rng.random(n), 2)
    return pd.DataFrame(
        {
            "sex": sex,
            "race": rng.choice(["b", "w"], n),
            "job": rng.choice(["cook", "nurse", "driver"], n),
            "guess": rng.choice(["cook", "nurse"], n),
            "hired": hired,
            "said": (score > 0.5).astype(int),
            "cat": rng.integers(0, 2, n),
            "cat_said": rng.random(n),
            "score": score,
            "sex_said": np.where(rng.random(n) < 0.9, sex, "m"),
            "weight": rng.integers(1, 4, n),
        }
    )


@pytest.fixture
def file(people: pd.DataFrame, tmp_path: Path) -> Path:
    people.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def document(run: Run, *words: str | Path) -> dict[str, Any]:
    code, out, _ = run(*words, "--json", "--quiet", "--interval", "none")
    assert code == 0
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_any_file_gives_the_numbers_of_the_library(
    run: Run, people: pd.DataFrame, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"people.{kind}"
    if kind == "csv":
        people.to_csv(path, index=False)
    elif kind == "parquet":
        people.to_parquet(path)
    else:
        people.to_json(path, orient="records", lines=True)
    words = ("-a", "sex", "-t", "hired", "-p", "said", "--attribute-prediction", "sex_said")
    found = document(run, path, *words, "--weight", "weight")
    expected = directional_amplification(
        people["sex"],
        people["hired"],
        attribute_predictions=people["sex_said"],
        task_predictions=people["said"],
        sample_weight=people["weight"],
    )
    assert found["rows_read"] == len(people)
    order = sorted(expected.directions, key=lambda one: one.direction != "attribute->task")
    for row, one in zip(found["rows"], order, strict=True):
        assert row["direction"] == one.direction
        assert row["value"] == pytest.approx(one.value, abs=1e-12)
        assert row["absolute"] == pytest.approx(one.absolute, abs=1e-12)
        found_pairs = np.array(row["runs"][0]["amplification"])
        np.testing.assert_allclose(found_pairs, one.by_pair, atol=1e-12)


def test_intersections_categories_and_a_train_file(
    run: Run, file: Path, people: pd.DataFrame
) -> None:
    train = file.with_name("train.csv")
    people[::3].to_csv(train, index=False)
    words = ("-a", "sex", "-a", "race", "-t", "job", "-p", "guess", "--train", train)
    found = document(run, file, *words)
    expected = directional_amplification(
        cross(people[["sex", "race"]]),
        people["job"],
        task_predictions=people["guess"],
        train_attribute_labels=cross(people[["sex", "race"]][::3]),
        train_task_labels=people["job"][::3],
    ).attribute_to_task
    assert expected is not None
    (row,) = found["rows"]
    assert row["value"] == pytest.approx(expected.value, abs=1e-12)
    assert row["by_attribute"].keys() == {"f & b", "f & w", "m & b", "m & w"}
    assert row["by_task"].keys() == {"cook", "driver", "nurse"}


def test_several_tasks_with_probabilities(run: Run, file: Path, people: pd.DataFrame) -> None:
    found = document(
        run, file, *["-a", "sex", "-t", "hired", "-t", "cat", "-p", "said", "-p", "cat_said"]
    )
    expected = directional_amplification(
        people["sex"],
        people[["hired", "cat"]],
        task_predictions=people[["said", "cat_said"]].to_numpy(),
    ).attribute_to_task
    assert expected is not None
    assert found["rows"][0]["value"] == pytest.approx(expected.value, abs=1e-12)
    assert list(found["rows"][0]["by_task"]) == ["hired", "cat"]


def test_scores_are_cut_where_told(run: Run, file: Path, people: pd.DataFrame) -> None:
    def expected(threshold: float) -> float:
        guess = (people["score"] >= threshold).astype(int)
        one = directional_amplification(people["sex"], people["hired"], task_predictions=guess)
        assert one.attribute_to_task is not None
        return one.attribute_to_task.value

    words = ["-a", "sex", "-t", "hired", "--score", "score"]
    fixed = document(run, file, *words, "--threshold", "0.7")
    assert fixed["rows"][0]["value"] == pytest.approx(expected(0.7))
    own = document(run, file, *words)
    (cut,) = own["thresholds"]
    assert own["rows"][0]["value"] == pytest.approx(expected(cut["value"]))
    assert cut["wanted_share"] == pytest.approx(people["hired"].mean())
    assert cut["share"] == pytest.approx((people["score"] >= cut["value"]).mean())
    assert cut["share"] == pytest.approx(cut["wanted_share"], abs=0.02)
    everywhere = document(run, file, *words, "--threshold", "all")
    (curve,) = amplification_curves(people["sex"], people["hired"], task_scores=people["score"])
    assert everywhere["curves"][0]["integral"] == pytest.approx(curve.integral)
    assert everywhere["curves"][0]["cuts"][0] is None


def test_a_validation_file_chooses_the_threshold(run: Run, file: Path) -> None:
    validation = file.with_name("validation.csv")
    pd.DataFrame({"score": np.linspace(0, 1, 101)}).to_csv(validation, index=False)
    train = file.with_name("train.csv")
    pd.DataFrame({"sex": ["f", "m", "m", "f"], "hired": [1, 0, 0, 0]}).to_csv(train, index=False)
    words = ("-a", "sex", "-t", "hired", "--score", "score", "--validation", validation)
    found = document(run, file, *words, "--train", train)
    assert found["thresholds"][0]["value"] == pytest.approx(0.76)


def test_few_validation_rows_are_not_called_tied(run: Run, file: Path, tmp_path: Path) -> None:
    validation = tmp_path / "validation.csv"
    words = ("-a", "sex", "-t", "hired", "--score", "score", "--validation", validation)
    validation.write_text("score\n0.2\n0.5\n0.7\n")
    assert document(run, file, *words)["notes"] == []
    validation.write_text("score\n0.5\n0.5\n0.5\n")
    assert "tied scores" in document(run, file, *words)["notes"][0]["text"]


@pytest.mark.parametrize("late", ["score", "weight"])
def test_the_first_fraction_may_come_late(run: Run, tmp_path: Path, late: str) -> None:
    table = pd.DataFrame({"sex": ["f", "m"] * 12_000, "hired": [1, 0, 0, 1] * 6000})
    table["score"], table["weight"] = table["hired"].astype(object), 1
    table[late] = [*table[late][:-1], 0.5]
    table.to_csv(tmp_path / "late.csv", index=False)
    words = ("-a", "sex", "-t", "hired", "--score", "score", "--weight", "weight")
    assert document(run, tmp_path / "late.csv", *words)["rows_read"] == 24_000


def test_one_task_may_be_labelled_with_probabilities(
    run: Run, file: Path, people: pd.DataFrame
) -> None:
    found = document(run, file, "-a", "sex", "-t", "cat_said", "-p", "cat")
    expected = directional_amplification(
        people["sex"], people["cat_said"], task_predictions=people["cat"]
    ).attribute_to_task
    assert expected is not None
    assert found["rows"][0]["value"] == pytest.approx(expected.value, abs=1e-12)
    assert np.shape(found["rows"][0]["runs"][0]["lean"]) == (2, 1)


def test_a_column_that_numbers_the_rows_is_refused(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "KINDS", 2)
    code, _, err = run(file, "-a", "sex", "-t", "job", "-p", "guess")
    assert code == 2
    assert '"job" has more than 2 different values; name a column of groups or of tasks' in err


@pytest.mark.parametrize("weight", ["inf", "-1"])
def test_weights_must_be_finite_and_not_negative(run: Run, tmp_path: Path, weight: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"sex,task,said,w\nf,1,1,1\nm,0,1,{weight}\n")
    code, _, err = run(path, "-a", "sex", "-t", "task", "-p", "said", "--weight", "w")
    assert code == 2
    assert 'the weights "w" must be finite numbers that are not negative' in err


def test_what_a_person_reads(run: Run, file: Path, tmp_path: Path) -> None:
    words = ["-a", "sex", "-t", "job", "-p", "guess"]
    code, out, err = run(file, *words, "--output", tmp_path / "out")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "attribute->task" in out
    assert " to " in out  # the interval
    assert "shows no clear difference" in " ".join(out.split())
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "amplification.csv",
        "pairs.csv",
        "report.html",
        "result.json",
    }
    assert len(pd.read_csv(tmp_path / "out" / "pairs.csv")) == 6
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Do the predictions exaggerate the link between sex and job?" in page
    assert page.count("<svg") == 1
    code, out, err = run(file, *words, "--quiet", "--interval", "none")
    assert err == ""
    assert " to " not in out


def test_no_label_can_be_taken_for_a_formula(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sex,task,said\n=1+1,1,1\nm,0,1\n")
    code, _, _ = run(path, "-a", "sex", "-t", "task", "-p", "said", "-o", tmp_path / "out")
    assert code == 0
    assert '"\'=1+1"' in (tmp_path / "out" / "pairs.csv").read_text()


def test_the_json_comes_back_whole(run: Run, file: Path, tmp_path: Path) -> None:
    words = ["-a", "sex", "-t", "hired", "--score", "score", "--threshold", "all"]
    _, out, _ = run(file, *words, "--json")
    found = json.loads(out)
    assert (found["schema"], found["kind"]) == ("lmprobe.result/2", "amplification")
    assert found["rows"][0]["interval"]["status"] == "ok"
    result = AmplificationResult.from_json(out)
    assert result.to_json() == out
    assert result.row("A->T").value == found["rows"][0]["value"]
    assert result.figure("curves").figure.series[0].name == "hired"
    again = result.page().sections[-1].commands[0]
    assert again == f"lmprobe amplify {file} " + " ".join(
        ["--attribute sex --task hired --score score --threshold all"]
    )


def test_the_interval_says_what_it_assumes_and_where_it_is_short(
    run: Run, people: pd.DataFrame, tmp_path: Path
) -> None:
    def notes(table: pd.DataFrame, *words: str | Path) -> list[tuple[str, str]]:
        table.to_csv(tmp_path / "some.csv", index=False)
        options = ("-a", "sex", "-t", "job", "-p", "guess", *words)
        _, out, _ = run(tmp_path / "some.csv", *options, "--json")
        found = json.loads(out)
        every = [*found["notes"], *found["rows"][0]["notes"]]
        return [(note["kind"], note["text"]) for note in every]

    # Sex and job are independent here, so only chance decides which way the pairs lean.
    (kind, text), (tie, pairs) = notes(people)
    assert (kind, tie) == ("assumption", "tie")
    assert "cross-fitted on other rows" in text
    assert pairs.startswith("6 of 6 pairs are within two standard errors of a tie")
    linked = people.assign(job=np.where(people["sex"] == "f", "nurse", "cook"))
    ((_, text),) = notes(linked)
    assert "takes the lean of these rows as known" in text
    train = tmp_path / "train.csv"
    people.to_csv(train, index=False)
    assert "the lean of the train table" in notes(people, "--train", train)[0][1]
    assert notes(people[:99])[2][0] == "few_units"
    assert "only 99 rows" in notes(people[:99])[2][1]
    rare = people.assign(sex=np.where(people.index < 19, "x", people["sex"]))
    assert "fewer than 20 rows have x:" in notes(rare)[2][1]


def test_what_the_train_file_never_saw(run: Run, file: Path, tmp_path: Path) -> None:
    train = tmp_path / "train.csv"
    train.write_text("sex,job\nf,cook\nf,nurse\nm,cook\n")
    words = (file, "-a", "sex", "-t", "job", "-p", "guess", "--train", train)
    found = document(run, *words)
    (note,) = found["notes"]
    assert note["kind"] == "left_out"
    assert note["text"] == (
        "the train table has no row with driver: their pairs are left out of the mean"
    )
    assert found["rows"][0]["undefined_pairs"] == 2
    kept = document(run, *words, "--keep-unseen")
    assert kept["rows"][0]["undefined_pairs"] == 0
    assert kept["rows"][0]["value"] == pytest.approx(found["rows"][0]["value"] * 4 / 6)
    train.write_text("sex,job\nfemale,cook\nmale,nurse\n")
    code, _, err = run(*words)
    assert code == 2
    assert "train.csv (female, male) is one of those labelled (f, m)" in err
    train.write_text("sex,job\nf,Cook\nm,Nurse\n")
    code, _, err = run(*words)
    assert code == 2
    assert "train.csv (Cook, Nurse) is one of those labelled (cook, driver, nurse)" in err


def test_classes_that_no_row_is_labelled_with_are_named(
    run: Run, people: pd.DataFrame, tmp_path: Path
) -> None:
    stray = people.assign(guess=np.where(people.index < 3, "pilot", people["guess"]))
    stray.to_csv(tmp_path / "stray.csv", index=False)
    found = document(run, tmp_path / "stray.csv", "-a", "sex", "-t", "job", "-p", "guess")
    assert [note["text"] for note in found["notes"]] == [
        "no row is labelled pilot: their pairs are left out of the mean"
    ]
    assert found["rows"][0]["by_task"]["pilot"] is None


def test_curves_are_written(run: Run, file: Path, tmp_path: Path) -> None:
    words = ["-a", "sex", "-t", "hired", "--score", "score", "--threshold", "all"]
    code, out, _ = run(file, *words, "--interval", "none", "-o", tmp_path / "out")
    assert code == 0
    assert "over all thresholds" in out
    assert (tmp_path / "out" / "report.html").read_text().count("<svg") == 2
    assert len(pd.read_csv(tmp_path / "out" / "curves.csv")) > 50


def test_undefined_pairs_are_counted_and_named(run: Run, tmp_path: Path) -> None:
    path, train = tmp_path / "a.csv", tmp_path / "train.csv"
    path.write_text("sex,task,said\nf,1,1\nm,0,1\n")
    train.write_text("sex,task\nf,1\nm,0\nx,1\n")
    words = ("-a", "sex", "-t", "task", "-p", "said", "--train", train, "--interval", "none")
    _, out, _ = run(path, *words)
    assert "1 of 3" in out
    _, out, _ = run(path, *words, "--json")
    assert "NaN" not in out
    assert json.loads(out)["rows"][0]["undefined_pairs"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-a sx -t hired -p said", 'no column "sx"; did you mean "sex"'),
        ("-a sex -t hired", "give --task-prediction, --score or --attribute-prediction"),
        ("-a sex -t hired -p said --score score", "not both"),
        ("-a sex -t hired --score score --threshold high", "calibrated, all or a number"),
        ("-a sex -t hired -p score", "`score` must lie in [0, 1]"),
        ("-a sex -t hired -t cat -p said", "names 1 columns and --task 2"),
        ("-a sex -t hired -t job -p said -p guess", "with words in it"),
        ("-a sex -t job --score score", "--score needs tasks of 0 and 1"),
        ("-a sex -t hired --score job --threshold 1", 'the column "job" is not a number'),
        ("-a sex -t hired -p said --weight job", 'the column "job" is not a number'),
        ("-a sex -t hired -p said --threshold 1", "need --score"),
        ("-a sex -t hired -p said --train-weight x", "--train-weight needs --train"),
        ("-a sex -t job -p sex", "is one of"),
        ("-a sex -t hired --attribute-prediction job", "no predicted group"),
        ("-a sex -t hired --score score --threshold 1 --validation x.csv", "gives one already"),
    ],
)
def test_every_mistake_is_one_line_and_exit_2(
    run: Run, file: Path, words: str, message: str
) -> None:
    code, out, err = run(file, *words.split())
    assert code == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_a_missing_value_is_found_in_its_row(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sex,task,said\nf,1,1\n,0,1\n")
    code, _, err = run(path, "-a", "sex", "-t", "task", "-p", "said")
    assert code == 2
    assert 'the column "sex" has no value in row 2' in err


def test_yes_and_no_in_words_and_floats(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("group,task,said\n1.0,true,false\n2.0,false,false\n1.0,true,true\n")
    found = document(run, path, "-a", "group", "-t", "task", "-p", "said")
    assert found["rows"][0]["by_attribute"].keys() == {"1", "2"}
    assert found["rows"][0]["runs"][0]["predicted"][0] == [0.5]
