"""How often each unit is drawn in each bootstrap replicate."""

from __future__ import annotations

import numpy as np

from lmprobe.tally import Floats


def draws(replicates: int, units: int, rng: np.random.Generator) -> Floats:
    """Return counts (replicates, units): each row draws `units` times with replacement."""
    chosen = rng.integers(units, size=(replicates, units))
    chosen += np.arange(replicates)[:, None] * units
    counts = np.bincount(chosen.ravel(), minlength=replicates * units)
    return counts.reshape(replicates, units).astype(np.float64)
