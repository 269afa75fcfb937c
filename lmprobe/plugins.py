"""Everything an extension needs: the registries, the protocols and the types.

Names are loaded when they are first used, as those of `lmprobe` itself are, so that a
package that extends lmprobe can import this module without loading torch. See
docs/extending.md for an example of each kind.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lmprobe.registry import Registry

if TYPE_CHECKING:
    from lmprobe.cli.options import Confidence, Json, Output, Quiet, Seed, settings_options
    from lmprobe.cli.output import emit
    from lmprobe.core.association import Association
    from lmprobe.core.direction import Direction
    from lmprobe.corpus.engines.engine import Engine, engines
    from lmprobe.corpus.lexicon import Lexicon
    from lmprobe.corpus.rules.rule import Rule, rules
    from lmprobe.errors import DataFileError, InputError, LmprobeError, ModelError
    from lmprobe.io.progress import Progress
    from lmprobe.leakage.attackers.attacker import Attacker, attackers
    from lmprobe.leakage.rounds import Trial
    from lmprobe.metrics.metric import Metric, MetricResult, metrics
    from lmprobe.models.kind import kinds
    from lmprobe.models.transformers_model import TransformersModel
    from lmprobe.report.result import Result
    from lmprobe.reproduce.experiment import Experiment, experiment, experiments
    from lmprobe.reproduce.result import (
        ReproducedRow,
        Reproduction,
        comparison_table,
        grid_table,
    )
    from lmprobe.reproduce.settings import ExperimentSettings
    from lmprobe.results import (
        Column,
        ColumnKind,
        Estimate,
        Figure,
        Interval,
        Note,
        NoteKind,
        Page,
        Section,
        Series,
        Statement,
        Table,
        Verdict,
        decide,
    )
    from lmprobe.results.settings import Settings, setting
    from lmprobe.scorers.scorer import Scorer, scorers
    from lmprobe.sources.source import MissingLabels, Source, sources
    from lmprobe.stats.method import (
        IntervalMethod,
        Sample,
        Traits,
        declare,
        groups_of,
        intervals,
        observations_of,
    )
    from lmprobe.sweeping.engines.engine import SweepEngine, sweep_engines

REGISTRIES = {
    "sources": "sources.source",
    "kinds": "models.kind",
    "scorers": "scorers.scorer",
    "intervals": "stats.method",
    "metrics": "metrics.metric",
    "attackers": "leakage.attackers.attacker",
    "rules": "corpus.rules.rule",
    "engines": "corpus.engines.engine",
    "experiments": "reproduce.experiment",
    "sweep_engines": "sweeping.engines.engine",
}
"""Every registry, by the name of its kind, and the module that defines it."""

_HOME = {
    "cli.options": ("Confidence", "Json", "Output", "Quiet", "Seed", "settings_options"),
    "cli.output": ("emit",),
    "core.association": ("Association",),
    "core.direction": ("Direction",),
    "corpus.engines.engine": ("Engine",),
    "corpus.lexicon": ("Lexicon",),
    "corpus.rules.rule": ("Rule",),
    "errors": ("DataFileError", "InputError", "LmprobeError", "ModelError"),
    "stats.method": (
        "IntervalMethod", "Sample", "Traits", "declare", "groups_of", "observations_of",
    ),
    "io.progress": ("Progress",),
    "leakage.attackers.attacker": ("Attacker",),
    "leakage.rounds": ("Trial",),
    "metrics.metric": ("Metric", "MetricResult"),
    "models.transformers_model": ("TransformersModel",),
    "report.result": ("Result",),
    "reproduce.experiment": ("Experiment", "experiment"),
    "reproduce.result": ("ReproducedRow", "Reproduction", "comparison_table", "grid_table"),
    "reproduce.settings": ("ExperimentSettings",),
    "results": (
        "Column", "ColumnKind", "Estimate", "Figure", "Interval", "Note", "NoteKind", "Page",
        "Section", "Series", "Statement", "Table", "Verdict", "decide",
    ),
    "results.settings": ("Settings", "setting"),
    "scorers.scorer": ("Scorer",),
    "sources.source": ("MissingLabels", "Source"),
    "sweeping.engines.engine": ("SweepEngine",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names} | REGISTRIES

__all__ = [
    "REGISTRIES",
    "Association",
    "Attacker",
    "Column",
    "ColumnKind",
    "Confidence",
    "DataFileError",
    "Direction",
    "Engine",
    "Estimate",
    "Experiment",
    "ExperimentSettings",
    "Figure",
    "InputError",
    "Interval",
    "IntervalMethod",
    "Json",
    "Lexicon",
    "LmprobeError",
    "Metric",
    "MetricResult",
    "MissingLabels",
    "ModelError",
    "Note",
    "NoteKind",
    "Output",
    "Page",
    "Progress",
    "Quiet",
    "Registry",
    "ReproducedRow",
    "Reproduction",
    "Result",
    "Rule",
    "Sample",
    "Scorer",
    "Section",
    "Seed",
    "Series",
    "Settings",
    "Source",
    "Statement",
    "SweepEngine",
    "Table",
    "Traits",
    "TransformersModel",
    "Trial",
    "Verdict",
    "attackers",
    "comparison_table",
    "decide",
    "declare",
    "emit",
    "engines",
    "experiment",
    "experiments",
    "grid_table",
    "groups_of",
    "intervals",
    "kinds",
    "metrics",
    "observations_of",
    "registry",
    "rules",
    "scorers",
    "setting",
    "settings_options",
    "sources",
    "sweep_engines",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'lmprobe.plugins' has no attribute {name!r}")
    return getattr(importlib.import_module(f"lmprobe.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def registry(kind: str) -> Registry[Any]:
    """Return the registry of a kind, such as `sources`."""
    module = importlib.import_module(f"lmprobe.{REGISTRIES[kind]}")
    found: Registry[Any] = getattr(module, kind)
    return found
