"""`lmprobe run`: the commands it proposes work, and its options are those of `probe`."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lmprobe.cli.run import command as run_command
from lmprobe.metrics.direction import Direction
from lmprobe.models import load_model
from lmprobe.plugins import emit
from lmprobe.probing.probe import probe
from lmprobe.probing.result import ProbeResult, ProbeRow
from lmprobe.probing.settings import ModelSettings, run_again
from lmprobe.results import Estimate, NoteKind
from lmprobe.results.result import load_result
from lmprobe.results.settings import options_of
from lmprobe.results.verdict import Obstacle

Run = Callable[..., tuple[int, str, str]]


def test_the_commands_it_proposes_work(
    command: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rates = tmp_path / "our town's; rm.csv"
    rates.write_text("task,he,she\nnurse,1,5\ncook,3,2\nlawyer,2,2\n")
    run = command(columns=80)
    words = ("--task", "nurse,cook,lawyer", "--base", "uniform", "--base", rates.name)
    code, _, err = run("run", *words, "--output", "out")
    assert code == 0
    hints = {line.split()[0]: line.split(maxsplit=1)[1] for line in err.splitlines() if line}
    program, *proposed = shlex.split(hints["check"])
    assert program == "lmprobe"
    # Uniform has no lean of its own.
    assert proposed[proposed.index("--base") + 1] == rates.stem
    assert run(*proposed)[0] in (0, 1, 3)
    assert "lmprobe run YOUR-MODEL --templates fitbert --base uniform" in hints["next"]
    assert "add --output DIR to save this result" in run("run", *words)[2]


@pytest.mark.parametrize(
    ("open_rows", "proposed"),
    [("labor A->T, uniform T->A", "--base labor --direction 'A->T'"),
     ("uniform A->T", "--base uniform --direction 'A->T'"), ("", None)],
)  # fmt: skip
def test_no_check_is_proposed_where_no_verdict_is_possible(
    command: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    open_rows: str,
    proposed: str | None,
) -> None:
    estimate = ProbeRow.estimate.fget  # type: ignore[attr-defined]

    def obstructed(row: ProbeRow) -> Estimate:
        possible = f"{row.base} {row.direction.short}" in open_rows
        made: Estimate = estimate(row)
        return replace(made, obstacle=None if possible else Obstacle.SMALL_BASE)

    monkeypatch.setattr(ProbeRow, "estimate", property(obstructed))
    bases = ("--base", "uniform", "--base", "labor")
    err = command("run")("--task", "nurse,cook,lawyer", *bases, "--output", tmp_path)[2]
    checks = [line for line in err.splitlines() if line.startswith("check ")]
    assert len(checks) == (proposed is not None)
    assert all(str(proposed) in line for line in checks)


def test_details_are_for_verbose_and_quiet_prints_no_notes(command: Callable[..., Run]) -> None:
    run = command("run")
    words = ("--base", "labor", "--task", "nurse,cook,lawyer")
    code, short, err = run("--quiet", *words)
    assert (code, err) == (0, "")
    _, out, err = run(*words)
    assert out == short
    assert "neither people nor" not in err
    assert err.endswith("\nadd --verbose for the tables and notes of details\n")
    _, out, err = run("--verbose", *words)
    assert out.startswith(short)
    assert "preference" not in short
    assert "preference" in out
    assert "neither people nor" in err
    assert "add --verbose" not in err
    assert run("-v", "--quiet", *words)[1:] == (out, "")


def test_a_command_of_a_package_proposes_no_option_that_it_lacks(
    result: ProbeResult, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(result, verbose=False)
    assert "add --verbose" in capsys.readouterr().err
    emit(result)
    assert "add --verbose" not in capsys.readouterr().err


def test_every_option_of_probe_is_one_of_run_and_the_other_way_round() -> None:
    options = set(inspect.signature(run_command).parameters)
    beside = {"model", "templates", "base", "no_cache", "json", "output", "quiet", "verbose"}
    loading = {option.name for option in options_of(ModelSettings)}
    arguments = set(inspect.signature(probe).parameters)
    probing = arguments - {"model", "templates", "base", "cache", "progress"}
    assert options == beside | loading | probing
    assert loading <= set(inspect.signature(load_model).parameters)


@pytest.mark.slow  # probes in processes of their own
def test_several_template_sets_give_a_sweep(command: Callable[..., Run], tmp_path: Path) -> None:
    few = "nurse,cook,lawyer"
    words = ("--templates", "fitbert", "--templates", "neutral", "--base", "labor", "--task", few)
    code, out, err = command("run")(*words, "--json", "--quiet", "--output", tmp_path / "out")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["kind"] == "sweep"
    assert {row["templates"] for row in document["rows"]} == {"fitbert", "neutral"}
    single = probe("reference:amplified", "neutral", "labor", tasks=few.split(","))
    (row,) = [
        row
        for row in document["rows"]
        if (row["templates"], row["direction"]) == ("neutral", "task->attribute")
    ]
    assert row["value"] == pytest.approx(single.row("labor", "T->A").value, abs=1e-9)
    loaded = load_result(tmp_path / "out")
    assert loaded.kind == "sweep"
    # Several sets of one model are no ranking.
    assert loaded.page().title == "Does reference:amplified exaggerate the base rates?"
    assert "rank" not in str(loaded)


@pytest.mark.parametrize("direction", ["T->A", "attribute->task"])
def test_one_direction_alone(
    command: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run, full = command(), Direction.parse(direction).value
    words = ("--task", "nurse,cook,lawyer", "--base", "labor", "--base", "uniform")
    words = (*words, "--direction", direction, "--metric", "mals")
    code, out, err = run("run", *words, "--output", "one", "--verbose")
    assert code == 0
    assert "in both directions" not in out
    (other,) = {str(one) for one in Direction} - {full}
    assert other not in out + err
    result = ProbeResult.from_json(tmp_path / "one")
    assert [row.direction for row in result.rows] == [full, full]
    both = probe(
        "reference:amplified", None, ["labor", "uniform"], tasks=["nurse", "cook", "lawyer"]
    )
    assert result.perplexity == both.perplexity
    for row in result.rows:
        whole = both.row(row.base, full)
        assert (row.value, row.interval, row.verdict) == (
            whole.value, whole.interval, whole.verdict,
        )  # fmt: skip
    assert f"--direction '{full}'" in run_again(result)
    again, saved = shlex.split(run_again(result)), tmp_path / "again" / "result.json"
    assert run(*again[1:], "--quiet", "--output", "again")[0] == 0
    assert saved.read_text() == (tmp_path / "one" / "result.json").read_text()
    assert run("report", "one", "--html", "--markdown", "--csv", "--model-card")[0] == 0
    for name in ("report.html", "report.md", "model-card.md", "rows.csv"):
        assert full.replace("->", "-&gt;" if name == "report.html" else "->") in (
            tmp_path / "one" / name
        ).read_text(encoding="utf-8")
    code, out, _ = run("check", "one", "--max", "0.9")
    assert (code, out.count("\n")) == (0, 2)
    assert run("check", "one", "--max", "0.9", "--direction", other)[0] == 2
    code, out, _ = run("compare", "one", "reference:faithful", *words[:-2], "--json")
    document = json.loads(out)
    assert code == 0
    assert {row["direction"] for row in document["rows"]} == {full}
    assert document["provenance"]["probes"][1]["settings"]["direction"] == full


def test_words_are_a_list_or_repeated(command: Callable[..., Run]) -> None:
    run = command("run")
    listed, repeated, plural = (
        run("--json", "--quiet", "--base", "labor", *words)[1]
        for words in (
            ("--task", "nurse,cook"),
            ("--task", "nurse", "--task", "cook"),
            ("--tasks", "nurse, cook"),
        )
    )
    assert listed == repeated == plural
    assert json.loads(listed)["provenance"]["settings"]["tasks"] == ["nurse", "cook"]


def test_other_metrics_stand_beside_the_rows(command: Callable[..., Run], tmp_path: Path) -> None:
    run = command("run")
    words = ("--quiet", "--base", "labor", "--task", "nurse,cook,lawyer")
    plain = json.loads(run(*words, "--json")[1])
    code, out, err = run(*words, "--metric", "directional", "--metric", "mals", "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert "metrics" not in plain
    assert document["rows"] == plain["rows"]
    directional = [value for value in document["metrics"] if value["metric"] == "directional"]
    values = {(row["base"], row["direction"]): row["value"] for row in plain["rows"]}
    assert {
        (value["base"], value["direction"]): pytest.approx(value["value"]) for value in directional
    } == values
    assert {value["metric"] for value in document["metrics"]} == {"directional", "mals"}
    again = run_again(ProbeResult.from_json(out))
    assert "--metric directional --metric mals" in again
    code, _, err = run(*words, "--metric", "predictability")
    assert code == 2
    assert "those for a probe are: directional, mals" in err


@pytest.mark.parametrize("name", ["a set of my own", "fitbert"])
def test_the_command_names_the_file_of_a_set_not_its_title(name: str, tmp_path: Path) -> None:
    """Also where the title is that of a set that comes with lmprobe."""
    file = tmp_path / "mine.toml"
    file.write_text(
        f'name = "{name}"\ndescription = "d"\nsource = "s"\nlanguage = "en"\n'
        'attribute = "pronoun"\ntask = "job"\nsentences = ["{pronoun} is {a:job}."]\n'
        '[slots]\npronoun = { lexicon = "pronouns" }\njob = ["nurse", "janitor"]\n',
        encoding="utf-8",
    )
    result = probe("reference:amplified", str(file), "labor")
    assert "--templates mine.toml" in run_again(ProbeResult.from_json(result.to_json()))
    subtitle = result.page().subtitle
    assert subtitle.startswith(f"1 template of {name}: “{{pronoun}} is {{a:job}}.”; 2 tasks"), (
        subtitle
    )
    note = next(note for note in result.notes if note.kind is NoteKind.SPLIT_WORDS)
    assert note.text.startswith("the tokenizer splits 1 word into pieces")
