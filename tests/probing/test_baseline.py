"""Base rates and the lean they are compared by: whose it is, what it lacks, merged groups."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.direction import Direction
from lmprobe.probing.rows import NO_LEAN, Baseline, baseline
from lmprobe.results import NoteKind
from lmprobe.sources import load_base_rates
from lmprobe.sources.source import Sampling, table_of

FORWARD = Direction.TASK_TO_ATTRIBUTE
PAIR, TWO = ("he", "she"), ("nurse", "cook")
# he: nurse -, cook +; she the other way round.
OWN = table_of("own", [[1, 8], [9, 2]], PAIR, TWO, sampling=Sampling())
# The groups and the tasks in another order, the leans the other way round.
OTHER = table_of("other", [[7, 3, 5], [2, 8, 5]], ("she", "he"), ("cook", "nurse", "clerk"))


def texts(compared: Baseline) -> list[str]:
    return [note.text for note in compared.notes if note.kind is NoteKind.LEAN]


def test_the_lean_is_that_of_the_base_itself_unless_another_is_named() -> None:
    own = baseline(OWN, PAIR, TWO)
    assert (own.name, own.lean_name) == ("own", "own")
    np.testing.assert_array_equal(own.lean(FORWARD, "joint"), [[-1, 1], [1, -1]])
    assert texts(own) == []
    foreign = baseline(OWN, PAIR, TWO, lean_from=OTHER)
    assert (foreign.name, foreign.lean_name) == ("own", "other")
    np.testing.assert_array_equal(foreign.lean(FORWARD, "joint"), [[1, -1], [-1, 1]])
    assert texts(foreign) == ["the lean comes from other"]


def test_a_group_without_a_lean_leans_nowhere_and_a_task_without_one_is_undefined() -> None:
    base = table_of(
        "wide", [[1, 8, 3], [9, 2, 3], [4, 4, 3]], ("he", "they", "she"), ("nurse", "pilot", "cook")
    )
    compared = baseline(base, base.attributes, base.tasks, lean_from=OTHER)
    np.testing.assert_array_equal(
        compared.lean(FORWARD, "joint"), [[1, np.nan, -1], [0, np.nan, 0], [-1, np.nan, 1]]
    )
    assert texts(compared) == [
        "the lean comes from other",
        "other has no lean for they: 0 is used",
        "other has no lean for 1 task: undefined",
    ]


def test_words_without_a_lean_are_undefined_unless_its_source_was_chosen() -> None:
    uniform = load_base_rates("uniform")
    assert baseline(uniform, PAIR, TWO).lean_name == "winobias-majority"
    assert baseline(uniform, PAIR, TWO, lean_from=OTHER).lean_name == "other"
    unknown = baseline(uniform, ("Black", "White"), TWO)
    assert (unknown.lean_name, unknown.lean_rates) == (NO_LEAN, None)
    np.testing.assert_array_equal(unknown.lean(FORWARD, "joint"), np.full((2, 2), np.nan))
    (text,) = texts(unknown)
    assert "no source has a lean for these words" in text
    with pytest.raises(InputError, match='"uniform" takes its lean from there'):
        baseline(uniform, ("Black", "White"), TWO, lean_from=OTHER)


def test_missing_words_are_dropped_or_have_half_a_count() -> None:
    tasks = ("nurse", "cook", "pilot")
    assert baseline(OWN, PAIR, tasks).rates.association.tasks == TWO
    smooth = baseline(OWN, PAIR, tasks, missing="smooth").rates.association
    np.testing.assert_array_equal(smooth.counts, [[1.5, 8.5, 0.5], [9.5, 2.5, 0.5]])
    chosen = baseline(OWN, PAIR, tasks, missing="smooth", pseudo_count=2.0).rates.association
    np.testing.assert_array_equal(chosen.counts, [[3, 10, 2], [11, 4, 2]])


def test_groups_of_one_owner_are_merged_in_the_base_and_in_the_lean() -> None:
    owner = {"young man": "man", "old man": "man", "woman": "woman"}
    base = table_of("base", [[1, 3], [1, 4], [8, 3]], tuple(owner), TWO)
    other = table_of("lean", [[9, 1], [8, 1], [1, 8]], tuple(owner), TWO)
    own = baseline(base, tuple(owner), TWO).merged(owner)
    assert own.rates.association.attributes == ("man", "woman")
    np.testing.assert_array_equal(own.rates.association.counts, [[2, 7], [8, 3]])
    np.testing.assert_array_equal(own.lean(FORWARD, "joint"), [[-1, 1], [1, -1]])
    foreign = baseline(base, tuple(owner), TWO, lean_from=other).merged(owner)
    np.testing.assert_array_equal(foreign.rates.association.counts, [[2, 7], [8, 3]])
    np.testing.assert_array_equal(foreign.lean(FORWARD, "joint"), [[1, -1], [-1, 1]])
    without = baseline(load_base_rates("uniform"), tuple(owner), TWO).merged(owner)
    assert without.lean_rates is None
