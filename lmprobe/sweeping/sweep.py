"""Probes many models on many template sets: each probe is kept as it ends.

A sweep that was killed goes on where it stopped, and a model that fails stops nothing. The
result does not depend on the engine, the number of workers or the order in which probes end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmprobe.errors import InputError, LmprobeError
from lmprobe.io.progress import Progress, silent
from lmprobe.io.scratch import ScratchFolder
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import ModelSettings, ProbeSettings
from lmprobe.results.settings import from_mapping, options_of, refuse_unknown
from lmprobe.sources import load_base_rates
from lmprobe.sweeping.engines.engine import sweep_engines
from lmprobe.sweeping.jobs import Job, identity, subjects
from lmprobe.sweeping.result import Failure, SweepResult
from lmprobe.sweeping.settings import SweepSettings
from lmprobe.sweeping.summary import Entry, summarise
from lmprobe.templates import load_templates

PROBES = "probes"
"""The sub-folder of a sweep's output that keeps each probe."""


def sweep(
    models: str | Path | Sequence[str | Path],
    templates: str | Path | Sequence[str | Path] = ("fitbert",),
    base: str | Path | Sequence[str | Path] = ("labor",),
    *,
    engine: str = SweepSettings.engine,
    workers: int = SweepSettings.workers,
    output: str | Path | None = None,
    revisions: Sequence[str] | None = SweepSettings.revisions,
    checkpoints: str | Path | None = SweepSettings.checkpoints,
    runs: bool = SweepSettings.runs,
    progress: Progress = silent,
    **options: Any,
) -> SweepResult:
    """Probe every model on every template set against every base.

    Parameters
    ----------
    models
        Hub ids, folders, `.gguf` files, bundled models, or text files that list such names.
    templates, base
        Template sets and base rates, each a name or a path, or a list of them.
    engine, workers
        `local` runs probes in `workers` processes on this machine, with one thread each on a CPU
        and one process per GPU; `ray` runs them as tasks of a Ray cluster.
    output
        The folder in which each probe is saved when it ends; the same call continues where an
        interrupted one stopped.
    revisions, checkpoints
        Revisions at which to probe each model; or a folder of checkpoints of one training run.
    runs
        The models are training runs of one model: their mean is reported too (`.run_means`), with
        an interval over runs beside the one over templates.
    progress
        Called with (done, total) probes.
    **options
        Any option of `probe` (such as `attributes`, `scorer`, `confidence`, `seed`) and of
        `load_model` (such as `device`, `dtype`, `kind`).
    """
    settings = SweepSettings(
        revisions=revisions,  # type: ignore[arg-type]
        checkpoints=None if checkpoints is None else str(checkpoints),
        runs=runs,
        engine=engine,
        workers=workers,
    )
    if settings.workers < 1:
        raise InputError(f"`workers` must be at least 1, found {workers}")
    run = sweep_engines.get(settings.engine)
    probing, loading = _options(options)
    jobs = _jobs(_listed(models), _listed(templates), _listed(base), settings, probing, loading)
    with ScratchFolder() as temporary:
        folder = Path(temporary if output is None else output) / PROBES
        errors = _run(run, jobs, folder, settings.workers, progress)
        entries = _entries(jobs, folder, errors)
    failures = [
        Failure(job.subject.label, job.templates, errors[job.key])
        for job in jobs
        if job.key in errors
    ]
    if not entries:
        raise LmprobeError(f"no model of the sweep could be probed; the first: {failures[0].error}")
    chosen = from_mapping(ProbeSettings, probing)
    return summarise(
        entries,
        failures=failures,
        settings={
            "templates": list(dict.fromkeys(job.templates for job in jobs)),
            "base": list(jobs[0].base),
            **{name: value for name, value in settings.to_dict().items() if name in _DECIDING},
            **chosen.to_dict(),
        },
        confidence=chosen.confidence,
        seed=chosen.seed,
        runs=settings.runs,
    )


# Where a sweep ran does not belong to its result: any engine gives the same bytes.
_DECIDING = ("revisions", "checkpoints", "runs")


def _listed(given: str | Path | Sequence[str | Path]) -> list[str]:
    several = [given] if isinstance(given, str | Path) else list(given)
    for one in several:
        if not isinstance(one, str | Path):
            raise InputError(
                f"a sweep takes names and paths, which its workers can read; found {one!r}"
            )
    return [str(one) for one in several]


def _options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of the probes and of loading the models, checked."""
    kinds = (ProbeSettings, ModelSettings)
    known = [{option.name for option in options_of(kind)} for kind in kinds]
    known[0].add("cache")
    refuse_unknown("sweep", options, known[0] | known[1])
    parts = [{name: value for name, value in options.items() if name in one} for one in known]
    for kind, values in zip(kinds, parts, strict=True):
        from_mapping(kind, values)
    # A subject brings its own revision.
    parts[1].pop("revision", None)
    return parts[0], parts[1]


def _jobs(
    models: list[str],
    templates: list[str],
    base: list[str],
    settings: SweepSettings,
    probing: Mapping[str, Any],
    loading: Mapping[str, Any],
) -> list[Job]:
    """Return every probe; a mistake in a set or a table is found before any model is loaded."""
    for name in templates:
        load_templates(name)
    for name in base:
        load_base_rates(name)
    found = subjects(models, revisions=settings.revisions or (), checkpoints=settings.checkpoints)
    return [
        Job(subject, one, tuple(base), dict(probing), dict(loading), identity(subject.model))
        for subject in found
        for one in templates
    ]


def _run(
    run: Any, jobs: Sequence[Job], folder: Path, workers: int, progress: Progress
) -> dict[str, str]:
    """Run the jobs that are not kept yet; return the errors of those that failed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"cannot write to {folder}: {problem.strerror}") from problem
    waiting = [job for job in jobs if _kept(job, folder) is None]
    for job in waiting:
        # What is there and cannot be read is damaged.
        (folder / f"{job.key}.json").unlink(missing_ok=True)
    done = len(jobs) - len(waiting)
    progress(done, len(jobs))
    errors = {}
    if waiting:
        for outcome in run(waiting, folder, workers=workers):
            done += 1
            progress(done, len(jobs))
            if outcome.error is not None:
                errors[outcome.job.key] = outcome.error
    for unfinished in folder.glob(".*.json.*"):
        # A process that was killed while it wrote leaves the temporary file behind.
        unfinished.unlink(missing_ok=True)
    return errors


def _entries(jobs: Sequence[Job], folder: Path, errors: Mapping[str, str]) -> list[Entry]:
    entries = []
    for job in jobs:
        if job.key not in errors:
            result = _kept(job, folder)
            assert result is not None, job.key
            entries.append(Entry(job.subject, load_templates(job.templates).name, result))
    return entries


def _kept(job: Job, folder: Path) -> ProbeResult | None:
    """Return the probe that was kept; a damaged file is made anew."""
    try:
        return ProbeResult.from_json(folder / f"{job.key}.json")
    except LmprobeError:
        return None
