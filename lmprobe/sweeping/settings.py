"""The choices of a sweep, apart from those of each probe."""

from __future__ import annotations

from dataclasses import dataclass

from lmprobe.errors import InputError
from lmprobe.results.settings import Settings, setting


@dataclass(frozen=True)
class SweepSettings(Settings):
    """Which models, and where they are probed."""

    revisions: tuple[str, ...] | None = setting(
        None, "Probe each model at these revisions, such as step1000,step2000,main."
    )
    checkpoints: str | None = setting(
        None, "A folder of checkpoints of one training run, such as checkpoint-500."
    )
    runs: bool = setting(
        False, "The models are training runs of one model: also report their mean over runs."
    )
    engine: str = setting("local", "Where the probes run: see `lmprobe ls sweep_engines`.")
    workers: int = setting(1, "Number of probes that run in parallel.", minimum=1)

    def __post_init__(self) -> None:
        """Check that the choices go together."""
        Settings.__post_init__(self)
        if self.runs and self.checkpoints:
            raise InputError("the checkpoints of a folder are steps of one run: give --runs models")
