"""The choices of a probe, each with its default and help text, and those of loading a model.

The public functions, the options of the commands, the provenance and the command that runs a
probe again all derive from these classes. Nothing heavy is imported here: the command line
reads this module for its help.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lmprobe.errors import LmprobeError, invalid
from lmprobe.metrics.direction import DIRECTIONS, Direction, Dtype, LeanWeighting, Missing, Pairs
from lmprobe.results.settings import (
    COMPARED,
    EXPERT,
    MODEL,
    STATISTICS,
    Settings,
    command_line,
    confidence_setting,
    from_mapping,
    setting,
)
from lmprobe.sources import names as source_names
from lmprobe.stats import REMOVED
from lmprobe.stats.verdicts import IntervalSettings
from lmprobe.templates import TemplateSet, load_template_set

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult


@dataclass(frozen=True)
class WordSettings(Settings):
    """The words that the templates are filled with."""

    attributes: tuple[str, ...] | None = setting(
        None,
        "The groups to compare, such as he,she or man,woman; by default those of the template set.",
        COMPARED,
        flags=("--attribute", "--attributes"),
    )
    tasks: tuple[str, ...] | None = setting(
        None,
        "The tasks to compare, such as nurse,pilot; by default those of the template set.",
        COMPARED,
        flags=("--task", "--tasks"),
    )


@dataclass(frozen=True)
class QuestionSettings(WordSettings):
    """What the model is asked, and what its answers are compared with."""

    direction: str | None = setting(
        None,
        "Ask in one direction alone: T->A or A->T; both by default.",
        COMPARED,
        metavar="DIRECTION",
    )
    chat: tuple[str, ...] | None = setting(
        None,
        "A turn of the user before every sentence (chat models); repeat for several; by default "
        "those of the template set.",
        COMPARED,
        metavar="TEXT",
        repeated=True,
        recorded=False,
    )
    system: str | None = setting(
        None, "What a system turn before --chat says.", COMPARED, metavar="TEXT", recorded=False
    )
    lean: str | None = setting(
        None, "Take the lean from these base rates; by default from the base itself.", COMPARED
    )
    lean_weighting: LeanWeighting = setting(
        "joint",
        "How the lean is computed: as in Eq. 2 of the paper, or as in its published code.",
        EXPERT,
    )
    scorer: str = setting("auto", "How candidates are scored: see `lmprobe ls scorers`.", EXPERT)
    prior: bool = setting(
        False, "Divide each probability by that with the other word masked (masked models).", EXPERT
    )
    missing: Missing = setting("drop", "How to treat words that the base does not have.", EXPERT)
    pseudo_count: float = setting(
        0.5, "The count that `--missing smooth` adds to every cell.", EXPERT
    )

    def __post_init__(self) -> None:
        """Check every value; a direction may be abbreviated, and one turn be given alone."""
        turns: object = self.chat
        if isinstance(turns, str):
            object.__setattr__(self, "chat", (turns,))
        super().__post_init__()
        if self.direction is not None:
            object.__setattr__(self, "direction", Direction.parse(self.direction).value)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions in which the model is asked."""
        return DIRECTIONS if self.direction is None else (Direction(self.direction),)


# Without slots, so that `ProbeSettings.seed` is the default: signatures are written with it.
@dataclass(frozen=True)
class ProbeSettings(IntervalSettings, QuestionSettings):
    """What decides the numbers of a probe, apart from the model, the templates and the bases."""

    min_mass: float | None = setting(
        None,
        "The least total probability of the candidates, below which a model is uninformed; by "
        "default twice that of random words.",
        EXPERT,
        minimum=0,
    )

    def __post_init__(self) -> None:
        """Refuse a mass that no model reaches."""
        super().__post_init__()
        if self.min_mass is not None and self.min_mass > 1:
            raise invalid("min_mass", f" must lie between 0 and 1: found {self.min_mass}")


@dataclass(frozen=True)
class RunSettings(ProbeSettings):
    """What decides the numbers of one probe: those that are compared, and other metrics."""

    metrics: tuple[str, ...] = setting(
        (),
        "Another metric to compute too, such as mals; repeat for several.",
        EXPERT,
        flags=("--metric",),
        repeated=True,
        recorded=False,
    )


def _values_setting() -> Any:
    """Return the field that says what the numbers of answer tables are."""
    text = (
        "What the numbers of an answer table are: log-probability (the default), "
        "sentence-log-likelihood, probability or count."
    )
    return setting(None, text, MODEL, recorded=False)


@dataclass(frozen=True)
class CompareSettings(ProbeSettings):
    """What decides the numbers of a comparison: those of its probes, and which are paired."""

    pairs: Pairs = setting(
        "first", "Compare every model with the first, or all pairs of models.", COMPARED
    )
    margin: float | None = setting(
        None,
        "Test whether the models are equivalent within this difference, such as 0.01.",
        STATISTICS,
    )
    values: str | None = _values_setting()


