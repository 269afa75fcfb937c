"""The engine of this machine without its processes: queue, devices, answers, deaths."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lmprobe.sweeping.engines import local
from lmprobe.sweeping.engines.engine import Outcome
from lmprobe.sweeping.jobs import Job, Subject


def job(model: str, templates: str = "x", **load: Any) -> Job:
    return Job(Subject(model, model), templates, (), {}, load)


class Process:
    """A worker's process that answers with these lines; an empty one is that of a death."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), []
        self.stdin = self.stdout = self
        self.returncode, self.ended, self.killed = 9, False, False

    def write(self, line: str) -> None:
        self.asked.append(line)

    def flush(self) -> None:
        if self.answers and self.answers[0] == "broken pipe":
            raise BrokenPipeError

    def readline(self) -> str:
        return self.answers.pop(0)

    def communicate(self) -> None:
        self.ended = True

    def kill(self) -> None:
        self.killed = True


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """Return the processes that the next starts give, in order."""
    waiting: list[Process] = []
    monkeypatch.setattr(local, "_start", lambda folder, device: waiting.pop(0))
    return waiting


def worker(*jobs: Job) -> tuple[local._Worker, queue.Queue[Outcome]]:
    done: queue.Queue[Outcome] = queue.Queue()
    return local._Worker(local._Queue(jobs), Path("folder"), {}, done), done


def outcomes(done: queue.Queue[Outcome]) -> list[tuple[str, str | None]]:
    return [(one.job.subject.model, one.error) for one in done.queue]


def test_a_process_is_asked_line_by_line_and_ended(started: list[Process]) -> None:
    process = Process("{}\n", '{"error": "no such model"}\n', '{"error": null}\n')
    started.append(process)
    thread, done = worker(job("a"), job("b"), job("c"))
    thread.run()
    assert outcomes(done) == [("a", None), ("b", "no such model"), ("c", None)]
    assert [json.loads(line)["subject"]["model"] for line in process.asked] == ["a", "b", "c"]
    assert all(line.endswith("}\n") for line in process.asked)
    assert process.ended
    assert not process.killed


@pytest.mark.parametrize("death", ["", "broken pipe"])
def test_a_job_whose_process_dies_is_tried_three_times(started: list[Process], death: str) -> None:
    processes = [Process(death), Process(death), Process("{}\n")]
    started += processes
    thread, done = worker(job("a"))
    thread.run()
    assert outcomes(done) == [("a", None)]
    assert all(one.ended for one in processes)
    dying = [Process(death) for _ in range(3)]
    started += [*dying, Process("{}\n")]
    thread, done = worker(job("a"), job("b"))
    thread.run()
    ((_, error), other) = outcomes(done)
    assert error == ("its process ended 3 times (exit code 9); there may not be enough memory")
    assert other == ("b", None)


def test_a_process_that_cannot_be_started_is_a_failed_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(folder: Path, device: Mapping[str, str]) -> Process:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(local, "_start", start)
    thread, done = worker(job("a"))
    thread.run()
    assert outcomes(done) == [
        ("a", "no process could be started for it (Cannot allocate memory)"),
    ]
    assert thread._end() is None


def test_a_thread_kills_its_process_if_it_has_one(started: list[Process]) -> None:
    thread, _ = worker(job("a"))
    thread.kill()
    process = Process("{}\n")
    started.append(process)
    assert thread._ask(job("a")) is None
    thread.kill()
    assert process.killed
    assert thread._end() == 9
    # It must not keep a program alive that wants to end.
    assert thread.daemon


def test_a_closed_queue_gives_nothing_and_its_jobs_are_interrupted() -> None:
    thread, _ = worker(job("a"))
    waiting = local._Queue([job("a"), job("b")])
    first = waiting.next(None)
    assert first == job("a")
    waiting.close()
    assert waiting.next(first) is None
    thread._waiting.close()
    assert thread._error(job("a")) == "the sweep was interrupted"
    empty = local._Queue([])
    assert empty.next(None) is None
    assert empty.next(job("a")) is None


