"""Compares models on the same templates, tasks and bases: paired, always."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmprobe import __version__
from lmprobe.core.choices import Pairs
from lmprobe.errors import InputError
from lmprobe.io.progress import Progress, silent
from lmprobe.probing.comparison import ComparisonResult
from lmprobe.probing.control import family_wise
from lmprobe.probing.paired import compare_results
from lmprobe.probing.probe import Base, probe
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import CompareSettings, ProbeSettings
from lmprobe.results.document import RESULT_FILE
from lmprobe.results.settings import refuse_unknown

if TYPE_CHECKING:
    from lmprobe.templates import TemplateSet

Compared = Any
"""A `ProbeResult`, its JSON file or the folder of its run, or a model as `probe` takes it."""


def compare(
    models: Sequence[Compared],
    templates: str | Path | TemplateSet | None = None,
    base: Base | Sequence[Base] | None = None,
    *,
    pairs: Pairs = CompareSettings.pairs,
    margin: float | None = CompareSettings.margin,
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
        For models, as in `probe`; by default "fitbert" and "labor". A saved result has its own.
    pairs
        `first` compares every other model with the first, `all` compares all pairs.
    margin
        Test for equivalence: whether the models differ by less than this.
    cache, progress
        As in `probe`.
    **options
        Any other option of `probe`. `interval`, `resample`, `confidence`, `simultaneous` and
        `seed` are those of the differences; the others, such as `attributes` and `scorer`, are
        for models only.

    Notes
    -----
    The difference is the value of the second model minus that of the first: a positive one means
    that the second amplifies more. The p-values are those of a two-way test, in which templates
    and tasks both vary, adjusted by Holm over all rows; those of tasks are adjusted over all tasks
    of all rows.
    """
    refuse_unknown("compare", options, (field.name for field in fields(CompareSettings)))
    settings = CompareSettings(
        pairs=pairs, margin=margin, lean=lean if isinstance(lean, str) else None, **options
    )
    if not isinstance(models, Sequence) or isinstance(models, str) or len(models) < 2:
        raise InputError("a comparison needs a list of at least two models or results")
    if all(map(_is_saved, models)):
        _refuse_choices_of_models(templates, base, settings, lean)
    choices = {field.name: getattr(settings, field.name) for field in fields(ProbeSettings)}
    choices |= {"lean": lean, "cache": cache, "progress": progress}
    results = [_probed(model, templates or "fitbert", base or "labor", choices) for model in models]
    names = _names(models, results)
    later = range(1, len(results))
    every = itertools.combinations(range(len(results)), 2)
    numbers = every if settings.pairs == "all" else ((0, number) for number in later)
    rows = [
        compare_results(results[first], results[second], (names[first], names[second]), settings)
        for first, second in numbers
    ]
    provenance = _provenance(names, models, results, settings)
    controlled = family_wise(list(itertools.chain(*rows)), results[0].families, settings)
    return ComparisonResult(controlled, provenance)


def _is_saved(model: Compared) -> bool:
    if isinstance(model, ProbeResult):
        return True
    if not isinstance(model, str | Path):
        return False
    return str(model).endswith(".json") or (Path(model) / RESULT_FILE).is_file()


def _probed(model: Compared, templates: Any, base: Any, choices: dict[str, Any]) -> ProbeResult:
    """Return the probe that was given, or read it, or make it."""
    if isinstance(model, ProbeResult):
        return model
    if _is_saved(model):
        return ProbeResult.from_json(model)
    return probe(model, templates, base, **choices)


# What is chosen for the comparison itself and not for the probes.
_OWN = ("pairs", "interval", "resample", "confidence", "simultaneous", "margin", "seed")


def _refuse_choices_of_models(
    templates: Any, base: Any, settings: CompareSettings, lean: Any
) -> None:
    """Refuse what saved results cannot take: they have what they were made with."""
    chosen = {"templates": templates, "base": base, "lean": lean}
    given = [name for name, value in chosen.items() if value is not None]
    given += [
        field.name
        for field in fields(settings)
        if field.name not in (*_OWN, "lean") and getattr(settings, field.name) != field.default
    ]
    if given:
        raise InputError(
            f"{', '.join(given)}: for models only; a saved result has those it was made with"
        )


def _names(models: Sequence[Compared], results: Sequence[ProbeResult]) -> list[str]:
    """Return a name for each: the model's where they differ, else its file's, else numbered."""
    names = [str(result.provenance["model"]) for result in results]
    if len(set(names)) < len(names):
        names = [
            str(model) if isinstance(model, str | Path) else name
            for model, name in zip(models, names, strict=True)
        ]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({number})" for number, name in enumerate(names, start=1)]


def _provenance(
    names: Sequence[str],
    models: Sequence[Compared],
    results: Sequence[ProbeResult],
    settings: CompareSettings,
) -> dict[str, Any]:
    kept = ("model", "revision", "content_hash", "scorer", "templates", "settings", "dtype")
    return {
        "names": list(names),
        "given": [
            str(model) if isinstance(model, str | Path) else name
            for model, name in zip(models, names, strict=True)
        ],
        "saved": [_is_saved(model) for model in models],
        "probes": [
            {key: result.provenance.get(key) for key in kept}
            | {"bases": list(dict.fromkeys(row.base for row in result.rows))}
            for result in results
        ],
        "settings": settings.to_dict(),
        "versions": {"lmprobe": __version__},
    }
