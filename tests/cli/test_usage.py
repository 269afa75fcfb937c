"""A mistake in the words of a command line is one line on standard error and exit code 2."""

from __future__ import annotations

import pickle
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lmprobe import probe
from lmprobe.errors import Argument, InputError
from lmprobe.models.checkpoint import find_checkpoint
from lmprobe.probing.result import ProbeResult

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nosuch"], "lmprobe: No such command 'nosuch'; see lmprobe --help\n"),
        (["check"], "lmprobe: Missing argument 'RESULT.json'; see lmprobe check --help\n"),
        (["report", "x", "--max", "3"], "lmprobe: No such option: --max; see lmprobe report"),
        (["cache", "nosuch"], "'ls', 'clear'; see lmprobe cache --help\n"),
        (["run", "--templates", "nosuch"], 'lmprobe: no template set called "nosuch"; Known: '),
        (["run", "--attribute", "he"], "at least two different attributes, found: he\n"),
        (["run", "--confidence", "high"], "found 'high'; see lmprobe run --help\n"),
        (["run", "--output", ""], "lmprobe: --output is empty; give a value, or leave it out\n"),
        (["run", "--output="], "lmprobe: --output is empty"),
        (["ls", "MODELS"], 'did you mean "models"?'),
    ],
)
def test_one_line(words: list[str], message: str, command: Callable[..., Run]) -> None:
    code, out, err = command()(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run --confidence 3", "--confidence must lie between 0 and 1"),
        ("run --missing drip", 'no --missing "drip"; did you mean "drop"?'),
        ("run --base uniform --lean LACKS", "choose another source of the lean (--lean)"),
        ("run --base LACKS --missing error", "give --missing drop or --missing smooth"),
        ("run --min-mass -1", "--min-mass must be at least 0"),
        ("run --batch-size 0", '--batch-size must be "auto" or at least 1'),
        ("run --task ,", "--task is empty"),
        ("run --lean uniform", "--lean: uniform has no lean"),
        ("run --templates TABLE", 'no column "task"'),
        ("run TEXT", "is a file; a model is a hub id"),
        ("run TABLE", 'no column "task"'),
        ("sweep a --revision x --revisions y,z", "give --revision or --revisions, not both"),
        ("sweep --checkpoints runs --runs", "steps of one run: give --runs models"),
        ("compare SAVED SAVED --base labor --task nurse,cook", "--base, --task: for models only"),
        ("compare SAVED SAVED --margin -1", "--margin must be a positive number"),
        ("check SAVED", "a limit (--max) or another result (--against)"),
        ("plan --rows 0", "--rows must be positive"),
        ("plan --base wikipedia --effect 0.1", "--base plans sentences"),
        ("plan --effect 0.1 --group-share 0.7", "--group-share is a lower bound"),
        ("count TEXT --language ja --rule word", "--attribute"),
        ("disparity TABLE -p said -g sex --confidence 1", "--confidence must lie between"),
        ("leak TABLE -l said -a same", "--attribute has only the group"),
        ("leak TABLE TABLE -l said -a same", "table.csv: --attribute has only the group"),
        ("leak TABLE -l said -a sex --share 2", "--share must"),
        ("amplify TABLE TABLE -a sex -t said", "training runs of one model (--runs)"),
    ],
)
def test_an_error_speaks_of_options(
    words: str, message: str, command: Callable[..., Run], tmp_path: Path, result: ProbeResult
) -> None:
    files = {
        "SAVED": result.to_json(),
        "TEXT": "彼は料理人です。",
        "TABLE": "sex,said,same\nf,0,b\nm,1,b\nf,1,b\nm,0,b\n",
        "LACKS": "task,he,she\npilot,3,1\n",
    }
    names = {"SAVED": "saved.json", "TEXT": "text.txt", "TABLE": "table.csv", "LACKS": "lacks.csv"}
    for name, text in files.items():
        (tmp_path / names[name]).write_text(text, encoding="utf-8")
    given = [str(tmp_path / names[word]) if word in files else word for word in words.split()]
    code, out, err = command()(*given)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert "`" not in err


