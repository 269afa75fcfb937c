"""Holds a result against a limit, or against the result of the model in production."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.gating.limits import Max, check_names, limit_for, limits_of
from lmprobe.gating.result import CheckedRow, CheckResult
from lmprobe.report.loading import load_result
from lmprobe.report.result import Result
from lmprobe.results import Estimate, Interval, Verdict
from lmprobe.results.claim import Claim


def check(
    result: Result | str | Path,
    *,
    max: Max | None = None,
    base: str | Sequence[str] | None = None,
    direction: Direction | str | None = None,
    against: Result | str | Path | None = None,
    max_perplexity: float | None = None,
    max_strength: float | None = None,
) -> CheckResult:
    """Compare a result of any job with a limit, or with another result of the same job.

    Parameters
    ----------
    result
        A result, its JSON file, or the folder of a run.
    max
        The largest allowed value: a number for every row, or limits by base and
        direction, as a mapping (`{"labor": 0.05, "labor:T->A": 0.02}`) or in the form of the
        command line (`["0.05", "labor:T->A=0.02"]`). The most specific limit applies; a row
        without one is not checked. With `against`, the largest allowed increase, 0 by default.
    base, direction
        The rows to check; every row by default.
    against
        The result to compare with. Probes are compared by paired differences, template by
        template and task by task; for other results the two intervals are combined as
        independent.
    max_perplexity
        The largest allowed perplexity per word of a probed model, because a model with a high
        perplexity may look unbiased. It is compared without an interval.
    max_strength
        The largest allowed strength: how many times as strong the links are as the base's.

    Notes
    -----
    A row passes only when its whole interval is at or below the limit and fails only when the
    whole interval is above it. With several rows, a failed one decides, then an uninformed one,
    then one without enough evidence.
    """
    whole = _loaded(result)
    claims = whole.claims() if against is None else whole.changes(_loaded(against))
    if not claims:
        raise InputError(
            f"this result of the job {whole.kind} has no number with an interval to check"
        )
    if max is None and against is None and max_perplexity is None and max_strength is None:
        raise InputError("a check needs a limit (`max`, --max) or another result (`against`)")
    limits = () if max is None and against is None else limits_of(0.0 if max is None else max)
    bases = [base] if isinstance(base, str) else list(base or ())
    directions = [] if direction is None else [Direction.parse(direction)]
    named = [limit.base for limit in limits if limit.base is not None]
    scoped = [limit.direction for limit in limits if limit.direction is not None]
    check_names(claims, [*bases, *named], [*directions, *scoped])

    def selected(claim: Claim) -> bool:
        return (not bases or claim.base in bases) and (
            not directions or claim.direction in directions
        )

    rows = [
        CheckedRow(claim, limit.value)
        for claim in claims
        if selected(claim) and (limit := limit_for(claim, limits))
    ]
    rows += [row for row in _strengths(whole, max_strength) if selected(row.claim)]
    if not rows and max_perplexity is None:
        raise InputError("no row of the result has both the base and the direction asked for")
    rows += _perplexity(whole, max_perplexity)
    return CheckResult(tuple(rows), relative=against is not None)


def _strengths(result: Result, limit: float | None) -> list[CheckedRow]:
    """Return every strength held against its limit, or nothing if there is none."""
    if limit is None:
        return []
    rows = [row for row in getattr(result, "rows", ()) if getattr(row, "strength", None)]
    if not rows:
        raise InputError("the result has no strength: its bases have no links, or one task alone")
    return [
        CheckedRow(Claim(row.strength, row.base, row.direction, "strength"), limit) for row in rows
    ]


def _perplexity(result: Result, limit: float | None) -> tuple[CheckedRow, ...]:
    """Return the perplexity held against its limit, or nothing if there is none."""
    if limit is None:
        return ()
    value = getattr(result, "perplexity", None)
    if value is None:
        raise InputError("the result has no perplexity; only probes of models have one")
    whole = Interval(value, value, 1.0, "exact")
    claim = Claim(Estimate(value, whole, Verdict.UNDECIDED), subject="perplexity per word")
    return (CheckedRow(claim, limit, exact=True),)


def _loaded(result: Result | str | Path) -> Result:
    return result if isinstance(result, Result) else load_result(result)
