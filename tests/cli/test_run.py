"""What `lmprobe run` says at its end: where the files lie, and commands that work."""

from __future__ import annotations

import inspect
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmprobe.cli.main import app
from lmprobe.cli.run import _hints
from lmprobe.cli.run import command as run_command
from lmprobe.models import load_model
from lmprobe.probing.command import run_again
from lmprobe.probing.probe import probe
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import ModelSettings
from lmprobe.report.files import write_outputs
from lmprobe.report.loading import load_result
from lmprobe.results import NoteKind
from lmprobe.results.settings import options_of

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("base", ["labor", "our town's; rm"])
def test_the_check_it_proposes_works(
    base: str, made: Callable[..., ProbeResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = made(bases=(base, "uniform"))
    write_outputs(result, "out")
    hints = {line.split()[0]: line.split(maxsplit=1)[1] for line in _hints(result, Path("out"))}
    program, *words = shlex.split(hints["check"])
    assert program == "lmprobe"
    assert words[words.index("--base") + 1] == base, "uniform has no lean of its own"
    assert CliRunner().invoke(app, words).exit_code in (0, 1, 3)


def test_the_next_step_fits_the_run(made: Callable[..., ProbeResult]) -> None:
    bundled = _hints(made(model="reference:faithful", bases=("wikipedia",)), Path("out"))
    assert "lmprobe run YOUR-MODEL --templates fitbert --base wikipedia" in bundled[-1]
    own = _hints(made(model="my/model"), Path("out"))
    assert "lmprobe compare out/result.json ANOTHER" in own[-1]
    assert _hints(made(), None) == ["add --output DIR to save this result and its report"]


def test_quiet_prints_no_notes(command: Callable[..., Run]) -> None:
    run = command("run")
    code, out, err = run("--quiet", "--base", "labor", "--task", "nurse,cook,lawyer")
    assert (code, err) == (0, "")
    assert "neither people nor" not in out
    _, out, err = run("--base", "labor", "--task", "nurse,cook,lawyer")
    assert "neither people nor" in err


def test_every_option_of_probe_is_one_of_run_and_the_other_way_round() -> None:
    options = set(inspect.signature(run_command).parameters)
    beside = {"model", "templates", "base", "no_cache", "json", "output", "quiet"}
    loading = {option.name for option in options_of(ModelSettings)}
    arguments = set(inspect.signature(probe).parameters)
    probing = arguments - {"model", "templates", "base", "cache", "progress"}
    assert options == beside | loading | probing
    assert loading <= set(inspect.signature(load_model).parameters)


def test_several_template_sets_give_a_sweep(command: Callable[..., Run], tmp_path: Path) -> None:
    words = ("--templates", "fitbert", "--templates", "neutral", "--base", "labor")
    code, out, err = command("run")(*words, "--json", "--quiet", "--output", tmp_path / "out")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["kind"] == "sweep"
    assert {row["templates"] for row in document["rows"]} == {"fitbert", "neutral"}
    single = probe("reference:amplified", "neutral", "labor").row("labor", "T->A")
    (row,) = [
        row
        for row in document["rows"]
        if (row["templates"], row["direction"]) == ("neutral", "task->attribute")
    ]
    assert row["value"] == pytest.approx(single.value, abs=1e-9)
    assert load_result(tmp_path / "out").kind == "sweep"


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


def test_python_finds_the_command_line_where_the_shell_does_not() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lmprobe", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("lmprobe ")


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


def test_several_sets_of_one_model_are_no_ranking(command: Callable[..., Run]) -> None:
    words = ("--templates", "fitbert", "--templates", "neutral", "--base", "labor")
    code, out, _ = command("run")(*words)
    assert code == 0
    assert "Does reference:amplified exaggerate the base rates?" in out
    assert "exaggerates the links in the base in all 4 comparisons" in " ".join(out.split())
    assert "rank" not in out
