"""What a source lacks is left out, filled in or refused, and always counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association
from lmprobe.results import Note, NoteKind
from lmprobe.sources import MissingLabels, Sampling, align_base_rates, load_base_rates
from lmprobe.sources.source import Uniform, table_of

GROUPS, TASKS = ["he", "she", "ze"], ["cook", "mover", "baker"]
COUNTS = [[3, 0, 6], [1, 0, 0], [0, 0, 0]]
TABLE = table_of("small", COUNTS, GROUPS, TASKS)
SAMPLED = replace(TABLE, sampling=Sampling())
ERRORS = np.array([[3.0, 1.0, 2.0], [4.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
SURVEY = replace(TABLE, sampling=Sampling(ERRORS))


def test_drop_leaves_out_what_the_table_lacks() -> None:
    result = align_base_rates(TABLE, ["she", "they", "he"], ["baker", "pilot", "cook"])
    assert result.association.attributes == ("she", "he")
    assert result.association.tasks == ("baker", "cook")
    assert result.association.counts is not None
    assert result.association.counts.tolist() == [[0, 1], [6, 3]]
    assert result.provenance["sha256"] == TABLE.provenance["sha256"]


def test_drop_notes_what_is_left_out_of_either_axis_and_why() -> None:
    result = align_base_rates(TABLE, [*GROUPS, "xe", "they"], [*TASKS, "pilot"])
    assert result.notes == (
        Note(NoteKind.LEFT_OUT, "2 attributes without a column, left out: xe, they"),
        Note(NoteKind.LEFT_OUT, "1 task without a row, left out: pilot"),
        Note(NoteKind.LEFT_OUT, "1 attribute never counted, left out: ze"),
        Note(NoteKind.LEFT_OUT, "1 task never counted, left out: mover"),
    )
    assert result.dropped_attributes == ("xe", "they", "ze")
    assert result.dropped_tasks == ("pilot", "mover")


def test_a_word_that_is_left_out_for_its_capitals_is_shown_beside_the_table_s_own() -> None:
    (note,) = align_base_rates(TABLE, ["he", "she"], ["cook", "Baker", "pilot"]).notes
    assert note.text == (
        "2 tasks without a row, left out: Baker, pilot; it has baker, where only the capitals "
        "differ: write the words alike"
    )


def test_keep_has_words_without_counts_as_undefined() -> None:
    result = align_base_rates(TABLE, GROUPS, ["cook", "mover"], missing="keep")
    assert (result.dropped_attributes, result.dropped_tasks) == ((), ())
    assert np.isnan(result.association.attribute_given_task[:, 1]).all()
    assert np.isnan(result.association.task_given_attribute[2]).all()
    assert [note.kind for note in result.notes] == [NoteKind.UNDEFINED] * 2


def test_error_refuses_what_is_lacking_and_what_was_never_counted() -> None:
    with pytest.raises(
        MissingLabels, match=r"lack 1 attribute \(they\) and 2 tasks \(a, b\)"
    ) as caught:
        align_base_rates(TABLE, ["he", "they"], ["a", "b"], missing="error")
    assert (caught.value.attributes, caught.value.tasks) == (("they",), ("a", "b"))
    with pytest.raises(InputError, match='"small" never counted ze, mover; give `missing="drop"`'):
        align_base_rates(TABLE, GROUPS, ["cook", "mover"], missing="error")
    assert align_base_rates(TABLE, ["he", "she"], ["cook"], missing="error").notes == ()


def test_smooth_adds_the_pseudo_count_to_every_cell() -> None:
    result = align_base_rates(
        TABLE, ["he", "they", "she"], ["cook", "pilot"], missing="smooth", pseudo_count=0.25
    )
    assert result.association.counts is not None
    assert result.association.counts.tolist() == [[3.25, 0.25], [0.25, 0.25], [1.25, 0.25]]
    text = "0.25 added to each of the 6 cells of small; 4 of them held nothing else"
    assert result.notes == (Note(NoteKind.SMOOTHED, text),)
    half = align_base_rates(TABLE, ["he", "she"], ["cook"], missing="smooth")
    assert half.association.counts is not None
    assert half.association.counts.tolist() == [[3.5], [1.5]]


class Shares:
    """A source of shares, not counts, that knows two tasks; one share is 0."""

    name = "shares"
    provenance: ClassVar[dict[str, str]] = {}

    def association(self, attributes: Any, tasks: Any) -> Association:
        expected = {"cook": [0.5, 0.5], "baker": [1.0, 0.0]}
        if unknown := [task for task in tasks if task not in expected]:
            raise MissingLabels(self.name, tasks=unknown)
        return Association.from_conditional(
            np.array([expected[task] for task in tasks]).T, attributes, tasks
        )


def test_shares_can_be_used_but_smoothed_only_where_nothing_is_missing() -> None:
    source = load_base_rates(Shares())
    assert align_base_rates(source, ["he", "she"], ["cook", "pilot"]).dropped_tasks == ("pilot",)
    for tasks in (["cook", "baker"], ["cook", "pilot"]):
        with pytest.raises(InputError, match='"shares" are not counts, so no pseudo-count can be'):
            align_base_rates(source, ["he", "she"], tasks, missing="smooth")
    whole = align_base_rates(source, ["he", "she"], ["cook"], missing="smooth")
    assert whole.association.attribute_given_task.tolist() == [[0.5], [0.5]]
    assert "no pseudo-count added" in whole.notes[0].text


@pytest.mark.parametrize(
    ("attributes", "tasks", "options", "message"),
    [
        (
            ["he", "xe"],
            ["cook"],
            {},
            "lack xe; its own attributes are he, she, ze; fewer than two .* `attributes`, rename",
        ),
        (["he", "she"], ["Cook"], {}, "it has cook, where only the capitals differ"),
        (["He", "She"], ["cook"], {}, "lack He, She; it has he, she, where only the capitals"),
        (["he", "ze"], ["cook"], {}, "never counted ze; fewer than two attributes are left"),
        (
            ["he", "she"],
            ["pilot"],
            {},
            r"none of the tasks \(pilot\); its own tasks are cook, mover, baker",
        ),
        (["he", "she"], ["mover"], {}, "every count of the words asked is zero"),
        (["he", "she"], [], {}, "at least one attribute and one task"),
        (["he", "he"], ["cook"], {}, "appears twice"),
        (["he", "she"], ["cook"], {"missing": "dorp"}, 'did you mean "drop"'),
        *(
            (["he", "she"], ["cook"], {"pseudo_count": wrong}, "must be a positive number, found")
            for wrong in (0, -1, np.inf, np.nan)
        ),
    ],
)
def test_what_cannot_be_aligned(attributes: Any, tasks: Any, options: Any, message: str) -> None:
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
        result = align_base_rates(TABLE, attributes, tasks)
    except InputError:
        return
    assert sorted([*result.association.attributes, *result.dropped_attributes]) == sorted(
        attributes
    )
    assert sorted([*result.association.tasks, *result.dropped_tasks]) == sorted(tasks)
    assert not np.isnan(result.association.attribute_given_task).any()
    assert not np.isnan(result.association.task_given_attribute).any()


@given(st.integers(1, 6), st.integers(1, 40))
def test_uniform_is_even_for_any_labels(size: int, many: int) -> None:
    result = Uniform().association([f"a{i}" for i in range(size)], [f"t{i}" for i in range(many)])
    assert np.allclose(result.attribute_given_task, 1 / size, rtol=1e-12)
    assert np.allclose(result.task_given_attribute, 1 / many, rtol=1e-12)


@pytest.mark.parametrize("missing", ["drop", "keep", "smooth"])
@pytest.mark.parametrize(
    ("source", "exact"),
    [(TABLE, True), (SAMPLED, False), (SURVEY, False), (replace(TABLE, complete=True), False),
     (Uniform(), False)],
    ids=["silent", "counts", "survey", "complete", "uniform"],
)  # fmt: skip
def test_only_a_table_that_says_nothing_of_its_sampling_is_taken_as_exact(
    source: Any, exact: bool, missing: Any
) -> None:
    result = align_base_rates(source, ["he", "she"], ["cook"], missing=missing)
    assert result.taken_as_exact == exact


def test_the_sampling_is_that_of_the_labels_kept() -> None:
    result = align_base_rates(SURVEY, ["she", "xe", "he"], ["baker", "mover", "cook"]).sampling
    assert result is not None
    assert result.standard_errors is not None
    assert result.standard_errors.tolist() == [[2, 4], [2, 3]]
    counted = align_base_rates(SAMPLED, ["he", "she"], ["cook"]).sampling
    assert counted is not None
    assert counted.counts
    assert align_base_rates(TABLE, ["he", "she"], ["cook"]).sampling is None


def test_merged_groups_add_their_counts_and_variances() -> None:
    owner = {"he": "x", "she": "x", "ze": "y"}
    result = align_base_rates(SURVEY, GROUPS, ["cook", "baker"], missing="keep").merged(owner)
    assert result.association.attributes == ("x", "y")
    assert result.association.counts is not None
    assert result.association.counts.tolist() == [[4, 6], [0, 0]]
    assert result.sampling is not None
    # Errors of 3 and 4 together are 5.
    np.testing.assert_allclose(result.sampling.standard_errors, [[5, np.sqrt(8)], [0, 2]])
    counted = align_base_rates(SAMPLED, ["he", "she"], ["cook"]).merged(owner).sampling
    assert counted is not None
    assert counted.counts
    assert align_base_rates(TABLE, ["he", "she"], ["cook"]).merged(owner).sampling is None
