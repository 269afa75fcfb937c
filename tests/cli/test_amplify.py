"""`lmprobe amplify`: the library's numbers from tables of any kind, and clear errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe import AmplificationResult
from lmprobe.io.table_files import write_table
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.labels import cross
from lmprobe.metrics.thresholds import amplification_curves

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
    actual: dict[str, Any] = json.loads(out)
    return actual


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_any_file_gives_the_numbers_of_the_library(
    run: Run, people: pd.DataFrame, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"people.{kind}"
    write_table(people, path)
    words = ("-a", "sex", "-t", "hired", "-p", "said", "--attribute-prediction", "sex_said")
    result = document(run, path, *words, "--weight", "weight")
    expected = directional_amplification(
        people["sex"],
        people["hired"],
        attribute_predictions=people["sex_said"],
        task_predictions=people["said"],
        sample_weight=people["weight"],
    )
    assert result["rows_read"] == len(people)
    order = sorted(expected.directions, key=lambda values: values.direction != "attribute->task")
    for row, item in zip(result["rows"], order, strict=True):
        assert row["direction"] == item.direction
        assert row["value"] == pytest.approx(item.value, abs=1e-12)
        assert row["absolute"] == pytest.approx(item.absolute, abs=1e-12)
        found_pairs = np.array(row["runs"][0]["amplification"])
        np.testing.assert_allclose(found_pairs, item.by_pair, atol=1e-12)


def test_intersections_categories_and_a_train_file(
    run: Run, file: Path, people: pd.DataFrame
) -> None:
    train = file.with_name("train.csv")
    people[::3].to_csv(train, index=False)
    words = ("-a", "sex", "-a", "race", "-t", "job", "-p", "guess", "--train", train)
    result = document(run, file, *words)
    expected = directional_amplification(
        cross(people[["sex", "race"]]),
        people["job"],
        task_predictions=people["guess"],
        train_attribute_labels=cross(people[["sex", "race"]][::3]),
        train_task_labels=people["job"][::3],
    ).attribute_to_task
    assert expected is not None
    (row,) = result["rows"]
    assert row["value"] == pytest.approx(expected.value, abs=1e-12)
    assert row["by_attribute"].keys() == {"f & b", "f & w", "m & b", "m & w"}
    assert row["by_task"].keys() == {"cook", "driver", "nurse"}


def test_scores_are_cut_where_told(run: Run, file: Path, people: pd.DataFrame) -> None:
    def expected(threshold: float) -> float:
        guess = (people["score"] >= threshold).astype(int)
        first = directional_amplification(people["sex"], people["hired"], task_predictions=guess)
        assert first.attribute_to_task is not None
        return first.attribute_to_task.value

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


@pytest.mark.parametrize("late", ["score", "weight"])
def test_the_first_fraction_may_come_late(run: Run, tmp_path: Path, late: str) -> None:
    table = pd.DataFrame({"sex": ["f", "m"] * 12_000, "hired": [1, 0, 0, 1] * 6000})
    table["score"], table["weight"] = table["hired"].astype(object), 1
    table[late] = [*table[late][:-1], 0.5]
    table.to_csv(tmp_path / "late.csv", index=False)
    words = ("-a", "sex", "-t", "hired", "--score", "score", "--weight", "weight")
    assert document(run, tmp_path / "late.csv", *words)["rows_read"] == 24_000


def test_what_a_person_reads(run: Run, file: Path, tmp_path: Path) -> None:
    words = ["-a", "sex", "-t", "job", "-p", "guess"]
    code, out, err = run(file, *words, "--output", tmp_path / "out")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "attribute->task" in out
    assert " to " in out  # the interval
    assert "the labels show no link beyond chance" in " ".join(out.split())
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "amplification.csv",
        "pairs.csv",
        "report.html",
        "result.json",
    }
    assert len(pd.read_csv(tmp_path / "out" / "pairs.csv")) == 6
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Do the predictions exaggerate the link between sex and job?" in page
    # Where the labels show no link, no task is moved.
    assert "<svg" not in page
    code, out, err = run(file, *words, "--quiet", "--interval", "none")
    assert err == ""
    assert " to " not in out


def test_a_metric_without_its_predictions_names_the_options(run: Run, file: Path) -> None:
    code, out, err = run(file, "-a", "sex", "-t", "job", "-p", "guess", "--metric", "mals")
    assert (code, out) == (2, "")
    assert "--attribute-prediction and --task-prediction" in err


def test_no_label_can_be_taken_for_a_formula(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sex,task,said\n=1+1,1,1\nm,0,1\n")
    code, _, _ = run(path, "-a", "sex", "-t", "task", "-p", "said", "-o", tmp_path / "out")
    assert code == 0
    assert '"\'=1+1"' in (tmp_path / "out" / "pairs.csv").read_text()


def test_the_json_comes_back_whole(run: Run, file: Path, tmp_path: Path) -> None:
    words = ["-a", "sex", "-t", "hired", "--score", "score", "--threshold", "all"]
    _, out, _ = run(file, *words, "--json", "-o", tmp_path / "out")
    assert len(pd.read_csv(tmp_path / "out" / "curves.csv")) > 50
    actual = json.loads(out)
    assert (actual["schema"], actual["kind"]) == ("lmprobe.result/3", "amplification")
    assert actual["rows"][0]["interval"]["status"] == "ok"
    result = AmplificationResult.from_json(out)
    assert result.to_json() == out
    assert result.row("A->T").value == actual["rows"][0]["value"]
    assert result.figure("curves").figure.series[0].name == "hired"
    (again,) = (command for part in result.page().walk() for command in part.commands)
    assert again == f"lmprobe amplify {file} " + " ".join(
        ["--attribute sex --task hired --score score --threshold all"]
    )


def test_what_the_train_file_never_saw(run: Run, file: Path, tmp_path: Path) -> None:
    train = tmp_path / "train.csv"
    train.write_text("sex,job\nf,cook\nf,nurse\nm,cook\n")
    words = (file, "-a", "sex", "-t", "job", "-p", "guess", "--train", train)
    result = document(run, *words)
    (note,) = result["notes"]
    assert note["kind"] == "left_out"
    assert note["text"] == (
        "the train table has no row with driver: their pairs are left out of the mean"
    )
    assert result["rows"][0]["undefined_pairs"] == 2
    retained = document(run, *words, "--keep-unseen")
    assert retained["rows"][0]["undefined_pairs"] == 0
    assert retained["rows"][0]["value"] == pytest.approx(result["rows"][0]["value"] * 4 / 6)
    train.write_text("sex,job\nfemale,cook\nmale,nurse\n")
    code, _, err = run(*words)
    assert code == 2
    assert "train.csv (female, male) is one of those labelled (f, m)" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-a sx -t hired -p said", 'no column "sx"; did you mean "sex"'),
        ("-a sex -t hired", "give --task-prediction, --score or --attribute-prediction"),
        ("-a sex -t hired -p said --score score", "not both"),
        ("-a sex -t hired --score score --threshold high", "calibrated, all or a number"),
        ("-a sex -t hired -p score", "`score` must lie in [0, 1]"),
        ("-a sex -t hired -t cat -p said", "names 1 column and --task 2"),
        ("-a sex -t hired -t job -p said -p guess", "with words in it"),
        ("-a sex -t job --score score", "--score needs tasks of 0 and 1"),
        ("-a sex -t hired --score job --threshold 1", 'the column "job" is not a number'),
        ("-a sex -t hired -p said --weight job", 'the column "job" is not a number'),
        ("-a sex -t hired -p said --threshold 1", "need --score"),
        ("-a sex -t hired -p said --train-weight x", "--train-weight needs --train"),
        ("-a sex -t job -p sex", "is one of"),
        ("-a sex -t hired --attribute-prediction job", "no predicted group"),
        ("-a sex -t hired --score score --threshold 1 --validation x.csv", "gives one already"),
        ("-a sex -t hired -p said --interval bootstrap-percentile", "bootstrap"),
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


def test_yes_and_no_in_words_and_floats(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("group,task,said\n1.0,true,false\n2.0,false,false\n1.0,true,true\n")
    result = document(run, path, "-a", "group", "-t", "task", "-p", "said")
    assert result["rows"][0]["by_attribute"].keys() == {"1", "2"}
    assert result["rows"][0]["runs"][0]["predicted"][0] == [0.5]
