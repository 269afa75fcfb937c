"""The command line that runs the same probe again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lmprobe.errors import LmprobeError
from lmprobe.probing.settings import ModelSettings, ProbeSettings
from lmprobe.results.settings import command_line, from_mapping
from lmprobe.sources import names as source_names
from lmprobe.stats import REMOVED
from lmprobe.templates import TemplateSet, load_templates

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult


def settings_of(provenance: Mapping[str, Any]) -> ProbeSettings:
    """Return the settings that a saved probe was made with.

    In version 1 the scorer and the seed were beside the settings, not among them.
    """
    beside = {name: provenance[name] for name in ("scorer", "seed") if name in provenance}
    choices = beside | dict(provenance.get("settings", {}))
    if choices.get("interval") in REMOVED:
        # The default takes the place of a method that there is no longer.
        del choices["interval"]
    return from_mapping(ProbeSettings, choices)


def run_again(result: ProbeResult, *, model: str | None = None) -> str:
    """Return the command, quoted for a shell; `model` puts another model in its place.

    A result knows the names of its tables and templates, not their folders: of one that does
    not come with lmprobe the file's name is written.
    """
    facts = result.provenance
    option = templates_option(facts["templates"])
    settings, templates = settings_of(facts), _templates(option)
    # What the set has anyway is not written.
    if templates is not None and settings.attributes == templates.attributes:
        settings = replace(settings, attributes=None)
    if templates is not None and settings.tasks == templates.tasks:
        settings = replace(settings, tasks=None)
    if settings.lean is not None:
        settings = replace(settings, lean=source_option(settings.lean))
    # How the model was loaded, without the device, which is the machine's; results before
    # `loading` know only the revision and the type.
    loading = {**facts.get("loading", {})} | {key: facts.get(key) for key in ("revision", "dtype")}
    loaded = from_mapping(ModelSettings, {key: value for key, value in loading.items() if value})
    in_memory = loading.get("place") == "memory"
    return command_line(
        "run",
        [model or ("FOLDER-OF-THE-MODEL" if in_memory else str(facts["model"]))],
        ["--templates", option],
        base_options(row.base for row in result.rows),
        settings.words(),
        loaded.words() if model is None else [],
    )


def _templates(name: str) -> TemplateSet | None:
    try:
        return load_templates(name)
    except LmprobeError:
        return None


def templates_option(facts: Mapping[str, Any]) -> str:
    """Return how a template set is named on the command line, from its provenance.

    Results before `file` know only the name of the set.
    """
    name = str(facts["name"])
    own_file = name if _templates(name) is not None else f"{name}.toml"
    return str(facts.get("file", own_file))


def source_option(name: str) -> str:
    """Return how a base is named on the command line."""
    return name if name in source_names() else f"{name}.csv"


def base_options(bases: Iterable[str]) -> list[str]:
    """Return the options that name these bases, each once."""
    return [word for base in dict.fromkeys(bases) for word in ("--base", source_option(base))]