@dataclass(frozen=True)
class ModelSettings(Settings):
    """How a model is loaded."""

    kind: str = setting(
        "auto", "Load as auto, masked, causal or recorded: see `lmprobe ls kinds`.", MODEL
    )
    tokenizer: str | None = setting(
        None, "A folder or hub id of a tokenizer, if that of the model is missing or wrong.", MODEL
    )
    device: str = setting("auto", "The device: auto, cpu, cuda, cuda:1, mps, balanced.", MODEL)
    dtype: Dtype = setting("float32", "The floating-point type of the model.", EXPERT)
    batch_size: str = setting(
        "auto", "Sentences per batch: auto, or a number.", EXPERT, metavar="N"
    )
    revision: str | None = setting(None, "The branch, tag or commit of a model on the hub.", MODEL)
    values: str | None = _values_setting()
    served_model: str | None = setting(
        None, "The model of a server, if it has several.", MODEL, recorded=False
    )
    bos: str | None = setting(
        None,
        "The beginning-of-text token as it is written, if a server puts none before a text.",
        EXPERT,
        metavar="TOKEN",
        recorded=False,
    )


def settings_of(provenance: Mapping[str, Any]) -> RunSettings:
    """Return the settings that a saved probe was made with.

    In version 1 the scorer and the seed were beside the settings, not among them.
    """
    beside = {name: provenance[name] for name in ("scorer", "seed") if name in provenance}
    choices = beside | dict(provenance.get("settings", {}))
    if choices.get("interval") in REMOVED:
        # The default takes the place of a method that there is no longer.
        del choices["interval"]
    return from_mapping(RunSettings, choices)


def run_again(result: ProbeResult, *, model: str | None = None) -> str:
    """Return the command, quoted for a shell; `model` puts another model in its place.

    A result knows the names of its tables and templates, not their folders: of one that does
    not come with lmprobe the file's name is written.
    """
    facts = result.provenance
    option = templates_option(facts["templates"])
    settings, templates = settings_of(facts), option and _templates(option)
    own = facts["templates"].get("own_words", {})
    # What the set has anyway is not written.
    has = {name: facts["templates"].get(name) for name in ("attributes", "tasks")}
    if templates:
        has = {"attributes": templates.attributes, "tasks": templates.tasks}
    same = {
        name: None for name, words in has.items() if tuple(words or ()) == getattr(settings, name)
    }
    settings = replace(settings, **same)  # type: ignore[arg-type]
    settings = replace(
        settings,
        attributes=_as_given(settings.attributes, own.get("attributes", {})),
        tasks=_as_given(settings.tasks, own.get("tasks", {})),
    )
    if settings.lean is not None:
        settings = replace(settings, lean=source_option(settings.lean))
    # How the model was loaded, without the device, which is the machine's; results before
    # `loading` know only the revision and the type.
    loading = {**facts.get("loading", {})} | {key: facts.get(key) for key in ("revision", "dtype")}
    place = loading.get("place")
    if place == "server":
        del loading["dtype"]
    loaded = from_mapping(ModelSettings, {key: value for key, value in loading.items() if value})
    name = str(facts["model"])
    if place == "memory":
        name = "TABLE-OF-ANSWERS.csv" if "values" in loading else "FOLDER-OF-THE-MODEL"
    return command_line(
        "run",
        [model or name],
        ["--templates", option] if option else [],
        base_options(row.base for row in result.rows),
        settings.words(),
        loaded.words() if model is None else [],
    )


def _as_given(labels: tuple[str, ...] | None, own: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return words as the command line takes them: those of the user's own with their forms."""
    return None if labels is None else tuple(own.get(label, label) for label in labels)


def _templates(name: str) -> TemplateSet | None:
    try:
        return load_template_set(name)
    except LmprobeError:
        return None


def templates_option(facts: Mapping[str, Any]) -> str:
    """Return how a template set is named on the command line, from its provenance.

    Results before `file` know only the name of the set. Templates of recorded answers are no set:
    they come with the model.
    """
    if facts.get("of_model"):
        return ""
    name = str(facts["name"])
    own_file = name if _templates(name) is not None else f"{name}.toml"
    return str(facts.get("file", own_file))


def source_option(name: str) -> str:
    """Return how a base is named on the command line."""
    return name if name in source_names() else f"{name}.csv"


def base_options(bases: Iterable[str]) -> list[str]:
    """Return the options that name these bases, each once."""
    return [word for base in dict.fromkeys(bases) for word in ("--base", source_option(base))]


# Without slots, so that `PlanSettings.power` is the default: signatures are written with it.
@dataclass(frozen=True)
class PlanSettings(Settings):
    """What a plan takes as given."""

    method: str | None = setting(
        None, "One interval method; all by default.", STATISTICS, flags=("--interval", "--method")
    )
    group_share: float = setting(0.5, "Share of the smaller group, at most 0.5.", STATISTICS)
    cost_bound: float = setting(1.0, "The largest cost of a row.", EXPERT)
    variance: float | None = setting(
        None, "Known variance, with --interval; by default the worst case.", EXPERT
    )
    confidence: float = confidence_setting()
    power: float = setting(
        0.8, "Share of samples that are to claim a true effect of that size.", STATISTICS
    )
