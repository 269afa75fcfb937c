"""Where the jobs of a sweep run: in processes of this machine or on a Ray cluster."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from lmprobe.io.work import ray_session
from lmprobe.registry import Registry
from lmprobe.sweeping.jobs import ProbeJob, Subject
from lmprobe.sweeping.worker import ENVIRONMENT, Prober, probe_path, save_probe


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How one job ended: its result is in the folder, or an error says why not."""

    job: ProbeJob
    error: str | None = None


class SweepEngine(Protocol):
    """Runs jobs and yields each outcome as it ends, in any order.

    The jobs of a model come one after the other, and the largest models first. The first line of
    the docstring is what `lmprobe ls sweep_engines` shows.
    """

    def __call__(
        self, jobs: Sequence[ProbeJob], folder: Path, *, workers: int
    ) -> Iterator[JobOutcome]:
        """Yield the outcome of every job once; results are files `KEY.json` in the folder."""
        ...


sweep_engines: Registry[SweepEngine] = Registry("sweep_engines", "lmprobe.sweeping.engines")


COMMAND = (sys.executable, "-m", "lmprobe.sweeping.worker")
"""What starts a worker; the folder of results follows it."""

RETRIES = 2
"""How often a job is tried again when its process dies, as for want of memory."""


@sweep_engines.register("local")
def local(jobs: Sequence[ProbeJob], folder: Path, *, workers: int = 1) -> Iterator[JobOutcome]:
    """Processes of this machine, one thread each, one per GPU where there are any."""
    waiting, begun = list(jobs), set[Subject]()
    processes = [_Worker(folder, device) for device in _devices(jobs, workers)]
    idle = list(processes)
    running: dict[Future[JobOutcome], _Worker] = {}
    with ThreadPoolExecutor(len(idle)) as threads:

        def start_jobs() -> None:
            while waiting and idle:
                worker = idle.pop()
                job = _next_job(waiting, worker.subject, begun)
                running[threads.submit(worker.run, job)] = worker

        try:
            start_jobs()
            while running:
                done = wait(running, return_when=FIRST_COMPLETED).done
                idle += [running.pop(future) for future in done]
                # Before the caller reads the results, so that no worker waits for that.
                start_jobs()
                yield from [future.result() for future in done]
        finally:
            for worker in processes:
                worker.stopped = True
            while wait(running, timeout=0.1).not_done:
                # What they saved is whole: files are written whole or not at all.
                for worker in running.values():
                    worker.kill()
            for worker in processes:
                worker.end()


def _next_job(waiting: list[ProbeJob], loaded: Subject | None, begun: set[Subject]) -> ProbeJob:
    """Take a job of the model that the worker has loaded, or of one that no other has begun."""
    same = (job for job in waiting if job.subject == loaded)
    new = (job for job in waiting if job.subject not in begun)
    job = next(same, None) or next(new, waiting[0])
    waiting.remove(job)
    begun.add(job.subject)
    return job


def _devices(jobs: Sequence[ProbeJob], workers: int) -> list[Mapping[str, str]]:
    """Return the environment of each process: a GPU of its own, or one thread of the CPU."""
    on_gpu = any(job.model.get("device", "auto") in ("auto", "cuda") for job in jobs)
    if gpus := _gpus() if on_gpu else []:
        return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus[:workers]]
    return [{}] * min(workers, len(jobs))


