"""`lmprobe disparity`, `plan` and `compare`: the library's numbers, one document, clear errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lmprobe
from lmprobe import DisparityResult, PlanResult, ProbeResult
from lmprobe.results.codec import to_json

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(command: Callable[..., Run]) -> Run:
    """Return (exit code, standard output, standard error) of the command."""
    return command(columns=100)


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = np.random.default_rng(0)
    group = draw.choice(["a", "b", "c"], 600)
    truth = draw.integers(0, 2, 600)
    guess = (draw.random(600) < 0.3 + 0.3 * (group == "a") + 0.2 * truth).astype(int)
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    frame = pd.DataFrame({"race": group, "sex": draw.choice(["f", "m"], 600)})
    frame.assign(repaid=truth, approved=guess, id=range(600)).to_csv(path, index=False)
    return path


class TestDisparity:
    def test_it_is_the_librarys_number(self, run: Run, loans: Path) -> None:
        code, out, err = run(
            "disparity", loans, "-p", "approved", "-g", "race", "--protected", "a",
            "--label", "repaid", "--measure", "fpr_difference", "--method", "score", "--json",
        )  # fmt: skip
        assert (code, err) == (0, "")
        row = json.loads(out)["rows"][0]
        frame = pd.read_csv(loans)
        expected = lmprobe.group_disparity(
            frame.repaid, frame.approved, sensitive_features=frame.race, protected="a",
            measure="fpr_difference", method="score",
        )  # fmt: skip
        assert row["value"] == pytest.approx(expected.value)
        assert row["interval"] == to_json(expected.interval)
        assert row["verdict"] == "higher"

    def test_every_group_in_turn_holds_at_once(self, run: Run, loans: Path) -> None:
        code, out, _ = run("disparity", loans, "-p", "approved", "-g", "race", "--json")
        rows = json.loads(out)["rows"]
        assert code == 0
        assert [row["protected"] for row in rows] == ["a", "b", "c"]
        assert rows[0]["interval"]["confidence"] == pytest.approx(1 - 0.05 / 3)

        _, out, _ = run("disparity", loans, "-p", "approved", "-g", "race", "-g", "sex", "--json")
        assert [row["protected"] for row in json.loads(out)["rows"]][:2] == ["a & f", "a & m"]

    def test_for_a_person(self, run: Run, loans: Path, tmp_path: Path) -> None:
        code, out, err = run(
            "disparity", loans, "-p", "approved", "-l", "repaid", "-g", "race", "--protected", "a",
            "-m", "equalized_odds", "--output", tmp_path, "--verbose",
        )  # fmt: skip
        assert code == 0
        assert "tpr_difference" in out
        assert "larger difference" in out
        assert "so that both cover at once" in " ".join(err.split())
        saved = DisparityResult.from_json(tmp_path)
        assert saved.measure == "equalized_odds"
        (row,) = json.loads((tmp_path / "result.json").read_text())["rows"]
        parts = [abs(part["value"]) for part in row["components"]]
        assert row["largest_component"]["value"] == max(parts)
        assert (tmp_path / "report.html").is_file()
        quiet = run("disparity", loans, "-p", "approved", "-g", "race", "--quiet")
        assert quiet[2] == ""

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["-p", "aproved", "-g", "race"], 'did you mean "approved"'),
            (["-p", "approved", "-g", "race", "--protected", "d"], 'no protected group "d"'),
            (["-p", "race", "-g", "sex"], 'in the column "race" is not a number; write yes'),
            (["-p", "approved", "-g", "race", "-m", "tpr_difference"], "needs the column of true"),
            (["-p", "approved", "-g", "race", "--confidence", "95"], "found 95"),
            (["-p", "approved", "-g", "id"], "600 groups are too many to take in turn"),
        ],
    )
    def test_mistakes(self, run: Run, loans: Path, words: list[str], said: str) -> None:
        code, out, err = run("disparity", loans, *words)
        assert (code, out) == (2, "")
        assert said in err
        assert err.startswith("lmprobe: ")

    @pytest.mark.parametrize("missing", ["race", "approved"])
    def test_a_missing_value_is_found_in_its_row(
        self, run: Run, tmp_path: Path, missing: str
    ) -> None:
        table = pd.DataFrame({"race": ["a", "b", "a"], "approved": [True, False, True]})
        table[missing] = table[missing].astype(object).where(table.index != 1)
        table.to_csv(tmp_path / "holes.csv", index=False)
        code, _, err = run("disparity", tmp_path / "holes.csv", "-p", "approved", "-g", "race")
        assert code == 2
        wanted = (
            f'holes.csv: 1 of 3 rows lacks a value ("{missing}" 1), first "{missing}" in line 3'
        )
        assert wanted in err
        assert "leave such rows out (--missing-cells drop)" in err
        whole = pd.DataFrame({"race": [*"aaab"] * 9, "approved": [1, 0, 0, 1] * 9})
        pd.concat([table, whole]).to_csv(tmp_path / "holes.csv", index=False)
        command = ["disparity", tmp_path / "holes.csv", "-p", "approved", "-g", "race"]
        code, out, err = run(*command, "--missing-cells", "drop", "--json", "--protected", "a")
        assert code == 0, err
        result = DisparityResult.from_json(out)
        assert result.rows[0].group_sizes == (29, 9)
        assert any("1 of 39 rows lacks a value" in note.text for note in result.notes)
        assert [table["rows"] for table in result.provenance["rows_left_out"]] == [1]
        assert "--missing-cells drop" in result.provenance["command"]

    def test_no_interval_is_said_in_words(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "same.csv").write_text("g,p\n" + "a,1\nb,1\n" * 20)
        code, out, _ = run(
            "disparity", tmp_path / "same.csv", "-p", "p", "-g", "g", "--method", "bootstrap"
        )
        assert code == 0
        assert "no interval" in " ".join(out.split())
        assert "nan" not in out


class TestPlan:
    def test_every_method(self, run: Run) -> None:
        code, out, err = run("plan", "--effect", "0.05", "--json")
        sizes = {row["method"]: row["n"] for row in json.loads(out)["rows"]}
        assert (code, err) == (0, "")
        assert (sizes["bernstein"], sizes["exact"], sizes["betting"]) == (11903, 1641, 2993)
        assert list(sizes) == ["bernstein", "exact", "betting", "score", "bootstrap"]

    def test_power(self, run: Run) -> None:
        for power, options in ((0.8, ()), (0.9, ("--power", "0.9"))):
            _, out, _ = run("plan", "--effect", "0.1", "--method", "score", *options, "--json")
            (row,) = json.loads(out)["rows"]
            assert json.loads(out)["power"] == power
            assert row["n"] == lmprobe.sample_size(0.1, method="score")
            assert row["n_power"] == lmprobe.sample_size(0.1, method="score", power=power)

    def test_turned_round(self, run: Run) -> None:
        _, out, _ = run("plan", "--rows", "3160", "--method", "bernstein", "--json")
        assert json.loads(out)["rows"][0]["effect"] == pytest.approx(0.09742, abs=5e-6)

    def test_for_a_person(self, run: Run, tmp_path: Path) -> None:
        code, out, err = run("plan", "--effect", "0.05", "--output", tmp_path, "--verbose")
        assert code == 0
        assert "11,903" in out
        assert "about half" in " ".join(err.split())
        assert "1,641" in out
        assert "3,237 for a power of 0.8" in out
        assert PlanResult.from_json(tmp_path).effect == 0.05

    def test_what_no_rows_can_claim(self, run: Run) -> None:
        _, out, _ = run("plan", "--rows", "2", "--json")
        document = json.loads(out)
        assert document["kind"] == "plan"
        assert {row["effect"] for row in document["rows"]} == {None}
        assert "No difference is large enough" in run("plan", "--rows", "2")[1]

    def test_sentences_of_a_base(self, run: Run) -> None:
        code, out, err = run("plan", "--base", "wikipedia", "--json")
        assert (code, err) == (0, "")
        document = json.loads(out)
        assert [row["direction"] for row in document["rows"]] == [
            "task->attribute", "attribute->task",
        ]  # fmt: skip
        row = document["rows"][0]
        assert row["needed"] is None or row["needed"] > row["sentences"]
        assert PlanResult.from_json(out).to_json() == out
        assert "labor" in run("plan", "--base", "labor")[2]
        # 58 % is enough for a verdict; what is planned is to see most of the effect.
        assert row["found"] > 0.5
        assert "sentences show 90 % of an amplification" in run("plan", "--base", "wikipedia")[1]

    def test_templates_from_a_pilot(self, run: Run, result: ProbeResult, tmp_path: Path) -> None:
        pilot = tmp_path / "result.json"
        pilot.write_text(result.to_json())
        _, out, _ = run("plan", "--pilot", pilot, "--effect", "0.01", "--json")
        rows = json.loads(out)["rows"]
        assert len(rows) == len(result.rows)
        assert lmprobe.plan(0.01, pilot=result).to_dict()["rows"] == rows
        assert PlanResult.from_json(out).to_json() == out
        code, out, _ = run("plan", "--pilot", pilot, "--effect", "0.01")
        assert code == 0
        assert "to claim 0.01" in out
        code, _, err = run("plan", "--pilot", pilot, "--effect", "1e-200")
        assert code == 2
        assert "plan for a larger effect" in err

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ([], "give --effect, or --rows"),
            (["--effect", "0.1", "--rows", "5"], "give --effect, or --rows"),
            (["--effect", "0.1", "--variance", "0.1"], "each method: give --interval"),
            (["--effect", "0.1", "--pilot", "nowhere.json"], "nowhere.json"),
            (["--effect", "-1"], "--effect must be positive"),
            (["--effect", "0.1", "--power", "80"], "--power must lie between 0 and 1"),
            (["--effect", "0.1", "--pilot", "x.json", "--method", "score"], "no --interval"),
        ],
    )
    def test_mistakes(self, run: Run, words: list[str], said: str) -> None:
        code, out, err = run("plan", *words)
        assert (code, out) == (2, "")
        assert said in err


class TestCompare:
    @pytest.fixture
    def saved(self, made: Callable[..., ProbeResult], tmp_path: Path) -> list[Path]:
        paths = []
        for seed, name in enumerate(("one", "two", "three")):
            paths.append(tmp_path / f"{name}.json")
            paths[-1].write_text(made(model=name, seed=seed).to_json())
        return paths

    def test_each_with_the_first(self, run: Run, saved: list[Path]) -> None:
        code, out, err = run("compare", *saved, "--json")
        rows = json.loads(out)["rows"]
        assert (code, err) == (0, "")
        assert {(row["first"], row["second"]) for row in rows} == {("one", "two"), ("one", "three")}
        first, second = (ProbeResult.from_json(path).rows[0] for path in saved[:2])
        assert rows[0]["value"] == pytest.approx(second.value - first.value)
        assert len(rows[0]["tasks"]) == len(first.tasks)
        # The bases of these results differ from seed to seed.
        assert any("is not the same for both" in note["text"] for note in rows[0]["notes"])

    def test_for_a_person(self, run: Run, saved: list[Path], tmp_path: Path) -> None:
        code, out, _ = run("compare", *saved[:2], "--output", tmp_path / "out")
        assert code == 0
        assert out.startswith("Against uniform, two shows no clear difference from one, in both")
        assert "by a family-wise test" in run("compare", *saved[:2], "--verbose")[1]
        assert (tmp_path / "out" / "comparison.json").is_file()

    def test_the_folder_of_a_run_stands_for_its_result(
        self, run: Run, saved: list[Path], tmp_path: Path
    ) -> None:
        for number, path in enumerate(saved[:2]):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "result.json").write_text(path.read_text())
        _, by_file, _ = run("compare", *saved[:2], "--json")
        _, by_folder, _ = run("compare", tmp_path / "0", tmp_path / "1", "--json")
        assert json.loads(by_folder)["rows"] == json.loads(by_file)["rows"]
        assert "no such result file" in run("check", tmp_path, "--max", "1")[2]
        assert run("check", tmp_path / "0", "--max", "1")[0] == 0

    def test_the_same_twice(self, run: Run, saved: list[Path]) -> None:
        _, out, _ = run("compare", saved[0], saved[0], "--json")
        rows = json.loads(out)["rows"]
        assert rows[0]["first"] != rows[0]["second"]
        assert rows[0]["interval"]["low"] is None
        assert rows[0]["verdict"] == "undecided"
        _, out, _ = run("compare", saved[0], saved[0])
        assert "no interval" in out
        assert "nan" not in out

    def test_mistakes(
        self, run: Run, saved: list[Path], made: Callable[..., ProbeResult], tmp_path: Path
    ) -> None:
        assert "at least two" in run("compare", saved[0])[2]
        assert "base: for models only" in run("compare", *saved, "-b", "labor")[2]
        assert "no such result file" in run("compare", saved[0], "nowhere.json")[2]
        others = (
            (made(templates=["a", "b"]), "the same templates"),
            (made(attributes=("he", "they")), "they must be the same"),
            (made(bases=("mine",)), "share no base"),
            (made(tasks=("juggler", "poet")), "share no task"),
        )
        for result, problem in others:
            (tmp_path / "other.json").write_text(result.to_json())
            code, out, err = run("compare", saved[0], tmp_path / "other.json")
            assert (code, out) == (2, "")
            assert problem in err
