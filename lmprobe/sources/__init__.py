"""Base rates: how attributes and tasks go together outside the model."""

from lmprobe.sources.load import (
    default_base as default_base,
    describe as describe,
    load_base_rates as load_base_rates,
    names as names,
)
from lmprobe.sources.policy import (
    AlignedBaseRates as AlignedBaseRates,
    align_base_rates as align_base_rates,
)
from lmprobe.sources.source import (
    MissingLabels as MissingLabels,
    Provenance as Provenance,
    Sampling as Sampling,
    Source as Source,
    sources as sources,
)
