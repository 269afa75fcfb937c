"""Kills a sweep with SIGKILL at random moments, its driver or its workers, until it is done.

    python tests/sweeping/kills.py --kills 20

With real models it takes minutes; a test runs it with workers that only write what was prepared,
which is all that the driver, the folder and the resuming can notice.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

SETS = ["neutral"]
BASES = ["labor"]
# Words that the random models know.
TASKS = ["nurse", "baker", "janitor", "hairdresser", "lawyer"]


def main() -> None:
    """Drive or serve one sweep, or kill a sweep of real models again and again."""
    if sys.argv[1:2] == ["drive"]:
        drive(json.loads(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
    elif sys.argv[1:2] == ["work"]:
        work(Path(sys.argv[2]))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--kills", type=int, default=20)
        parser.add_argument("--seed", type=int, default=0)
        options = parser.parse_args()
        with tempfile.TemporaryDirectory() as folder:
            of_real_models(Path(folder), options.kills, options.seed)


def of_real_models(folder: Path, kills: int, seed: int) -> None:
    """Kill a sweep of random models, two for each kill; compare with one that nobody touched."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.checkpoints import save_checkpoint

    os.environ["LMPROBE_CACHE"] = str(folder / "cache")
    names = [
        str(save_checkpoint(folder / f"m{n}", "Bert", initializer_range=0.02 * n))
        for n in range(1, 2 * kills + 1)
    ]
    whole = finished(names, folder / "whole")
    killed = kill_until_done(names, folder / "killed", kills, Random(seed))
    print(f"killed {killed}; same bytes: {finished(names, folder / 'killed') == whole}")


def drive(models: list[str], output: Path, prepared: str) -> None:
    """Run the sweep, with workers that write what was prepared if a folder is given."""
    from lmprobe.io.atomic import write_text
    from lmprobe.sweeping.engines import local
    from lmprobe.sweeping.sweep import sweep

    if prepared:
        os.environ["PREPARED"] = prepared
        local.COMMAND = (sys.executable, __file__, "work")
    options = {} if prepared else {"tasks": TASKS}
    found = sweep(models, SETS, BASES, output=output, workers=2, cache=False, **options)
    write_text(output / "sweep.json", found.to_json())


def work(folder: Path) -> None:
    """Serve jobs as a worker does, but take the results from a folder, after a short while."""
    from lmprobe.sweeping import worker

    class Prepared(worker.Prober):
        def run(self, job: worker.Job, folder: Path) -> str:
            time.sleep(0.1)
            text = (Path(os.environ["PREPARED"]) / job.subject.label).read_text(encoding="utf-8")
            return worker.keep(job, folder, text)

    sys.argv = [__file__, str(folder)]
    worker.Prober = Prepared  # type: ignore[misc]
    worker.main()


def start(models: list[str], output: Path, prepared: str = "") -> subprocess.Popen[bytes]:
    """Start the driver of a sweep."""
    words = [sys.executable, __file__, "drive", json.dumps(models), str(output), prepared]
    return subprocess.Popen(words, start_new_session=True)


def finished(models: list[str], output: Path) -> bytes:
    """Run the sweep to its end and return the bytes of its result."""
    assert start(models, output).wait() == 0
    return (output / "sweep.json").read_bytes()


def kill_until_done(
    models: list[str], output: Path, kills: int, random: Random, *, prepared: str = ""
) -> dict[str, int]:
    """Kill at random moments, driver and workers in turn; return how many of each died.

    What was kept before a kill must be the same file after it: nothing is probed again.
    """
    killed = {"drivers": 0, "workers": 0}
    kept: dict[str, int] = {}
    driver = start(models, output, prepared)
    for number in range(kills):
        if not random_moment(driver, output, random):
            break
        what = "workers" if number % 2 else "drivers"
        for process in workers_of(output) if what == "workers" else [driver.pid]:
            os.kill(process, signal.SIGKILL)
            killed[what] += 1
        if what == "drivers":
            driver.wait()
            driver = start(models, output, prepared)
        found = files(output)
        assert kept.items() <= found.items(), "a probe that was kept was made again"
        kept = found
    assert driver.wait() == 0
    assert kept.items() <= files(output).items(), "a probe that was kept was made again"
    return killed


def random_moment(driver: subprocess.Popen[bytes], output: Path, random: Random) -> bool:
    """Wait until none, one or two more probes are kept and a little longer; False if it is done."""
    wanted = len(files(output)) + random.randint(0, 2)
    while driver.poll() is None:
        if workers_of(output) and len(files(output)) >= wanted:
            time.sleep(random.uniform(0.0, 0.3))
            return driver.poll() is None
        time.sleep(0.02)
    return False


def files(output: Path) -> dict[str, int]:
    """Return the probes that are kept, and which file each is."""
    return {path.name: path.stat().st_ino for path in (output / "probes").glob("*.json")}


def workers_of(output: Path) -> list[int]:
    """Return the processes that work for the sweep of a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if str(output / "probes") in words:
                found.append(int(entry.name))
    return found


if __name__ == "__main__":
    main()
