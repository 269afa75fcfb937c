"""Base rates and the lean they are compared by: whose it is, what it lacks, merged groups."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.probing.baseline import NO_LEAN, Baseline, baseline
from lmprobe.results import NoteKind
from lmprobe.sources import load_base_rates
from lmprobe.sources.table import Sampling, Table, table_of

FORWARD = Direction.TASK_TO_ATTRIBUTE
# he: nurse -, cook +; she the other way round.
OWN = table_of("own", [[1, 8], [9, 2]], ("he", "she"), ("nurse", "cook"), sampling=Sampling())
# The groups and the tasks in another order, the leans the other way round.
OTHER = table_of("other", [[7, 3, 5], [2, 8, 5]], ("she", "he"), ("cook", "nurse", "clerk"))


def texts(against: Baseline, kind: NoteKind = NoteKind.LEAN) -> list[str]:
    return [note.text for note in against.notes if note.kind is kind]


def test_the_lean_is_that_of_the_base_itself_unless_another_is_named() -> None:
    own = baseline(OWN, ("he", "she"), ("nurse", "cook"))
    assert (own.name, own.lean_name) == ("own", "own")
    assert own.lean_rates is own.rates
    np.testing.assert_array_equal(own.lean(FORWARD, "joint"), [[-1, 1], [1, -1]])
    assert texts(own) == []
    foreign = baseline(OWN, ("he", "she"), ("nurse", "cook"), lean_from=OTHER)
    assert (foreign.name, foreign.lean_name) == ("own", "other")
    np.testing.assert_array_equal(foreign.lean(FORWARD, "joint"), [[1, -1], [-1, 1]])
    assert texts(foreign) == ["the lean comes from other"]


def test_a_group_without_a_lean_leans_nowhere_and_a_task_without_one_is_undefined() -> None:
    base = table_of(
        "wide", [[1, 8, 3], [9, 2, 3], [4, 4, 3]], ("he", "they", "she"), ("nurse", "pilot", "cook")
    )
    against = baseline(base, base.attributes, base.tasks, lean_from=OTHER)
    np.testing.assert_array_equal(
        against.lean(FORWARD, "joint"), [[1, np.nan, -1], [0, np.nan, 0], [-1, np.nan, 1]]
    )
    assert texts(against) == [
        "the lean comes from other",
        "other has no lean for they: 0 is used",
        "other has no lean for 1 task: undefined",
    ]
    more = table_of("more", np.ones((2, 4)), ("he", "she"), ("nurse", "pilot", "cook", "vet"))
    several = baseline(more, more.attributes, more.tasks, lean_from=OTHER)
    assert texts(several)[1:] == ["other has no lean for 2 tasks: undefined"]


def test_the_lean_of_equal_rates_comes_from_the_source_that_they_declare() -> None:
    uniform = load_base_rates("uniform")
    declared = baseline(uniform, ("he", "she"), ("nurse", "cook"))
    assert declared.lean_name == "winobias-majority"
    chosen = baseline(uniform, ("he", "she"), ("nurse", "cook"), lean_from=OTHER)
    assert chosen.lean_name == "other"
    np.testing.assert_array_equal(chosen.lean(FORWARD, "joint"), [[1, -1], [-1, 1]])


def test_words_for_which_nobody_knows_a_lean_are_undefined() -> None:
    """Unless the source of the lean was chosen: then it is a mistake."""
    uniform = load_base_rates("uniform")
    unknown = baseline(uniform, ("Black", "White"), ("nurse", "cook"))
    assert (unknown.lean_name, unknown.lean_rates) == (NO_LEAN, None)
    assert np.isnan(unknown.lean(FORWARD, "joint")).all()
    assert unknown.lean(FORWARD, "joint").shape == (2, 2)
    (text,) = texts(unknown)
    assert "no source has a lean for these words" in text
    with pytest.raises(InputError, match='"uniform" takes its lean from there'):
        baseline(uniform, ("Black", "White"), ("nurse", "cook"), lean_from=OTHER)


def test_a_table_that_does_not_say_how_it_was_drawn_is_taken_as_exact() -> None:
    exact = baseline(OTHER, ("he", "she"), ("nurse", "cook"))
    (text,) = texts(exact, NoteKind.BASE)
    assert re.match("the base rates of other are taken as exact", text)
    assert texts(baseline(OWN, ("he", "she"), ("nurse", "cook")), NoteKind.BASE) == []


def test_missing_words_are_dropped_or_have_half_a_count() -> None:
    tasks = ("nurse", "cook", "pilot")
    assert baseline(OWN, ("he", "she"), tasks).rates.association.tasks == ("nurse", "cook")
    smooth = baseline(OWN, ("he", "she"), tasks, missing="smooth").rates.association
    assert smooth.counts is not None
    np.testing.assert_array_equal(smooth.counts, [[1.5, 8.5, 0.5], [9.5, 2.5, 0.5]])
    chosen = baseline(OWN, ("he", "she"), tasks, missing="smooth", pseudo_count=2.0)
    assert chosen.rates.association.counts is not None
    assert chosen.rates.association.counts[0, 2] == 2.0
    assert inspect.signature(baseline).parameters["pseudo_count"].default == 0.5


OWNER = {"young man": "man", "old man": "man", "woman": "woman"}


def crossed(name: str, counts: list[list[float]]) -> Table:
    return table_of(name, counts, tuple(OWNER), ("nurse", "cook"))


def test_groups_of_one_owner_are_merged_in_the_base_and_in_the_lean() -> None:
    base, other = (
        crossed("base", [[1, 3], [1, 4], [8, 3]]),
        crossed("lean", [[9, 1], [8, 1], [1, 8]]),
    )
    own = baseline(base, tuple(OWNER), ("nurse", "cook")).merged(OWNER)
    assert own.rates.association.attributes == ("man", "woman")
    np.testing.assert_array_equal(own.rates.association.counts, [[2, 7], [8, 3]])
    assert own.lean_rates is own.rates
    np.testing.assert_array_equal(own.lean(FORWARD, "joint"), [[-1, 1], [1, -1]])
    foreign = baseline(base, tuple(OWNER), ("nurse", "cook"), lean_from=other).merged(OWNER)
    np.testing.assert_array_equal(foreign.rates.association.counts, [[2, 7], [8, 3]])
    np.testing.assert_array_equal(foreign.lean(FORWARD, "joint"), [[1, -1], [-1, 1]])
    without = baseline(load_base_rates("uniform"), tuple(OWNER), ("nurse", "cook")).merged(OWNER)
    assert without.lean_rates is None
    assert without.rates.association.attributes == ("man", "woman")
