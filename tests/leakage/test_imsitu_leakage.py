from __future__ import annotations

import hashlib

import numpy as np
import pytest
from reference_data import REFERENCE

from lmprobe.leakage.attackers.mlp import Mlp
from lmprobe.reproduce import leakage_imsitu
from lmprobe.reproduce.experiment import Reproduction, Settings
from lmprobe.reproduce.shipped import shipped_table


@pytest.fixture(scope="module")
def exact() -> Reproduction:
    return leakage_imsitu.run(Settings(), "exact")


def test_the_counts_are_those_of_the_paper() -> None:
    counts, provenance = shipped_table("imsitu_verb_gender_counts")
    sizes = counts.groupby("split")[["man", "woman"]].sum().sum(axis=1)
    assert sizes.to_dict() == {"train": 24301, "val": 7730, "test": 7669}
    assert counts["verb"].nunique() == 211
    published = REFERENCE / "imsitu_verb_gender_counts.csv"
    if published.is_file():
        assert hashlib.sha256(published.read_bytes()).hexdigest() == provenance["sha256"]


def test_splits_have_the_sizes_that_the_paper_prints(exact: Reproduction) -> None:
    for row in exact.rows[:4]:
        assert (row["men"], row["women"]) == (row["paper_men"], row["paper_women"])


def test_the_exact_attacker_finds_the_papers_leakage(exact: Reproduction) -> None:
    original, three, two, one = exact.rows[:4]
    for row in (original, three, two):
        assert row["value"] == pytest.approx(row["paper"], abs=1.0)
        assert row["value"] == row["exact"]
        assert row["low"] < row["paper"] < row["high"]
    # With the train labels balanced out, only luck is left.
    assert one["value"] == pytest.approx(50, abs=3)


def test_leakage_falls_with_alpha_where_the_test_images_are_balanced_too(
    exact: Reproduction,
) -> None:
    values = [row["value"] for row in exact.rows[4:]]
    assert values[0] > values[1] > values[2] == 50.0


@pytest.mark.slow
def test_the_papers_attacker_made_shorter_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakage_imsitu, "ROUNDS", 2)
    found = leakage_imsitu.run(Settings(seed=1), Mlp(epochs=4, width=64, learning_rate=2e-3))
    for row in found.rows[:3]:
        assert row["value"] == pytest.approx(row["exact"], abs=2.0)
    assert np.isfinite([row["value"] for row in found.rows]).all()
