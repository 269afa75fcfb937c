"""Draws each task's probability of the first attribute against its base rate.

Figure 5 of Wang & Russakovsky 2021: on the diagonal the model says what the base says.
"""

from __future__ import annotations

from lmprobe.figure import Figure, Series
from lmprobe.report.words import listed
from lmprobe.result import ProbeRow


def scatter(row: ProbeRow) -> Figure:
    """Return the figure of a task->attribute row, the mean over templates."""
    attribute = row.attributes[0]
    model = row.predicted.mean(axis=0)[0]
    base = row.base_rate[0]
    above = [task for task, a, b in zip(row.tasks, model, base, strict=True) if a > b]
    unknown = [task for task, b in zip(row.tasks, base, strict=True) if b != b]
    missing = f" Not shown, undefined: {listed(unknown)}." if unknown else ""
    return Figure(
        name=f"scatter-{row.base}",
        title=f"P({attribute}): the model against {row.base}",
        x_label=f"P({attribute} | task) in {row.base}",
        y_label=f"P({attribute} | task) by the model",
        series=(
            Series(
                name=attribute,
                x=tuple(float(one) for one in base),
                y=tuple(float(one) for one in model),
                labels=row.tasks,
                style="points",
            ),
        ),
        alternative=(
            f"{len(row.tasks) - len(unknown)} tasks: the model gives {attribute} more than "
            f"{row.base} does for {len(above)} of them.{missing}"
        ),
        diagonal=True,
    )
