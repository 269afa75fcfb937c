"""Counts, tables and sweeps on Ray equal those of one machine; Ray starts once for all tests."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lmprobe
from lmprobe.errors import DataFileError, InputError
from lmprobe.io.work import ray_session
from lmprobe.sources.counting.corpus import plan
from lmprobe.sources.counting.count import count
from lmprobe.sources.counting.lexicon import lexicon
from lmprobe.sweeping.result import SweepResult
from tests.checkpoints import save_checkpoint

pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own, in its threads and at its end
]

WORDS = lexicon({"he": ["he"], "she": ["she"]}, ["cook", "editor"])
TEXT = "He is a cook. She was an editor.\nShe saw the cook – he ran.\nShe is a cook.\n" * 40

# A rule of another package that kills the process which uses it first.
DEADLY = """
import os, signal
from pathlib import Path
from lmprobe.sources.counting.rules import WordRule

class Deadly(WordRule):
    def pairs(self, block):
        marker = Path(os.environ["LMPROBE_TEST_MARKER"])
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().pairs(block)
"""

# A kind of model that notes each load, and kills its process over texts: "deadly" the first time,
# "fatal" every time.
COUNTED = """
import os, signal
from pathlib import Path
from lmprobe.models.kinds.masked import MaskedModel

MARKER = Path(os.environ["LMPROBE_TEST_MARKER"])

