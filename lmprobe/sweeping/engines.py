"""Where the jobs of a sweep run: in processes of this machine or on a Ray cluster."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from lmprobe.registry import Registry
from lmprobe.sweeping.jobs import Job, Subject
from lmprobe.sweeping.worker import ENVIRONMENT, keep


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one job ended: its result is in the folder, or an error says why not."""

    job: Job
    error: str | None = None


class SweepEngine(Protocol):
    """Runs jobs and yields each outcome as it ends, in any order.

    The first line of the docstring is what `lmprobe ls sweep_engines` shows.
    """

    def __call__(self, jobs: Sequence[Job], folder: Path, *, workers: int) -> Iterator[Outcome]:
        """Yield the outcome of every job once; results are files `KEY.json` in the folder."""
        ...


sweep_engines: Registry[SweepEngine] = Registry("sweep_engines", "lmprobe.sweeping.engines")


COMMAND = (sys.executable, "-m", "lmprobe.sweeping.worker")
"""What starts a worker; the folder of results follows it."""

RETRIES = 2
"""How often a job is tried again when its process dies, as for want of memory."""


@sweep_engines.register("local")
def local(jobs: Sequence[Job], folder: Path, *, workers: int = 1) -> Iterator[Outcome]:
    """Processes of this machine, one thread each, one per GPU where there are any."""
    waiting = _Queue(jobs)
    done: queue.Queue[Outcome] = queue.Queue()
    threads = [_Worker(waiting, folder, device, done) for device in _devices(jobs, workers)]
    for thread in threads:
        thread.start()
    try:
        for _ in jobs:
            yield done.get()
    finally:
        waiting.close()
        for thread in threads:
            while thread.is_alive():
                # What it kept is whole: files are written whole or not at all.
                thread.kill()
                thread.join(timeout=0.1)


class _Queue:
    """The jobs that wait; a worker is given one of the model that it has loaded, if any."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = list(jobs)
        self._begun: set[Subject] = set()
        self._lock = threading.Lock()
        self.closed = False

    def next(self, last: Job | None) -> Job | None:
        with self._lock:
            if not self._jobs or self.closed:
                return None
            same = [job for job in self._jobs if last and job.subject == last.subject]
            # Otherwise a model that nobody has begun, so that no two load the same.
            new = [job for job in self._jobs if job.subject not in self._begun]
            job = (same or new or self._jobs)[0]
            self._begun.add(job.subject)
            self._jobs.remove(job)
            return job

    def close(self) -> None:
        with self._lock:
            self.closed = True


def _devices(jobs: Sequence[Job], workers: int) -> list[Mapping[str, str]]:
    """Return the environment of each process: a GPU of its own, or one thread of the CPU."""
    gpus = _gpus() if any(job.model.get("device", "auto") in _GPU_NAMES for job in jobs) else []
    if gpus:
        return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus[:workers]]
    return [{}] * min(workers, len(jobs))


_GPU_NAMES = ("auto", "cuda")


def _gpus() -> list[str]:
    """Return the numbers of the GPUs, asked of the driver: torch is not loaded here."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [one for one in visible.split(",") if one.strip() and one.strip() != "-1"]
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    lines = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
    return [str(number) for number in range(len(lines))]


class _Worker(threading.Thread):
    """Feeds one process with jobs until none is left; starts it again when it dies."""

    def __init__(
        self,
        waiting: _Queue,
        folder: Path,
        device: Mapping[str, str],
        done: queue.Queue[Outcome],
    ) -> None:
        super().__init__(daemon=True)
        self._waiting, self._folder, self._device, self._done = waiting, folder, device, done
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> None:
        """Serve the queue."""
        last: Job | None = None
        while (job := self._waiting.next(last)) is not None:
            self._done.put(Outcome(job, self._error(job)))
            last = job
        self._end()

    def kill(self) -> None:
        """End the process at once, if there is one."""
        if self._process is not None:
            self._process.kill()

    def _error(self, job: Job) -> str | None:
        """Have the job done; return why it could not be, None if it is done."""
        code = None
        for _ in range(RETRIES + 1):
            if self._waiting.closed:
                return "the sweep was interrupted"
            try:
                return self._ask(job)
            except OSError as problem:
                return f"no process could be started for it ({problem.strerror})"
            except EOFError:
                code = self._end()
        return (
            f"its process ended {RETRIES + 1} times (exit code {code}); there may not be enough "
            "memory"
        )

    def _ask(self, job: Job) -> str | None:
        """Return the worker's answer; EOFError if its process died over the job."""
        if self._process is None:
            self._process = _start(self._folder, self._device)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(job.to_json() + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise EOFError from None
        return None if answer.get("error") is None else str(answer["error"])

    def _end(self) -> int | None:
        """Close the pipes, at which a worker ends, and wait for it; return its exit code."""
        if self._process is None:
            return None
        with suppress(OSError):
            self._process.communicate()
        code, self._process = self._process.returncode, None
        return code


def _start(folder: Path, device: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**os.environ, **ENVIRONMENT, **device},
    )


RAY_RETRIES = 3


@sweep_engines.register("ray")
def ray_cluster(jobs: Sequence[Job], folder: Path, *, workers: int = 1) -> Iterator[Outcome]:
    """Tasks of a Ray cluster, with a GPU each where it has any; results come back here."""
    from lmprobe.io.work import ray_session

    with ray_session(workers, environment=ENVIRONMENT) as ray:
        gpus = 1 if ray.cluster_resources().get("GPU", 0) else 0
        task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RAY_RETRIES)(_probe)
        waiting = {task.remote(job.to_json()): job for job in jobs}
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1)
            job = waiting.pop(ready[0])
            yield _outcome(ray, ready[0], job, folder)


def _outcome(ray: Any, reference: Any, job: Job, folder: Path) -> Outcome:
    """Keep what a task brought back; one that died every time is a failed model."""
    try:
        text, error = ray.get(reference)
    except ray.exceptions.RayError as problem:
        first = str(problem).strip().splitlines()[0]
        return Outcome(job, f"its Ray task failed ({type(problem).__name__}: {first})")
    if error is None:
        keep(job, folder, text)
    return Outcome(job, error)


def _probe(line: str) -> tuple[str | None, str | None]:
    """Run one job where the task runs; return the result's text or the error."""
    from lmprobe.sweeping.worker import Prober, answer

    with TemporaryDirectory() as folder:
        found = answer(Prober(), Job.from_json(line), Path(folder))
        if "error" in found:
            return None, str(found["error"])
        return Path(folder, str(found["file"])).read_text(encoding="utf-8"), None
