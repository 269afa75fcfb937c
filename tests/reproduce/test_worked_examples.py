"""The numbers that the papers print, and those that their figures are drawn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.reproduce.experiment import experiments, published, reproduce, shipped_table
from lmprobe.reproduce.figure_2 import measures
from lmprobe.results.codec import to_json


def rows(name: str) -> list[dict[str, Any]]:
    return [to_json(row) for row in reproduce(name).rows]


def test_shortcomings() -> None:
    result = rows("shortcomings")

    def of(metric: str) -> list[float]:
        return [row["value"] for row in result if row["metric"] == metric]

    assert of("MALS") == pytest.approx([0, 0.2, 1 / 30, -0.6], abs=1e-12)
    assert of("attribute->task") == pytest.approx([8 / 45, 0.1, 0.1, 1 / 3], abs=1e-12)
    assert of("task->attribute") == [0, 0, 0, 0]
    for row in result:
        if row["paper"] is not None:
            assert row["value"] == pytest.approx(row["paper"], abs=5e-4)


def test_figure_2_as_its_caption_says() -> None:
    truth = measures(30)
    assert truth == pytest.approx((0, 0, 0, 1, 0, 0), abs=1e-12)
    for women in range(41):
        fpr, tpr, accuracy, subgroups, mals, ours = measures(women)
        share = women / 40
        # FPR and TPR difference capture one of under- and over-prediction only.
        assert (fpr > 0) == (women > 30)
        assert (tpr < 0) == (women < 30)
        # Accuracy cannot tell them apart.
        assert accuracy == pytest.approx(-abs(share - 0.75))
        assert (subgroups < 1) == (women != 30)
        # Amplification can.
        assert ours == pytest.approx((share - 0.75) / 2)
        assert mals == pytest.approx(mals_of_both_tasks(women))
    # The axis of the published figure runs from -0.6 to 0.2.
    assert (round(measures(0)[4], 4), round(measures(40)[4], 4)) == (-0.5357, 0.15)


def mals_of_both_tasks(women: int) -> float:
    """Return MALS of painting and not painting, from its formula."""
    of_painters, of_others = women / (women + 10), 30 / (40 - women + 30)
    return ((of_painters - 30 / 40) + (of_others - 30 / 40)) / 2


@pytest.fixture(scope="module")
def compas() -> list[dict[str, Any]]:
    return rows("compas")


@pytest.mark.parametrize("by", ["race", "sex"])
def test_compas_at_every_threshold_by_plain_counting(by: str, compas: list[dict[str, Any]]) -> None:
    people, provenance = shipped_table("compas_counts")
    assert people["count"].sum() == 5278
    assert provenance["licence"]
    for threshold in range(11):
        high = people["decile_score"] > threshold
        again = people["two_year_recid"] == 1
        expected, signed = {}, []

        def total(rows: Any) -> int:
            return int(people.loc[rows, "count"].sum())

        for name in people[by].unique():
            group = people[by] == name
            lean = np.sign(total(group & again) * 5278 - total(group) * total(again))
            signed.append(lean * (total(group & high) - total(group & again)) / total(group))
            expected[name] = total(group & ~again & high) / total(group & ~again)
        expected[None] = np.mean(signed)
        own = [row for row in compas if (row["by"], row["threshold"]) == (by, threshold)]
        assert {row["group"]: row["value"] for row in own} == pytest.approx(expected, abs=1e-12)


def test_compas_amplifies_little_where_false_positives_differ_much(
    compas: list[dict[str, Any]],
) -> None:
    race = [row for row in compas if row["by"] == "race"]
    assert max(abs(row["value"]) for row in race if row["group"] is None) < 0.07
    for threshold in range(1, 8):
        rates = [row["value"] for row in race if row["threshold"] == threshold and row["group"]]
        assert abs(rates[0] - rates[1]) > 0.09


def test_bernstein_needs_what_the_paper_says_and_covers() -> None:
    values = {row["name"]: row["value"] for row in rows("bernstein")}
    assert values["bernstein: examples to claim 0.05"] == 11_903
    assert values["bernstein: claimable with WinoBias (3160)"] == pytest.approx(0.0975, abs=1e-4)
    assert values["betting: claimable with WinoBias (3160)"] < 0.05
    coverage = [value for name, value in values.items() if "covers" in name]
    assert len(coverage) == 9
    assert min(coverage) > 0.98


def test_every_experiment_says_what_it_is() -> None:
    for name in experiments.names():
        about = published(name)
        assert about["title"]
        assert about["paper"]
        assert about["notes"]