class Counted(MaskedModel):
    kind = "counted"

    @classmethod
    def class_of(cls, config):
        return super().class_of(config) if hasattr(config, "counted") else None

    def __init__(self, weights, **options):
        with MARKER.with_name("loads").open("a") as loads:
            print(os.getpid(), Path(weights.name).name, file=loads)
        super().__init__(weights, **options)

    def encode(self, clozes):
        marker, text = MARKER.with_name("killed over a set"), clozes[0].text
        if "fatal" in text or ("deadly" in text and not marker.exists()):
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(clozes)
"""

SET = """
name = "{name}"
description = "x"
source = "x"
language = "en"
attribute = "pronoun"
task = "occupation"
sentences = [{sentences}]
[slots]
pronoun = {{ lexicon = "pronouns" }}
occupation = ["nurse", "baker", "lawyer"]
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an installed package that counts and kills."""
    folder = tmp_path_factory.mktemp("package")
    info = folder / "deadly-1.0.dist-info"
    info.mkdir()
    (folder / "deadly.py").write_text(DEADLY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly\nVersion: 1.0\n")
    (folder / "counted.py").write_text(COUNTED)
    (info / "entry_points.txt").write_text(
        "[lmprobe.rules]\ndeadly = deadly:Deadly\n[lmprobe.kinds]\ncounted = counted:Counted\n"
    )
    return folder


@pytest.fixture(scope="module", autouse=True)
def cluster(package: Path) -> Iterator[None]:
    """Start Ray on two processes that see this checkout and the package."""
    checkout = str(Path(lmprobe.__file__).parents[1])
    environment = {
        "PYTHONPATH": os.pathsep.join([str(package), checkout]),
        "LMPROBE_TEST_MARKER": str(package / "killed"),
        "LMPROBE_CACHE": os.environ["LMPROBE_CACHE"],
        "OMP_NUM_THREADS": "1",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        with ray_session(2, environment=environment):
            yield


@pytest.mark.usefixtures("own_registries")
def test_a_count_survives_a_killed_worker(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "text.txt"
    file.write_text(TEXT)
    local = count(plan(file, part=500), WORDS)
    monkeypatch.syspath_prepend(package)
    on_ray = count(plan(file, part=500), WORDS, rule="deadly", engine="ray", workers=2)
    assert (package / "killed").exists()
    assert on_ray.counts.tolist() == local.counts.tolist()


def test_a_stream_is_not_counted_by_ray() -> None:
    with pytest.raises(InputError, match='use the engine "local" for a stream'):
        count(plan([TEXT]), WORDS, engine="ray")


SOFT: dict[str, Any] = {
    "attribute": "sex",
    "task": "t0",
    "task_prediction": "soft",
    "weight": "weight",
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    draw = np.random.default_rng(2)
    n = 3000
    frame = pd.DataFrame(draw.integers(0, 2, (n, 4)), columns=["t0", "t1", "p0", "p1"])
    frame["sex"], frame["soft"] = draw.choice(["f", "m"], n), draw.random(n)
    frame["weight"], frame["person"] = draw.random(n), draw.integers(0, 300, n)
    for number in range(3):
        frame[number::3].to_csv(tmp_path / f"part{number}.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        {"attribute": "sex", "task": ["t0", "t1"], "task_prediction": ["p0", "p1"]},
        SOFT | {"cluster": "person"},
        SOFT | {"interval": None},
        SOFT,
    ],
    ids=["labels", "clusters", "value", "probabilities"],
)
def test_files_of_a_table_add_up(table: Path, options: dict[str, Any]) -> None:
    local, on_ray = (
        lmprobe.amplify(table, **options, engine=engine).to_dict()["rows"]
        for engine in ("local", "ray")
    )
    for row, other in zip(local, on_ray, strict=True):
        assert other["value"] == pytest.approx(row["value"], rel=1e-12)
        assert other["interval"]["low"] == pytest.approx(row["interval"]["low"], rel=1e-9)


def test_a_bad_file_of_a_table_is_named(table: Path) -> None:
    names = (table / "part0.csv").read_text().partition("\n")[0]
    (table / "part3.csv").write_text(f"{names}\n1,0,7,1,f,1.5,1,9\n")
    with pytest.raises(DataFileError, match=r"part3.csv: `soft` must lie in \[0, 1\]"):
        lmprobe.amplify(table, **SOFT, engine="ray")


def test_a_table_in_memory_is_not_counted_by_ray() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"], "t0": [0, 1], "soft": [0.1, 0.9], "weight": 1})
    with pytest.raises(InputError, match="counts files"):
        lmprobe.amplify(frame, **SOFT, engine="ray")


def test_a_sweep_gives_the_same_bytes(tmp_path: Path) -> None:
    models = [
        str(save_checkpoint(tmp_path / name, "Bert", initializer_range=size))
        for name, size in (("narrow", 0.2), ("wide", 0.4))
    ]
    local, on_ray = (
        lmprobe.sweep(
            [*models, str(tmp_path / "missing")],
            ["neutral"],
            ["labor"],
            tasks=["nurse", "baker", "lawyer"],
            engine=engine,
            cache=False,
        )
        for engine in ("local", "ray")
    )
    assert on_ray.to_json() == local.to_json()
    assert len(on_ray.failures) == 1


@pytest.fixture
def sweep(tmp_path: Path, package: Path) -> Callable[..., SweepResult]:
    """Return a sweep over the first models and some sets on Ray, which keeps its probes."""
    models = [str(save_checkpoint(tmp_path / name, counted=True)) for name in ("a", "b", "c")]
    (package / "loads").unlink(missing_ok=True)
    for name, number in (("deadly", 1), ("fatal", 2)):
        sentences = [f"{{pronoun}} is {{a:occupation}}, {name}{'!' * i}" for i in range(number)]
        listed = ", ".join(map(json.dumps, sentences))
        (tmp_path / f"{name}.toml").write_text(SET.format(name=name, sentences=listed))

    def run(number: int, *sets: str) -> SweepResult:
        return lmprobe.sweep(
            models[:number],
            [str(tmp_path / name) if name.endswith(".toml") else name for name in sets],
            output=tmp_path / "output",
            engine="ray",
            kind="counted",
            tasks=["nurse", "baker", "lawyer"],
            cache=False,
        )

    return run


def loads(package: Path) -> list[str]:
    """Return the names of the models in the order in which they were loaded."""
    return [line.split()[1] for line in (package / "loads").read_text().splitlines()]


def test_a_model_is_loaded_once_for_all_its_sets(
    package: Path, sweep: Callable[..., SweepResult]
) -> None:
    assert not sweep(3, "neutral", "fitbert", "everyday").failures
    assert sorted(loads(package)) == ["a", "b", "c"]


def test_a_model_whose_process_is_killed_is_loaded_again(
    package: Path, tmp_path: Path, sweep: Callable[..., SweepResult]
) -> None:
    killed = sweep(2, "neutral", "deadly.toml")
    assert (package / "killed over a set").exists()
    assert len(loads(package)) == 3
    assert not killed.failures
    assert len(list((tmp_path / "output" / "probes").iterdir())) == 4
    assert sweep(2, "neutral", "deadly.toml").to_json() == killed.to_json()
    assert len(loads(package)) == 3


def test_a_set_over_which_every_process_dies_costs_no_other_set(
    sweep: Callable[..., SweepResult],
) -> None:
    result = sweep(2, "fatal.toml", "neutral", "deadly.toml")
    assert {Path(failure.templates).name for failure in result.failures} == {"fatal.toml"}
    assert all("its Ray task failed" in failure.error for failure in result.failures)
    assert {row.templates for row in result.rows} == {"neutral", "deadly"}
