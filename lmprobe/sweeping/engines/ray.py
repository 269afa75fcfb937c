"""A Ray cluster: one task per model and template set, retried when a worker dies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lmprobe.sweeping.engines.engine import Outcome, sweep_engines
from lmprobe.sweeping.jobs import Job
from lmprobe.sweeping.worker import ENVIRONMENT, keep

RETRIES = 3


@sweep_engines.register("ray")
def ray_cluster(jobs: Sequence[Job], folder: Path, *, workers: int = 1) -> Iterator[Outcome]:
    """Tasks of a Ray cluster, with a GPU each where it has any; results come back here."""
    from lmprobe.io.ray_session import ray_session

    with ray_session(workers, environment=ENVIRONMENT) as ray:
        gpus = 1 if ray.cluster_resources().get("GPU", 0) else 0
        task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_probe)
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
