"""A sweep on this machine: kept as it goes, resumed, the same whatever the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lmprobe import ProbeResult, check, probe
from lmprobe.errors import InputError, LmprobeError
from lmprobe.models.forward import torch_threads
from lmprobe.models.kinds.masked import MaskedModel
from lmprobe.plugins import kinds
from lmprobe.sweeping.engines import JobOutcome, sweep_engines
from lmprobe.sweeping.jobs import ProbeJob, Subject
from lmprobe.sweeping.result import Failure, SweepResult
from lmprobe.sweeping.sweep import sweep
from lmprobe.sweeping.worker import THREADS, Prober, probe_path, save_probe
from tests.checkpoints import own_cache, save_checkpoint

__all__ = ["own_cache"]

Made = Callable[..., ProbeResult]

TASKS = ["nurse", "baker", "janitor", "hairdresser", "lawyer"]
OPTIONS = {"tasks": TASKS, "scorer": "word-l2r", "seed": 3}


class Ready:
    """An engine that keeps made-up probes; models called `broken` fail."""

    def __init__(self, made: Made) -> None:
        self.made, self.workers = made, 0
        self.jobs: list[ProbeJob] = []

    def __call__(
        self, jobs: Sequence[ProbeJob], folder: Path, *, workers: int
    ) -> Iterator[JobOutcome]:
        self.jobs += jobs
        self.workers = workers
        for number, job in enumerate(jobs):
            if "broken" in job.subject.model:
                yield JobOutcome(job, "no such model")
                continue
            result = self.made(tasks=("nurse", "baker"), bases=job.base, seed=number)
            (folder / f"{job.key}.json").write_text(result.to_json())
            yield JobOutcome(job)


def in_this_process(
    jobs: Sequence[ProbeJob], folder: Path, *, workers: int = 1
) -> Iterator[JobOutcome]:
    """Probe without a process of its own, which takes seconds to start."""
    prober = Prober()
    for job in jobs:
        with torch_threads(THREADS):
            yield JobOutcome(job, prober.run(job, folder))


@pytest.fixture(autouse=True)
def ready(own_registries: None, made: Made) -> Ready:
    """Register the two engines; return the one that has its probes ready."""
    engine = Ready(made)
    sweep_engines.register("ready")(engine)
    sweep_engines.register("inline")(in_this_process)
    return engine


def run(*models: str, **options: Any) -> SweepResult:
    """Sweep with probes that are ready."""
    return sweep(list(models), ["neutral"], ["labor"], engine="ready", **options)


# ---- what is asked of an engine, and what is kept ---------------------------------------------


def test_every_model_and_set_is_a_job_with_the_options_of_the_probe(ready: Ready) -> None:
    sweep(
        ["acme/a", "acme/b"], ["neutral", "fitbert"], "labor",
        engine="ready", seed=3, dtype="float64", batch_size=4, workers=2,
    )  # fmt: skip
    pairs = {(model, own) for model in ("acme/a", "acme/b") for own in ("neutral", "fitbert")}
    assert {(job.subject.model, job.templates) for job in ready.jobs} == pairs
    job = ready.jobs[0]
    assert (job.base, job.probe["seed"], job.probe["cache"]) == (("labor",), 3, True)
    assert (job.model["dtype"], str(job.model["batch_size"])) == ("float64", "4")
    assert ready.workers == 2


def command_of(result: SweepResult) -> str:
    (command,) = (text for section in result.page().sections for text in section.commands)
    return command


def test_one_direction_alone_is_an_option_of_every_probe(tmp_path: Path) -> None:
    few: dict[str, Any] = {"tasks": ["nurse", "cook"], "interval": "t"}
    models = ["reference:faithful", "reference:amplified"]
    result = sweep(models, ["neutral"], engine="inline", direction="T->A", **few)
    assert [row.direction.short for row in result.rows] == ["T->A"] * 2
    assert "--direction 'task->attribute'" in command_of(result)
    assert SweepResult.from_json(result.to_json()).to_json() == result.to_json()


def test_large_models_come_first_and_then_their_large_sets(ready: Ready, tmp_path: Path) -> None:
    for name, size in (("small", 10), ("large", 1000), ("medium", 100)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(bytes(size))
    models = [str(tmp_path / name) for name in ("small", "large", "medium")]
    result = sweep([*models, "acme/a", "acme/b"], ["fitbert", "everyday"], engine="ready")
    begun = [(Path(job.subject.model).name, job.templates) for job in ready.jobs]
    order = ("large", "medium", "small", "a", "b")
    assert begun == [(name, own) for name in order for own in ("everyday", "fitbert")]
    # The result has them as they were given.
    assert result.models == (*models, "acme/a", "acme/b")
    assert [row.templates for row in result.rows[::2]][:2] == ["fitbert", "everyday"]


def test_revisions_are_part_of_the_models(ready: Ready) -> None:
    result = run("acme/a", revisions=["step1", "step20"], runs=True)
    assert [job.subject.revision for job in ready.jobs] == ["step1", "step20"]
    assert result.models == ("acme/a@step1", "acme/a@step20")
    assert len(result.run_means) == 2
    settings = result.provenance["settings"]
    assert (settings["models"], settings["revisions"]) == (["acme/a"], ["step1", "step20"])
    # Where a sweep ran does not belong to its result.
    assert {"engine", "workers"}.isdisjoint(settings)
    assert run("acme/a", revision="step1").models == ("acme/a@step1",)


def test_what_is_kept_is_not_made_again(ready: Ready, tmp_path: Path) -> None:
    output = tmp_path / "not" / "there yet"
    steps: list[tuple[int, ...]] = []
    options = {"output": output, "progress": lambda *done: steps.append(done)}
    first = run("acme/a", "acme/b", **options)
    assert steps == [(0, 2), (1, 2), (2, 2)]
    retained = {path.name for path in (output / "probes").iterdir()}
    assert retained == {f"{job.key}.json" for job in ready.jobs}
    steps.clear()
    again = run("acme/a", "acme/b", **options)
    assert again.to_json() == first.to_json()
    assert steps == [(2, 2)]
    assert len(ready.jobs) == 2
    # A damaged file is made anew, and a third model is another job.
    damaged = output / "probes" / f"{ready.jobs[0].key}.json"
    damaged.write_text(damaged.read_text()[:1000])
    steps.clear()
    run("acme/a", "acme/b", "acme/c", **options)
    assert [job.subject.model for job in ready.jobs[2:]] == ["acme/a", "acme/c"]
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_a_worker_keeps_what_another_kept_already(tmp_path: Path) -> None:
    job = ProbeJob(Subject("m", "m"), "fitbert", ("labor",), {}, {})
    for text in ("first", "second"):
        save_probe(job, tmp_path, text)
    assert probe_path(job, tmp_path).read_text() == "first"


def test_without_an_output_nothing_is_left(
    ready: Ready, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sweep(Path("acme/a"), "neutral", engine="ready").models == ("acme/a",)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_fails_is_told_and_the_others_are_kept(ready: Ready) -> None:
    result = run("acme/broken", "acme/a")
    assert result.models == ("acme/a",)
    assert result.failures == (Failure("acme/broken", "neutral", "no such model"),)
    with pytest.raises(LmprobeError, match="could be probed; the first: no such model"):
        run("acme/broken")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"templates": ["neutrl"]}, "neutral"),
        ({"base": ["labr"]}, "labor"),
        ({"engine": "cluster"}, "local"),
        ({"workers": 0}, "at least 1"),
        ({"confidence": "high"}, "confidence"),
        ({"tasks": ["nurs", "cook"]}, '"nurs"; did you mean "nurse"'),
        ({"interval": "bootstap"}, "bootstrap"),
        ({"scorer": "pl"}, "pll"),
        ({"lean": "labr"}, "labor"),
        ({"templates": ["neutral", "neutral"]}, 'template set "neutral" appears twice'),
        ({"base": ["labor", "labor"]}, 'base "labor" appears twice'),
        ({"revision": "x", "revisions": ["y"]}, "give `revision` or `revisions`"),
        ({"checkpoints": "runs", "runs": True}, "steps of one run"),
        ({"models": []}, "at least one model"),
        ({"models": [object()]}, "a sweep takes names and paths"),
    ],
)
def test_a_mistake_is_found_before_any_model_is_loaded(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(LmprobeError, match=message):
        sweep(**{"models": ["acme/not-there"], **arguments})  # type: ignore[arg-type]


def test_other_mistakes_are_clear_too(ready: Ready, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'tempo'"):
        sweep(["acme/not-there"], tempo=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"`output` .*file: this is a file, not a folder"):
        run("acme/a", output=tmp_path / "file")


# ---- with models ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("models")
    return [
        str(save_checkpoint(folder / name, "Bert", initializer_range=size))
        for name, size in {"one": 0.4, "two": 0.2}.items()
    ]


def probed(models: list[str], output: Path | None = None, **options: Any) -> SweepResult:
    options = {"engine": "inline", **OPTIONS, **options}
    return sweep(models, ["neutral"], ["labor"], output=output, **options)


@pytest.fixture
def reference(models: list[str]) -> SweepResult:
    """Return the sweep of both models, which are probed once for all tests."""
    return probed(models, Path(models[0]).parent / "reference")


def test_the_rows_are_those_of_the_probes(reference: SweepResult, models: list[str]) -> None:
    alone = probe(models[1], "neutral", "labor", **OPTIONS)  # type: ignore[arg-type]
    rows = [row for row in reference.rows if row.model == models[1]]
    for ours, theirs in zip(rows, alone.rows, strict=True):
        assert ours.estimate.value == pytest.approx(theirs.value, abs=1e-5)
        assert ours.direction is theirs.direction
    assert len(reference.rows) == len(reference.to_frame()) == 4
    assert SweepResult.from_json(reference.to_json()).to_json() == reference.to_json()


def test_a_model_is_loaded_once_for_all_its_sets(models: list[str]) -> None:
    loads = []

    @kinds.register("counted")
    class Counted(MaskedModel):
        """A masked model that is counted when it is loaded."""

        kind = "counted"

        def __init__(self, weights: Any, **options: Any) -> None:
            loads.append(weights.name)
            super().__init__(weights, **options)

    sweep(models, ["neutral", "everyday"], engine="inline", kind="counted", **OPTIONS)
    assert loads == models


@pytest.mark.slow
def test_processes_change_nothing(
    reference: SweepResult, models: list[str], tmp_path: Path
) -> None:
    result = probed(models, tmp_path, engine="local", workers=2)
    assert result.to_json() == reference.to_json()
    assert len(list((tmp_path / "probes").iterdir())) == 2


SET = """
name = "own"
description = "x"
source = "x"
language = "en"
attribute = "pronoun"
task = "occupation"
sentences = ["{pronoun} is {a:occupation}."]
[slots]
pronoun = { lexicon = "pronouns" }
occupation = ["nurse", "baker", "lawyer"]
"""


def test_a_changed_table_or_set_is_another_probe(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rates, own = tmp_path / "rates.csv", tmp_path / "own.toml"
    own.write_text(SET)

    def value() -> float:
        options: dict[str, Any] = {"engine": "inline", "output": tmp_path / "out"}
        return sweep(models[:1], own, [rates], **options).rows[0].estimate.value

    rates.write_text("task,he,she\nnurse,10,90\nbaker,60,40\nlawyer,60,40\n")
    first = value()
    rates.write_text("task,he,she\nnurse,50,50\nbaker,60,40\nlawyer,60,40\n")
    second = value()
    assert second != first
    # Another file in the folder where the command runs changes nothing.
    (tmp_path / "notes.txt").write_text("later")
    assert value() == second
    own.write_text(SET.replace(" is ", " was "))
    assert value() != second
    assert len(list((tmp_path / "out" / "probes").iterdir())) == 3


def test_options_of_loading_reach_the_model_and_the_command(models: list[str]) -> None:
    result = probed(models[:1], dtype="float64", batch_size=3)
    assert {item["dtype"] for item in result.provenance["probes"]} == {"float64"}
    assert "--dtype float64 --batch-size 3" in command_of(result)
    with pytest.raises(LmprobeError, match="a revision belongs to a hub id"):
        probed(models[:1], revision="v2")


def test_the_counts_of_each_models_own_text_are_a_base(tmp_path: Path) -> None:
    result = sweep(
        ["reference:faithful", "reference:amplified"], "neutral", ["corpus"],
        engine="inline", tasks=TASKS, output=tmp_path,
    )  # fmt: skip
    assert [row.base for row in result.rows] == ["corpus"] * 4


def test_checkpoints_get_a_band_and_a_broken_one_stops_nothing(
    models: list[str], tmp_path: Path
) -> None:
    for step, model in zip((100, 200), models, strict=True):
        (tmp_path / f"checkpoint-{step}").symlink_to(model, target_is_directory=True)
    broken = tmp_path / "checkpoint-300"
    broken.mkdir()
    (broken / "config.json").write_text("{}")
    result = probed([], checkpoints=tmp_path, min_mass=0.0)
    assert [row.step for row in result.rows] == [100, 100, 200, 200]
    assert result.over_steps
    assert len(result.curves) == 2
    for curve in result.curves:
        for row, band in zip(result.of(curve.question), curve.band, strict=True):
            assert row.estimate.value in band
    (failure,) = result.failures
    assert failure.model == "checkpoint-300"
    assert str(broken) in failure.error
    # A gate does not pass over what was not probed.
    (note,) = check(result, max=1.0).notes
    assert "checkpoint-300" in note.text
