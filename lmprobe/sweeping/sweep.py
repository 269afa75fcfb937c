"""Probes many models on many template sets; each probe is saved when it ends.

A sweep that was killed continues where it stopped, and a model that fails stops nothing. The
result does not depend on the engine, the number of workers or the order in which probes end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lmprobe.errors import Argument, InputError, LmprobeError, shortened
from lmprobe.io.files import check_folder, remove_leftovers
from lmprobe.io.work import Progress, silent
from lmprobe.models import find_kind, load_model
from lmprobe.models.kind import default_templates, template_set_of
from lmprobe.models.kinds.served import SERVED
from lmprobe.models.load import evident_kind, own_choices
from lmprobe.probing.probe import base_for, defaults_of, resolved
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import ModelSettings, ProbeSettings
from lmprobe.results.settings import from_mapping, options_of, refuse_unknown
from lmprobe.sources.load import find_source
from lmprobe.sweeping.engines import SweepEngine, sweep_engines
from lmprobe.sweeping.jobs import (
    ProbeJob,
    Subject,
    SweepSettings,
    base_facts,
    file_states,
    identity,
    longest_first,
    refuse_twice,
    subjects,
)
from lmprobe.sweeping.result import Failure, SweepResult
from lmprobe.sweeping.summary import SubjectProbe, summarise
from lmprobe.sweeping.worker import probe_path
from lmprobe.templates import AnySet, load_templates

OWN = ""
"""The template set of a job whose model has templates of its own."""
PROBES = "probes"
"""The sub-folder of a sweep's output that has the probes."""


def sweep(
    models: str | Path | Sequence[str | Path],
    templates: str | Path | Sequence[str | Path] | None = None,
    base: str | Path | Sequence[str | Path] | None = None,
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
        Template sets and base rates, each a name or a path, or a list of them. By default all
        models have the set `fitbert`, or `everyday` if any of them is causal (tables of answers
        alone have their own); each set is compared with the default base of `probe`.
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
    run = sweep_engines.get(settings.engine)
    if output is not None:
        check_folder(Path(output))
    probing, loading = _options(options)
    if loading.revision is not None:
        if settings.revisions:
            raise InputError(
                "give ", Argument("revision"), " or ", Argument("revisions"), ", not both"
            )
        settings = replace(settings, revisions=(loading.revision,))
    names = _listed(models)
    members = subjects(names, revisions=settings.revisions or (), checkpoints=settings.checkpoints)
    sets = _listed(_default_templates(members, loading.kind) if templates is None else templates)
    if sets == [OWN]:
        loaded = _own_templates(members, loading, probing)
    else:
        loaded = dict(zip(sets, _template_sets(sets, probing), strict=True))
    cache = bool(options.get("cache", True))
    named = None if base is None else _listed(base)
    bases = {name: named or [base_for(template_set)] for name, template_set in loaded.items()}
    jobs = _jobs(members, loaded, bases, probing, loading, cache=cache)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary if output is None else output) / PROBES
        ordered = longest_first(jobs, loaded)
        results, errors = _run(run, ordered, folder, settings.workers, progress)
    # Sets with different defaults have no list of bases in common, and the default is none.
    shared = next(iter(bases.values())) if len(set(map(tuple, bases.values()))) == 1 else []
    failures = [
        Failure(job.subject.label, job.templates, errors[job.key])
        for job in jobs
        if job.key in errors
    ]
    if not results:
        raise LmprobeError(f"no model of the sweep could be probed; the first: {failures[0].error}")
    return summarise(
        [
            SubjectProbe(job.subject, _set_of(job, loaded).name, results[job.key])
            for job in jobs
            if job.key in results
        ],
        failures=failures,
        settings={
            **{"models": names, "templates": list(filter(None, sets)), "base": shared},
            **{name: value for name, value in settings.to_dict().items() if name in _DECIDING},
            **{name: value for name, value in loading.to_dict().items() if name != "revision"},
            **probing.to_dict(),
        },
        confidence=probing.confidence,
        seed=probing.seed,
        runs=settings.runs,
    )


# Where a sweep ran does not belong to its result: any engine gives the same bytes.
_DECIDING = ("revisions", "checkpoints", "runs")


def _listed(given: str | Path | Sequence[str | Path]) -> list[str]:
    several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for name in several:
        if not isinstance(name, str | Path):
            raise InputError(
                f"a sweep takes names and paths, which its workers can read; found "
                f"{shortened(repr(name), 60)}"
            )
    return [str(name) for name in several]


