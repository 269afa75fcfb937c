"""Processes of this machine: one thread each on a CPU, one process for each GPU."""

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
from pathlib import Path

from lmprobe.sweeping.engines.engine import Outcome, sweep_engines
from lmprobe.sweeping.jobs import Job
from lmprobe.sweeping.worker import ENVIRONMENT

COMMAND = (sys.executable, "-m", "lmprobe.sweeping.worker")
"""What starts a worker; the folder of results follows it."""

RETRIES = 2
"""How often a job is tried again when its process dies, as for want of memory."""


@sweep_engines.register("local")
def local(jobs: Sequence[Job], folder: Path, *, workers: int = 1) -> Iterator[Outcome]:
    """Processes of this machine, one thread each, one per GPU where there are any."""
    devices = _devices(jobs, workers)
    waiting = _Queue(jobs)
    done: queue.Queue[Outcome] = queue.Queue()
    threads = [
        threading.Thread(target=_serve, args=(waiting, folder, device, done), daemon=True)
        for device in devices
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in jobs:
            yield done.get()
    finally:
        waiting.close()
        for thread in threads:
            thread.join(timeout=60)


class _Queue:
    """The jobs that wait; a worker is given one of the model that it has loaded, if any."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = list(jobs)
        self._lock = threading.Lock()

    def next(self, last: Job | None) -> Job | None:
        with self._lock:
            if not self._jobs:
                return None
            same = [job for job in self._jobs if last and job.subject == last.subject]
            # Otherwise the model that nobody has begun, so that no two load the same.
            job = same[0] if same else self._jobs[0]
            self._jobs.remove(job)
            return job

    def close(self) -> None:
        with self._lock:
            self._jobs.clear()


def _devices(jobs: Sequence[Job], workers: int) -> list[Mapping[str, str]]:
    """Return the environment of each process: a GPU of its own, or one thread of the CPU."""
    gpus = _gpus() if any(job.model.get("device", "auto") in _GPU_NAMES for job in jobs) else []
    if gpus:
        return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus[: max(1, min(workers, len(gpus)))]]
    return [{}] * max(1, min(workers, len(jobs)))


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


def _serve(
    waiting: _Queue, folder: Path, device: Mapping[str, str], done: queue.Queue[Outcome]
) -> None:
    """Feed one process with jobs until none is left; start it again when it dies."""
    process: subprocess.Popen[str] | None = None
    last: Job | None = None
    while (job := waiting.next(last)) is not None:
        for attempt in range(RETRIES + 1):
            if process is None or process.poll() is not None:
                process = _start(folder, device)
            outcome = _ask(process, job)
            if outcome is not None:
                break
            _end(process)
            if attempt == RETRIES:
                ended = f"its process ended {RETRIES + 1} times (exit code {process.returncode})"
                outcome = Outcome(job, f"{ended}; there may not be enough memory")
        assert outcome is not None
        done.put(outcome)
        last = job
    if process is not None:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Close the pipes, at which a worker ends, and wait for it."""
    with suppress(OSError):
        process.communicate()


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


def _ask(process: subprocess.Popen[str], job: Job) -> Outcome | None:
    """Return how the job ended, None if the process died over it."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(job.to_json() + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        answer = json.loads(line) if line else None
    except (OSError, ValueError):
        return None
    return None if answer is None else Outcome(job, answer.get("error"))
