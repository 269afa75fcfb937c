"""The engine of a cluster with a made-up cluster: what is asked of it, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lmprobe.errors import LmprobeError
from lmprobe.sweeping import worker
from lmprobe.sweeping.engines.ray import _probe, ray_cluster
from lmprobe.sweeping.jobs import Job, Subject


def job(model: str) -> Job:
    return Job(Subject(model, model), "fitbert", ("labor",), {}, {})


class RayError(Exception):
    """What a cluster raises for a task that died."""


class Cluster:
    """As much of Ray as the engine uses; a task runs when its result is asked for."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, answers: Mapping[str, Any], resources: Mapping[str, float]) -> None:
        self.answers, self.resources = answers, resources
        self.asked: dict[str, Any] = {}

    def cluster_resources(self) -> Mapping[str, float]:
        return self.resources

    def remote(self, **how: Any) -> Any:
        self.asked |= how
        return lambda task: SimpleNamespace(remote=lambda line: Job.from_json(line).subject.model)

    def wait(self, references: list[str], *, num_returns: int) -> tuple[list[str], list[str]]:
        if num_returns > len(references):
            raise ValueError("num_returns cannot be greater than the number of references")
        # The last is ready first.
        return references[::-1][:num_returns], references[::-1][num_returns:]

    def get(self, reference: str) -> Any:
        answer = self.answers[reference]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def join(monkeypatch: pytest.MonkeyPatch) -> Any:
    def joined(answers: Mapping[str, Any], resources: Mapping[str, float]) -> Cluster:
        cluster = Cluster(answers, resources)

        @contextmanager
        def session(workers: int, *, environment: Mapping[str, str]) -> Iterator[Cluster]:
            cluster.asked |= {"workers": workers, "environment": dict(environment)}
            yield cluster

        monkeypatch.setattr("lmprobe.io.ray_session.ray_session", session)
        return cluster

    return joined


def test_every_task_has_its_outcome_and_results_are_kept(join: Any, tmp_path: Path) -> None:
    died = RayError("the node went away\nand more lines of it")
    cluster = join({"a": ("{}", None), "b": (None, "no model"), "c": died}, {"CPU": 4.0})
    found = {
        one.job.subject.model: one.error
        for one in ray_cluster([job("a"), job("b"), job("c")], tmp_path)
    }
    assert found == {
        "a": None,
        "b": "no model",
        "c": "its Ray task failed (RayError: the node went away)",
    }
    assert [path.name for path in tmp_path.iterdir()] == [f"{job('a').key}.json"]
    assert cluster.asked == {
        "num_cpus": 1,
        "num_gpus": 0,
        "max_retries": 3,
        "workers": 1,
        "environment": {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    }


@pytest.mark.parametrize(("resources", "gpus"), [({"GPU": 2.0}, 1), ({"GPU": 0.0}, 0), ({}, 0)])
def test_a_task_has_a_gpu_where_the_cluster_has_any(
    join: Any, tmp_path: Path, resources: Mapping[str, float], gpus: int
) -> None:
    cluster = join({"a": ("{}", None)}, resources)
    assert len(list(ray_cluster([job("a")], tmp_path, workers=5))) == 1
    assert (cluster.asked["num_gpus"], cluster.asked["workers"]) == (gpus, 5)


def test_a_task_brings_back_the_text_or_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Prober:
        def run(self, job: Job, folder: Path) -> str:
            if job.subject.model == "broken":
                raise LmprobeError("no such model")
            (folder / "result.json").write_text("the résult", encoding="utf-8")
            return "result.json"

    monkeypatch.setattr(worker, "Prober", Prober)
    assert _probe(job("a").to_json()) == ("the résult", None)
    assert _probe(job("broken").to_json()) == (None, "no such model")
