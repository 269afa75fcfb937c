"""`lmprobe count`: one line of words in, a base-rate table out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lmprobe.sources import load_base_rates
from lmprobe.sources.counting.count import CountResult, count_cooccurrences
from lmprobe.sources.counting.lexicon import Lexicon
from lmprobe.sources.counting.rules import rules

TEXT = "He is a cook. She is a nurse.\nHer nurse came. They left.\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(tmp_path / "own"))
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def run(command: Callable[..., Run]) -> Run:
    return command("count")


@pytest.fixture
def document(run: Run) -> Callable[..., dict[str, Any]]:
    def counted(*words: str | Path) -> dict[str, Any]:
        code, out, error = run(*words, "--json", "--quiet")
        assert (code, error) == (0, "")
        actual: dict[str, Any] = json.loads(out)
        return actual

    return counted


def test_the_counts_for_programs_and_for_people(file: Path, document: Any, run: Run) -> None:
    result = document(file, "--tasks", "cook,nurse")
    assert result["rows"] == [
        {"task": "cook", "he": 1, "she": 0},
        {"task": "nurse", "he": 0, "she": 2},
    ]
    assert result["bytes"] == len(TEXT)
    _, shown, _ = run(file, "--tasks", "cook,nurse,pilot")
    assert "3 sentences counted" in shown
    assert "1 task never counted" in shown


def test_output_is_a_base_with_provenance(file: Path, tmp_path: Path, run: Run) -> None:
    run(file, "--tasks", "cook,nurse", "--output", tmp_path / "rates", "--name", "mine",
        "--title", "Mine", "--year", "2024", "--licence", "CC0", "--source", "me")  # fmt: skip
    result = load_base_rates(tmp_path / "rates" / "mine.csv")
    facts = {key: result.provenance[key] for key in ("title", "year", "licence", "source", "unit")}
    assert list(facts.values()) == ["Mine", 2024, "CC0", "me", "sentences"]
    assert result.association(["he", "she"], ["nurse"]).joint.tolist() == [[0], [1]]
    run(file, "--tasks", "cook,nurse", "--name", "wikipedia", "--register")
    assert load_base_rates("wikipedia").tasks == ("cook", "nurse")  # type: ignore[attr-defined]


def test_words_from_a_file_a_lexicon_and_the_command_line(
    file: Path, tmp_path: Path, document: Any
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("cook\n\nnurse\n")
    written = document(file, "--tasks", words, "--attributes", "m=he,him;f=she,her")
    assert written["rows"][1] == {"task": "nurse", "m": 0, "f": 2}
    by_lexicon = document(file, "--attributes", "pronouns")
    assert by_lexicon["attributes"] == ["he", "she", "they"]
    assert len(by_lexicon["tasks"]) == 32


def test_the_rule_brings_its_words(file: Path, document: Any) -> None:
    file.write_text("The son of a nurse. He is a cook.\n")
    result = document(file, "--rule", "paper", "--tasks", "nurse,cook")
    assert result["counts"] == [[1, 0], [0, 0]]
    assert document(file, "--tasks", "nurse,cook")["counts"] == [[1, 1], [0, 0]]
    for rule in ("word", "paper"):
        counted = count_cooccurrences(file, rule=rule)
        assert counted.counts is not None
        result = document(file, "--rule", rule)
        assert result["attributes"] == list(counted.attributes)
        assert result["counts"] == counted.counts.tolist()


def test_a_finished_count_removes_its_checkpoint(file: Path, tmp_path: Path, run: Run) -> None:
    state = tmp_path / "state.json"
    run(file, "--tasks", "cook,nurse", "--checkpoint", state)
    assert state.exists()  # nothing was written, so the work is kept
    run(file, "--tasks", "cook,nurse", "--checkpoint", state, "--output", tmp_path)
    assert not state.exists()


@pytest.mark.usefixtures("own_registries")
def test_an_interrupted_count_says_how_to_go_on(file: Path, tmp_path: Path, run: Run) -> None:
    @rules.register("interrupted")
    class Interrupted:
        """A rule during which somebody presses Ctrl-C."""

        def __init__(self, words: Lexicon) -> None: ...

        def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
            raise KeyboardInterrupt

    state = tmp_path / "state.json"
    options = ["--tasks", "cook,nurse", "--rule", "interrupted", "--checkpoint", state]
    code, _, error = run(file, *options)
    assert code == 130
    assert f"interrupted; the same command goes on from {state}" in error
    assert state.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tasks", "pilot,sailor"], "no sentence of"),
        (["--name", "../mine", "--output", "rates"], "must be a name such as wiki"),
        (["--output", "{file}"], "this is a file, not a folder"),
        (["--tasks", "cook"], "or write words with a comma, such as nurse,cook"),
        (["--attributes", "he=he;she=she;he=his"], '"he" appears twice'),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(
    file: Path, run: Run, options: list[str], message: str
) -> None:
    before = sorted(file.parent.iterdir())
    given = [option.replace("{file}", str(file)) for option in options]
    code, out, error = run(file, "--tasks", "cook,nurse", "--quiet", *given)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert message in error
    assert sorted(file.parent.iterdir()) == before


def test_the_document_is_a_result_that_comes_back(file: Path, tmp_path: Path, run: Run) -> None:
    _, text, _ = run(file, "--tasks", "cook,nurse,pilot", "--json", "--output", tmp_path / "out")
    result = CountResult.from_json(text)
    assert result.to_json() == text
    assert result.never_counted == ("pilot",)
    assert result.association.counts is not None
    assert result.association.counts.tolist() == [[1, 0, 0], [0, 2, 0]]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"counts.csv", "counts.toml", "result.json", "report.html"}
    assert result.files == (str(tmp_path / "out" / "counts.csv"),)


SET = """
name = "trades"
description = "d"
source = "s"
attribute = "who"
task = "trade"
sentences = ["{who} is {a:trade}."]

[slots]
who = [{ group = "men", words = ["Al", "Bo"] }, { word = "she", forms = { object = "her" } }]
trade = ["nurse", { key = "chef", word = "cook", forms = { dative = "cooks" } }]
"""


def test_a_template_set_gives_its_words_and_forms(tmp_path: Path, document: Any, run: Run) -> None:
    own = tmp_path / "set.toml"
    own.write_text(SET)
    text = tmp_path / "text.txt"
    text.write_text("Al cooks. Bo is a cook. A nurse saw her. She is a nurse. He is a nurse.")
    assert document(text, "--task", own, "--attribute", own)["rows"] == [
        {"task": "nurse", "men": 0, "she": 2},
        {"task": "chef", "men": 2, "she": 0},
    ]
    assert len(document(text, "--task", "everyday", "--attribute", "everyday")["rows"]) == 32
    own.write_text(SET.replace("{a:trade}", "{trode}"))
    code, out, error = run(text, "--task", own)
    assert (code, out) == (2, "")
    assert f"{own}:7: sentences[0]" in error
