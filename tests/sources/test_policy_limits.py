"""Policies at their limits: what counts as sampled or exact, what two left attributes allow."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.errors import InputError
from lmprobe.results import Note, NoteKind
from lmprobe.sources import MissingLabels, Sampling, align_base_rates
from lmprobe.sources.table import Table, table_of
from lmprobe.sources.uniform import Uniform

GROUPS, TASKS = ["he", "she", "ze"], ["cook", "mover", "baker"]
COUNTS = [[3, 0, 6], [1, 0, 0], [0, 0, 0]]
TABLE = table_of("small", COUNTS, GROUPS, TASKS)
SAMPLED = table_of("small", COUNTS, GROUPS, TASKS, sampling=Sampling())
ERRORS = np.array([[3.0, 1.0, 2.0], [4.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
SURVEY = table_of("small", COUNTS, GROUPS, TASKS, sampling=Sampling(ERRORS))


def complete(table: Table) -> Table:
    from dataclasses import replace

    return replace(table, complete=True)


@pytest.mark.parametrize("missing", ["drop", "keep", "smooth"])
def test_only_a_table_that_says_nothing_of_its_sampling_is_taken_as_exact(missing: Any) -> None:
    def exact(source: Any) -> bool:
        return align_base_rates(source, ["he", "she"], ["cook"], missing=missing).taken_as_exact

    assert exact(TABLE)
    assert not exact(SAMPLED)
    assert not exact(SURVEY)
    assert not exact(complete(TABLE))
    assert not exact(Uniform())


def test_the_sampling_is_that_of_the_labels_kept() -> None:
    found = align_base_rates(SURVEY, ["she", "xe", "he"], ["baker", "mover", "cook"])
    assert found.sampling is not None
    assert found.sampling.standard_errors is not None
    assert found.sampling.standard_errors.tolist() == [[2, 4], [2, 3]]
    counted = align_base_rates(SAMPLED, ["he", "she"], ["cook"]).sampling
    assert counted is not None
    assert counted.counts
    assert align_base_rates(TABLE, ["he", "she"], ["cook"]).sampling is None


class Odd:
    """A source with a sampling of its own kind, which nothing here knows."""

    name = "odd"
    provenance: ClassVar[dict[str, str]] = {}
    sampling = "by hand"

    def sampling_of(self, attributes: Any, tasks: Any) -> str:
        return self.sampling

    def association(self, attributes: Any, tasks: Any) -> Association:
        return Uniform().association(attributes, tasks)


def test_a_sampling_of_another_kind_is_not_used() -> None:
    assert align_base_rates(Odd(), ["he", "she"], ["cook"]).sampling is None


def test_merged_groups_add_their_variances() -> None:
    owner = {"he": "x", "she": "x", "ze": "y"}
    found = align_base_rates(SURVEY, GROUPS, ["cook", "baker"], missing="keep").merged(owner)
    assert found.association.attributes == ("x", "y")
    assert found.association.counts is not None
    assert found.association.counts.tolist() == [[4, 6], [0, 0]]
    assert found.sampling is not None
    assert found.sampling.standard_errors is not None
    # 3 and 4 together are 5.
    expected = [[5, np.sqrt(8)], [0, 2]]
    np.testing.assert_allclose(found.sampling.standard_errors, expected)


def test_merging_keeps_counts_counts_and_exact_numbers_exact() -> None:
    owner = {"he": "x", "she": "x"}
    counted = align_base_rates(SAMPLED, ["he", "she"], ["cook"]).merged(owner)
    assert counted.sampling is not None
    assert counted.sampling.counts
    assert align_base_rates(TABLE, ["he", "she"], ["cook"]).merged(owner).sampling is None


def test_every_note_is_about_its_own_axis() -> None:
    found = align_base_rates(TABLE, [*GROUPS, "xe", "they"], [*TASKS, "pilot"])
    assert found.notes == (
        Note(NoteKind.LEFT_OUT, "2 attributes without a column, left out: xe, they"),
        Note(NoteKind.LEFT_OUT, "1 task without a row, left out: pilot"),
        Note(NoteKind.LEFT_OUT, "1 attribute never counted, left out: ze"),
        Note(NoteKind.LEFT_OUT, "1 task never counted, left out: mover"),
    )
    assert found.dropped_attributes == ("xe", "they", "ze")
    assert found.dropped_tasks == ("pilot", "mover")
    assert found.smoothed_cells == 0
    kept = align_base_rates(TABLE, GROUPS, ["cook", "baker"], missing="keep")
    undefined = "1 attribute never counted, undefined when given: ze"
    assert kept.notes == (Note(NoteKind.UNDEFINED, undefined),)
    assert (kept.dropped_attributes, kept.dropped_tasks) == ((), ())


@pytest.mark.parametrize(
    ("attributes", "tasks", "never"),
    [(GROUPS, ["cook"], "ze"), (["he", "she"], ["cook", "mover"], "mover"),
     (GROUPS, ["cook", "mover"], "ze, mover")],
)  # fmt: skip
def test_error_refuses_what_was_never_counted_on_either_axis(
    attributes: list[str], tasks: list[str], never: str
) -> None:
    with pytest.raises(InputError, match=f'"small" never counted {never}; choose'):
        align_base_rates(TABLE, attributes, tasks, missing="error")
    # By default the same are left out.
    assert align_base_rates(TABLE, attributes, tasks).association.tasks == ("cook",)


@pytest.mark.parametrize(("attributes", "tasks"), [(["he", "xe"], ["cook"]), (["he"], ["pilot"])])
def test_error_refuses_what_is_lacking_on_either_axis(
    attributes: list[str], tasks: list[str]
) -> None:
    with pytest.raises(MissingLabels, match='base rates "small" lack 1 '):
        align_base_rates(TABLE, attributes, tasks, missing="error")


def test_half_is_added_to_every_cell_by_default() -> None:
    found = align_base_rates(TABLE, ["he", "she"], ["cook", "pilot"], missing="smooth")
    assert found.association.counts is not None
    assert found.association.counts.tolist() == [[3.5, 0.5], [1.5, 0.5]]
    assert found.smoothed_cells == 2
    whole = align_base_rates(TABLE, ["he", "she"], ["cook"], missing="smooth")
    assert whole.smoothed_cells == 0


@pytest.mark.parametrize("wrong", [0, -1, np.inf, -np.inf, np.nan])
def test_a_pseudo_count_is_positive_and_finite(wrong: float) -> None:
    with pytest.raises(InputError, match=r"^`pseudo_count` must be a positive number, found"):
        align_base_rates(TABLE, ["he", "she"], ["cook"], missing="smooth", pseudo_count=wrong)
    tiny = align_base_rates(
        TABLE, ["he", "she"], ["pilot", "cook"], missing="smooth", pseudo_count=1e-9
    )
    assert tiny.association.counts is not None
    assert tiny.association.counts[0, 0] == 1e-9


class Shares:
    """A source of shares, not counts; one of them is 0."""

    name = "shares"
    provenance: ClassVar[dict[str, str]] = {}

    def association(self, attributes: Any, tasks: Any) -> Association:
        table = np.array([[1.0, 0.5], [0.0, 0.5]])[:, : len(tasks)]
        return Association.from_conditional(table, attributes, tasks)


def test_shares_with_a_zero_cannot_be_smoothed() -> None:
    with pytest.raises(InputError, match='"shares" are not counts, so no pseudo-count can be'):
        align_base_rates(Shares(), ["he", "she"], ["cook", "baker"], missing="smooth")
    found = align_base_rates(Uniform(), ["he", "she"], ["cook", "x"], missing="smooth")
    assert found.association.attribute_given_task.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert (found.dropped_tasks, found.smoothed_cells) == ((), 0)


def test_one_attribute_alone_is_enough_only_if_no_more_were_asked_for() -> None:
    assert align_base_rates(TABLE, ["he"], ["cook"]).association.attributes == ("he",)
    two = align_base_rates(TABLE, ["he", "she", "xe"], ["cook"])
    assert two.association.attributes == ("he", "she")
    with pytest.raises(InputError, match="lack xe; fewer than two attributes are left"):
        align_base_rates(TABLE, ["he", "xe"], ["cook"])
    for attributes, tasks in (([], ["cook"]), (["he"], []), ([], [])):
        with pytest.raises(InputError, match="at least one attribute and one task"):
            align_base_rates(TABLE, attributes, tasks)


def test_weights_that_add_up_to_less_than_one_are_weights() -> None:
    shares = table_of("t", [[0.1, 0.0], [0.2, 0.0]], ["he", "she"], ["cook", "mover"])
    found = shares.association(["he", "she"], ["cook"])
    assert found.attribute_given_task[:, 0].tolist() == pytest.approx([1 / 3, 2 / 3])
    with pytest.raises(InputError, match='"t": every count of the words asked is zero'):
        shares.association(["he", "she"], ["mover"])


def test_what_is_missing_is_said_for_each_axis() -> None:
    with pytest.raises(MissingLabels, match=r'"small" lack 2 attributes \(xe, they\); leave'):
        TABLE.association(["xe", "he", "they"], ["cook"])
    with pytest.raises(MissingLabels, match=r'"small" lack 1 task \(pilot\); leave'):
        TABLE.association(["he"], ["cook", "pilot"])
