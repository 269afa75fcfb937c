"""The template set and the base that a model is probed with if none is named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from lmprobe import compare, language_leakage, load_templates, probe, sweep
from lmprobe.errors import InputError
from lmprobe.models import find_kind
from lmprobe.models.checkpoint import find_checkpoint
from lmprobe.probing.settings import run_again
from lmprobe.sweeping.engines import JobOutcome, sweep_engines
from lmprobe.sweeping.jobs import ProbeJob
from lmprobe.sweeping.worker import Prober
from tests.checkpoints import own_cache

__all__ = ["own_cache"]

MASKED, OTHER, CAUSAL = (
    f"reference:{name}" for name in ("faithful", "amplified", "causal-faithful")
)
FEW: dict[str, Any] = {"tasks": ["nurse", "cook", "lawyer"], "interval": "t"}


@pytest.mark.parametrize(("model", "name"), [(MASKED, "fitbert"), (CAUSAL, "everyday")])
def test_each_kind_has_its_own_and_the_command_names_it(model: str, name: str) -> None:
    result = probe(model, **FEW)
    assert result.provenance["templates"]["name"] == name
    assert f"--templates {name} " in run_again(result)
    leaks = language_leakage(model, **FEW)
    assert leaks.provenance["template_set"] == name


def test_the_default_sets_have_the_same_words() -> None:
    """`ProbeCallback` checks the words that it is given before it knows the model."""
    sets = [load_templates(name) for name in ("fitbert", "everyday")]
    assert sets[0].tasks == sets[1].tasks
    assert sets[0].all_attributes == sets[1].all_attributes


@pytest.mark.parametrize(
    ("models", "name"), [((MASKED, OTHER), "fitbert"), ((MASKED, CAUSAL), "everyday")]
)
def test_models_that_are_compared_have_one_set(models: tuple[str, str], name: str) -> None:
    probes = compare(models, **FEW).provenance["probes"]
    assert [facts["templates"]["name"] for facts in probes] == [name, name]


def test_a_model_is_compared_with_a_saved_result_on_the_set_of_the_result(tmp_path: Path) -> None:
    probe(MASKED, "neutral", **FEW).save(tmp_path)
    for models in ((tmp_path, CAUSAL), (OTHER, probe(MASKED, "neutral", **FEW))):
        probes = compare(models, **FEW).provenance["probes"]
        assert [facts["templates"]["name"] for facts in probes] == ["neutral", "neutral"]


@pytest.fixture
def inline(own_registries: None) -> str:
    """An engine without processes of its own, which take seconds to start."""

    @sweep_engines.register("inline")
    def run(jobs: Sequence[ProbeJob], folder: Path, *, workers: int) -> Iterator[JobOutcome]:
        prober = Prober()
        for job in jobs:
            yield JobOutcome(job, prober.run(job, folder))

    return "inline"


@pytest.mark.parametrize(
    ("models", "name"),
    [((MASKED, OTHER), "fitbert"), ((MASKED, CAUSAL), "everyday"), ((MASKED, "./none"), "fitbert")],
)
def test_all_models_of_a_sweep_have_one_set(
    inline: str, models: tuple[str, str], name: str
) -> None:
    result = sweep(models, engine=inline, **FEW)
    assert result.provenance["settings"]["templates"] == [name]
    assert {row.templates for row in result.rows} == {name}
    assert len(result.failures) == models.count("./none")


TRAITS: dict[str, Any] = {"tasks": ["polite", "lazy"], "interval": "t"}


def test_the_base_is_labor_and_uniform_for_tasks_that_are_not_occupations(inline: str) -> None:
    saved = probe(MASKED, "neutral", **FEW)
    assert [row.base for row in saved.rows] == ["labor"] * 2
    assert "--base labor" in run_again(saved)
    assert {row.base for row in probe(MASKED, "ages", **TRAITS).rows} == {"uniform"}
    assert {row.base for row in compare([MASKED, OTHER], "ages", **TRAITS).rows} == {"uniform"}
    assert language_leakage(MASKED, "neutral", **FEW).provenance["base"] == "labor"
    swept = sweep([MASKED], ["ages", "neutral"], engine=inline, interval="t")
    assert {(row.templates, row.base) for row in swept.rows} == {
        ("ages", "uniform"), ("neutral", "labor"),
    }  # fmt: skip
    # Named, a base that cannot serve is an error.
    with pytest.raises(
        InputError, match=r"have none of the tasks \(polite, lazy\); its own tasks are"
    ):
        probe(MASKED, "ages", "labor", **TRAITS)


@pytest.mark.parametrize(("model", "kind"), [(MASKED, "masked"), (CAUSAL, "causal")])
def test_the_kind_of_a_hub_id_is_known_without_its_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str, kind: str
) -> None:
    config = find_checkpoint(model).folder / "config.json"
    (tmp_path / config.name).write_bytes(config.read_bytes())
    queried: list[list[str]] = []

    def fetch(name: str, *, allow_patterns: list[str], **options: Any) -> str:
        queried.append(allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    assert find_kind("org/name") == kind
    assert queried == [["config.json"]]