def test_a_worker_goes_on_with_its_model_while_others_wait() -> None:
    waiting = local._Queue([job("a", "x"), job("b", "x"), job("a", "y"), job("a", "z")])
    assert waiting.next(None) == job("a", "x")
    assert waiting.next(job("a", "x")) == job("a", "y")
    assert waiting.next(job("c", "x")) == job("b", "x")


def test_a_model_that_others_began_is_taken_when_no_new_one_is_left() -> None:
    waiting = local._Queue([job("a", "x"), job("a", "y"), job("a", "z"), job("b", "x")])
    assert waiting.next(None) == job("a", "x")
    assert waiting.next(None) == job("b", "x")
    assert waiting.next(job("b", "x")) == job("a", "y")
    assert waiting.next(job("a", "y")) == job("a", "z")
    assert waiting.next(job("a", "z")) is None


def test_every_job_has_its_outcome(started: list[Process], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def devices(jobs: Sequence[Job], workers: int) -> list[Mapping[str, str]]:
        asked.append(workers)
        return [{}]

    monkeypatch.setattr(local, "_devices", devices)
    started.append(Process("{}\n", "{}\n"))
    found = list(local.local([job("a"), job("b")], Path("folder")))
    assert [one.job.subject.model for one in found] == ["a", "b"]
    # One process unless told otherwise.
    assert asked == [1]


@pytest.mark.parametrize(
    ("gpus", "workers", "jobs", "devices"),
    [
        ([], 3, [job("a"), job("b")], [{}, {}]),
        ([], 1, [job("a"), job("b")], [{}]),
        ([], 2, [job("a"), job("b"), job("c")], [{}, {}]),
        (["0", "1"], 1, [job("a")], [{"CUDA_VISIBLE_DEVICES": "0"}]),
        (["0", "3"], 5, [job("a", device="cuda")], [{"CUDA_VISIBLE_DEVICES": n} for n in "03"]),
        (["0", "1"], 2, [job("a", device="cpu"), job("b", device="cpu")], [{}, {}]),
        (["0"], 2, [job("a", device="cpu"), job("b")], [{"CUDA_VISIBLE_DEVICES": "0"}]),
    ],
)
def test_a_process_per_gpu_or_per_worker(
    monkeypatch: pytest.MonkeyPatch,
    gpus: list[str],
    workers: int,
    jobs: list[Job],
    devices: list[dict[str, str]],
) -> None:
    monkeypatch.setattr(local, "_gpus", lambda: gpus)
    assert local._devices(jobs, workers) == devices


@pytest.mark.parametrize(
    ("visible", "gpus"),
    [("0,2", ["0", "2"]), ("", []), ("-1", []), ("1, -1,", ["1"]), ("GPU-ab", ["GPU-ab"])],
)
def test_gpus_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, visible: str, gpus: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert local._gpus() == gpus


def test_gpus_that_the_driver_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(
        words: Sequence[str], *, capture_output: bool, text: bool, check: bool
    ) -> subprocess.CompletedProcess[Any]:
        """A driver that lists two GPUs and then fails with a third."""
        assert list(words) == ["nvidia-smi", "-L"]
        if check:
            raise subprocess.CalledProcessError(9, words)
        output = "GPU 0: A100\nGPU 1: A100\nUnable to determine the device handle\n"
        shown = output if text else output.encode()
        return subprocess.CompletedProcess(words, 9, shown if capture_output else None)

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert local._gpus() == ["0", "1"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert local._gpus() == []


def test_a_process_is_started_with_one_thread_and_its_device(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda words, **how: found.append((words, how)))
    local._start(tmp_path, {"CUDA_VISIBLE_DEVICES": "1"})
    ((words, how),) = found
    assert words[1:] == ["-m", "lmprobe.sweeping.worker", str(tmp_path)]
    assert how["text"]
    assert how["encoding"] == "utf-8"
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
    assert [how["env"][name] for name in names] == ["1", "1", "1"]
