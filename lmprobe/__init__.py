"""Does a masked language model exaggerate the link between a group and what it does?

Names are loaded when they are first used, so `import lmprobe` is quick and never brings
torch with it.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmprobe.association import Association
    from lmprobe.corpus.count import count_cooccurrences
    from lmprobe.errors import LmprobeError
    from lmprobe.inference.disparity import group_disparity
    from lmprobe.inference.planning import sample_size
    from lmprobe.intervals.bernstein import bernstein_halfwidth
    from lmprobe.intervals.interval import Interval
    from lmprobe.leakage.measure import dataset_leakage, leakage_amplification, model_leakage
    from lmprobe.metrics.directional import directional_amplification
    from lmprobe.metrics.mals import mals_amplification
    from lmprobe.models.load import load_model
    from lmprobe.probe import probe
    from lmprobe.result import ProbeResult
    from lmprobe.sources.load import load_base_rates
    from lmprobe.templates.sets import load_templates

__version__ = "0.1.0"

_HOME = {
    "Association": "association",
    "Interval": "intervals.interval",
    "LmprobeError": "errors",
    "ProbeResult": "result",
    "bernstein_halfwidth": "intervals.bernstein",
    "count_cooccurrences": "corpus.count",
    "dataset_leakage": "leakage.measure",
    "directional_amplification": "metrics.directional",
    "group_disparity": "inference.disparity",
    "leakage_amplification": "leakage.measure",
    "load_base_rates": "sources.load",
    "load_model": "models.load",
    "load_templates": "templates.sets",
    "mals_amplification": "metrics.mals",
    "model_leakage": "leakage.measure",
    "probe": "probe",
    "sample_size": "inference.planning",
}

__all__ = [
    "Association",
    "Interval",
    "LmprobeError",
    "ProbeResult",
    "bernstein_halfwidth",
    "count_cooccurrences",
    "dataset_leakage",
    "directional_amplification",
    "group_disparity",
    "leakage_amplification",
    "load_base_rates",
    "load_model",
    "load_templates",
    "mals_amplification",
    "model_leakage",
    "probe",
    "sample_size",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lmprobe' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"lmprobe.{_HOME[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps `lmprobe.probe` the function: importing the file probe.py would make it the module."""

    def __setattr__(self, name: str, value: Any) -> None:
        if _HOME.get(name) == name and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