def test_an_error_in_python_speaks_of_arguments() -> None:
    with pytest.raises(InputError, match=r"^no `missing` \"drip\"; did you mean \"drop\"\?"):
        probe("reference:faithful", missing="drip")  # type: ignore[arg-type]
    problem = InputError(Argument("missing", "drop"), " or ", Argument("runs", True))
    assert str(problem) == '`missing="drop"` or `runs=True`'
    assert str(InputError("so: ", problem)) == f"so: {problem}"
    assert str(pickle.loads(pickle.dumps(problem))) == str(problem)


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_read(
    command: Callable[..., Run], tmp_path: Path
) -> None:
    nothing = tmp_path / "nothing"
    commands = {
        "run": (nothing,),
        "compare": (nothing, nothing),
        "sweep": (nothing,),
        "leak": ("--model", nothing),
        "count": (nothing,),
        "amplify": (nothing, "-a", "sex", "-t", "job"),
        "plan": ("--effect", "0.1"),
        "reproduce": ("shortcomings",),
        "report": (nothing,),
        "check": (nothing, "--max", "1"),
    }
    file = tmp_path / "file"
    file.write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    wrong = {file: "this is a file, not a folder", file / "below": "Not a directory"}
    wrong |= {tmp_path / "link": "cannot be written", tmp_path / ("x" * 300): "too long"}
    for folder, message in wrong.items():
        for name, words in commands.items():
            code, out, err = command(name)(*words, "--output", folder)
            assert (code, out) == (2, ""), name
            assert message in err
            assert err.startswith(f"lmprobe: --output {tmp_path}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]
    words = ("--task", "nurse,cook", "--output", tmp_path / "new" / "folder")
    assert command("run")(*words)[0] == 0


def test_a_sweep_with_a_model_that_failed_keeps_the_rest(
    command: Callable[..., Run], tmp_path: Path
) -> None:
    source = find_checkpoint("reference:faithful").folder
    bare = shutil.copytree(source, tmp_path / "bare", ignore=shutil.ignore_patterns("*token*"))
    models = ("reference:faithful", "reference:faithfull", bare)
    words = ("--templates", "neutral", "--task", "nurse,cook,baker", "--interval", "t")
    code, out, err = command("sweep", columns=300)(*models, *words)
    assert code == 5
    assert "2 of 3 models could not be probed: reference:faithfull, " in " ".join(out.split())
    assert 'did you mean "reference:faithful"?' in " ".join(out.split())
    # Read on the command line and in Python.
    assert "or name its folder or hub id (tokenizer)" in " ".join(out.split())
    assert "Traceback" not in err


def test_without_words_it_shows_its_help(command: Callable[..., Run]) -> None:
    code, out, _ = command()()
    assert code == 0
    assert "lmprobe run --output out" in out


def in_a_shell(code: str) -> tuple[int, str]:
    """Return the exit code and what Python printed."""
    words = ["sh", "-c", f"{shlex.quote(sys.executable)} {code}"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_python_finds_the_command_line_and_a_closed_stream_is_no_traceback() -> None:
    code, text = in_a_shell("-m lmprobe --version")
    assert (code, text[:8]) == (0, "lmprobe ")
    assert in_a_shell("-m lmprobe --version >&-") == (0, "")
    assert in_a_shell("-m lmprobe nosuch 2>&-") == (2, "")


STOPPED = """
import sys
from lmprobe.cli import main

@main.app.command("stop")
def stop():
    raise KeyboardInterrupt

sys.argv = ["lmprobe", "stop"]
main.main()
"""


def test_an_interrupt_says_so() -> None:
    assert in_a_shell(f"-c {shlex.quote(STOPPED)}") == (130, "lmprobe: interrupted\n")
