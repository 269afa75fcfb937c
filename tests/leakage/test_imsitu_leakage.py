from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.leakage.attackers import Mlp
from lmprobe.models.forward import torch_threads
from lmprobe.reproduce.experiment import Reproduction, shipped_table
from lmprobe.reproduce.leakage_imsitu import LARGE_BATCHES, leakage_imsitu
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results.codec import to_json
from tests.reference_data import REFERENCE


@pytest.fixture(scope="module")
def exact() -> list[dict[str, Any]]:
    return rows(leakage_imsitu(ExperimentSettings(), attacker="exact"))


def rows(actual: Reproduction) -> list[dict[str, Any]]:
    return [to_json(row) for row in actual.rows]


def test_the_counts_are_those_of_the_paper() -> None:
    counts, provenance = shipped_table("imsitu_verb_gender_counts")
    sizes = counts.groupby("split")[["man", "woman"]].sum().sum(axis=1)
    assert sizes.to_dict() == {"train": 24301, "val": 7730, "test": 7669}
    assert counts["verb"].nunique() == 211
    published = REFERENCE / "imsitu_verb_gender_counts.csv"
    if published.is_file():
        assert hashlib.sha256(published.read_bytes()).hexdigest() == provenance["sha256"]


def test_splits_have_the_sizes_that_the_paper_prints(exact: list[dict[str, Any]]) -> None:
    for row in exact[:4]:
        assert (row["men"], row["women"]) == (row["paper_men"], row["paper_women"])


def test_the_exact_attacker_finds_the_papers_leakage(exact: list[dict[str, Any]]) -> None:
    original, three, two, first = exact[:4]
    for row in (original, three, two):
        assert row["value"] == pytest.approx(row["paper"], abs=1.0)
        assert row["value"] == row["exact"]
        assert row["low"] < row["paper"] < row["high"]
    # With the train labels balanced out, only luck is left.
    assert first["value"] == pytest.approx(50, abs=3)


def test_leakage_falls_with_alpha_where_the_test_images_are_balanced_too(
    exact: list[dict[str, Any]],
) -> None:
    values = [row["value"] for row in exact[4:]]
    assert values[0] > values[1] > values[2] == 50.0


def test_the_network_takes_few_steps_unless_it_is_trained_by_the_letter() -> None:
    def steps(preset: Any) -> int:
        class EnoughError(Exception):
            """Ends the training after its first step."""

        def stop(done: int, total: int) -> None:
            raise EnoughError(total)

        with torch_threads(1), pytest.raises(EnoughError) as stopped:
            leakage_imsitu(ExperimentSettings(preset=preset), progress=stop)
        return int(stopped.value.args[0])

    # Twenty attackers, a hundred epochs, 14,600 images in batches of 128 or of 1,024.
    assert steps("paper") == 20 * 100 * 114
    assert steps(None) == 20 * 100 * 14
    published = Mlp()
    assert (
        replace(
            LARGE_BATCHES, batch_size=published.batch_size, learning_rate=published.learning_rate
        )
        == published
    )


@pytest.mark.slow
def test_the_papers_attacker_made_shorter_agrees() -> None:
    attacker = Mlp(epochs=4, width=64, learning_rate=2e-3)
    result = rows(leakage_imsitu(ExperimentSettings(seed=1), attacker=attacker))
    for row in result[:3]:
        assert row["value"] == pytest.approx(row["exact"], abs=2.0)
    assert np.isfinite([row["value"] for row in result]).all()
