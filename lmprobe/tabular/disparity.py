"""Group disparities with their intervals (Bernstein-Bounded Unfairness, Ethayarajh 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe.errors import Argument, InputError
from lmprobe.io.tables import NOT_A_SHARE, NOT_BINARY, TableSource, refuse_unusable
from lmprobe.metrics.direction import DisparityMeasure
from lmprobe.metrics.disparity import Cost, EmptyGroupError, GroupCosts, group_costs, group_names
from lmprobe.registry import versions
from lmprobe.results import Estimate, Interval, Note, NoteKind, Verdict, decide
from lmprobe.results.format import plural
from lmprobe.results.settings import command_line
from lmprobe.stats.method import IntervalMethod, groups_sample, interval, traits_of
from lmprobe.stats.methods.bounded import checked_group_share
from lmprobe.stats.rows import with_left_out
from lmprobe.tabular.disparity_result import Disparity, DisparityResult
from lmprobe.tabular.settings import DisparitySettings

# With fewer rows, or fewer of them that differ, the bootstrap is too short:
# docs/appendix/coverage.md.
_FEW, _FEW_COSTS = 20, 5
# With fewer still it is far too narrow; docs/appendix/coverage.md has the numbers.
_TOO_FEW = 10

# With more groups every interval is so wide that none says anything.
_MANY = 100

_COMPONENTS: tuple[DisparityMeasure, ...] = ("tpr_difference", "fpr_difference")


def group_disparity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    protected: str | Sequence[str],
    other: str | Sequence[str] | None = None,
    measure: DisparityMeasure = DisparitySettings.measure,
    cost: Cost | None = None,
    cost_bound: float = 1.0,
    annotated: Any = None,
    group_share: float | None = DisparitySettings.group_share,
    method: str | IntervalMethod = DisparitySettings.method,
    confidence: float = DisparitySettings.confidence,
    seed: int = DisparitySettings.seed,
) -> Disparity:
    """Measure the difference in mean cost between two groups, with a confidence interval.

    Parameters
    ----------
    y_true, y_pred
        (n,) labels (0/1) and predictions (0/1 or probabilities); with a `cost` any numbers.
    sensitive_features
        (n,) the group of each row, or several columns whose cross product makes the groups.
    protected, other
        One group or several; without `other`, all that are not protected.
    measure
        `demographic_parity`, `equal_opportunity`, `equalized_odds`, `fpr_difference`,
        `tpr_difference` or `accuracy_difference`; `lmprobe.metrics.disparity` defines their
        costs. The value is the mean cost of the protected group minus that of the other.
    cost, cost_bound, annotated
        A function of (y_true, y_pred) that returns costs in [0, cost_bound], in place of a
        measure, and optionally the rows that count.
    group_share
        A lower bound on the share of the smaller group in the population (Definition 2.4);
        by default its share in the sample, and a note says so.
    method
        `auto` is `exact` where every cost is 0 or the bound, and `betting` elsewhere: the
        narrowest guaranteed method for such costs. Others are `bernstein` (as published),
        `score` and `bootstrap`.
    seed
        The random seed of `betting` and the bootstrap.

    Examples
    --------
    >>> hired = [0] * 60 + [1] * 40 + [0] * 40 + [1] * 60
    >>> groups = ["women"] * 100 + ["men"] * 100
    >>> found = group_disparity(None, hired, sensitive_features=groups, protected="women")
    >>> round(found.value, 3), round(found.interval.low, 3), round(found.interval.high, 3)
    (0.2, 0.059, 0.335)
    """
    # The settings check what they are given: measure, share, confidence and seed.
    method_name = method if isinstance(method, str) else "auto"
    settings = DisparitySettings(measure, method_name, group_share, confidence, seed)
    costs_of = partial(
        group_costs,
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        protected=protected,
        other=other,
        cost=cost,
        cost_bound=cost_bound,
        annotated=annotated,
    )
    names = [protected] if np.ndim(protected) == 0 else protected
    group = " + ".join(map(str, names))
    named = str(measure) if cost is None else getattr(cost, "__name__", "cost")
    whole = _disparity(group, named, costs_of(measure=measure), method=method, settings=settings)
    if measure != "equalized_odds" or cost is not None:
        return whole
    return _with_components(whole, costs_of, method, settings)


def group_disparities(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    protected: str | Sequence[str] | None = None,
    measure: DisparityMeasure = DisparitySettings.measure,
    cost: Cost | None = None,
    cost_bound: float = 1.0,
    annotated: Any = None,
    group_share: float | None = DisparitySettings.group_share,
    method: str | IntervalMethod = DisparitySettings.method,
    confidence: float = DisparitySettings.confidence,
    seed: int = DisparitySettings.seed,
) -> DisparityResult:
    """Measure the disparity of every group against all others, with simultaneous intervals.

    Each interval is at 1 - (1 - confidence) / groups (Bonferroni). With two groups, or with
    `protected`, there is one row. The other arguments are those of `group_disparity`.
    """
    choices = dict(locals())
    DisparitySettings(confidence=confidence)  # raises if it is not a confidence level
    groups = [protected] if protected is not None else _every_group(sensitive_features)
    level = 1 - (1 - confidence) / len(groups)
    rows = tuple(
        group_disparity(**choices | {"protected": group, "confidence": level}) for group in groups
    )
    notes: tuple[Note, ...] = ()
    if len(rows) > 1:
        text = f"each interval is at {level:.4g}, so that all cover at once at {confidence:g}"
        notes = (Note(NoteKind.MULTIPLICITY, text),)
    settings = {
        "measure": rows[0].measure,
        "method": method if isinstance(method, str) else getattr(method, "__name__", "own"),
        "group_share": group_share,
        "confidence": confidence,
        "seed": seed,
    }
    provenance: dict[str, Any] = {"settings": settings, "versions": versions()}
    if protected is None and len(rows) == 1:
        provenance["mirrored_group"] = group_names(sensitive_features)[1]
    return DisparityResult(rows, notes, provenance)


def table_disparities(
    table: Any,
    *,
    prediction: str,
    attribute: Sequence[str],
    label: str | None = None,
    protected: Sequence[str] = (),
    settings: DisparitySettings | None = None,
) -> DisparityResult:
    """Measure the disparities between the groups of a table.

    It is a CSV, Parquet or JSON Lines file (.gz and .zst too), a folder or a pattern of such
    files, a DataFrame or an Arrow table. `attribute` names the columns whose cross product
    makes the groups; `protected` the group or groups that are compared with all others, by
    default every group in turn.
    """
    settings = settings or DisparitySettings()
    if label is None and settings.measure != "demographic_parity":
        needs = f"{settings.measure} needs the column of true labels ("
        raise InputError(needs, Argument("label"), ")")
    columns, in_file = list(attribute), isinstance(table, str | Path)
    name = str(table) if in_file else "the table"
    numbers = [prediction, *([label] if label else [])]
    drop = settings.missing_cells == "drop"
    with TableSource(table) as source:
        left_out = source.leave_out_missing(columns, numbers) if drop else None
        frame = source.read([*numbers, *columns], text=columns)
        refuse_unusable(source, frame, columns)
        if not frame[prediction].between(0, 1).all():
            source.refuse(prediction, NOT_A_SHARE)
        if label and not frame[label].isin((0, 1)).all():
            source.refuse(label, NOT_BINARY)
    result = group_disparities(
        frame[label] if label else None,
        frame[prediction],
        sensitive_features=frame[columns],
        protected=list(protected) or None,
        **replace(settings, missing_cells="error").to_dict(),
    )
    provenance = {
        "subject": name if in_file else "a table",
        "prediction": prediction,
        "attribute": columns,
        "label": label,
        **result.provenance,
    }
    if in_file:
        words = ["--prediction", prediction, *(["--label", label] if label else [])]
        words += [word for column in columns for word in ("--attribute", column)]
        words += [word for group in protected for word in ("--protected", group)]
        provenance["command"] = command_line("disparity", [name], words, settings.words())
    return with_left_out(replace(result, provenance=provenance), [left_out])


def _every_group(sensitive_features: Any) -> list[str]:
    """Return each group; of two, the first alone: the other has the same numbers, turned over."""
    names = group_names(sensitive_features)
    if len(names) < 2:
        raise InputError(f"the groups must be at least two: found {', '.join(names)}")
    if len(names) > _MANY:
        raise InputError(
            f"{len(names):,} groups are too many to take in turn; name ", Argument("protected")
        )
    return names if len(names) > 2 else names[:1]


def _disparity(
    group: str,
    measure: str,
    costs: GroupCosts,
    *,
    method: str | IntervalMethod,
    settings: DisparitySettings,
) -> Disparity:
    """Return the disparity of costs that are already split by group."""
    sizes = (len(costs.protected), len(costs.other))
    seen, given = min(sizes) / sum(sizes), settings.group_share
    share = seen if given is None else checked_group_share(given)
    if method == "auto":
        # It depends on which costs there are, not on how many.
        kinds = np.concatenate([costs.protected, costs.other]) / costs.cost_bound
        method = "exact" if np.isin(kinds, (0.0, 1.0)).all() else "betting"
    notes = _bootstrap_notes(costs) if traits_of(method).resamples else []
    if any(note.kind is NoteKind.NO_INTERVAL for note in notes):
        ends = Interval.too_few_units(settings.confidence, str(method))
    else:
        sample = groups_sample(
            costs.protected, costs.other, cost_bound=costs.cost_bound, group_share=share
        )
        rng = np.random.default_rng(settings.seed)
        ends = interval(sample, method=method, confidence=settings.confidence, rng=rng)
    if ends.method == "bernstein":
        notes += _bernstein_notes(seen, given)
    verdict = decide(ends, above=Verdict.HIGHER, below=Verdict.LOWER)
    means = (float(costs.protected.mean()), float(costs.other.mean()))
    estimate = Estimate(costs.value, ends, verdict, notes=tuple(notes))
    return Disparity(group, measure, means, sizes, share, estimate)


def _with_components(
    whole: Disparity,
    costs_of: Callable[..., GroupCosts],
    method: str | IntervalMethod,
    settings: DisparitySettings,
) -> Disparity:
    """Add the TPR and FPR differences to equalized odds; one without rows is left out."""
    costs, notes = {}, list(whole.notes)
    for measure in _COMPONENTS:
        try:
            costs[measure] = costs_of(measure=measure)
        except EmptyGroupError as problem:
            notes.append(Note(NoteKind.LEFT_OUT, f"{measure} is left out: {problem}", measure))
    level = 1 - (1 - settings.confidence) / max(1, len(costs))
    part = replace(settings, confidence=level)
    components = tuple(
        _disparity(whole.protected, name, cost, method=method, settings=part)
        for name, cost in costs.items()
    )
    if len(components) > 1:
        text = (
            "errors of both kinds can cancel in the zero-one loss; the components do not: their "
            f"intervals are at {level:g} each, so that both cover at once at "
            f"{settings.confidence:g} (Bonferroni)"
        )
        notes.append(Note(NoteKind.MULTIPLICITY, text))
    estimate = replace(whole.estimate, notes=tuple(notes))
    return replace(whole, estimate=estimate, components=components)


def _bernstein_notes(seen: float, share: float | None) -> list[Note]:
    """Return what the bound on amortized disparities assumes."""
    texts = ["the variance is estimated from the sample; the bound takes it as known"]
    if share is None:
        text = (
            "the share of the smaller group is that of the sample; the bound takes it as "
            "known (give `group_share` where it is)"
        )
        texts.insert(0, text)
    elif seen < share:
        text = (
            f"the share of the smaller group in the sample, {seen:.4g}, is below the bound "
            f"that was given, {share:.4g}: the interval is too short where the sample is right"
        )
        texts.insert(0, text)
    return [Note(NoteKind.ASSUMPTION, text) for text in texts]


def _bootstrap_notes(costs: GroupCosts) -> list[Note]:
    """Say where resampling cannot see what may happen: too few rows, or too few costs."""
    notes = []
    for name, paid in (("protected", costs.protected), ("other", costs.other)):
        # Of 0/1 costs, the rarer kind is what the rows know little of.
        seen = min(np.count_nonzero(paid), np.count_nonzero(paid < costs.cost_bound))
        what = f"the {name} group has {plural(len(paid), 'row')}, {seen} of the rarer kind"
        if len(paid) < _TOO_FEW or np.ptp(paid) == 0:
            text = f"{what}: a bootstrap would be far too short, so there is none; use auto"
            notes.append(Note(NoteKind.NO_INTERVAL, text))
        elif len(paid) < _FEW or seen < _FEW_COSTS:
            text = f"{what}: the bootstrap interval is too short there; use auto"
            notes.append(Note(NoteKind.FEW_UNITS, text))
    return notes
