"""How much data a claim needs: rows for a disparity, templates for a probe, sentences for a base.

It lies here and not beside the formulas because a pilot is the result of a probe.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe.core.direction import DIRECTIONS
from lmprobe.errors import InputError
from lmprobe.inference.pilot import templates_needed
from lmprobe.inference.plan_result import (
    BasePlan,
    PlanQuestion,
    PlanResult,
    PlanRow,
    RowsPlan,
    TemplatesPlan,
)
from lmprobe.inference.planning import (
    PLANNED,
    claimable_effect,
    meaning_of_variance,
    sample_size,
)
from lmprobe.inference.settings import PlanSettings
from lmprobe.intervals.base_uncertainty import checked_counts, reliability, sentences_needed
from lmprobe.probing.result import ProbeResult
from lmprobe.results import Note, NoteKind
from lmprobe.sources import load_base_rates

_ROWS_NOTES: tuple[Note, ...] = (
    Note(
        NoteKind.METHOD,
        "exact (0/1 costs), betting and bernstein are guaranteed, bernstein if variances and "
        "shares are known; the numbers for score, bootstrap and betting use the normal "
        "approximation",
    ),
    Note(
        NoteKind.ASSUMPTION,
        "a claim needs an estimate at least this large; if the true effect is exactly this large, "
        "about half of such samples show it",
    ),
)
_PROBE_NOTES: tuple[Note, ...] = (
    Note(
        NoteKind.METHOD,
        "computed from the pilot's variance over templates (or families) and tasks, with the "
        "normal approximation",
    ),
)
_BASE_NOTES: tuple[Note, ...] = (
    Note(
        NoteKind.BASE,
        "the share is for a model that exaggerates each link in proportion to its strength; the "
        "tasks keep their shares of the sentences",
    ),
)


def plan(
    effect: float | None = None,
    *,
    rows: int | None = None,
    pilot: ProbeResult | str | Path | None = None,
    base: Any = None,
    method: str | None = PlanSettings.method,
    group_share: float = PlanSettings.group_share,
    cost_bound: float = PlanSettings.cost_bound,
    variance: float | None = PlanSettings.variance,
    confidence: float = PlanSettings.confidence,
) -> PlanResult:
    """Compute how much data a claim needs.

    Parameters
    ----------
    effect
        The difference to be claimed.
    rows
        A number of rows, instead of `effect`: compute what they can claim.
    pilot
        The result of a probe: plan its templates for `effect`, instead of rows.
    base
        A base-rate table of counts, by name, path or object: plan its sentences, without
        `effect`.
    method
        One interval method for rows; all by default.
    group_share, cost_bound, variance
        As in `sample_size`; a variance needs a method.

    Examples
    --------
    >>> [row.n for row in plan(0.05).rows if row.method in ("bernstein", "betting")]
    [11903, 2993]
    """
    settings = PlanSettings(
        method=method,
        group_share=group_share,
        cost_bound=cost_bound,
        variance=variance,
        confidence=confidence,
    )
    _check(effect, rows, pilot, base, settings)
    if base is not None:
        found, notes, question = _for_base(base), _BASE_NOTES, PlanQuestion.BASE
    elif pilot is not None:
        assert effect is not None
        found = _for_probe(pilot, effect, confidence)
        notes, question = _PROBE_NOTES, PlanQuestion.TEMPLATES
    else:
        found, notes = _for_rows(effect, rows, settings), _ROWS_NOTES
        question = PlanQuestion.ROWS
    provenance = {"settings": settings.to_dict()}
    return PlanResult(question, found, effect, confidence, notes, provenance)


def _check(
    effect: float | None, rows: int | None, pilot: Any, base: Any, settings: PlanSettings
) -> None:
    """Refuse questions that contradict each other."""
    if base is not None:
        if effect is not None or rows is not None or pilot is not None:
            raise InputError("`base` plans sentences: give it without effect, rows or pilot")
    elif (effect is None) == (rows is None) or (pilot is not None and effect is None):
        raise InputError(
            "give `effect`, or `rows` to compute what they allow; a pilot needs `effect`"
        )
    fixed = settings.method is not None or settings.variance is not None
    if fixed and (pilot is not None or base is not None):
        raise InputError("a pilot or a base has its own variance: no method, no variance")
    if settings.variance is not None and settings.method is None:
        raise InputError("the variance means something else for each method; give a method too")


def _for_rows(
    effect: float | None, rows: int | None, settings: PlanSettings
) -> tuple[PlanRow, ...]:
    found = []
    for method in (settings.method,) if settings.method else PLANNED:
        options: dict[str, Any] = {
            "group_share": settings.group_share,
            "cost_bound": settings.cost_bound,
            "confidence": settings.confidence,
            "variance": settings.variance,
            "method": method,
        }
        n, claim = rows, effect
        if effect is not None:
            n = sample_size(effect, **options)
        elif rows is not None:
            claim = claimable_effect(rows, **options)
        assert n is not None
        assert claim is not None
        # More than the largest cost is no difference that could be found.
        claim = claim if claim <= settings.cost_bound else math.inf
        found.append(RowsPlan(method, n, claim, meaning_of_variance(method)))
    return tuple(found)


def _for_probe(
    pilot: ProbeResult | str | Path, effect: float, confidence: float
) -> tuple[PlanRow, ...]:
    result = pilot if isinstance(pilot, ProbeResult) else ProbeResult.from_json(pilot)
    return tuple(
        TemplatesPlan(
            row.base,
            row.direction,
            templates_needed(row.cells, effect, families=result.families, confidence=confidence),
        )
        for row in result.rows
    )


def _for_base(base: Any) -> tuple[PlanRow, ...]:
    source = load_base_rates(base)
    sampling = getattr(source, "sampling", None)
    if sampling is None or not sampling.counts:
        raise InputError(
            f'base "{source.name}" is not known to be a table of counted sentences '
            "(`counts = true` in its TOML), so there is no number of sentences to plan"
        )
    counts = checked_counts(source.counts)  # type: ignore[attr-defined]
    # Tasks and groups that were never counted take part in no comparison.
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    return tuple(
        BasePlan(
            source.name,
            direction,
            int(counts.sum()),
            reliability(counts, direction, rng=np.random.default_rng(0)).proportional,
            sentences_needed(counts, direction),
        )
        for direction in DIRECTIONS
    )
