"""How attributes and tasks go together outside the model: one file per source."""

from lmprobe.sources.load import describe, load_base_rates, names
from lmprobe.sources.policy import AlignedBaseRates, align_base_rates
from lmprobe.sources.source import MissingLabels, Provenance, Source, sources
from lmprobe.sources.table import Sampling

__all__ = [
    "AlignedBaseRates",
    "MissingLabels",
    "Provenance",
    "Sampling",
    "Source",
    "align_base_rates",
    "describe",
    "load_base_rates",
    "names",
    "sources",
]
