"""The disparities of a table: which columns are needed, which groups, how to run it again."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.inference.disparity import group_disparity
from lmprobe.inference.disparity_table import table_disparities
from lmprobe.inference.settings import DisparitySettings

ROWS = pd.DataFrame(
    {
        "race": ["a", "b", "c", "a", "b", "c"] * 5,
        "repaid": [1, 0] * 15,
        "approved": [1, 1, 0, 0, 0, 1, 1, 0, 0, 1] * 3,
    }
)
STRATIFIED = DisparitySettings(method="stratified")


def test_every_group_or_the_protected_ones() -> None:
    given = {"prediction": "approved", "attribute": ["race"], "settings": STRATIFIED}
    every = table_disparities(ROWS, **given)  # type: ignore[arg-type]
    assert [row.protected for row in every.rows] == ["a", "b", "c"]
    some = table_disparities(ROWS, **given, protected=["a", "c"])  # type: ignore[arg-type]
    assert [row.protected for row in some.rows] == ["a + c"]
    assert some.rows[0] == group_disparity(
        None, ROWS.approved, sensitive_features=ROWS.race, protected=["a", "c"], method="stratified"
    )


def test_only_demographic_parity_needs_no_label() -> None:
    parity = table_disparities(ROWS, prediction="approved", attribute=["race"], protected=["a"])
    assert parity.measure == "demographic_parity"
    assert parity.rows[0].interval.method == "exact"
    labelled = table_disparities(
        ROWS, prediction="approved", attribute=["race"], label="repaid", settings=STRATIFIED
    )
    assert labelled.measure == "demographic_parity"
    chosen = DisparitySettings(measure="tpr_difference", method="stratified")
    found = table_disparities(
        ROWS, prediction="approved", attribute=["race"], label="repaid", settings=chosen
    )
    assert found.measure == "tpr_difference"
    with pytest.raises(InputError, match="tpr_difference needs a label"):
        table_disparities(ROWS, prediction="approved", attribute=["race"], settings=chosen)


def test_a_file_can_be_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "loans.csv"
    ROWS.to_csv(path, index=False)
    found = table_disparities(
        path, prediction="approved", attribute=["race"], label="repaid", protected=["a"],
        settings=STRATIFIED,
    )  # fmt: skip
    facts = found.provenance
    assert (facts["subject"], facts["prediction"], facts["label"]) == (
        str(path), "approved", "repaid",
    )  # fmt: skip
    assert facts["attribute"] == ["race"]
    for words in ("--prediction approved", "--label repaid", "--attribute race", "--protected a"):
        assert words in facts["command"]
    table = table_disparities(ROWS, prediction="approved", attribute=["race"], settings=STRATIFIED)
    assert table.provenance["subject"] == "a table"
    assert "command" not in table.provenance
