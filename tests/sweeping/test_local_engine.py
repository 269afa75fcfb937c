"""The engine of this machine with a worker of our own: outcomes, deaths, devices, interruption."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from lmprobe.sweeping import engines as local
from lmprobe.sweeping.jobs import ProbeJob, Subject

# Does what the name of the model says, and writes down each job with its process and device.
WORKER = """
import json, os, sys, time
folder = sys.argv[1]
def begun():
    return open(folder + "/log").read().splitlines() if os.path.exists(folder + "/log") else []
for line in sys.stdin:
    job = json.loads(line)
    name = job["subject"]["model"]
    device = os.environ.get("CUDA_VISIBLE_DEVICES", "none"), os.environ["OMP_NUM_THREADS"]
    with open(folder + "/log", "a") as log:
        print(name, job["templates"], os.getpid(), *device, file=log)
    if name == "deadly" or (name == "twice" and len(begun()) < 3):
        os._exit(9)
    if name == "endless":
        time.sleep(600)
    answer = "no such model" if name == "broken" else None
    if name.startswith("meets-"):
        # Two models are begun at once: wait for the other.
        other = {"meets-a": "meets-b", "meets-b": "meets-a"}[name]
        for _ in range(1000):
            if any(line.startswith(other) for line in begun()):
                break
            time.sleep(0.02)
        else:
            answer = "the other model was not begun"
    print(json.dumps(answer), flush=True)
"""


def job(name: str, templates: str = "x", **load: Any) -> ProbeJob:
    return ProbeJob(Subject(name, name), templates, (), {}, load)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    monkeypatch.setattr(local, "COMMAND", (sys.executable, "-IS", str(script)))
    return tmp_path


def errors(folder: Path, *jobs: ProbeJob, workers: int = 1) -> dict[tuple[str, str], str | None]:
    outcomes = local.local(jobs, folder, workers=workers)
    return {
        (outcome.job.subject.model, outcome.job.templates): outcome.error for outcome in outcomes
    }


def log(folder: Path) -> list[list[str]]:
    """The jobs that were begun: model, set, process, device, threads."""
    return [line.split() for line in (folder / "log").read_text().splitlines()]


def test_every_job_has_its_outcome_and_a_model_is_served_by_one_process(folder: Path) -> None:
    jobs = [job("a", "x"), job("broken"), job("a", "y")]
    expected = {("a", "x"): None, ("broken", "x"): "no such model", ("a", "y"): None}
    assert errors(folder, *jobs) == expected
    # The process goes on with the model that it has loaded.
    assert [line[:2] for line in log(folder)] == [["a", "x"], ["a", "y"], ["broken", "x"]]
    assert len({line[2] for line in log(folder)}) == 1
    assert {line[4] for line in log(folder)} == {"1"}


def test_two_processes_begin_with_two_models(folder: Path) -> None:
    jobs = [job("meets-a", "x"), job("meets-a", "y"), job("meets-b", "x")]
    assert set(errors(folder, *jobs, workers=2).values()) == {None}
    assert len({line[2] for line in log(folder)}) == 2


def test_no_process_loads_a_model_twice(folder: Path) -> None:
    """A process that has the model of its job keeps it, so a change of model is a load."""
    names, sets = ["a", "b", "c", "d", "e"], ["x", "y", "z"]
    errors(folder, *[job(name, own) for name in names for own in sets], workers=2)
    assert len(log(folder)) == len(names) * len(sets)
    for process in {line[2] for line in log(folder)}:
        models = [line[0] for line in log(folder) if line[2] == process]
        loads = [name for name, _ in groupby(models)]
        assert len(loads) == len(set(loads))
    # What remains at the end is shared: then a second process loads the last model.
    pairs = {(line[0], line[2]) for line in log(folder)}
    assert len(pairs) <= len(names) + 1


def test_a_job_whose_process_dies_is_tried_three_times(folder: Path) -> None:
    result = errors(folder, job("deadly"), job("a"))
    assert str(result["deadly", "x"]).startswith("its process ended 3 times (exit code 9)")
    assert result["a", "x"] is None
    assert [line[0] for line in log(folder)] == ["deadly"] * 3 + ["a"]
    (folder / "log").unlink()
    assert errors(folder, job("twice")) == {("twice", "x"): None}


def test_a_process_that_cannot_be_started_is_a_failed_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "COMMAND", ("/no/such/program",))
    expected = "no process could be started for it (No such file or directory)"
    assert errors(folder, job("a")) == {("a", "x"): expected}


def test_an_interrupted_sweep_ends_its_workers(folder: Path) -> None:
    outcomes = local.local([job("a"), job("endless")], folder)
    assert next(outcomes).error is None
    while not (begun := [line for line in log(folder) if line[0] == "endless" and len(line) == 5]):
        time.sleep(0.02)
    outcomes.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun[0][2]), 0)


@pytest.mark.parametrize(
    ("visible", "device", "seen"),
    [
        ("2,3", "auto", "2"),
        ("GPU-ab", "cuda", "GPU-ab"),
        ("-1", "auto", "-1"),
        ("2,3", "cpu", "2,3"),
    ],
)
def test_a_process_has_a_gpu_of_its_own_where_there_are_any(
    folder: Path, monkeypatch: pytest.MonkeyPatch, visible: str, device: str, seen: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert errors(folder, job("a", device=device)) == {("a", "x"): None}
    assert log(folder)[0][3] == seen


def test_gpus_are_those_that_the_driver_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\necho GPU 0: A100\necho GPU 1: A100\necho and an error\nexit 9\n")
    program.chmod(0o755)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    jobs = [job("meets-a", "x"), job("meets-b", "x")]
    assert set(errors(folder, *jobs, workers=5).values()) == {None}
    assert {line[3] for line in log(folder)} == {"0", "1"}
