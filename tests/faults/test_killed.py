"""Commands killed at random moments, side by side, or with a damaged cache: the same bytes.

`make faults N=50` runs each of these N times, `make slow` a few with fixed seeds. Quick tests of
the same promises: an interrupted count in tests/corpus, a damaged cache and two writers of one
entry in tests/models.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tests.faults.faulty import TEMPLATES, contents, finish, kill_at_random, start
from tests.fuzz.mutations import damage_bytes

# One worker of the tests loads lmprobe for all of them.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

N = int(os.environ.get("LMPROBE_FAULTS", "0"))
"""How often each fault happens; 0 is the short form."""
SEED = int(os.environ.get("LMPROBE_FAULTS_SEED", "16"))

Truth = Callable[[str], tuple[float, dict[str, bytes]]]
"""Of each command, how many seconds it takes undisturbed, and the files that it leaves."""

# The answers of `fitbert` are several entries of the cache.
COMMANDS = {
    "run": "run reference:amplified --templates fitbert --base labor --output out",
    "count": "count corpus --tasks nurse,cook --checkpoint state.json --output out",
    "sweep": "sweep reference:amplified reference:faithful --templates mini.toml --output out",
}


def prepared(folder: Path) -> Path:
    """Return a folder in which one command runs; what it leaves is all in there."""
    (folder / "tmp").mkdir(parents=True)
    (folder / "mini.toml").write_text(TEMPLATES)
    (folder / "corpus").mkdir()
    text = b"She is a nurse. He is a cook.\nHis nurse met her. A cook saw him.\n" * 4000
    for number in range(8):
        (folder / "corpus" / f"{number}.txt").write_bytes(text[number * 64 :])
    return folder


def begin(name: str, folder: Path) -> BaseProcess:
    return start(COMMANDS[name].split(), folder)


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    top = tmp_path_factory.mktemp("undisturbed")
    measured: dict[str, tuple[float, dict[str, bytes]]] = {}

    def measure(name: str) -> tuple[float, dict[str, bytes]]:
        if name not in measured:
            folder = prepared(top / name)
            # The first process waits until everything is loaded.
            finish(start(["--help"], folder), folder)
            begun = time.monotonic()
            finish(begin(name, folder), folder)
            measured[name] = time.monotonic() - begun, contents(folder)
        return measured[name]

    return measure


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_a_random_moment_and_run_again(name: str, truth: Truth, tmp_path: Path) -> None:
    seconds, left = truth(name)
    rng = random.Random(SEED)
    killed = 0
    for number in range(N or 1):
        folder = prepared(tmp_path / str(number))
        killed += kill_at_random(begin(name, folder), seconds, rng)
        finish(begin(name, folder), folder)
        assert contents(folder) == left, number
    print(f"{name}: {killed} of {N or 1} runs killed before their end")
    assert killed or not N


@pytest.mark.parametrize("processes", [2, 8])
def test_processes_share_a_cache_and_an_output_folder(
    processes: int, truth: Truth, tmp_path: Path
) -> None:
    for number in range(min(N, 20) or 1):
        folder = prepared(tmp_path / str(number))
        for process in [begin("run", folder) for _ in range(processes)]:
            finish(process, folder)
        assert contents(folder) == truth("run")[1]


def test_two_counts_of_one_name(truth: Truth, tmp_path: Path) -> None:
    for number in range(min(N, 20) or 1):
        folder = prepared(tmp_path / str(number))
        started = [begin("count", folder) for _ in range(2)]
        for process in started:
            process.join(60)
        # Two cannot use one checkpoint file to the end: one of them may find it gone.
        assert 0 in [process.exitcode for process in started]
        finish(begin("count", folder), folder)
        assert contents(folder) == truth("count")[1]


def test_a_damaged_cache_is_noticed_and_made_again(truth: Truth, tmp_path: Path) -> None:
    """A file cut short, a bit turned over, another entry: all the same bytes."""
    folder = prepared(tmp_path / "damaged")
    finish(begin("run", folder), folder)
    files = [path for path in sorted((folder / "cache").rglob("*")) if path.is_file()]
    rng = random.Random(SEED)
    for number in range(N or 3):
        for path in rng.sample(files, 3):
            # Half of the time an entry that is whole, but answers another question.
            same = [other for other in files if other.parent.parent == path.parent.parent]
            other = rng.choice(same).read_bytes()
            path.write_bytes(rng.choice([other, damage_bytes(rng, path.read_bytes())]))
        finish(begin("run", folder), folder)
        assert contents(folder) == truth("run")[1], number
