"""A sweep on this machine: kept as it goes, resumed, the same whatever the workers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import kills
import numpy as np
import pytest
from checkpoints import own_cache, save_checkpoint
from scipy import stats

from lmprobe import ProbeResult, probe
from lmprobe.errors import InputError, LmprobeError
from lmprobe.models.device import torch_threads
from lmprobe.results import NoteKind
from lmprobe.sweeping.engines import local
from lmprobe.sweeping.engines.engine import Outcome, sweep_engines
from lmprobe.sweeping.jobs import Job
from lmprobe.sweeping.result import SweepResult
from lmprobe.sweeping.sweep import sweep
from lmprobe.sweeping.worker import THREADS, Prober, answer

__all__ = ["own_cache"]

Made = Callable[..., ProbeResult]

TASKS = ["nurse", "baker", "janitor", "hairdresser", "lawyer"]
OPTIONS = {"tasks": TASKS, "scorer": "word-l2r", "seed": 3}


def in_this_process(jobs: Sequence[Job], folder: Path, *, workers: int = 1) -> Iterator[Outcome]:
    """Probe without a process of its own, which takes seconds to start."""
    prober = Prober()
    for job in jobs:
        with torch_threads(THREADS):
            yield Outcome(job, answer(prober, job, folder).get("error"))


@pytest.fixture(scope="module", autouse=True)
def inline() -> Iterator[None]:
    sweep_engines.register("inline")(in_this_process)
    yield
    del sweep_engines._found["inline"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("models")
    ranges = {"one": 0.4, "two": 0.2, "three": 0.8}
    return [
        str(save_checkpoint(folder / name, "Bert", initializer_range=size))
        for name, size in ranges.items()
    ]


@pytest.fixture(scope="module")
def reference(models: list[str], tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    output = tmp_path_factory.mktemp("reference")
    return run(models, output)


def run(models: list[str], output: Path | None = None, **options: object) -> SweepResult:
    chosen = {"engine": "inline", **OPTIONS, **options}
    return sweep(models, ["neutral"], ["labor"], output=output, **chosen)  # type: ignore[arg-type]


def test_the_rows_are_those_of_the_probes(reference: SweepResult, models: list[str]) -> None:
    alone = probe(models[1], "neutral", "labor", **OPTIONS)  # type: ignore[arg-type]
    rows = [row for row in reference.rows if row.model == models[1]]
    for ours, theirs in zip(rows, alone.rows, strict=True):
        assert ours.estimate.value == pytest.approx(theirs.value, abs=1e-5)
        assert ours.direction is theirs.direction
    assert len(reference.rows) == 6
    assert len(reference.to_frame()) == 6


def test_models_may_be_training_runs_of_one(models: list[str]) -> None:
    found = run(models, runs=True)
    assert [(one.base, one.direction.short) for one in found.run_means] == [
        ("labor", "T->A"),
        ("labor", "A->T"),
    ]
    for mean in found.run_means:
        rows = [row for row in found.rows if row.direction is mean.direction]
        values = [row.estimate.value for row in rows]
        low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
        assert mean.over_runs.value == pytest.approx(np.mean(values))
        ends = (mean.over_runs.interval.low, mean.over_runs.interval.high)
        assert ends == pytest.approx((low, high))
        widths = [row.estimate.interval.width for row in rows]
        assert mean.estimate.interval.width == pytest.approx(np.mean(widths))
    assert NoteKind.RUNS in {note.kind for note in found.notes}
    assert found.table("runs").rows[0][3] == found.run_means[0].estimate.value
    assert "Over training runs" in found.to_html()
    assert SweepResult.from_json(found.to_json()).to_json() == found.to_json()
    with pytest.raises(InputError, match="steps of one run"):
        sweep([], checkpoints="runs", runs=True)


def test_the_result_survives_json(reference: SweepResult) -> None:
    assert SweepResult.from_json(reference.to_json()).to_json() == reference.to_json()


def test_processes_change_nothing_and_a_kept_probe_is_not_made_again(
    reference: SweepResult, models: list[str], tmp_path: Path
) -> None:
    found = run(models, tmp_path, engine="local", workers=2)
    assert found.to_json() == reference.to_json()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "probes").iterdir()}
    assert len(kept) == 3
    steps: list[tuple[int, int]] = []
    again = run(models, tmp_path, progress=lambda done, total: steps.append((done, total)))
    assert again.to_json() == reference.to_json()
    assert steps == [(3, 3)]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_a_damaged_probe_is_made_again(models: list[str], tmp_path: Path) -> None:
    run(models[:2], tmp_path)
    first, second = sorted((tmp_path / "probes").iterdir())
    before = second.stat().st_mtime_ns
    text = first.read_text()
    first.write_text(text[: len(text) // 2])
    run(models[:2], tmp_path)
    assert first.read_text() == text
    assert second.stat().st_mtime_ns == before


def test_a_model_that_fails_stops_nothing(models: list[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{}")
    found = run([models[0], str(broken)])
    assert found.models == (models[0],)
    (failure,) = found.failures
    assert failure.model == str(broken)
    assert "broken" in failure.error
    with pytest.raises(LmprobeError, match="no model of the sweep could be probed"):
        run([str(broken)])


def test_a_process_that_dies_every_time_is_a_failed_model(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "COMMAND", (sys.executable, "-c", "import os; os._exit(9)"))
    with pytest.raises(LmprobeError, match=r"ended 3 times \(exit code 9\)"):
        run(models[:1], tmp_path, engine="local")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"templates": ["neutrl"]}, "neutral"),
        ({"base": ["labr"]}, "labor"),
        ({"engine": "cluster"}, "local"),
        ({"workers": 0}, "at least 1"),
        ({"confidence": "high"}, "confidence"),
        ({"models": []}, "at least one model"),
    ],
)
def test_a_mistake_is_found_before_any_model_is_loaded(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(LmprobeError, match=message):
        sweep(**{"models": ["acme/not-there"], **arguments})  # type: ignore[arg-type]


def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'tempo'"):
        sweep(["acme/not-there"], tempo=1)


def test_checkpoints_get_a_band(models: list[str], tmp_path: Path) -> None:
    for step, model in zip((100, 200), models, strict=False):
        (tmp_path / f"checkpoint-{step}").symlink_to(model, target_is_directory=True)
    found = run([], checkpoints=tmp_path)
    assert [row.step for row in found.rows] == [100, 100, 200, 200]
    assert all(len(intervals) == 2 for intervals in found.bands.values())
    for question, intervals in found.bands.items():
        for row, band in zip(found.of(question), intervals, strict=True):
            assert row.estimate.value in band


@pytest.mark.slow
def test_kills_lose_nothing_and_repeat_nothing(made: Made, tmp_path: Path) -> None:
    """SIGKILL of the driver and of workers at random moments: the same bytes in the end."""
    names = [f"model-{number}" for number in range(8)]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(made(model=name, seed=number, bases=["labor"]).to_json())
    prepared = {"prepared": str(tmp_path)}
    whole = kills.finished(names, tmp_path / "whole", **prepared)
    output = tmp_path / "killed"
    killed = kills.kill_until_done(names, output, 2, Random(1), **prepared)
    assert killed["drivers"] == 1
    assert killed["workers"] >= 1
    assert kills.finished(names, output, **prepared) == whole
    assert all(path.suffix == ".json" for path in (output / "probes").iterdir())


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_ray_gives_the_same_bytes(
    reference: SweepResult, models: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    found = run(models, tmp_path, engine="ray", workers=2)
    assert found.to_json() == reference.to_json()


def test_both_engines_are_listed() -> None:
    assert {"local", "ray"} <= set(sweep_engines.names())
