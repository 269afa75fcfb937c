"""A sweep with an engine that has every answer ready: its jobs, what is kept, what is told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmprobe.errors import InputError, LmprobeError
from lmprobe.sweeping.engines.engine import Outcome, sweep_engines
from lmprobe.sweeping.jobs import Job, Subject, identity, subjects
from lmprobe.sweeping.sweep import sweep


class Ready:
    """An engine that keeps made-up probes; models called `broken` fail."""

    def __init__(self, made: Any) -> None:
        self.made, self.jobs, self.workers = made, [], 0

    def __call__(self, jobs: Sequence[Job], folder: Path, *, workers: int) -> Iterator[Outcome]:
        self.jobs += jobs
        self.workers = workers
        for number, job in enumerate(jobs):
            if "broken" in job.subject.model:
                yield Outcome(job, "no such model")
                continue
            probe = self.made(tasks=("nurse", "baker"), bases=job.base, seed=number)
            (folder / f"{job.key}.json").write_text(probe.to_json())
            yield Outcome(job)


@pytest.fixture
def ready(made: Any, monkeypatch: pytest.MonkeyPatch) -> Ready:
    """Return the engine, which is called `ready`."""
    engine = Ready(made)
    # Filled first, so that what is built in stays when the engine is taken out again.
    assert sweep_engines.names()
    monkeypatch.setattr(sweep_engines, "_found", dict(sweep_engines._found))
    sweep_engines.register("ready")(engine)
    return engine


def run(*models: str, **options: Any) -> Any:
    return sweep(list(models), ["neutral"], ["labor"], engine="ready", **options)


def test_every_model_and_set_is_a_job_with_the_options_of_the_probe(ready: Ready) -> None:
    sweep(
        ["acme/a", "acme/b"], ["neutral", "fitbert"], "labor",
        engine="ready", seed=3, dtype="float64", batch_size=4, workers=2,
    )  # fmt: skip
    assert [(job.subject.model, job.templates) for job in ready.jobs] == [
        *(("acme/a", "neutral"), ("acme/a", "fitbert")),
        *(("acme/b", "neutral"), ("acme/b", "fitbert")),
    ]
    job = ready.jobs[0]
    assert (job.base, job.probe["seed"], job.probe["cache"]) == (("labor",), 3, True)
    assert job.model["dtype"] == "float64"
    assert str(job.model["batch_size"]) == "4"
    assert "revision" not in job.model
    assert ready.workers == 2
    assert len({job.identity for job in ready.jobs}) == 2
    run("acme/a", cache=False)
    assert ready.jobs[-1].probe["cache"] is False


def test_revisions_are_part_of_the_models(ready: Ready) -> None:
    found = run("acme/a", revisions=["step1", "step20"])
    assert [job.subject.revision for job in ready.jobs] == ["step1", "step20"]
    assert found.models == ("acme/a@step1", "acme/a@step20")
    chosen = found.provenance["settings"]
    assert chosen["revisions"] == ["step1", "step20"]
    assert chosen["models"] == ["acme/a"]
    assert (chosen["checkpoints"], chosen["runs"]) == (None, False)
    # Where a sweep ran does not belong to its result, and the revision stands above already.
    assert {"engine", "workers", "revision"}.isdisjoint(chosen)
    assert {"dtype", "device", "seed", "confidence", "base", "templates"} <= set(chosen)
    alone = run("acme/a", revision="step1")
    assert alone.models == ("acme/a@step1",)


def test_what_is_kept_is_not_made_again(ready: Ready, tmp_path: Path) -> None:
    output = tmp_path / "not" / "there yet"
    steps: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        steps.append((done, total))

    first = run("acme/a", "acme/b", output=output, progress=progress)
    assert steps == [(0, 2), (1, 2), (2, 2)]
    kept = {path.name for path in (output / "probes").iterdir()}
    assert kept == {f"{job.key}.json" for job in ready.jobs}
    steps.clear()
    again = run("acme/a", "acme/b", output=output, progress=progress)
    assert again.to_json() == first.to_json()
    assert steps == [(2, 2)]
    assert len(ready.jobs) == 2
    # A damaged file is made anew, and a third model is another job.
    (output / "probes" / f"{ready.jobs[0].key}.json").write_text("{")
    steps.clear()
    run("acme/a", "acme/b", "acme/c", output=output, progress=progress)
    assert [job.subject.model for job in ready.jobs[2:]] == ["acme/a", "acme/c"]
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_without_an_output_nothing_is_left(
    ready: Ready, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("acme/a")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_fails_is_told_and_the_others_are_kept(ready: Ready) -> None:
    steps: list[tuple[int, int]] = []
    found = run("acme/broken", "acme/a", progress=lambda done, total: steps.append((done, total)))
    assert steps == [(0, 2), (1, 2), (2, 2)]
    assert found.models == ("acme/a",)
    assert [(one.model, one.templates, one.error) for one in found.failures] == [
        ("acme/broken", "neutral", "no such model"),
    ]
    with pytest.raises(LmprobeError, match="could be probed; the first: no such model"):
        run("acme/broken")


def test_a_folder_that_cannot_be_made_is_named(ready: Ready, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write to .*file/probes"):
        run("acme/a", output=tmp_path / "file")


def test_names_and_paths_alone_can_be_sent_to_a_worker(ready: Ready) -> None:
    with pytest.raises(InputError, match="a sweep takes names and paths"):
        sweep([object()], engine="ready")  # type: ignore[list-item]
    found = sweep(Path("acme/a"), "neutral", "labor", engine="ready")
    assert found.models == ("acme/a",)


def test_the_seed_and_confidence_of_the_probes_are_those_of_the_ranking(ready: Ready) -> None:
    found = run("acme/a", "acme/b", seed=5, confidence=0.9, runs=True)
    assert found.provenance["seed"] == 5
    assert "at most 0.1;" in found.notes[0].text
    assert len(found.run_means) == 2


# ---- which models, and what a job is called --------------------------------------------------


def test_the_name_of_a_job_does_not_depend_on_the_order_of_its_options() -> None:
    job = Job(Subject("m", "m"), "fitbert", ("labor",), {"seed": 0, "cache": True}, {})
    turned = replace(job, probe={"cache": True, "seed": 0})
    assert job.key == turned.key
    # Names of files: half of a SHA-256, and a quarter for what the names stand for.
    assert len(job.key) == 32
    assert len(identity("a")) == 16
    assert set(job.key + identity("a")) <= set("0123456789abcdef")
    assert json.loads(job.to_json())["probe"] == {"seed": 0, "cache": True}


def test_a_name_that_appears_three_times_is_refused_too() -> None:
    with pytest.raises(InputError, match='the model "a" appears twice'):
        subjects(["a", "b", "a", "a"])
    assert len(subjects(["a", "b"])) == 2


def test_folders_without_a_step_come_last_and_zero_is_a_step(tmp_path: Path) -> None:
    for name in ("z-0", "a-1", "final", "best", "b-10"):
        (tmp_path / name).mkdir()
        config = "adapter_config.json" if name == "final" else "config.json"
        (tmp_path / name / config).write_text("{}")
    found = subjects(["acme/bert"], checkpoints=tmp_path)
    assert [(one.label, one.step) for one in found] == [
        ("acme/bert", None), ("z-0", 0), ("a-1", 1), ("b-10", 10), ("best", None), ("final", None),
    ]  # fmt: skip
    assert [one.run for one in found] == [None, *[str(tmp_path)] * 3, None, None]


def test_a_list_without_names_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "models.txt"
    empty.write_text("# nothing yet\n\n")
    with pytest.raises(LmprobeError, match="the list names no model"):
        subjects([empty])
    empty.write_text("acme/a # ours # not theirs\n")
    assert [one.model for one in subjects([empty])] == ["acme/a"]
