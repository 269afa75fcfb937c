"""Does a language model exaggerate the link between a group and what it does?

Names are loaded when they are first used, so `import lmprobe` is quick and never brings
torch with it.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmprobe.core.association import Association
    from lmprobe.core.direction import Direction
    from lmprobe.core.labels import cross
    from lmprobe.corpus.count import count_cooccurrences
    from lmprobe.errors import LmprobeError
    from lmprobe.gating.check import check
    from lmprobe.leakage.language import language_leakage
    from lmprobe.leakage.measure import dataset_leakage, leakage_amplification, model_leakage
    from lmprobe.metrics.directional import directional_amplification
    from lmprobe.metrics.mals import mals_amplification
    from lmprobe.models.load import load_model
    from lmprobe.probing.compare import compare
    from lmprobe.probing.comparison import ComparisonResult
    from lmprobe.probing.probe import probe
    from lmprobe.probing.result import ProbeResult
    from lmprobe.report.loading import load_result
    from lmprobe.results.estimate import Estimate
    from lmprobe.results.interval import Interval
    from lmprobe.results.note import Note
    from lmprobe.results.verdict import Verdict
    from lmprobe.sources.load import load_base_rates
    from lmprobe.stats.methods.bernstein import bernstein_halfwidth
    from lmprobe.stats.plan import PlanResult, plan
    from lmprobe.stats.planning import claimable_effect, sample_size
    from lmprobe.sweeping.result import SweepResult
    from lmprobe.sweeping.sweep import sweep
    from lmprobe.tabular.disparity import group_disparities, group_disparity
    from lmprobe.tabular.disparity_result import DisparityResult
    from lmprobe.tabular.measure import amplify
    from lmprobe.tabular.result import AmplificationResult
    from lmprobe.templates.sets import load_templates

__version__ = "0.2.0"

_HOME = {
    "AmplificationResult": "tabular.result",
    "Association": "core.association",
    "ComparisonResult": "probing.comparison",
    "Direction": "core.direction",
    "DisparityResult": "tabular.disparity_result",
    "Estimate": "results.estimate",
    "Interval": "results.interval",
    "LmprobeError": "errors",
    "Note": "results.note",
    "PlanResult": "stats.plan",
    "ProbeResult": "probing.result",
    "SweepResult": "sweeping.result",
    "Verdict": "results.verdict",
    "amplify": "tabular.measure",
    "bernstein_halfwidth": "stats.methods.bernstein",
    "check": "gating.check",
    "claimable_effect": "stats.planning",
    "compare": "probing.compare",
    "count_cooccurrences": "corpus.count",
    "cross": "core.labels",
    "dataset_leakage": "leakage.measure",
    "directional_amplification": "metrics.directional",
    "group_disparities": "tabular.disparity",
    "group_disparity": "tabular.disparity",
    "language_leakage": "leakage.language",
    "leakage_amplification": "leakage.measure",
    "load_base_rates": "sources.load",
    "load_model": "models.load",
    "load_result": "report.loading",
    "load_templates": "templates.sets",
    "mals_amplification": "metrics.mals",
    "model_leakage": "leakage.measure",
    "plan": "stats.plan",
    "probe": "probing.probe",
    "sample_size": "stats.planning",
    "sweep": "sweeping.sweep",
}

__all__ = [
    "AmplificationResult",
    "Association",
    "ComparisonResult",
    "Direction",
    "DisparityResult",
    "Estimate",
    "Interval",
    "LmprobeError",
    "Note",
    "PlanResult",
    "ProbeResult",
    "SweepResult",
    "Verdict",
    "amplify",
    "bernstein_halfwidth",
    "check",
    "claimable_effect",
    "compare",
    "count_cooccurrences",
    "cross",
    "dataset_leakage",
    "directional_amplification",
    "group_disparities",
    "group_disparity",
    "language_leakage",
    "leakage_amplification",
    "load_base_rates",
    "load_model",
    "load_result",
    "load_templates",
    "mals_amplification",
    "model_leakage",
    "plan",
    "probe",
    "sample_size",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in ("plugins", "vision"):
        return importlib.import_module(f"lmprobe.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'lmprobe' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"lmprobe.{_HOME[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
