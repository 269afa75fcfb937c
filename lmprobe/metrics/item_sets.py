"""The measures that the authors of item sets print, computed from ours."""

from __future__ import annotations

import math

import numpy as np

from lmprobe.metrics.association import Floats, ratio
from lmprobe.metrics.metric import metrics


@metrics.register("stereotype-share")
class StereotypeShare:
    """Share of the items whose stereotypical candidate is likelier (CrowS-Pairs); for item sets.

    Every item counts the same, and a tie counts for neither (Nangia et al. 2020).
    """

    reference, is_share = 0.5, True

    def of_item(self, log_odds: Floats) -> Floats:
        """Return 1 where the stereotypical candidate is likelier."""
        return np.where(np.isnan(log_odds), np.nan, log_odds > 0)

    def strata(self, sizes: Floats, group: Floats) -> list[Floats]:
        """Return the mean number of items of each task."""
        return [sizes.mean(axis=0)]

    def combined(self, means: Floats, sizes: Floats, group: Floats, weight: Floats) -> Floats:
        """Return the mean over all items."""
        return ratio(weight @ (means * sizes).T, weight @ sizes.T)


@metrics.register("gest")
class StereotypeRate:
    """Stereotype rate of GEST, e to the mean log10 odds of either half; for item sets.

    Pikuliak et al. 2024 divide the rate of the stereotypes about men by that about women, which
    are geometric means over stereotypes of exp(mean score). The score has base 10, the
    exponential has base e.
    """

    reference, is_share = 1.0, False

    def of_item(self, log_odds: Floats) -> Floats:
        """Return the score of the item."""
        return log_odds / math.log(10)

    def strata(self, sizes: Floats, group: Floats) -> list[Floats]:
        """Return the tasks of either half."""
        tasks = sizes.any(axis=0)
        return [(tasks & (group == half)).astype(float) for half in np.unique(group[tasks])]

    def combined(self, means: Floats, sizes: Floats, group: Floats, weight: Floats) -> Floats:
        """Return the product of the rates of both halves."""
        counted = sizes > 0
        halves = [
            ratio((weight * tasks) @ (means * counted).T, (weight * tasks) @ counted.T)
            for tasks in self.strata(sizes, group)
        ]
        return np.asarray(np.exp(sum(halves, np.zeros((len(weight), len(means))))))
