"""Where the scores of a table are cut: the queries against the functions for arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import DataFileError
from lmprobe.io.tables import TableSource
from lmprobe.metrics.association import Association, tally
from lmprobe.metrics.thresholds import Threshold, amplification_curves, calibrated_threshold
from lmprobe.tabular.counting import calibrated, curves
from lmprobe.tabular.settings import Columns


def cut(scores: list[Any], share: float, weights: list[float] | None = None) -> Threshold:
    columns = Columns(("sex",), ("t",), score=("s",), weight=None if weights is None else "w")
    with TableSource(pd.DataFrame({"s": scores, "w": weights or 1.0})) as source:
        (result,) = calibrated(source, columns, np.array([share]))
    return result


SCORES = [0.5, -1.0, 3.0, 0.5, 2.0, 0.5, 7.0, -1.0]
WEIGHTS = [1.0, 0.5, 2.0, 0.0, 4.0, 1.5, 0.25, 3.0]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.125, 0.3, 0.5, 0.7, 0.75, 0.99, 1.0])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_a_cut_is_that_of_the_function_for_arrays(
    share: float, weights: list[float] | None
) -> None:
    result = cut(SCORES, share, weights)
    expected = calibrated_threshold(SCORES, share, sample_weight=weights)
    assert result.value == expected.value
    assert result.wanted == expected.wanted == share
    assert result.share == pytest.approx(expected.share, abs=1e-15)
    assert result.row == pytest.approx(expected.row)


def test_of_two_cuts_as_near_the_one_with_fewer_positives_is_taken() -> None:
    """Half of the rows share the highest score; a quarter is as near to nobody as to them."""
    nobody = cut([1.0, 1.0, 0.0, 0.0], 0.25)
    assert nobody == Threshold(math.nextafter(1.0, math.inf), 0.25, 0.0, 0.25)
    assert cut([1.0, 1.0, 0.0, 0.0], 0.26) == Threshold(1.0, 0.26, 0.5, 0.25)
    assert cut([1.0, 1.0, 0.0, 0.0], 0.75) == Threshold(1.0, 0.75, 0.5, 0.25)


def test_sums_of_weights_are_compensated() -> None:
    """Added up one after the other, the small weights would be lost."""
    small = 2.0**-53
    assert cut([1.0, 1.0, 1.0], 1.0, [1.0, small, small]).row == 1 / (1 + 2 * small)


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ([0.5, math.inf, 0.1], 'the numbers "s" must be finite; found inf in row 2'),
        ([0.5, -math.inf, 0.1], "must be finite; found -inf in row 2"),
        ([math.inf, math.inf], "must be finite; found inf in row 1"),
        ([0.5, None, 0.1], '1 of 3 rows lacks a value ("s" 1), first "s" in row 2'),
        (["0.5", "0.2", "x"], "row 3: 'x' in the column \"s\" is not a number"),
        ([], "there is no row below the column names"),
    ],
)
def test_scores_that_cannot_be_cut_are_named(scores: list[Any], problem: str) -> None:
    with pytest.raises(DataFileError) as actual:
        cut(scores, 0.5)
    assert problem in str(actual.value)


def test_rows_without_weight_cannot_be_cut() -> None:
    with pytest.raises(DataFileError, match="there is no row with a positive weight"):
        cut([0.5, 0.2], 0.5, [0.0, 0.0])


def people(rows: int = 60) -> pd.DataFrame:
    draw = np.random.default_rng(4)
    made = pd.DataFrame(
        {"sex": draw.choice(["f", "m"], rows), "race": draw.choice(list("bw"), rows)}
    )
    made["t"], made["u"] = draw.integers(0, 2, rows), draw.integers(0, 2, rows)
    made["s"], made["r"] = draw.integers(0, 9, rows) / 8, draw.random(rows)
    made["w"] = draw.integers(0, 4, rows) / 4
    return made


def world(table: pd.DataFrame, groups: list[str], weight: Any = None) -> Association:
    """Count with the function for arrays; `groups` are those of sex and race crossed."""
    crossed = table["sex"] + " & " + table["race"]
    members = np.stack([(crossed == group).to_numpy(float) for group in groups], axis=1)
    amounts = table[["t", "u"]].to_numpy(float)
    return Association.from_tally(tally(members, amounts, weight), tuple(groups), ("t", "u"))


GROUPS = ["f & b", "f & w", "m & b", "m & w"]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("keep", [False, True])
def test_curves_are_those_of_the_function_for_arrays(weight: str | None, keep: bool) -> None:
    table, train = people(), people(25)[lambda people: people["sex"] + people["race"] != "fb"]
    columns = Columns(("sex", "race"), ("t", "u"), score=("s", "r"), weight=weight)
    own = None if weight is None else table[weight].to_numpy()
    with TableSource(table) as source:
        leaning = world(train, GROUPS)
        result = curves(source, columns, world(table, GROUPS, own), leaning, keep_unseen=keep)
        default = curves(source, columns, world(table, GROUPS, own), leaning)
    expected = amplification_curves(
        table["sex"] + " & " + table["race"],
        table[["t", "u"]],
        task_scores=table[["s", "r"]].to_numpy(),
        train_attribute_labels=train["sex"] + " & " + train["race"],
        train_task_labels=train[["t", "u"]],
        sample_weight=own,
        keep_unseen=keep,
    )
    assert [item.label for item in result] == ["t", "u"]
    for ours, theirs, plain in zip(result, expected, default, strict=True):
        np.testing.assert_array_equal(ours.thresholds, theirs.thresholds)
        np.testing.assert_allclose(ours.share, theirs.share, atol=1e-12)
        np.testing.assert_allclose(ours.by_given, theirs.by_given, atol=1e-12)
        # The train table has nobody in the first group, so its pairs lean nowhere.
        assert np.isnan(plain.by_given[:, 0]).all()
        assert np.isnan(ours.by_given[:, 0]).any() == (not keep)
