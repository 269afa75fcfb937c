"""What a metric of bias amplification is, and the registry that finds one by name.

A metric is a function of labelled rows, which `amplify` uses. If it is also defined for tables of
probabilities, its file has a second function, marked with `table_form`, which `run` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association, Floats
from lmprobe.metrics.direction import Direction
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


class ItemMetric(Protocol):
    """A published measure of item sets: a number of each item, combined over items and tasks.

    In each task the candidate of the group that the lean names is compared with that of the group
    that it names least.
    """

    reference: float
    """The value of a model that prefers neither."""
    is_share: bool
    """Whether the value is a share of the items."""

    def of_item(self, log_odds: Floats) -> Floats:
        """Return the number of each item from the log odds of its candidate."""

    def strata(self, sizes: Floats, group: Floats) -> list[Floats]:
        """Return the weights of the tasks, (T,), for each set of tasks that is drawn by itself."""

    def combined(self, means: Floats, sizes: Floats, group: Floats, weight: Floats) -> Floats:
        """Return the value of each template, (W, K), under weights of the tasks (W, T).

        `means` (K, T) are those of the items of each task, `sizes` (K, T) their numbers, and
        `group` (T,) the number of the group that the lean names.
        """


metrics: Registry[Metric | type[ItemMetric]] = Registry("metrics", "lmprobe.metrics")


@dataclass(frozen=True, slots=True, eq=False)
class PredictedTables:
    """What a model predicts in one direction, and the base that it is compared with."""

    direction: Direction
    predicted: Floats
    """(K, A, T): P(attribute | task) or P(task | attribute), one table per template."""
    base: Association
    lean: Floats
    """(A, T): the sign of each link in the base; NaN where it is undefined."""


TableMetric = Callable[[PredictedTables], Floats]
"""Returns the value of each template, (K,)."""


def row_metric(name: str) -> Metric:
    """Return the metric of labelled rows of that name, or say which metrics there are."""
    metric: Any = metrics.get(name)
    if item_metric(name) is not None:
        able = [other for other in metrics.names() if item_metric(other) is None]
        raise InputError(
            f'the metric "{name}" is for item sets (`lmprobe run --templates items.csv`), not for '
            f"labelled rows; those are: {', '.join(able)}"
        )
    return cast(Metric, metric)


def item_metric(name: str) -> ItemMetric | None:
    """Return the metric of item sets of that name; None if it is of another kind."""
    metric: Any = metrics.get(name)
    return cast(ItemMetric, metric()) if hasattr(metric, "of_item") else None


def table_form(metric: Callable[..., MetricResult]) -> Callable[[TableMetric], TableMetric]:
    """Return a decorator that makes a function the form of `metric` on tables."""

    def add(form: TableMetric) -> TableMetric:
        metric.of_tables = form  # type: ignore[attr-defined]
        return form

    return add


def table_metric(name: str) -> TableMetric:
    """Return the form on tables of the metric of that name, or say which metrics have one."""
    form: TableMetric | None = getattr(metrics.get(name), "of_tables", None)
    if form is None:
        able = [other for other in metrics.names() if hasattr(metrics.get(other), "of_tables")]
        raise InputError(
            f'the metric "{name}" is for labelled rows (`lmprobe amplify`), not for tables of '
            f"probabilities; those for a probe are: {', '.join(able)}"
        )
    return form