def _gpus() -> list[str]:
    """Return the numbers of the GPUs from the driver: torch is not loaded here."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [gpu for gpu in visible.split(",") if gpu.strip() and gpu.strip() != "-1"]
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    lines = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
    return [str(number) for number in range(len(lines))]


class _Worker:
    """A process that runs one job at a time, and is started again when it dies.

    Not a process of `ProcessPoolExecutor`: those import the caller's script, which then has to
    be guarded, share one environment, and are lost together when one of them dies.
    """

    def __init__(self, folder: Path, device: Mapping[str, str]) -> None:
        self._command = [*COMMAND, str(folder)]
        self._environment = {**os.environ, **ENVIRONMENT, **device}
        self._process: subprocess.Popen[str] | None = None
        self.subject: Subject | None = None
        """The model that the process has loaded."""
        self.stopped = False
        """Whether no process may be started any more."""

    def run(self, job: ProbeJob) -> JobOutcome:
        """Run the job; one whose process dies every time is a failed model."""
        self.subject = job.subject
        code = None
        for _ in range(RETRIES + 1):
            if self.stopped:
                return JobOutcome(job, "the sweep was interrupted")
            try:
                return JobOutcome(job, self._error(job))
            except OSError as problem:
                reason = f"no process could be started for it ({problem.strerror})"
                return JobOutcome(job, reason)
            except EOFError:
                code = self.end()
        return JobOutcome(
            job,
            f"its process ended {RETRIES + 1} times (exit code {code}); there may not be enough "
            "memory",
        )

    def kill(self) -> None:
        """End the process at once, if there is one."""
        if self._process is not None:
            self._process.kill()

    def end(self) -> int | None:
        """Close the pipes, at which a worker ends, and wait for it; return its exit code."""
        if self._process is None:
            return None
        with suppress(OSError):
            self._process.communicate()
        code, self._process = self._process.returncode, None
        return code

    def _error(self, job: ProbeJob) -> str | None:
        """Return the worker's answer; EOFError if its process died over the job."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                env=self._environment,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(job.to_json() + "\n")
            self._process.stdin.flush()
            error: str | None = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise EOFError from None
        return error


RAY_RETRIES = 3


@sweep_engines.register("ray")
def ray_cluster(
    jobs: Sequence[ProbeJob], folder: Path, *, workers: int = 1
) -> Iterator[JobOutcome]:
    """Tasks of a Ray cluster, with a GPU each where it has any; results come back here."""
    with ray_session(workers, environment=ENVIRONMENT) as ray:
        resources = ray.cluster_resources()
        gpus = 1 if resources.get("GPU", 0) else 0
        task = ray.remote(
            num_cpus=1, num_gpus=gpus, max_retries=RAY_RETRIES, num_returns="streaming"
        )(_probes)

        def start(part: Sequence[ProbeJob]) -> tuple[Any, list[ProbeJob]]:
            return task.remote([job.to_json() for job in part]), list(part)

        places = int(resources["GPU" if gpus else "CPU"])
        running = dict(start(part) for part in _by_model(jobs, places))
        while running:
            (answers,), _ = ray.wait(list(running), num_returns=1)
            left = running.pop(answers)
            job = left.pop(0)
            error, alive = _collect(ray, next(answers), job, folder)
            yield JobOutcome(job, error)
            if left:
                again = (answers, left) if alive else start(left)
                running[again[0]] = again[1]


def _by_model(jobs: Sequence[ProbeJob], places: int) -> list[list[ProbeJob]]:
    """Return the jobs of each model, in several parts if there are more places than models."""
    models: dict[Subject, list[ProbeJob]] = {}
    for job in jobs:
        models.setdefault(job.subject, []).append(job)
    parts = max(1, places // len(models))
    split = [own[first::parts] for own in models.values() for first in range(parts)]
    return [part for part in split if part]


def _collect(ray: Any, reference: Any, job: ProbeJob, folder: Path) -> tuple[str | None, bool]:
    """Save what a task brought back; return the error, and whether the task goes on.

    One that died every time is a failed model.
    """
    try:
        text, error = ray.get(reference)
    except ray.exceptions.RayError as problem:
        first = str(problem).strip().splitlines()[0]
        return f"its Ray task failed ({type(problem).__name__}: {first})", False
    if error is None:
        save_probe(job, folder, text)
    return error, True


def _probes(lines: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Run jobs of one model where the task runs; yield each result's text and the error."""
    prober = Prober()
    for line in lines:
        job = ProbeJob.from_json(line)
        with TemporaryDirectory() as folder:
            error = prober.run(job, Path(folder))
            text = "" if error else probe_path(job, Path(folder)).read_text(encoding="utf-8")
        yield text, error
