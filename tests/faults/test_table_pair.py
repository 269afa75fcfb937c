"""A base-rate table and its description: both old or both new, and a mix of them is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.sources.csv_file import read_table, write_table
from lmprobe.sources.source import BaseTable, table_of
from tests.faults.faulty import contents, full_disk


def made(number: int, tasks: int = 3) -> BaseTable:
    counts = [[number + 1] * tasks, [2] * tasks]
    names = [f"task {task}" for task in range(tasks)]
    return table_of("t", counts, ["he", "she"], names, provenance={"title": f"table {number}"})


def title_and_count(path: Path) -> tuple[str, float]:
    table = read_table(path)
    return table.provenance["title"], table.counts[0, 0]


@pytest.mark.parametrize("room", [0, 10, 300])
def test_a_full_disk_leaves_the_old_table_and_its_description(tmp_path: Path, room: int) -> None:
    path = write_table(made(1), tmp_path / "t.csv")
    before = contents(tmp_path)
    with full_disk(room), pytest.raises(InputError, match=r"cannot write .*: File too large"):
        write_table(made(2, tasks=40), path)
    assert contents(tmp_path) == before
    assert title_and_count(path) == ("table 1", 2)


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize("old", [True, False], ids=["replaced", "new"])
@pytest.mark.parametrize("renames", [0, 1])
def test_a_writer_killed_before_its_end_leaves_no_wrong_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int, old: bool
) -> None:
    path = tmp_path / "t.csv"
    if old:
        write_table(made(1), path)
    monkeypatch.setattr(Path, "replace", killer_after(renames))
    child = os.fork()
    if not child:
        write_table(made(2), path)
        os._exit(0)
    monkeypatch.undo()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    if not old:
        assert not path.exists()
    elif renames:
        with pytest.raises(DataFileError, match=r"t\.toml: the table beside it has changed"):
            read_table(path)
    else:
        assert title_and_count(path) == ("table 1", 2)
    # The next writer repairs the pair and removes what the killed one left.
    write_table(made(3), path)
    assert title_and_count(path) == ("table 3", 4)
    assert sorted(contents(tmp_path)) == ["t.csv", "t.toml"]


def killer_after(renames: int):  # type: ignore[no-untyped-def]
    """Return a rename that ends the process instead, once so many succeeded."""
    rename, done = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        if len(done) == renames:
            os._exit(9)
        done.append(target)
        return rename(self, target)

    return replace
