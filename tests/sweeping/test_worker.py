"""What a worker does with a job, in this process: loads, probes, keeps, answers."""

from __future__ import annotations

import importlib.util
import io
import json
import signal
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lmprobe.errors import LmprobeError
from lmprobe.sweeping import worker
from lmprobe.sweeping.jobs import Job, Subject
from lmprobe.sweeping.worker import Prober, answer, keep, main


def job(model: str = "m", revision: str | None = None, **load: Any) -> Job:
    return Job(Subject(model, model, revision), "fitbert", ("labor", "uniform"), {"seed": 3}, load)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return the models that were loaded and the probes that were made of them, in order."""
    found: list[tuple[Any, ...]] = []

    def load_model(model: str, *, revision: str | None, **options: Any) -> str:
        found.append(("load", model, revision, options))
        return f"the model {model}"

    def probe(model: str, templates: str, base: list[str], **options: Any) -> Any:
        found.append(("probe", model, templates, base, options))
        return SimpleNamespace(to_json=lambda: f"result of {model}")

    monkeypatch.setattr("lmprobe.models.load_model", load_model)
    monkeypatch.setattr("lmprobe.probing.probe.probe", probe)
    return found


def test_a_job_is_probed_and_kept(loaded: list[tuple[Any, ...]], tmp_path: Path) -> None:
    one = job(revision="v2", dtype="float64")
    name = Prober().run(one, tmp_path)
    assert name == f"{one.key}.json"
    assert (tmp_path / name).read_text() == "result of the model m"
    assert loaded == [
        ("load", "m", "v2", {"dtype": "float64"}),
        ("probe", "the model m", "fitbert", ["labor", "uniform"], {"seed": 3}),
    ]


def test_a_model_is_loaded_again_only_for_another_subject_or_other_options(
    loaded: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    prober = Prober()

    def loads(one: Job) -> int:
        before = len(loaded)
        prober._loaded(one)
        return len(loaded) - before

    assert loads(job("a", device="cpu", dtype="auto")) == 1
    assert loads(job("a", device="cpu", dtype="auto")) == 0
    # The order of the options says nothing.
    assert loads(job("a", dtype="auto", device="cpu")) == 0
    assert loads(job("a", dtype="auto", device="cuda")) == 1
    assert loads(job("b", dtype="auto", device="cuda")) == 1
    assert loads(job("b", "v2", dtype="auto", device="cuda")) == 1
    assert loads(job("a", dtype="auto", device="cuda")) == 1


def test_what_is_kept_already_stays(tmp_path: Path) -> None:
    one = job()
    assert keep(one, tmp_path, "first") == f"{one.key}.json"
    keep(one, tmp_path, "second")
    assert (tmp_path / f"{one.key}.json").read_text() == "first"


@pytest.mark.parametrize(
    ("problem", "error"),
    [
        (LmprobeError("no such model"), "no such model"),
        (MemoryError(), "not enough memory for this model"),
        (KeyError("weights"), "KeyError: 'weights'"),
    ],
)
def test_a_model_that_fails_is_an_answer(problem: Exception, error: str) -> None:
    class Failing(Prober):
        def run(self, job: Job, folder: Path) -> str:
            raise problem

    assert answer(Failing(), job(), Path()) == {"key": job().key, "error": error}


def test_it_serves_a_line_for_a_line(
    loaded: list[tuple[Any, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [job("a"), job("b")]
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(sys, "argv", ["worker", str(tmp_path / "results")])
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(one.to_json() + "\n" for one in jobs)))
    before = signal.getsignal(signal.SIGINT)
    with (
        (tmp_path / "out").open("w") as out,
        (tmp_path / "err").open("w") as err,
        warnings.catch_warnings(),
    ):
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        try:
            main()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGINT, before)
        # What a library prints goes where errors go.
        print("noise", file=out, flush=True)
    answers = (tmp_path / "out").read_text().splitlines()
    assert [json.loads(line) for line in answers] == [
        {"key": one.key, "file": f"{one.key}.json"} for one in jobs
    ]
    assert (tmp_path / "err").read_text() == "noise\n"
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_an_import_serves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder in its arguments, a worker that served would end with an error."""
    assert worker.__file__ is not None
    monkeypatch.setattr(sys, "argv", ["python"])
    spec = importlib.util.spec_from_file_location("not_the_main_module", worker.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.answer(None, job(), Path())
    assert found["error"].startswith("AttributeError")
    assert module.ENVIRONMENT == {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
