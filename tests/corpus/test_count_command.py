"""`lmprobe count`: one line of words in, a base-rate table out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmprobe.cli.main import app
from lmprobe.corpus.count import count_cooccurrences
from lmprobe.corpus.result import CountResult
from lmprobe.errors import LmprobeError
from lmprobe.sources import load_base_rates

TEXT = "He is a cook. She is a nurse.\nHer nurse came. They left.\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(tmp_path / "own"))
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, ["count", *map(str, arguments)])
    if isinstance(done.exception, LmprobeError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_json_is_the_only_thing_on_standard_output(file: Path) -> None:
    found = json.loads(run(file, "--tasks", "cook,nurse", "--json"))
    assert found["rows"] == [
        {"task": "cook", "he": 1, "she": 0},
        {"task": "nurse", "he": 0, "she": 2},
    ]
    assert found["counts"] == [[1, 0], [0, 2]]
    assert found["bytes"] == len(TEXT)
    assert found["provenance"]["unit"] == "sentences"


def test_the_table_for_people(file: Path) -> None:
    shown = run(file, "--tasks", "cook,nurse,pilot")
    assert "3 sentences counted" in shown
    assert "never counted: pilot" in shown


def test_output_is_a_base_with_provenance(file: Path, tmp_path: Path) -> None:
    run(file, "--tasks", "cook,nurse", "--output", tmp_path / "rates", "--name", "mine",
        "--title", "Mine", "--year", "2024", "--licence", "CC0", "--source", "me")  # fmt: skip
    found = load_base_rates(tmp_path / "rates" / "mine.csv")
    facts = {key: found.provenance[key] for key in ("title", "year", "licence", "source")}
    assert facts == {"title": "Mine", "year": 2024, "licence": "CC0", "source": "me"}
    assert found.association(["he", "she"], ["nurse"]).joint.tolist() == [[0], [1]]


def test_a_registered_table_has_a_name(file: Path) -> None:
    run(file, "--tasks", "cook,nurse", "--name", "wikipedia", "--register")
    assert load_base_rates("wikipedia").tasks == ("cook", "nurse")  # type: ignore[attr-defined]


def test_words_from_a_file_a_lexicon_and_the_command_line(file: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("cook\n\nnurse\n")
    written = run(file, "--tasks", words, "--attributes", "m=he,him;f=she,her", "--json")
    assert json.loads(written)["rows"][1] == {"task": "nurse", "m": 0, "f": 2}
    by_lexicon = json.loads(run(file, "--attributes", "pronouns", "--json"))
    assert by_lexicon["attributes"] == ["he", "she", "they"]
    assert len(by_lexicon["tasks"]) == 32


def test_the_rule_brings_its_words(file: Path) -> None:
    file.write_text("The son of a nurse. He is a cook.\n")
    found = json.loads(run(file, "--rule", "paper", "--tasks", "nurse,cook", "--json"))
    assert found["counts"] == [[1, 0], [0, 0]]
    assert "he: he man his boy son;" in found["provenance"]["method"]
    assert json.loads(run(file, "--tasks", "nurse,cook", "--json"))["counts"] == [[1, 1], [0, 0]]


def test_a_finished_count_removes_its_checkpoint(file: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    run(file, "--tasks", "cook,nurse", "--checkpoint", state)
    assert state.exists()  # nothing was written, so the work is kept
    run(file, "--tasks", "cook,nurse", "--checkpoint", state, "--output", tmp_path)
    assert not state.exists()


def test_an_interrupted_count_says_how_to_go_on(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lmprobe.corpus.count.Checkpoint.add", interrupted)
    state = str(tmp_path / "state.json")
    command = ["count", str(file), "--tasks", "cook,nurse", "--checkpoint", state]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 130
    assert f"interrupted; the same command goes on from {state}" in done.stderr
    assert Path(state).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--name", "../mine", "--output", "rates"], "--name .* must be a name such as wiki"),
        (["--name", "mine.csv", "--register"], "--name .* no .csv"),
        (["--name", ""], "--name"),
        (["--output", "{file}"], "this is a file, not a folder"),
        (["--tasks", "cook"], "or write words with a comma, such as nurse,cook"),
        (["--attributes", "he=he;she=she;he=his"], '"he" appears twice'),
        (["--attributes", "he=he;she"], "'she' needs one or more words"),
    ],
)
def test_options_that_cannot_be(file: Path, options: list[str], message: str) -> None:
    chosen = [one.replace("{file}", str(file)) for one in options]
    before = sorted(file.parent.iterdir())
    with pytest.raises(LmprobeError, match=message):
        run(file, "--tasks", "cook,nurse", *chosen)
    assert sorted(file.parent.iterdir()) == before


def test_a_mistake_is_one_line_and_exit_2(file: Path) -> None:
    program = "from lmprobe.cli.main import main; main()"
    command = [sys.executable, "-c", program, "count", str(file), "--tasks", "pilot,sailor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "no sentence of" in done.stderr


def test_the_document_is_a_result_that_comes_back(file: Path, tmp_path: Path) -> None:
    text = run(file, "--tasks", "cook,nurse,pilot", "--json", "--output", tmp_path / "out")
    found = CountResult.from_json(text)
    assert json.loads(text)["kind"] == "count"
    assert found.to_json() == text
    assert found.never_counted == ("pilot",)
    assert found.association.counts is not None
    assert found.association.counts.tolist() == [[1, 0, 0], [0, 2, 0]]
    # The table is left as base rates, not twice.
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"counts.csv", "counts.toml", "result.json", "report.html"}
    assert found.files == (str(tmp_path / "out" / "counts.csv"),)


def test_the_public_function_counts_what_the_command_counts(file: Path) -> None:
    file.write_text("The son of a nurse. He is a cook. Her boys met a Nurse.\n")
    for rule in ("word", "paper"):
        found = json.loads(run(file, "--rule", rule, "--json"))
        counted = count_cooccurrences(file, rule=rule)
        assert counted.counts is not None
        assert (list(counted.attributes), list(counted.tasks)) == (
            found["attributes"],
            found["tasks"],
        )
        assert counted.counts.tolist() == found["counts"]
