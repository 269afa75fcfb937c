"""What an experiment is, the registry that finds one by name, and how it is run."""

from __future__ import annotations

from typing import Protocol

from lmprobe.io.work import Progress, silent
from lmprobe.registry import Registry
from lmprobe.reproduce.result import Reproduction, ReproductionSet
from lmprobe.reproduce.settings import ExperimentSettings


class Experiment(Protocol):
    """Runs a published experiment; the docstring's first line is what a listing shows."""

    def __call__(self, settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
        """Return ours beside the paper's."""
        ...


experiments: Registry[Experiment] = Registry("experiments", "lmprobe.reproduce")

experiment = experiments.register
"""Return a decorator that registers an experiment under a name."""


def in_order() -> tuple[str, ...]:
    """Return the names of all experiments in the order in which they are shown."""
    first = ("fitbert", "fitbert-iclr")
    return (*first, *(name for name in experiments.names() if name not in first))


def reproduce(
    name: str, settings: ExperimentSettings | None = None, *, progress: Progress = silent
) -> Reproduction:
    """Run a published experiment again.

    >>> result = reproduce("shortcomings")
    >>> result.rows[0].name, result.rows[0].paper
    ('1: three groups: MALS', 0.0)
    """
    return experiments.get(name)(settings or ExperimentSettings(), progress)


def reproduce_all(
    settings: ExperimentSettings | None = None, *, progress: Progress = silent
) -> ReproductionSet:
    """Run every experiment again."""
    results = (reproduce(name, settings, progress=progress) for name in in_order())
    return ReproductionSet(tuple(results))
