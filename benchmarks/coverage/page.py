"""The page that the studies make together, section by section."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from benchmarks.coverage import (
    betting,
    comparisons,
    counted_bases,
    disparities,
    exact,
    leakage,
    plans,
    probes,
    raking,
    rows,
    small_groups,
    strength,
    together,
    uneven_bases,
    unevenness,
)
from benchmarks.coverage.tally import REPLICATES, Study

STUDIES: dict[str, Study] = {
    "disparities": disparities.study,
    "exact": exact.study,
    "betting": betting.study,
    "small_groups": small_groups.study,
    "probes": probes.study,
    "uneven_bases": uneven_bases.study,
    "counted_bases": counted_bases.study,
    "strength": strength.study,
    "raking": raking.study,
    "together": together.study,
    "comparisons": comparisons.study,
    "unevenness": unevenness.study,
    "leakage": leakage.study,
    "rows": rows.study,
    "plans": plans.study,
}
"""In the order of the page; a new study is one file and one line here."""

_HEAD = """# Coverage study

Written by `python -m benchmarks.coverage --output docs/appendix/coverage.md`; do not edit by hand.

After this page you know how often the intervals cover the true value, in simulations.
[Statistics](../statistics.md) describes the methods. Each cell is the share of {runs} samples
whose 95 % interval covers the true value, with the mean width in brackets. With
{runs} samples the Monte Carlo error of a share is about ±{error:.3f}. "none" is the
share of samples for which the method gave no interval, such as a bootstrap of a sample
without any cost. Seed {seed}, {replicates} bootstrap replicates per interval.
"""


def page(runs: int, seed: int, *, only: Iterable[str] = (), old: str = "") -> str:
    """Return the page; studies that `only` leaves out keep their section of the old page."""
    error = 1.96 * (0.95 * 0.05 / runs) ** 0.5
    selected = tuple(only) or tuple(STUDIES)
    sections = [_HEAD.format(runs=runs, seed=seed, replicates=REPLICATES, error=error)]
    for name, study in STUDIES.items():
        mark = f"<!-- study: {name} -->"
        if name in selected:
            # Each study has a generator of its own, so that a new one changes no other.
            body = "\n".join(study(runs, np.random.default_rng(seed))).strip()
        else:
            body = _kept(old, mark)
        sections.append(f"{mark}\n\n{body}\n")
    return "\n".join(sections)


def _kept(old: str, mark: str) -> str:
    result = re.search(rf"{re.escape(mark)}\n(.*?)(?=\n<!-- study: |\Z)", old, re.DOTALL)
    return result[1].strip() if result else ""