def _options(options: Mapping[str, Any]) -> tuple[ProbeSettings, ModelSettings]:
    """Return the choices of the probes and of loading the models, checked."""
    kinds = (ProbeSettings, ModelSettings)
    names = {option.name for kind in kinds for option in options_of(kind)}
    refuse_unknown("sweep", options, names | {"cache"})
    values = dict(options)
    if isinstance(values.get("batch_size"), int):
        values["batch_size"] = str(values["batch_size"])
    return from_mapping(ProbeSettings, values), from_mapping(ModelSettings, values)


def _default_templates(models: Sequence[Subject], kind: str) -> str:
    """Return the set for all models; one that cannot be read fails when it is probed."""
    names = []
    for subject in models:
        with suppress(LmprobeError, OSError):
            names.append(find_kind(subject.model, kind=kind, revision=subject.revision))
    return default_templates(*names)


def _template_sets(names: Sequence[str], probing: ProbeSettings) -> list[AnySet]:
    """Return the sets of the words to compare; raise if one is given twice or lacks a word."""
    sets = [resolved(probing, load_templates(name))[1] for name in names]
    refuse_twice("template set", [template_set.name for template_set in sets])
    return sets


def _own_templates(
    models: Sequence[Subject], loading: ModelSettings, probing: ProbeSettings
) -> dict[str, AnySet]:
    """Return the templates of tables of answers, by the table; those of another layout are others.

    Models are ranked within one set, so equal templates have one name.
    """
    sets: dict[str, AnySet] = {}
    names: dict[str, str] = {}
    for subject in models:
        model = load_model(subject.model, kind=loading.kind, values=loading.values)
        own = template_set_of(model, None, probing.attributes)
        name = names.setdefault(own.sha256, f"{own.name}{f' {len(names) + 1}' if names else ''}")
        sets[subject.model] = replace(resolved(probing, own)[1], name=name)
    return sets


def _set_of(job: ProbeJob, sets: Mapping[str, AnySet]) -> AnySet:
    return sets[job.templates or job.subject.model]


def _jobs(
    models: Sequence[Subject],
    sets: Mapping[str, AnySet],
    bases: Mapping[str, list[str]],
    probing: ProbeSettings,
    loading: ModelSettings,
    *,
    cache: bool,
) -> list[ProbeJob]:
    """Return every probe; a mistake in a name or a table is found before a model is loaded.

    What the names stand for is part of each job: an edited file gets a new key.
    """
    for names in bases.values():
        refuse_twice("base", [find_source(name).name for name in names])
    sources: dict[str, list[Any]] = {}
    for name, names in bases.items():
        facts = defaults_of(sets[name])
        named = filter(None, (*names, probing.lean, facts.get("lean")))
        sources[name] = [*map(base_facts, named), *([dict(facts)] if facts else [])]
    tokenizer = file_states(loading.tokenizer) if loading.tokenizer else []
    load = {name: value for name, value in loading.to_dict().items() if name != "revision"}
    own = {subject: own_choices(subject.model, load) for subject in models}
    states = {subject: _state(subject.model, own[subject]) for subject in models}
    # The templates of recorded answers are no set for all models.
    of_model = {name for name, words in sets.items() if getattr(words, "of_model", False)}
    return [
        ProbeJob(
            subject,
            OWN if name in of_model else name,
            tuple(bases[name]),
            {**probing.to_dict(), "cache": cache},
            own[subject],
            identity(states[subject], tokenizer, template_set.sha256, sources[name]),
        )
        for subject in models
        for name, template_set in sets.items()
        if name not in of_model or name == subject.model
    ]


def _state(model: str, load: Mapping[str, Any]) -> Any:
    """Return what changes with the files of a model, or with the answers of a server."""
    if evident_kind(model) == SERVED:
        # One that cannot be reached fails when it is probed.
        with suppress(LmprobeError):
            return load_model(model, **load).content_hash
    return file_states(model)


def _run(
    run: SweepEngine, jobs: Sequence[ProbeJob], folder: Path, workers: int, progress: Progress
) -> tuple[dict[str, ProbeResult], dict[str, str]]:
    """Run the jobs that are not saved yet; return the results and the errors, by the job's key."""
    folder.mkdir(parents=True, exist_ok=True)
    results, errors, waiting = {}, {}, []
    for job in jobs:
        try:
            results[job.key] = ProbeResult.from_json(probe_path(job, folder))
        except LmprobeError:
            # What is there and cannot be read is damaged.
            probe_path(job, folder).unlink(missing_ok=True)
            waiting.append(job)
    progress(len(results), len(jobs))
    for outcome in run(waiting, folder, workers=workers) if waiting else ():
        key = outcome.job.key
        if outcome.error is not None:
            errors[key] = outcome.error
        else:
            results[key] = ProbeResult.from_json(probe_path(outcome.job, folder))
        progress(len(results) + len(errors), len(jobs))
    remove_leftovers(folder)
    return results, errors
