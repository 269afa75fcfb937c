"""Compares the numbers of a result with limits, or with those of an earlier result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Self

from lmprobe.errors import Argument, InputError, did_you_mean
from lmprobe.metrics.direction import Direction
from lmprobe.results import (
    ColumnKind,
    ColumnOf,
    Estimate,
    Interval,
    Note,
    NoteKind,
    Page,
    Section,
    Statement,
    Table,
    Verdict,
    closing_sections,
    json_field,
    table_of,
)
from lmprobe.results.estimate import Claim
from lmprobe.results.format import describe_interval, format_signed
from lmprobe.results.result import Result, load_result

Max = float | str | Sequence[float | str] | Mapping[str, float]
"""A limit, limits as on the command line, or limits by what they are for."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest value that is allowed, and of what; None is everything."""

    value: float
    base: str | None = None
    direction: Direction | None = None

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Read `0.05`, `T->A=0.05`, `labor=0.05` or `labor:T->A=0.02`.

        >>> Limit.parse("labor:T->A=0.02").direction.value
        'task->attribute'
        """
        scope, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise InputError(
                f'"{text}" is no limit; write a number, or BASE=NUMBER, DIRECTION=NUMBER or '
                "BASE:DIRECTION=NUMBER, such as labor:T->A=0.02"
            ) from None
        return cls.of(scope if equals else "", value)

    @classmethod
    def of(cls, scope: str, value: float) -> Limit:
        """Return the limit of a base, a direction, both (`labor:T->A`) or everything (empty)."""
        if not math.isfinite(value):
            raise InputError(f"a limit must be a finite number, found {value}")
        base, _, last = scope.rpartition(":")
        try:
            direction = Direction.parse(last) if last else None
        except InputError:
            return cls(value, scope)
        return cls(value, base or None, direction)


def limits_of(largest: Max) -> tuple[Limit, ...]:
    """Return the limits that an argument or the options mean."""
    if isinstance(largest, Mapping):
        return tuple(Limit.of(scope, float(value)) for scope, value in largest.items())
    several = [largest] if isinstance(largest, str | int | float) else list(largest)
    return tuple(
        Limit.parse(limit) if isinstance(limit, str) else Limit.of("", float(limit))
        for limit in several
    )


def limit_for(claim: Claim, limits: Iterable[Limit]) -> Limit | None:
    """Return the most precise limit for a claim; the later of two that are alike."""
    fitting = [
        limit
        for limit in limits
        if limit.base in (None, claim.base) and limit.direction in (None, claim.direction)
    ]
    return max(
        reversed(fitting),
        key=lambda limit: (limit.base is not None, limit.direction is not None),
        default=None,
    )


def check_names(
    claims: Sequence[Claim], bases: Iterable[str], directions: Iterable[Direction]
) -> None:
    """Refuse a base or direction that the result does not have, and say which there are."""
    have_bases = {claim.base for claim in claims if claim.base}
    have_directions = {claim.direction.value for claim in claims if claim.direction is not None}
    for kind, names, have in (
        ("base", bases, have_bases),
        ("direction", (direction.value for direction in directions), have_directions),
    ):
        for name in names:
            if name not in have:
                raise InputError(f'the result has no {kind} "{name}"; {did_you_mean(name, have)}')


class Outcome(StrEnum):
    """What an interval allows one to say of a limit, the worst first.

    Each has the exit code of `lmprobe check` (2 is for mistakes in the input, as everywhere),
    the label for a table, the verdict that colours it, and the reason.
    """

    FAILED = "failed", 1, "failed", Verdict.HIGHER, "the whole interval is above the limit"
    NO_VERDICT = "no_verdict", 4, "no verdict", Verdict.UNINFORMED
    UNDECIDED = (
        *("undecided", 3, "not enough evidence", Verdict.UNDECIDED),
        "the interval contains the limit, so the value may lie on either side; more data makes "
        "the interval shorter",
    )
    PASSED = "passed", 0, "passed", Verdict.LOWER, "the whole interval is at or below the limit"

    exit_code: int
    label: str
    verdict: Verdict
    reason: str

    def __new__(
        cls,
        name: str,
        code: int = 0,
        label: str = "",
        verdict: Verdict | None = None,
        why: str = "",
    ) -> Self:
        """Make an outcome that is its name."""
        outcome = str.__new__(cls, name)
        outcome._value_, outcome.exit_code, outcome.label = name, code, label
        outcome.verdict, outcome.reason = verdict or Verdict.UNDECIDED, why
        return outcome


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """One number held against the largest value that is allowed."""

    json_keys: ClassVar[tuple[str, ...]] = (
        "claim", "limit", "exact", "change", "outcome", "explanation",
    )  # fmt: skip

    claim: Claim = json_field(flat=True)
    limit: float = json_field(key="max")
    exact: bool = False
    """Whether the number is compared as it is, without an interval."""
    change: bool = json_field(default=False, optional=True)
    """Whether the number is a difference from another result."""

    @property
    def outcome(self) -> Outcome:
        """What the interval allows one to say; a value alone decides nothing."""
        estimate = self.claim.estimate
        if estimate.obstacle is not None:
            return Outcome.NO_VERDICT
        if estimate.interval.high <= self.limit:
            return Outcome.PASSED
        if estimate.interval.low > self.limit:
            return Outcome.FAILED
        return Outcome.UNDECIDED

    @property
    def reason(self) -> str:
        """Why the outcome is so, and whether the model would have given other answers."""
        obstacle, notes = self.claim.estimate.obstacle, self.claim.estimate.notes
        reason = self.outcome.reason if obstacle is None else obstacle.reason
        if self.outcome is Outcome.UNDECIDED and not self.claim.estimate.interval.bounded:
            reason = "without an interval the value may lie on either side of the limit"
        return "; ".join([reason, *(note.text for note in notes if note.kind is NoteKind.MASS)])

    @property
    def explanation(self) -> str:
        """The outcome in one sentence."""
        estimate = self.claim.estimate
        if self.exact:
            side = "at or below" if self.outcome is Outcome.PASSED else "above"
            return (
                f"{self.claim.label}: {estimate.value:.4g}, limit {self.limit:.4g}: "
                f"{self.outcome.label}; it is {side} the limit"
            )
        what = "difference " if self.change else ""
        return (
            f"{self.claim.label}: {what}{format_signed(estimate.claimed)}, "
            f"{describe_interval(estimate.interval)}, limit {format_signed(self.limit)}: "
            f"{self.outcome.label}; {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class CheckResult(Result):
    """Every row that was checked; the worst outcome is that of the whole."""

    kind: ClassVar[str] = "check"
    json_keys: ClassVar[tuple[str, ...]] = ("outcome", "exit_code", "relative", "rows", "notes")

    rows: tuple[CheckedRow, ...]
    relative: bool = False
    """Whether the values are differences from another result."""
    notes: tuple[Note, ...] = json_field(default=(), optional=True)
    """What could not be checked."""

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of any row."""
        outcomes = {row.outcome for row in self.rows}
        return next(outcome for outcome in Outcome if outcome in outcomes)

    @property
    def passed(self) -> bool:
        """Whether every row passed."""
        return self.outcome is Outcome.PASSED

    @property
    def exit_code(self) -> int:
        """The exit code of `lmprobe check`."""
        return self.outcome.exit_code

    def claims(self) -> tuple[Claim, ...]:
        """Return the numbers that were checked."""
        return tuple(row.claim for row in self.rows)

    def tables(self) -> tuple[Table, ...]:
        """Return every row with its limit and outcome."""
        value = "difference" if self.relative else "value"
        columns = (
            ColumnOf("checked", "claim.label"),
            ColumnOf(value, "claim.estimate.claimed", ColumnKind.SIGNED),
            ColumnOf("interval", "claim.estimate.interval", ColumnKind.INTERVAL),
            ColumnOf("limit", "limit", ColumnKind.SIGNED),
            ColumnOf("outcome", "outcome.label"),
        )
        return (table_of("rows", self.rows, columns),)

    def page(self) -> Page:
        """Return the report: the outcome, then every row."""
        what = "The change since another result" if self.relative else "The result"
        worst = next(row for row in self.rows if row.outcome is self.outcome)
        headline = f"{what}: {self.outcome.label}; {worst.reason}."
        return Page(
            title="Checked against a limit",
            subtitle="",
            headline=(Statement(headline, self.outcome.verdict),),
            sections=(Section("Rows", tables=self.tables()), *closing_sections(self.notes)),
            limits=("A limit passed says nothing about what the limit should be.",),
        )


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
        raise InputError(
            "a check needs a limit (",
            Argument("max"),
            ") or another result (",
            Argument("against"),
            ")",
        )
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
        CheckedRow(claim, limit.value, change=against is not None)
        for claim in claims
        if selected(claim) and (limit := limit_for(claim, limits))
    ]
    rows += [row for row in _strengths(whole, max_strength) if selected(row.claim)]
    if not rows and max_perplexity is None:
        raise InputError("no row of the result has both the base and the direction asked for")
    rows += _perplexity(whole, max_perplexity)
    failed = dict.fromkeys(failure.model for failure in getattr(whole, "failures", ()))
    text = f"not checked, because the sweep could not probe them: {', '.join(failed)}"
    notes = (Note(NoteKind.LEFT_OUT, text),) if failed else ()
    return CheckResult(tuple(rows), relative=against is not None, notes=notes)


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
