"""What a metric of bias amplification on labelled rows is, and the registry that finds one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lmprobe.metrics.labels import Labels
from lmprobe.registry import Registry


class MetricResult(Protocol):
    """What every metric returns, whatever else its result holds."""

    @property
    def values(self) -> Mapping[str, float]:
        """The value of each direction, or of `undirected`."""
        ...


class Metric(Protocol):
    """Compares predictions with labels; the docstring's first line is what a listing shows.

    Labels are (n, K) arrays or DataFrames of 0/1, or one categorical column. A metric with an
    argument `train_attribute_labels` is also given `train_task_labels` and
    `train_sample_weight` where there is a train table.
    """

    def __call__(
        self,
        attribute_labels: Labels,
        task_labels: Labels,
        *,
        attribute_predictions: Any,
        task_predictions: Any,
        sample_weight: Any,
    ) -> MetricResult:
        """Return the value of each direction."""
        ...


metrics: Registry[Metric] = Registry("metrics", "lmprobe.metrics")
