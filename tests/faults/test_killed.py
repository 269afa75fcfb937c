"""Commands killed at random moments, side by side, or with a damaged cache: the same bytes.

`make faults N=50` runs each of these N times; here a few with fixed seeds must do.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tests.faults.faulty import contents, finish, kill_at_random, start

# One worker of the tests loads lmprobe for all of them.
pytestmark = pytest.mark.xdist_group("faults")

N = int(os.environ.get("LMPROBE_FAULTS", "0"))
"""How often each fault happens; 0 is the short form."""
SEED = int(os.environ.get("LMPROBE_FAULTS_SEED", "16"))

TEMPLATES = """
name = "mini"
description = "a few sentences"
source = "made up"
language = "en"
attribute = "pronoun"
task = "occupation"
sentences = ["{pronoun} {verb} a {occupation}."]

[slots]
pronoun = { lexicon = "pronouns" }
occupation = ["nurse", "cook", "driver", "writer"]
verb = ["is", "was", "sees", "saw", "likes", "knows"]
"""

Truth = Callable[[str], tuple[float, dict[str, bytes]]]
"""Of each command, how many seconds it takes undisturbed, and the files that it leaves."""

COMMANDS = {
    "run": "run reference:amplified --templates mini.toml --base labor --output out",
    "count": "count corpus --tasks nurse,cook --checkpoint state.json --output out",
    "sweep": "sweep reference:amplified reference:faithful --templates mini.toml --output out",
}


@dataclass(frozen=True)
class Place:
    """A folder in which one command runs; what it leaves is all in there."""

    folder: Path

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "LMPROBE_CACHE": str(self.folder / "cache"),
            "TMPDIR": str(self.folder / "tmp"),
            "OMP_NUM_THREADS": "1",
            "LMPROBE_FAULTS_FOLDER": str(self.folder),
        }

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    def begin(self, name: str) -> BaseProcess:
        return start(COMMANDS[name].split(), self.environment, self.log)

    def left(self) -> dict[str, bytes]:
        return contents(self.folder)


def place(folder: Path) -> Place:
    (folder / "tmp").mkdir(parents=True)
    (folder / "mini.toml").write_text(TEMPLATES)
    (folder / "corpus").mkdir()
    text = b"She is a nurse. He is a cook.\nHis nurse met her. A cook saw him.\n" * 4000
    for number in range(8):
        (folder / "corpus" / f"{number}.txt").write_bytes(text[number * 64 :])
    return Place(folder)


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    top = tmp_path_factory.mktemp("undisturbed")
    found: dict[str, tuple[float, dict[str, bytes]]] = {}

    def measured(name: str) -> tuple[float, dict[str, bytes]]:
        if name not in found:
            here = place(top / name)
            # The first process waits until everything is loaded.
            finish(start(["--help"], here.environment, here.log), here.log)
            begun = time.monotonic()
            finish(here.begin(name), here.log)
            found[name] = time.monotonic() - begun, here.left()
        return found[name]

    return measured


@pytest.mark.parametrize(
    ("name", "kills"),
    [("count", N or 1), ("run", N or 1), pytest.param("sweep", N or 1, marks=pytest.mark.slow)],
)
def test_killed_at_a_random_moment_and_run_again(
    name: str, kills: int, truth: Truth, tmp_path: Path
) -> None:
    seconds, left = truth(name)
    rng = random.Random(SEED)
    killed = 0
    for number in range(kills):
        here = place(tmp_path / str(number))
        killed += kill_at_random(here.begin(name), seconds, rng)
        finish(here.begin(name), here.log)
        assert here.left() == left, number
    print(f"{name}: {killed} of {kills} runs killed before their end")
    assert killed or not N


@pytest.mark.parametrize("processes", [2, 8])
def test_processes_share_a_cache_and_an_output_folder(
    processes: int, truth: Truth, tmp_path: Path
) -> None:
    for number in range(min(N, 20) or 1):
        here = place(tmp_path / str(number))
        started = [here.begin("run") for _ in range(processes)]
        for process in started:
            finish(process, here.log)
        assert here.left() == truth("run")[1]


def test_two_counts_of_one_name(truth: Truth, tmp_path: Path) -> None:
    for number in range(min(N, 20) or 1):
        here = place(tmp_path / str(number))
        started = [here.begin("count") for _ in range(2)]
        for process in started:
            process.join(60)
        # Two cannot use one checkpoint file to the end: one of them may find it gone.
        assert 0 in [process.exitcode for process in started]
        finish(here.begin("count"), here.log)
        assert here.left() == truth("count")[1]


def test_a_damaged_cache_is_noticed_and_made_again(truth: Truth, tmp_path: Path) -> None:
    """A file cut short, a bit turned over, nothing, another entry, a folder: all the same bytes."""
    _, left = truth("run")
    here = place(tmp_path / "damaged")
    finish(here.begin("run"), here.log)
    files = [path for path in sorted((here.folder / "cache").rglob("*")) if path.is_file()]
    rng = random.Random(SEED)
    for number in range(N or 3):
        for path in rng.sample(files, 3):
            damage(path, files, rng)
        finish(here.begin("run"), here.log)
        assert here.left() == left, number


def damage(path: Path, files: list[Path], rng: random.Random) -> None:
    whole = path.read_bytes()
    match rng.randrange(4):
        case 0:
            path.write_bytes(whole[: rng.randrange(len(whole))])
        case 1:
            place = rng.randrange(len(whole))
            turned = whole[place] ^ 1 << rng.randrange(8)
            path.write_bytes(whole[:place] + bytes([turned]) + whole[place + 1 :])
        case 2:
            path.write_bytes(rng.randbytes(len(whole)))
        case 3:
            # An entry that is whole, but answers another question.
            same = [one for one in files if one.parent.parent == path.parent.parent]
            path.write_bytes(rng.choice(same).read_bytes())
