"""Compares models on the same templates, tasks and bases: paired, always, cell by cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe import __version__
from lmprobe.errors import Argument, InputError
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.direction import Pairs
from lmprobe.models import find_kind, load_model
from lmprobe.models.kind import default_templates
from lmprobe.models.kinds.recorded import RECORDED
from lmprobe.models.load import evident_kind
from lmprobe.probing.comparison import ComparisonResult, ComparisonRow, PairedRow, compare_results
from lmprobe.probing.probe import Base, Templates, probe
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import CompareSettings, ProbeSettings, source_option, templates_option
from lmprobe.results import Note, NoteKind
from lmprobe.results.document import RESULT_FILE
from lmprobe.results.format import every
from lmprobe.results.settings import refuse_unknown
from lmprobe.stats.comparison import adjusted, task_differences
from lmprobe.stats.verdicts import IntervalSettings

Compared = Any
"""A `ProbeResult`, its JSON file or the folder of its run, or a model as `probe` takes it."""


def compare(
    models: Sequence[Compared],
    templates: Templates | None = None,
    base: Base | Sequence[Base] | None = None,
    *,
    pairs: Pairs = CompareSettings.pairs,
    margin: float | None = CompareSettings.margin,
    values: str | None = CompareSettings.values,
    lean: Base | None = CompareSettings.lean,
    cache: bool = True,
    progress: Progress = silent,
    **options: Any,
) -> ComparisonResult:
    """Compare models, or saved results, by paired differences.

    Parameters
    ----------
    models
        At least two of: models as `probe` takes them, `ProbeResult` objects, files or folders.
    templates, base, lean
        For models, as in `probe`; a saved result has its own. By default those of a saved result
        among them, else the set is "fitbert" if all models are masked or "everyday".
        Tables of answers have templates of their own; beside models they are read on the set.
    pairs
        `first` compares every other model with the first, `all` compares all pairs.
    margin
        Test for equivalence: whether the models differ by less than this.
    values
        What the numbers of answer tables are, as in `load_model`.
    cache, progress
        As in `probe`.
    **options
        Any other option of `probe`. `interval`, `resample`, `confidence`, `simultaneous` and
        `seed` are those of the differences; the others, such as `attributes` and `scorer`, are
        for models only.

    Notes
    -----
    The difference is the value of the second model minus that of the first. A model about which no
    verdict is possible, such as an uninformed one, is listed and not compared. The p-values are
    those of a two-way test, in which templates and tasks both vary, adjusted by Holm over all rows;
    those of tasks are adjusted over all tasks of all rows. `flips` of a row is the share of cells
    (template and task) in which the favoured group changes, with an interval of its own, whatever
    `simultaneous` says.
    """
    refuse_unknown("compare", options, (field.name for field in fields(CompareSettings)))
    settings = CompareSettings(
        pairs=pairs,
        margin=margin,
        values=values,
        lean=lean if isinstance(lean, str) else None,
        **options,
    )
    if not isinstance(models, Sequence) or isinstance(models, str) or len(models) < 2:
        raise InputError("a comparison needs at least two models or results")
    if values is not None:
        models = [
            load_model(model, values=values) if evident_kind(model) == RECORDED else model
            for model in models
        ]
    if all(map(_is_saved, models)):
        _refuse_choices_of_models(templates, base, settings, lean)
    else:
        templates, base, lean = _shared(models, templates, base, lean)
        settings = replace(settings, lean=lean if isinstance(lean, str) else None)
    choices = {field.name: getattr(settings, field.name) for field in fields(ProbeSettings)}
    choices |= {"lean": lean, "cache": cache, "progress": progress}
    results = [_probed(model, templates, base, choices) for model in models]
    names = _names(models, results)
    numbers = itertools.combinations(range(len(results)), 2)
    rows = [
        compare_results(results[first], results[second], (names[first], names[second]), settings)
        for first, second in numbers
        if first == 0 or settings.pairs == "all"
    ]
    provenance = _provenance(names, models, results, settings)
    controlled = _family_wise(list(itertools.chain(*rows)), settings)
    return ComparisonResult(controlled, provenance)


def _is_saved(model: Compared) -> bool:
    if isinstance(model, ProbeResult):
        return True
    if not isinstance(model, str | Path):
        return False
    return str(model).endswith(".json") or (Path(model) / RESULT_FILE).is_file()


def _shared(
    models: Sequence[Compared], templates: Any, base: Any, lean: Any
) -> tuple[Any, Any, Any]:
    """Return the set, the bases and the lean for the models, by default those of a saved result."""
    saved = next((_probed(model, None, None, {}) for model in filter(_is_saved, models)), None)
    if saved is not None and base is None:
        base = [source_option(name) for name in dict.fromkeys(row.base for row in saved.rows)]
    if saved is not None and lean is None:
        named = saved.provenance.get("settings", {}).get("lean")
        lean = named and source_option(named)
    if templates is None:
        templates = (
            default_templates(*map(find_kind, models))
            if saved is None
            else templates_option(saved.provenance["templates"])
        )
        # Recorded answers have templates of their own.
        templates = templates or None
    return templates, base, lean


def _probed(model: Compared, templates: Any, base: Any, choices: dict[str, Any]) -> ProbeResult:
    """Return the probe that was given, or read it, or make it."""
    if isinstance(model, ProbeResult):
        return model
    if _is_saved(model):
        return ProbeResult.from_json(model)
    return probe(model, templates, base, **choices)


# What is chosen for the comparison itself and not for the probes.
_OWN = ("pairs", "margin", *(field.name for field in fields(IntervalSettings)))


def _refuse_choices_of_models(
    templates: Any, base: Any, settings: CompareSettings, lean: Any
) -> None:
    """Refuse what saved results cannot take: they have what they were made with."""
    arguments = {"templates": templates, "base": base, "lean": lean}
    given = [name for name, value in arguments.items() if value is not None]
    given += [
        field.name
        for field in fields(settings)
        if field.name not in (*_OWN, "lean") and getattr(settings, field.name) != field.default
    ]
    if given:
        names = [part for name in given for part in (", ", Argument(name))]
        raise InputError(*names[1:], ": for models only; a saved result has those it was made with")


def _given(models: Sequence[Compared], names: list[str]) -> list[str]:
    """Return what each model was given as, or its name if it is an object."""
    return [
        str(model) if isinstance(model, str | Path) else name
        for model, name in zip(models, names, strict=True)
    ]


def _names(models: Sequence[Compared], results: Sequence[ProbeResult]) -> list[str]:
    """Return a name for each: its model, file or dtype where these differ, else a number."""
    names = [str(result.provenance["model"]) for result in results]
    if len(set(names)) < len(names):
        names = _given(models, names)
    if len(set(names)) < len(names):
        dtypes = [result.provenance.get("dtype") for result in results]
        if len(set(dtypes)) == len(names):
            names = [f"{name} ({dtype})" for name, dtype in zip(names, dtypes, strict=True)]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({number})" for number, name in enumerate(names, start=1)]


def _provenance(
    names: list[str],
    models: Sequence[Compared],
    results: Sequence[ProbeResult],
    settings: CompareSettings,
) -> dict[str, Any]:
    facts = ("model", "revision", "content_hash", "scorer", "templates", "settings", "dtype")
    return {
        "names": names,
        "given": _given(models, names),
        "saved": [_is_saved(model) for model in models],
        "probes": [
            {key: result.provenance.get(key) for key in facts}
            | {"bases": list(dict.fromkeys(row.base for row in result.rows))}
            for result in results
        ],
        "settings": settings.to_dict(),
        "versions": {"lmprobe": __version__},
    }


def _family_wise(
    compared: Sequence[PairedRow], settings: CompareSettings
) -> tuple[ComparisonRow, ...]:
    """Return the rows with p-values adjusted by Holm, and joint intervals where asked for.

    The rows are one family and all tasks of all rows another: a claim about a task is not one
    about the model.
    """
    rows = [row for row, _ in compared]
    if settings.simultaneous:
        confidence = settings.each([tables.number for _, tables in compared if tables is not None])
        rows = [
            row
            if tables is None
            else replace(
                row, interval=settings.interval_of(tables.number, confidence, tables.bound)
            )
            for row, tables in compared
        ]
    p_values = adjusted(np.array([row.p_value_unadjusted for row in rows]), "holm")
    p_equivalence = [math.nan if row.p_equivalence is None else row.p_equivalence for row in rows]
    same = adjusted(np.array(p_equivalence), "holm")
    tasks = task_differences(
        [{} if tables is None else tables.tasks for _, tables in compared], settings.confidence
    )
    return tuple(
        replace(
            row,
            p_value=float(p),
            p_equivalence=None if row.margin is None else float(equivalent),
            tasks=moved,
            notes=(*row.notes, *_multiplicity_notes(len(rows), settings)),
        )
        for row, p, equivalent, moved in zip(rows, p_values, same, tasks, strict=True)
    )


def _multiplicity_notes(rows: int, settings: CompareSettings) -> tuple[Note, ...]:
    if rows < 2:
        return ()
    text = f"p-values are adjusted by Holm: over {every(rows, 'row')}, and over all tasks of them"
    if settings.simultaneous:
        text += f"; {every(rows, 'interval')} of differences have their confidence simultaneously"
    return (Note(NoteKind.MULTIPLICITY, text),)
