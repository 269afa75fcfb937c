"""Pairing two probes: which rows, which tasks, and what is not the same in both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS
from lmprobe.errors import InputError
from lmprobe.probing.paired import compare_results
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.row import ProbeRow
from lmprobe.probing.settings import CompareSettings
from lmprobe.results import NoteKind
from tests.conftest import Made

FORWARD, BACKWARD = DIRECTIONS
NAMES = ("old", "new")
SETTINGS = CompareSettings(interval="t")


@pytest.fixture
def small(made: Made) -> Any:
    """Return the maker of small results: six templates, four tasks."""

    def make(seed: int = 0, **options: Any) -> ProbeResult:
        chosen = {"tasks": ("cook", "nurse", "vet", "clerk"), "bases": ("labor",)} | options
        return made(templates=list("abcdef"), seed=seed, **chosen)

    return make


def each(result: ProbeResult, **changes: Any) -> ProbeResult:
    """Return the result with every row changed."""
    return replace(result, rows=tuple(replace(row, **changes) for row in result.rows))


def cut(row: ProbeRow, tasks: tuple[str, ...], attributes: tuple[str, ...]) -> ProbeRow:
    """Return the row of these words, in this order."""
    rows = [row.attributes.index(name) for name in attributes]
    columns = [row.tasks.index(name) for name in tasks]
    tables = {
        name: getattr(row, name)[..., rows, :][..., columns]
        for name in ("predicted", "base_rate", "lean")
    }
    return replace(row, tasks=tasks, attributes=attributes, **tables)


def notes(first: ProbeResult, second: ProbeResult, kind: NoteKind) -> list[str]:
    found = compare_results(first, second, NAMES, SETTINGS)
    return [note.text for note in found[0].row.notes if note.kind is kind]


def test_cells_are_paired_by_the_names_of_their_words(small: Any) -> None:
    first, second = small(), small(seed=1)
    turned = replace(
        second,
        rows=tuple(
            cut(row, ("vet", "clerk", "pilot", "nurse"), ("she", "he"))
            for row in small(seed=1, tasks=("cook", "nurse", "vet", "clerk", "pilot")).rows
        ),
    )
    found = compare_results(first, turned, NAMES, SETTINGS)
    assert [pair.row.direction for pair in found] == [FORWARD, BACKWARD]
    for pair, row, twin in zip(found, first.rows, turned.rows, strict=True):
        assert pair.difference.tasks == ("nurse", "vet", "clerk")
        for t, task in enumerate(("nurse", "vet", "clerk")):
            for a, attribute in enumerate(("he", "she")):
                own = row.cells[:, row.attributes.index(attribute), row.tasks.index(task)]
                other = twin.cells[:, twin.attributes.index(attribute), twin.tasks.index(task)]
                np.testing.assert_allclose(pair.difference.cells[:, a, t], other - own)
        assert pair.row.value == pytest.approx(pair.difference.cells.mean())
        assert pair.row.interval.low < pair.row.value < pair.row.interval.high
        values = [np.mean(one) for one in (row.cells[:, :, 1:], twin.cells[:, :, [0, 1, 3]])]
        assert pair.row.values == pytest.approx(tuple(values))
        assert (pair.row.first, pair.row.second, pair.row.base) == ("old", "new", "labor")
    text = "left out, only one of the two has them: cook, pilot"
    assert notes(first, turned, NoteKind.LEFT_OUT) == [text]
    assert notes(first, second, NoteKind.LEFT_OUT) == []


def test_a_base_that_is_not_the_same_for_both_is_told(small: Any) -> None:
    first = small(bases=("wikipedia",))
    moved = [replace(row, predicted=row.predicted * 0.9) for row in first.rows]
    other = replace(first, rows=tuple(moved))
    assert np.isnan(first.rows[0].base_rate).any()
    assert notes(first, other, NoteKind.BASE) == [], "undefined pairs are the same too"
    text = 'the base "wikipedia" is not the same for both: part of the difference is the base\'s'
    rows = tuple(replace(row, base_rate=row.base_rate * 0.9) for row in moved)
    assert notes(first, replace(first, rows=rows), NoteKind.BASE) == [text]
    rows = tuple(replace(row, lean=-row.lean) for row in moved)
    assert notes(first, replace(first, rows=rows), NoteKind.BASE) == [text]


def test_rows_that_only_one_has_are_left_out(small: Any) -> None:
    first = small(bases=("labor", "corpus"))
    second = small(bases=("corpus",), seed=1)
    second = replace(second, rows=second.rows[1:])
    found = compare_results(first, second, NAMES, SETTINGS)
    assert [(pair.row.base, pair.row.direction) for pair in found] == [("corpus", BACKWARD)]
    with pytest.raises(InputError, match="share no base: old has labor, new has corpus"):
        compare_results(small(), second, NAMES, SETTINGS)


def test_results_that_cannot_be_paired_are_refused(small: Any) -> None:
    first = small()
    with pytest.raises(InputError, match="old compares he, she and new he, they against labor"):
        compare_results(first, small(attributes=("he", "they")), NAMES, SETTINGS)
    with pytest.raises(InputError, match="old and new share no task against labor"):
        compare_results(first, small(tasks=("pilot", "baker")), NAMES, SETTINGS)
    other = replace(small(seed=1), templates=tuple("abcdeg"))
    with pytest.raises(InputError, match="old has 6 templates and new 6, or others"):
        compare_results(first, other, NAMES, SETTINGS)


def scored(result: ProbeResult, scorer: str, kind: str | None) -> ProbeResult:
    facts = {**result.provenance, "scorer": scorer, "kind": kind}
    if kind is None:
        del facts["kind"]
    return replace(result, provenance=facts)


@pytest.mark.parametrize(
    ("kinds", "allowed"),
    [
        (("masked", "causal"), True),
        (("masked", "masked"), False),
        ((None, "causal"), False),
        (("masked", None), False),
        ((None, None), False),
    ],
)
def test_other_scorers_are_for_models_of_other_kinds(
    small: Any, kinds: tuple[str | None, str | None], allowed: bool
) -> None:
    """Results of version 1 do not say their kind."""
    first, second = scored(small(), "pll", kinds[0]), scored(small(seed=1), "sentence", kinds[1])
    if allowed:
        (text,) = notes(first, second, NoteKind.SCORER)
        assert "old is a masked model, scored by pll, and new a causal one" in text
    else:
        with pytest.raises(InputError, match="old was made with the scorer pll, new with sent"):
            compare_results(first, second, NAMES, SETTINGS)
    same = scored(small(), "pll", kinds[0]), scored(small(seed=1), "pll", kinds[1])
    assert notes(*same, NoteKind.SCORER) == []
