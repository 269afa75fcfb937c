"""Which models a sweep means: names, lists, revisions, checkpoints; and what a job is called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmprobe.errors import LmprobeError
from lmprobe.sweeping.jobs import ProbeJob, Subject, file_states, subjects


def test_names_lists_and_comments(tmp_path: Path) -> None:
    listed = tmp_path / "models.txt"
    listed.write_text("# ours\nreference:faithful  # the standard # of all\n\nacme/bert\n")
    result = subjects(["./folder", str(listed)])
    assert [item.model for item in result] == ["./folder", "reference:faithful", "acme/bert"]
    listed.write_text("# nothing yet\n\n")
    with pytest.raises(LmprobeError, match="the list names no model"):
        subjects([listed])


def test_checkpoints_by_step_and_those_without_a_step_last(tmp_path: Path) -> None:
    for name in ("checkpoint-1000", "checkpoint-200", "z-0", "final", "best", "runs"):
        (tmp_path / name).mkdir()
        config = "adapter_config.json" if name == "final" else "config.json"
        if name != "runs":
            (tmp_path / name / config).write_text("{}")
    result = subjects(["acme/bert"], checkpoints=tmp_path)
    assert [(item.label, item.step) for item in result] == [
        ("acme/bert", None), ("z-0", 0), ("checkpoint-200", 200), ("checkpoint-1000", 1000),
        ("best", None), ("final", None),
    ]  # fmt: skip
    assert [item.run for item in result] == [None, *[str(tmp_path)] * 3, None, None]


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ([], {}, "at least one model"),
        (["a", "b", "a", "a"], {}, '"a" appears twice'),
        (["missing.txt"], {}, "cannot be read"),
        ([], {"checkpoints": "no/such/folder"}, "no such folder of checkpoints"),
        ([], {"checkpoints": "."}, "expected folders such as checkpoint-500"),
        (["a"], {"revisions": ["x"], "checkpoints": "y"}, "`revisions` or `checkpoints`"),
    ],
)
def test_what_cannot_be_swept_says_why(
    models: list[str],
    options: dict[str, object],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LmprobeError, match=message):
        subjects(models, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("revision", "step"),
    [
        ("step1000", 1000),
        ("stage1-step5000-tokens21B", 5000),
        ("checkpoint-3", 3),
        ("main", None),
        ("2024-05-01", None),
        ("8f9d3c2b1a0e8f9d3c2b1a0e8f9d3c2b1a0e8f12", None),
    ],
)
def test_the_step_of_a_revision(revision: str, step: int | None) -> None:
    (result,) = subjects(["acme/bert"], revisions=[revision])
    assert (result.label, result.revision) == (f"acme/bert@{revision}", revision)
    assert (result.step, result.run) == (step, None if step is None else "acme/bert")


def test_a_job_has_one_name_and_every_change_another() -> None:
    options = {"seed": 0, "cache": True}
    job = ProbeJob(Subject("m", "m"), "fitbert", ("labor",), options, {"dtype": "float32"})
    assert ProbeJob.from_json(job.to_json()) == job
    assert ProbeJob.from_json(job.to_json()).key == job.key
    assert replace(job, probe={"cache": True, "seed": 0}).key == job.key
    others = [
        replace(job, templates="neutral"),
        replace(job, base=("labor", "uniform")),
        replace(job, probe={"seed": 1}),
        replace(job, model={"dtype": "float64"}),
        replace(job, subject=Subject("m", "m", revision="x")),
        replace(job, identity="changed"),
    ]
    assert len({job.key, *(other.key for other in others)}) == 7


def test_a_changed_folder_has_another_identity(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    before = file_states(str(tmp_path))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "events").write_text("of the training, not of the model")
    assert file_states(str(tmp_path)) == before
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    assert file_states(str(tmp_path)) != before
    assert file_states("acme/bert") == []
