"""A sweep on this machine: kept as it goes, resumed, the same whatever the workers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy import stats

from lmprobe import ProbeResult, probe
from lmprobe.errors import InputError, LmprobeError
from lmprobe.models.device import torch_threads
from lmprobe.results import NoteKind
from lmprobe.sweeping.engines import local
from lmprobe.sweeping.engines.engine import Outcome, sweep_engines
from lmprobe.sweeping.jobs import Job, Subject
from lmprobe.sweeping.result import SweepResult
from lmprobe.sweeping.sweep import sweep
from lmprobe.sweeping.worker import THREADS, Prober, answer
from tests.checkpoints import own_cache, save_checkpoint
from tests.sweeping import kills

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
    return run(models[:2], output)


def run(models: list[str], output: Path | None = None, **options: object) -> SweepResult:
    chosen = {"engine": "inline", **OPTIONS, **options}
    return sweep(models, ["neutral"], ["labor"], output=output, **chosen)  # type: ignore[arg-type]


def test_the_rows_are_those_of_the_probes(reference: SweepResult, models: list[str]) -> None:
    alone = probe(models[1], "neutral", "labor", **OPTIONS)  # type: ignore[arg-type]
    rows = [row for row in reference.rows if row.model == models[1]]
    for ours, theirs in zip(rows, alone.rows, strict=True):
        assert ours.estimate.value == pytest.approx(theirs.value, abs=1e-5)
        assert ours.direction is theirs.direction
    assert len(reference.rows) == 4
    assert len(reference.to_frame()) == 4


def test_models_may_be_training_runs_of_one(models: list[str]) -> None:
    found = run(models, runs=True)
    assert [(one.question.base, one.question.direction.short) for one in found.run_means] == [
        ("labor", "T->A"),
        ("labor", "A->T"),
    ]
    for mean in found.run_means:
        rows = [row for row in found.rows if row.question == mean.question]
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
    found = run(models[:2], tmp_path, engine="local", workers=2)
    assert found.to_json() == reference.to_json()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "probes").iterdir()}
    assert len(kept) == 2
    steps: list[tuple[int, int]] = []
    again = run(models[:2], tmp_path, progress=lambda done, total: steps.append((done, total)))
    assert again.to_json() == reference.to_json()
    assert steps == [(2, 2)]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_a_changed_table_or_set_is_another_probe(
    models: list[str], tmp_path: Path, own_set: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rates = tmp_path / "rates.csv"
    rates.write_text("task,he,she\nnurse,10,90\nbaker,60,40\nlawyer,60,40\n")

    def value() -> float:
        chosen = {"engine": "inline", "output": tmp_path / "out"}
        found = sweep(models[:1], own_set, [rates], **chosen)  # type: ignore[arg-type]
        return found.rows[0].estimate.value

    first = value()
    rates.write_text("task,he,she\nnurse,50,50\nbaker,60,40\nlawyer,60,40\n")
    second = value()
    assert second != first
    # Another file in the folder where the command runs changes nothing.
    (tmp_path / "notes.txt").write_text("later")
    assert value() == second
    text = Path(own_set).read_text().replace("is", "was")
    Path(own_set).write_text(text)
    assert value() != second
    assert len(list((tmp_path / "out" / "probes").iterdir())) == 3


@pytest.fixture
def own_set(tmp_path: Path) -> str:
    path = tmp_path / "own.toml"
    path.write_text(
        'name = "own"\ndescription = "x"\nsource = "x"\nlanguage = "en"\n'
        'attribute = "pronoun"\ntask = "occupation"\nsentences = ["{pronoun} is {a:occupation}."]\n'
        '[slots]\npronoun = { lexicon = "pronouns" }\noccupation = ["nurse", "baker", "lawyer"]\n'
    )
    return str(path)


def test_a_revision_is_not_ignored(models: list[str]) -> None:
    with pytest.raises(LmprobeError, match="a revision belongs to a hub id"):
        run(models[:1], revision="v2")


def test_options_of_loading_reach_the_model_and_the_command(models: list[str]) -> None:
    found = run(models[:1], dtype="float64", batch_size=3)
    assert {one["dtype"] for one in found.provenance["probes"]} == {"float64"}
    assert "--dtype float64 --batch-size 3" in found.page().sections[-1].commands[0]


def test_the_counts_of_each_models_own_text_are_a_base(tmp_path: Path) -> None:
    found = sweep(
        ["reference:faithful", "reference:amplified"], "neutral", ["corpus"],
        engine="inline", tasks=TASKS, output=tmp_path,
    )  # fmt: skip
    assert [row.base for row in found.rows] == ["corpus"] * 4


def test_each_worker_keeps_its_model_and_no_two_begin_the_same() -> None:
    jobs = [Job(Subject(m, m), t, (), {}, {}) for m in "abc" for t in ("x", "y")]
    waiting = local._Queue(jobs)
    first, second = waiting.next(None), waiting.next(None)
    assert first is not None
    assert second is not None
    assert (first.subject.model, second.subject.model) == ("a", "b")
    again = waiting.next(first)
    assert again is not None
    assert (again.subject.model, again.templates) == ("a", "y")
    third = waiting.next(again)
    assert third is not None
    assert third.subject.model == "c"


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


def test_an_interrupted_sweep_ends_its_workers_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that answers once and then works for ten minutes is not waited for."""
    code = (
        "import os, sys, time; sys.stdin.readline(); print('{}', flush=True); "
        "sys.stdin.readline(); open(sys.argv[1] + '/pid', 'w').write(str(os.getpid())); "
        "time.sleep(600)"
    )
    monkeypatch.setattr(local, "COMMAND", (sys.executable, "-c", code))
    jobs = [Job(Subject(name, name), "neutral", (), {}, {}) for name in "ab"]
    outcomes = local.local(jobs, tmp_path)
    assert next(outcomes).error is None
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.02)
    start = time.monotonic()
    outcomes.close()  # type: ignore[attr-defined]
    assert time.monotonic() - start < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


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
        ({"revision": "x", "revisions": ["y"]}, "a revision or several revisions"),
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
    assert found.over_steps
    assert len(found.curves) == 2
    for curve in found.curves:
        for row, band in zip(found.of(curve.question), curve.band, strict=True):
            assert row.estimate.value in band


@pytest.mark.slow
def test_kills_lose_nothing_and_repeat_nothing(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL of the driver and of workers at random moments: the same bytes in the end."""
    names = [f"model-{number}" for number in range(6)]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(made(model=name, seed=number, bases=["labor"]).to_json())
    output = tmp_path / "killed"
    killed = kills.kill_until_done(names, output, 2, Random(1), prepared=str(tmp_path))
    assert killed["drivers"] == 1
    assert killed["workers"] >= 1
    assert all(path.suffix == ".json" for path in (output / "probes").iterdir())
    # The same sweep in this process, which nobody kills.
    monkeypatch.setattr(local, "COMMAND", local.COMMAND)
    monkeypatch.setenv("PREPARED", "")
    kills.drive(names, tmp_path / "whole", str(tmp_path))
    whole = (tmp_path / "whole" / "sweep.json").read_bytes()
    assert (output / "sweep.json").read_bytes() == whole


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_ray_gives_the_same_bytes(
    reference: SweepResult, models: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    # One worker, which starts once; benchmarks/sweep.py compares two.
    found = run(models[:2], tmp_path, engine="ray", workers=1)
    assert found.to_json() == reference.to_json()


def test_both_engines_are_listed() -> None:
    assert {"local", "ray"} <= set(sweep_engines.names())
