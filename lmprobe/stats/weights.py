"""How often each unit is drawn in each bootstrap replicate, and how many are made at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats


def slices(total: int, width: int, held: int = 4_000_000) -> Iterator[slice]:
    """Yield the parts of `range(total)` such that part times width is about `held` at most."""
    step = max(1, held // width)
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


def draws(replicates: int, units: int, rng: np.random.Generator) -> Floats:
    """Return counts (replicates, units): each row draws `units` times with replacement."""
    chosen = rng.integers(units, size=(replicates, units))
    chosen += np.arange(replicates)[:, None] * units
    counts = np.bincount(chosen.ravel(), minlength=replicates * units)
    return counts.reshape(replicates, units).astype(np.float64)


def poisson_table() -> NDArray[np.float32]:
    """Return 65,536 equally likely weights that follow the Poisson law of mean 1.

    Looking a random 16-bit number up in it is ten times as fast as drawing from the law,
    and differs from it by less than one part in 65,536; the mean is exactly 1.
    """
    chance = np.array([math.exp(-1) / math.factorial(times) for times in range(9)])
    often = np.round(chance * _SIZE).astype(np.int64)
    # Rounding leaves the mean off by a few in 65,536; the weights 0 and 1 make it up.
    often[1] += _SIZE - int(often @ np.arange(9))
    often[0] = _SIZE - often[1:].sum()
    return np.repeat(np.arange(9, dtype=np.float32), often)


def poisson(replicates: int, units: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return weights (replicates, units), each drawn on its own with mean and variance 1."""
    return _TABLE[rng.integers(_SIZE, size=(replicates, units), dtype=np.uint16)]


_SIZE = 65_536
_TABLE = poisson_table()
