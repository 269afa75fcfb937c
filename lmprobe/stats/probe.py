"""The interval of a probe's value, and how much the value depends on its templates.

The observations of a probe are templates crossed with tasks, not independent cells: one odd
template moves all of its cells together, and so does one odd task. The bootstrap therefore
draws whole templates (or whole paraphrase families) and whole tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.association import ratio
from lmprobe.core.choices import RESAMPLES
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError, did_you_mean
from lmprobe.results import Interval, Note, NoteKind
from lmprobe.results.format import format_percent
from lmprobe.stats.method import IntervalMethod, Sample, interval, traits_of
from lmprobe.stats.weights import draws, slices

# Below so many units a bootstrap interval is too short; docs/coverage.md has the numbers.
FEW = 10
# Below so many units, no resample is as far out as the interval should reach.
_BOUNDED = 5

_COVERS = (
    "the interval describes templates and tasks like these; it covers neither people nor other "
    "training runs of the model"
)


def probe_interval(
    cells: Floats,
    *,
    method: str | IntervalMethod = "bootstrap",
    confidence: float = 0.95,
    rng: np.random.Generator,
    families: Sequence[str] | None = None,
    resample: str = "both",
) -> tuple[Interval, tuple[Note, ...]]:
    """Return the interval of a probe's value, and what it assumes.

    Parameters
    ----------
    cells
        (K, A, T): the amplification of each template, attribute and task; NaN undefined.
    method
        A name that `lmprobe ls intervals` lists, or a function like those.
    families
        The paraphrase family of each template; families are drawn whole, because
        templates that share a frame are not independent.
    resample
        What the bootstrap draws anew. `both` is the crossed bootstrap: it is right when both
        the templates and the tasks are a sample of those one cares about. `templates` takes
        the tasks as all there are, `tasks` the templates. Methods without resampling take
        the templates (or families) as their observations and the tasks as all there are.
    """
    table = CellTable.of(cells, families)
    if resample not in RESAMPLES:
        raise InputError(f'no resampling of "{resample}"; {did_you_mean(resample, RESAMPLES)}')
    sample = probe_sample(table, resample)
    found = interval(sample, method=method, confidence=confidence, rng=rng)
    return found, _notes(table, found, method, resample)


def draws_tasks(method: str | IntervalMethod, resample: str) -> bool:
    """Whether the interval takes the tasks as a sample, and with them the noise of a base."""
    traits = traits_of(method)
    return traits.crossed or (traits.resamples and resample != "templates")


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """The cells of a probe as sums over attributes: `total` and `count` are (K, T).

    `family` (K,) numbers the unit that each template is drawn with.
    """

    total: Floats
    count: Floats
    family: NDArray[np.intp]

    @classmethod
    def of(cls, cells: Floats, families: Sequence[str] | None) -> CellTable:
        """Add up the attributes; a template without a defined pair is left out."""
        table = np.asarray(cells, dtype=np.float64)
        if table.ndim != 3 or 0 in table.shape:
            raise InputError(
                f"`cells` must have the axes (template, attribute, task), found {table.shape}"
            )
        if families is not None and len(families) != len(table):
            raise InputError(f"{len(table)} templates need as many families, not {len(families)}")
        known = ~np.isnan(table)
        kept = known.any(axis=(1, 2))
        if not kept.any():
            raise InputError("no template has a defined pair of an attribute and a task")
        names = np.arange(len(table)) if families is None else np.asarray(families, dtype=str)
        family = np.unique(names[kept], return_inverse=True)[1]
        total = np.where(known, table, 0.0).sum(axis=1)[kept]
        return cls(total, known.sum(axis=1)[kept].astype(np.float64), family)

    @property
    def families(self) -> int:
        """How many units the templates are drawn in."""
        return int(self.family.max()) + 1

    @property
    def by_template(self) -> Floats:
        """The value of each template, (K,): the mean over its defined pairs."""
        return np.asarray(self.total.sum(axis=1) / self.count.sum(axis=1))

    @property
    def by_family_and_task(self) -> Floats:
        """One number per family and task, (F, T), whose mean is the value.

        A family counts as often as it has templates and a task as often as it has defined
        pairs, as in the value; tasks without a defined pair are left out.
        """
        tasks = self.count.any(axis=0)
        value = self.by_template.mean()
        # What a task adds to the value of a template, times the number of tasks.
        away = self.total - value * self.count
        away *= tasks.sum() / self.count.sum(axis=1, keepdims=True)
        sizes = np.bincount(self.family)
        added = np.stack(
            [np.bincount(self.family, weights=one) for one in away[:, tasks].T], axis=1
        )
        return np.asarray(value + added * len(sizes) / len(self.family))

    def values(self, template_weight: Floats, task_weight: Floats) -> Floats:
        """Return the value (R,) under weights (R, K) and (R, T); NaN where nothing is left."""
        pairs = task_weight @ self.count.T
        each = ratio(task_weight @ self.total.T, pairs)
        weight = np.where(pairs > 0, template_weight, 0.0)
        return ratio(np.nansum(weight * each, axis=1), weight.sum(axis=1))


def fewest_units(families: int, tasks: int, resample: str) -> int:
    """Return how many units the smallest axis has that is drawn anew."""
    return {"both": min(families, tasks), "templates": families, "tasks": tasks}[resample]


def crossed_draws(
    replicates: int, families: int, tasks: int, resample: str, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return how often families and tasks are drawn, (R, F) and (R, T); once where fixed."""
    return (
        np.ones((replicates, families))
        if resample == "tasks"
        else draws(replicates, families, rng),
        np.ones((replicates, tasks)) if resample == "templates" else draws(replicates, tasks, rng),
    )


