"""The numbers that the papers print, and those that their figures are drawn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.errors import DataFileError
from lmprobe.reproduce import shipped
from lmprobe.reproduce.experiment import reproduce
from lmprobe.reproduce.figure_2 import measures


def rows(name: str) -> list[dict[str, Any]]:
    return [row.to_dict() for row in reproduce(name).rows]


def test_shortcomings() -> None:
    found = rows("shortcomings")

    def of(metric: str) -> list[float]:
        return [row["value"] for row in found if row["metric"] == metric]

    assert of("MALS") == pytest.approx([0, 0.2, 1 / 30, -0.6], abs=1e-12)
    assert of("attribute->task") == pytest.approx([8 / 45, 0.1, 0.1, 1 / 3], abs=1e-12)
    assert of("task->attribute") == [0, 0, 0, 0]
    for row in found:
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


# Worked out apart from this code: decile above the threshold, counts of the shipped table.
BY_RACE_AT_4 = {"A->T": 0.056414, "African-American": 0.423382, "Caucasian": 0.220141}


def test_compas_at_threshold_4() -> None:
    found = [row for row in rows("compas") if row["threshold"] == 4 and row["by"] == "race"]
    values = {row["group"] or "A->T": round(row["value"], 6) for row in found}
    assert values == BY_RACE_AT_4


@pytest.mark.parametrize("by", ["race", "sex"])
@pytest.mark.parametrize("threshold", range(11))
def test_compas_at_every_threshold_by_plain_counting(by: str, threshold: int) -> None:
    table, _ = shipped.shipped_table("compas_counts")
    people = table.to_dict("records")

    def total(**wanted: Any) -> int:
        return sum(
            one["count"]
            for one in people
            if all(
                one["decile_score"] > threshold if key == "high" else one[key] == value
                for key, value in wanted.items()
            )
        )

    names = sorted({one[by] for one in people})
    expected: dict[str | None, float] = {}
    n, signed = total(), []
    for name in names:
        group = {by: name}
        own, again = total(**group), total(**group, two_year_recid=1)
        lean = np.sign(again * n - own * total(two_year_recid=1))
        signed.append(lean * (total(**group, high=True) - again) / own)
        innocent = total(**group, two_year_recid=0)
        expected[name] = total(**group, two_year_recid=0, high=True) / innocent
    expected[None] = sum(signed) / len(signed)
    found = {
        row["group"]: row["value"]
        for row in rows("compas")
        if row["by"] == by and row["threshold"] == threshold
    }
    assert found == pytest.approx(expected, abs=1e-12)


def test_compas_amplifies_little_where_false_positives_differ_much() -> None:
    race = [row for row in rows("compas") if row["by"] == "race"]
    amplified = [abs(row["value"]) for row in race if row["group"] is None]
    assert max(amplified) < 0.07
    gaps = {
        t: abs(np.diff([row["value"] for row in race if row["threshold"] == t and row["group"]])[0])
        for t in range(11)
    }
    assert gaps[0] == gaps[10] == 0
    assert min(gaps[t] for t in range(1, 8)) > 0.09


def test_shipped_data_is_checked_against_its_provenance(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, said = shipped.shipped_table("compas_counts")
    assert table["count"].sum() == 5278
    assert said["licence"]
    for suffix in ("csv", "toml"):
        source = shipped._FOLDER / f"compas_counts.{suffix}"
        (tmp_path / f"compas_counts.{suffix}").write_bytes(source.read_bytes() + b"\n")
    monkeypatch.setattr(shipped, "_FOLDER", tmp_path)
    with pytest.raises(DataFileError, match=r"not the file that compas_counts.toml describes"):
        shipped.shipped_table("compas_counts")
    with pytest.raises(DataFileError, match="install lmprobe again"):
        shipped.shipped_table("nothing")
