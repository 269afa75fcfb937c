"""Compares saved or fresh probe results, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from lmprobe.association import Direction
from lmprobe.errors import InputError
from lmprobe.inference.comparison import Comparison, compare_cells
from lmprobe.tally import Floats


class Row(Protocol):
    """One base in one direction, as in a `ProbeResult`."""

    @property
    def base(self) -> str:
        """The world that was compared with."""
        ...

    @property
    def direction(self) -> Direction:
        """What was given and what predicted."""
        ...

    @property
    def attributes(self) -> tuple[str, ...]:
        """The groups."""
        ...

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks."""
        ...

    @property
    def base_rate(self) -> Floats:
        """(A, T)."""
        ...

    @property
    def lean(self) -> Floats:
        """(A, T)."""
        ...

    @property
    def cells(self) -> Floats:
        """The amplification of each pair in each template, (K, A, T)."""
        ...


class Result(Protocol):
    """What is compared: a `ProbeResult`, or anything like it."""

    @property
    def rows(self) -> Sequence[Row]:
        """One per base and direction."""
        ...

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates."""
        ...

    @property
    def families(self) -> tuple[str, ...]:
        """The family of each template."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What it was made of."""
        ...


def compare_results(
    first: Result,
    second: Result,
    *,
    names: tuple[str, str],
    method: str = "bootstrap",
    resample: str = "both",
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Compare two results on every base and direction that both have.

    Both must have been made with the same templates and scorer; tasks that only one of them
    has are left out, and a note says which.
    """
    _check_scorer(first, second, names)
    _check_templates(first, second, names)
    theirs = {(row.base, row.direction): row for row in second.rows}
    found = []
    for row in first.rows:
        twin = theirs.get((row.base, row.direction))
        if twin is not None:
            rng = np.random.default_rng(seed)
            options = (method, resample, confidence)
            found.append(_compare(row, twin, first.families, names, options, rng))
    if not found:
        have = [sorted({row.base for row in one.rows}) for one in (first, second)]
        raise InputError(
            f"the results share no base: {names[0]} has {', '.join(have[0])}, "
            f"{names[1]} has {', '.join(have[1])}"
        )
    return tuple(found)


def _compare(
    row: Row,
    twin: Row,
    families: tuple[str, ...],
    names: tuple[str, str],
    options: tuple[str, str, float],
    rng: np.random.Generator,
) -> Comparison:
    if set(row.attributes) != set(twin.attributes):
        raise InputError(
            f"{names[0]} compares {', '.join(row.attributes)} and {names[1]} "
            f"{', '.join(twin.attributes)} against {row.base}; they must be the same"
        )
    tasks = tuple(task for task in row.tasks if task in twin.tasks)
    if not tasks:
        raise InputError(f"{names[0]} and {names[1]} share no task against {row.base}")
    own, other = (_chosen(one, row.attributes, tasks) for one in (row, twin))
    notes = []
    lost = sorted(set(row.tasks) ^ set(twin.tasks))
    if lost:
        notes.append(f"left out, only one of the two has them: {', '.join(lost)}")
    if not all(np.allclose(a, b, equal_nan=True) for a, b in zip(own[1:], other[1:], strict=True)):
        notes.append(
            f'the base "{row.base}" is not the same for both: part of the difference is the base\'s'
        )
    method, resample, confidence = options
    found = compare_cells(
        own[0],
        other[0],
        names=names,
        base=row.base,
        direction=row.direction,
        tasks=tasks,
        families=families,
        method=method,
        resample=resample,
        confidence=confidence,
        rng=rng,
    )
    return replace(found, notes=(*found.notes, *notes))


def _chosen(row: Row, attributes: tuple[str, ...], tasks: tuple[str, ...]) -> tuple[Floats, ...]:
    """Return cells, base rates and lean in this order of attributes and tasks."""
    rows = [row.attributes.index(name) for name in attributes]
    columns = [row.tasks.index(name) for name in tasks]
    return tuple(
        table[..., rows, :][..., columns] for table in (row.cells, row.base_rate, row.lean)
    )


def _check_scorer(first: Result, second: Result, names: tuple[str, str]) -> None:
    mine, theirs = first.provenance.get("scorer"), second.provenance.get("scorer")
    if mine != theirs:
        raise InputError(
            f"{names[0]} was made with the scorer {mine}, {names[1]} with {theirs}; "
            "make both with the same"
        )


def _check_templates(first: Result, second: Result, names: tuple[str, str]) -> None:
    if first.templates != second.templates:
        raise InputError(
            f"{names[0]} has {len(first.templates)} templates and {names[1]} "
            f"{len(second.templates)}, or others; a paired comparison needs the same templates"
        )
