"""How attributes and tasks go together outside the model: one file per source."""

from lmprobe.sources.load import describe, load_base_rates, names, user_folder
from lmprobe.sources.policy import MISSING, Missing, World, world
from lmprobe.sources.source import MissingLabels, Provenance, Source, sources

__all__ = [
    "MISSING",
    "Missing",
    "MissingLabels",
    "Provenance",
    "Source",
    "World",
    "describe",
    "load_base_rates",
    "names",
    "sources",
    "user_folder",
    "world",
]
