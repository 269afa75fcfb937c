"""Ray Data gives the same counts to the last sentence, also when a worker is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmprobe.corpus.count import count
from lmprobe.corpus.lexicon import lexicon
from lmprobe.corpus.plan import plan
from lmprobe.errors import InputError

pytest.importorskip("ray", reason="the extra `ray` is not installed")

WORDS = lexicon({"he": ["he"], "she": ["she"]}, ["cook", "editor"])
TEXT = "He is a cook. She was an editor.\nShe saw the cook – he ran.\nShe is a cook.\n" * 40

# A rule of another package that kills the process which uses it first.
DEADLY = """
import os, signal
from pathlib import Path
from lmprobe.corpus.rules.word import WordRule

class Deadly(WordRule):
    def pairs(self, block):
        marker = Path(os.environ["LMPROBE_TEST_MARKER"])
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().pairs(block)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own, in its threads and at its end
@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("own_registries")
def test_ray_counts_the_same_and_survives_a_killed_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    file = tmp_path / "text.txt"
    file.write_text(TEXT)
    expected = count(plan(file, part=500), WORDS).counts.tolist()
    package = tmp_path / "package"
    info = package / "deadly-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "deadly.py").write_text(DEADLY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lmprobe.rules]\ndeadly = deadly:Deadly\n")
    monkeypatch.syspath_prepend(package)
    monkeypatch.setenv("PYTHONPATH", str(package))
    monkeypatch.setenv("LMPROBE_TEST_MARKER", str(tmp_path / "killed"))
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        found = count(plan(file, part=500), WORDS, rule="deadly", engine="ray", workers=2)
        assert ray.is_initialized()
    finally:
        ray.shutdown()
    assert (tmp_path / "killed").exists()
    assert found.counts.tolist() == expected


def test_ray_counts_files_only() -> None:
    with pytest.raises(InputError, match='use the engine "local" for a stream'):
        count(plan([TEXT]), WORDS, engine="ray")
