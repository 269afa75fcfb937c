"""What a source lacks is left out, filled in or refused, and always counted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmprobe.errors import InputError
from lmprobe.results import Note, NoteKind
from lmprobe.sources import MissingLabels, align_base_rates, load_base_rates
from lmprobe.sources.table import table_of
from lmprobe.sources.uniform import Uniform

TABLE = table_of(
    "small", [[3, 0, 6], [1, 0, 0], [0, 0, 0]], ["he", "she", "ze"], ["cook", "mover", "baker"]
)


def test_drop_leaves_out_what_the_table_lacks() -> None:
    found = align_base_rates(TABLE, ["she", "they", "he"], ["baker", "pilot", "cook"])
    assert found.association.attributes == ("she", "he")
    assert found.association.tasks == ("baker", "cook")
    assert found.association.counts is not None
    assert found.association.counts.tolist() == [[0, 1], [6, 3]]
    assert (found.dropped_attributes, found.dropped_tasks) == (("they",), ("pilot",))
    assert found.notes == (
        Note(NoteKind.LEFT_OUT, "1 attribute without a column, left out: they"),
        Note(NoteKind.LEFT_OUT, "1 task without a row, left out: pilot"),
    )
    assert found.provenance["sha256"] == TABLE.provenance["sha256"]


def test_drop_leaves_out_what_was_never_counted() -> None:
    found = align_base_rates(TABLE, ["he", "she", "ze"], ["cook", "mover"])
    assert (found.association.attributes, found.association.tasks) == (("he", "she"), ("cook",))
    assert (found.dropped_attributes, found.dropped_tasks) == (("ze",), ("mover",))
    assert (found.empty_attributes, found.empty_tasks) == (("ze",), ("mover",))
    assert Note(NoteKind.LEFT_OUT, "1 task never counted, left out: mover") in found.notes
    with pytest.raises(InputError, match="never counted ze; fewer than two"):
        align_base_rates(TABLE, ["he", "ze"], ["cook"])


def test_keep_has_words_without_counts_as_undefined() -> None:
    found = align_base_rates(TABLE, ["he", "she", "ze"], ["cook", "mover"], missing="keep")
    assert (found.empty_attributes, found.empty_tasks) == (("ze",), ("mover",))
    assert np.isnan(found.association.attribute_given_task[:, 1]).all()
    assert np.isnan(found.association.task_given_attribute[2]).all()
    never = Note(NoteKind.UNDEFINED, "1 task never counted, undefined when given: mover")
    assert never in found.notes


def test_error_refuses_both() -> None:
    with pytest.raises(MissingLabels, match=r"lack 1 attribute \(they\) and 2 tasks \(a, b\)") as e:
        align_base_rates(TABLE, ["he", "they"], ["a", "b"], missing="error")
    assert (e.value.attributes, e.value.tasks) == (("they",), ("a", "b"))
    with pytest.raises(InputError, match='"small" never counted mover'):
        align_base_rates(TABLE, ["he", "she"], ["cook", "mover"], missing="error")
    kept = align_base_rates(TABLE, ["he", "she"], ["cook", "baker"], missing="error")
    assert kept.notes == ()


def test_smooth_adds_the_pseudo_count_to_every_cell() -> None:
    found = align_base_rates(
        TABLE, ["he", "they", "she"], ["cook", "pilot"], missing="smooth", pseudo_count=0.25
    )
    assert found.association.counts is not None
    assert found.association.counts.tolist() == [[3.25, 0.25], [0.25, 0.25], [1.25, 0.25]]
    assert found.smoothed_cells == 4
    text = "0.25 added to each of the 6 cells of small; 4 of them held nothing else"
    assert found.notes == (Note(NoteKind.SMOOTHED, text),)
    assert not np.isnan(found.association.attribute_given_task).any()


def test_smooth_needs_counts_only_where_something_is_missing() -> None:
    assert (
        "no pseudo-count added"
        in align_base_rates(Uniform(), ["he"], ["x"], missing="smooth").notes[0].text
    )


class Partial:
    """A source without counts that knows one task."""

    name = "partial"
    provenance: ClassVar[dict[str, str]] = {}

    def association(self, attributes: Any, tasks: Any) -> Any:
        unknown = [task for task in tasks if task != "cook"]
        if unknown:
            raise MissingLabels(self.name, tasks=unknown)
        return Uniform().association(attributes, tasks)


def test_any_object_that_fits_is_a_source() -> None:
    source = load_base_rates(Partial())
    assert align_base_rates(source, ["he", "she"], ["cook", "pilot"]).dropped_tasks == ("pilot",)
    with pytest.raises(InputError, match='"partial" are not counts'):
        align_base_rates(source, ["he", "she"], ["cook", "pilot"], missing="smooth")


@pytest.mark.parametrize(
    ("attributes", "tasks", "options", "message"),
    [
        (["he", "xe"], ["cook"], {}, "fewer than two attributes are left"),
        (["he", "she"], ["pilot"], {}, "none of the tasks: pilot"),
        (["he", "she"], ["mover"], {}, "every count of the words asked is zero"),
        (["he", "she"], [], {}, "at least one attribute and one task"),
        (["he", "he"], ["cook"], {}, "appears twice"),
        (["he", "she"], ["cook"], {"missing": "dorp"}, 'did you mean "drop"'),
        (["he", "she"], ["cook"], {"pseudo_count": 0}, "must be a positive number, found 0"),
        (["he", "she"], ["cook"], {"pseudo_count": float("nan")}, "must be a positive number"),
    ],
)
def test_worlds_that_cannot_be(attributes: Any, tasks: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        align_base_rates(TABLE, attributes, tasks, **options)


@given(
    st.lists(st.sampled_from(["he", "she", "they"]), min_size=2, max_size=3, unique=True),
    st.lists(st.sampled_from(["cook", "mover", "baker", "pilot"]), min_size=1, unique=True),
)
def test_every_label_asked_is_kept_or_said_to_be_dropped(
    attributes: list[str], tasks: list[str]
) -> None:
    try:
        found = align_base_rates(TABLE, attributes, tasks)
    except InputError:
        return
    assert sorted([*found.association.attributes, *found.dropped_attributes]) == sorted(attributes)
    assert sorted([*found.association.tasks, *found.dropped_tasks]) == sorted(tasks)
    assert not np.isnan(found.association.attribute_given_task).any()
    assert not np.isnan(found.association.task_given_attribute).any()


@given(st.integers(1, 6), st.integers(1, 40))
def test_uniform_is_even_for_any_labels(size: int, many: int) -> None:
    found = Uniform().association([f"a{i}" for i in range(size)], [f"t{i}" for i in range(many)])
    assert np.allclose(found.attribute_given_task, 1 / size, rtol=1e-12)
    assert np.allclose(found.task_given_attribute, 1 / many, rtol=1e-12)
