"""Limits for the numbers of a result: one for all, or one per base and direction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lmprobe.core.direction import Direction
from lmprobe.errors import InputError, did_you_mean
from lmprobe.results.claim import Claim

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