def probe_sample(table: CellTable, resample: str) -> Sample:
    """Return the probe's value with its observations and its resamples."""
    templates, tasks = table.total.shape
    value = float(table.by_template.mean())
    sizes = np.bincount(table.family)
    # A family counts as often as it has templates; the mean of these is the value, and
    # their spread that of a ratio, since other families might have other sizes.
    share = sizes * len(sizes) / templates
    means = np.bincount(table.family, weights=table.by_template) / sizes
    bound = float(share.max())

    def resampled(replicates: int, rng: np.random.Generator) -> Floats:
        values = np.empty(replicates)
        for part in slices(replicates, templates + tasks):
            size = part.stop - part.start
            families, columns = crossed_draws(size, table.families, tasks, resample, rng)
            values[part] = table.values(families[:, table.family], columns)
        return values

    return Sample(
        value,
        observations=value + share * (means - value),
        bounds=(-bound, bound),
        resampled=resampled,
        units=fewest_units(table.families, tasks, resample),
        crossed=table.by_family_and_task,
    )


def _notes(
    table: CellTable, found: Interval, method: str | IntervalMethod, resample: str
) -> tuple[Note, ...]:
    """Return what the interval assumes, and where it is not to be trusted."""
    unit = "templates" if table.families == len(table.family) else "paraphrase families"
    counted = {unit: table.families, "tasks": table.total.shape[1]}
    phrases = [f"{number} {_plural(name, number)}" for name, number in counted.items()]
    traits = traits_of(method)
    if not draws_tasks(method, resample):
        watched = {unit: counted[unit]}
        how = f"the sample is {phrases[0]}, the tasks are taken as fixed"
    elif resample == "tasks" and traits.resamples:
        watched = {"tasks": counted["tasks"]}
        how = f"the sample is {phrases[1]}, the templates are taken as fixed"
    else:
        watched = counted
        how = f"the sample is {phrases[0]} crossed with {phrases[1]}"
    notes = [Note(NoteKind.ASSUMPTION, f"{found.method}: {how}; {_COVERS}")]
    for name, number in watched.items():
        if number == 1:
            text = f"no interval: with one {_plural(name, 1)} the spread cannot be estimated"
            notes.append(Note(NoteKind.NO_INTERVAL, text))
        elif number < FEW and traits.approximate:
            level = format_percent(found.confidence)
            text = f"only {number} {name}: the interval may cover the truth less often than {level}"
            if number < _BOUNDED and traits.resamples and resample == "both":
                text += f", as no resample is beyond the extreme {_plural(name, 1)}; use t-crossed"
            notes.append(Note(NoteKind.FEW_UNITS, text))
    if math.isnan(found.low):
        text = "no interval: every resample gives the same value, so the spread is not estimated"
        notes.append(Note(NoteKind.NO_INTERVAL, text))
    if traits.caveat:
        notes.append(Note(NoteKind.METHOD, traits.caveat))
    return tuple(notes)


def _plural(name: str, number: int) -> str:
    one = {"templates": "template", "tasks": "task", "paraphrase families": "paraphrase family"}
    return one[name] if number == 1 else name


@dataclass(frozen=True, slots=True)
class Robustness:
    """Sensitivity of a probe's value to the templates."""

    template_sd: float
    """Standard deviation over templates (ddof 0): the paper's "±", not an interval."""
    leave_one_out: tuple[float, float]
    """The smallest and largest value when one template is left out; NaN for one template."""
    sign_flip_templates: float
    """The share of templates whose sign is opposite to that of the value."""
    sign_flip_families: float
    """The share of paraphrase families whose mean has the opposite sign."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; an undefined end is null."""
        ends = [None if math.isnan(end) else end for end in self.leave_one_out]
        return {
            "template_sd": self.template_sd,
            "leave_one_out": ends,
            "sign_flip_templates": self.sign_flip_templates,
            "sign_flip_families": self.sign_flip_families,
        }


def robustness(cells: Floats, families: Sequence[str] | None = None) -> Robustness:
    """Return the spread over templates of cells (K, A, T), NaN undefined."""
    table = CellTable.of(cells, families)
    each = table.by_template
    value = float(each.mean())
    ends = (math.nan, math.nan)
    if len(each) > 1:
        without = (each.sum() - each) / (len(each) - 1)
        ends = (float(without.min()), float(without.max()))
    by_family = np.bincount(table.family, weights=each).astype(np.float64)
    return Robustness(
        template_sd=float(each.std()),
        leave_one_out=ends,
        sign_flip_templates=_flipped(each, value),
        sign_flip_families=_flipped(by_family, value),
    )


def _flipped(values: Floats, whole: float) -> float:
    return float(np.mean(np.sign(values) * np.sign(whole) < 0))
