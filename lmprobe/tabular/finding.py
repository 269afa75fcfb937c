"""What `amplify` found, in sentences: each direction with its verdict, strength and examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from lmprobe.metrics.direction import DIRECTIONS
from lmprobe.results import NoteKind, Statement
from lmprobe.results.format import describe_strength, format_signed
from lmprobe.results.moves import Moves
from lmprobe.tabular.rows import AmplificationRow
from lmprobe.tabular.settings import AmplifySettings


def finding(rows: Sequence[AmplificationRow], settings: AmplifySettings) -> tuple[Statement, ...]:
    """Return what the predictions do to the links in the labels, direction by direction."""
    several = len(settings.task) > 1 or settings.task[0].endswith("*")
    groups = " & ".join(settings.attribute)
    given = {"attribute": groups, "task": "the task" if several else settings.task[0]}
    predicted = given | ({"task": "the tasks"} if several else {})
    ordered = sorted(rows, key=lambda row: DIRECTIONS.index(row.direction))
    statements: list[Statement] = []
    for row in ordered:
        claim = _claim(row, predicted[row.direction.predicted], settings)
        text = f"Given {given[row.direction.given]}, {claim}."
        statements += [Statement(text, row.estimate.verdict), *map(Statement, _details(row))]
    return tuple(statements)


def _claim(row: AmplificationRow, predicted: str, settings: AmplifySettings) -> str:
    """Return the verdict of a direction as the rest of a sentence."""
    if row.unevenness is not None:
        return next(note.text for note in row.notes if note.kind is NoteKind.TIE)
    if settings.interval == "none":
        return f"the value is {format_signed(row.value)}; without an interval there is no verdict"
    if row.estimate.obstacle is not None:
        return f"there is no verdict: {row.estimate.obstacle.reason}"
    claim = row.estimate.verdict.predicate.format(base="the labels")
    lean = "" if settings.train is None else ", by the lean of the train table"
    return f"the prediction of {predicted} {claim}{lean}"


def _details(row: AmplificationRow) -> Iterator[str]:
    """Yield how strong the links are, an example, and the tasks that are moved farthest."""
    if row.unevenness is not None or row.estimate.obstacle is not None:
        return
    if row.strength is not None and not math.isnan(row.strength.value):
        yield describe_strength(row.strength, "the labels")
    yield from moves_of(row).sentences(row.estimate.claimed, "the labels", "the predictions")


def moves_of(row: AmplificationRow) -> Moves:
    """Return the shares of a row among labels and predictions, the mean over runs."""
    shares = (row.base_rate, row.predicted, row.lean)
    return Moves(row.direction, row.attributes, row.tasks, *shares)
