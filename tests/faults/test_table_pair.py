"""A base-rate table and its description are replaced together or not at all."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from lmprobe.errors import InputError
from lmprobe.sources.csv_file import read_table, write_table
from lmprobe.sources.table import Table, table_of
from tests.faults.faulty import full_disk


def made(number: int, tasks: int = 3) -> Table:
    counts = [[number + 1] * tasks, [2] * tasks]
    names = [f"task {one}" for one in range(tasks)]
    return table_of("t", counts, ["he", "she"], names, provenance={"title": f"table {number}"})


def number_of(path: Path) -> int:
    """Return which table is at `path`; its description must be that of the same table."""
    table = read_table(path)
    number = int(table.counts[0, 0]) - 1
    assert table.provenance["title"] == f"table {number}"
    return number


@pytest.mark.parametrize("room", [0, 10, 300])
def test_a_full_disk_leaves_the_old_table_and_its_description(tmp_path: Path, room: int) -> None:
    path = write_table(made(1), tmp_path / "t.csv")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    with full_disk(room), pytest.raises(InputError, match=r"cannot write .*: File too large"):
        write_table(made(2, tasks=40), path)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
    assert number_of(path) == 1


# Each child replaces table 1 by table 2 and is gone at its N-th rename, as if it were killed.
KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from tests.faults.test_table_pair import made, write_table

folder, renames = Path({folder!r}), int({renames})
rename = Path.replace
for last in range(1, renames + 1):
    for after in (False, True):
        child = folder / f"{{last}}{{after:d}}"
        write_table(made(1), child / "t.csv")
        if os.fork() == 0:
            seen = []
            def killed(self, target):
                seen.append(target)
                if len(seen) == last:
                    if after:
                        rename(self, target)
                    os._exit(9)
                return rename(self, target)
            Path.replace = killed
            write_table(made(2), child / "t.csv")
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 9, (last, after)
"""


def test_a_writer_killed_at_any_rename_leaves_one_table_whole(tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    script = KILLED.format(here=here, folder=str(tmp_path), renames=3)
    subprocess.run([sys.executable, "-c", script], check=True)
    found = {folder.name: number_of(folder / "t.csv") for folder in tmp_path.iterdir()}
    # Renamed are the description that waits, the table, the description; the table decides.
    assert found == {"10": 1, "11": 1, "20": 1, "21": 2, "30": 2, "31": 2}
    for folder in tmp_path.iterdir():
        write_table(made(3), folder / "t.csv")
        assert sorted(one.name for one in folder.iterdir()) == ["t.csv", "t.toml"]
        assert number_of(folder / "t.csv") == 3


def test_a_killed_writer_and_then_a_full_disk(tmp_path: Path) -> None:
    """What the killed writer finished is not lost when the next writer fails."""
    path = write_table(made(1), tmp_path / "t.csv")
    write_table(made(2), tmp_path / "new" / "t.csv")
    sha256 = read_table(tmp_path / "new" / "t.csv").provenance["sha256"]
    (tmp_path / "new" / "t.toml").rename(tmp_path / f".t.{sha256}.description")
    (tmp_path / "new" / "t.csv").rename(path)
    assert number_of(path) == 2
    with full_disk(), pytest.raises(InputError):
        write_table(made(3), path)
    assert number_of(path) == 2


WRITER = """
import random, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from tests.faults.test_table_pair import made, write_table
for _ in range(60):
    write_table(made(random.Random({seed}).randrange(1000)), Path({path!r}))
"""


def test_two_writers_of_one_table(tmp_path: Path) -> None:
    path = write_table(made(0), tmp_path / "t.csv")
    here = str(Path(__file__).parent)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER.format(here=here, seed=seed, path=str(path))]
        )
        for seed in (1, 2)
    ]
    wanted = {0} | {random.Random(seed).randrange(1000) for seed in (1, 2)}
    reads = 0
    while any(writer.poll() is None for writer in writers):
        assert number_of(path) in wanted
        reads += 1
    assert reads
    assert [writer.wait() for writer in writers] == [0, 0]
    assert number_of(path) in wanted - {0}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["t.csv", "t.toml"]
