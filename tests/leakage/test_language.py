"""The leakage of a language model: the best guess of all, template by template, beside its base."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError, LmprobeError
from lmprobe.leakage.language import bayes_leakage, language_leakage
from lmprobe.models import load_model
from lmprobe.probing.scores import score_templates
from lmprobe.results import IntervalStatus, Verdict
from lmprobe.templates import load_templates
from tests.checkpoints import Checkpoint, checkpoint, own_cache

__all__ = ["checkpoint", "own_cache"]

TOML = """
name = "tiny"
description = "two sentences"
source = "this test"
attribute = "pronoun"
task = "job"
sentences = [
    "{pronoun} became {a:adjective} {job}, people said.",
    "The {job} said that {pronoun} worked at night.",
]

[slots]
pronoun = ["he", "she"]
job = ["nurse", "baker", "lawyer"]
adjective = ["new", "known"]
"""
COUNTS = {"nurse": (20, 80), "baker": (50, 50), "lawyer": (80, 20)}
BASE = pd.DataFrame([(job, *row) for job, row in COUNTS.items()], columns=["task", "he", "she"])


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TOML)
    return path


def test_bayes_leakage_is_the_best_guess_of_all() -> None:
    tables = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 3, 3))
    result = bayes_leakage(tables)
    assert result.shape == (2, 3)
    for place in np.ndindex(2, 3):
        best = max(
            sum(tables[place][guess[task], task] for task in range(4)) / 3
            for guess in itertools.product(range(3), repeat=4)
        )
        assert result[place] == pytest.approx(best)
    assert float(bayes_leakage(np.full((2, 5), 0.2))) == pytest.approx(0.5)
    assert float(bayes_leakage(np.eye(3))) == 1.0


def test_model_against_base(checkpoint: Checkpoint, tiny: Path) -> None:
    model = load_model(checkpoint("Bert"))
    result = language_leakage(model, tiny, BASE, seed=3)
    scores = score_templates(model, load_templates(tiny), "attribute->task")
    # In the base she is likelier of the first task, he of the last; they share the second.
    loop = [
        (table[1, 0] + (table[0, 1] + table[1, 1]) / 2 + table[0, 2]) / 2
        for table in scores.probabilities()
    ]
    assert result.rounds == result.model.rounds == pytest.approx(loop)
    # P(t|a) of the base is (20, 50, 80) and (80, 50, 20) of 150.
    assert result.base.value == pytest.approx((80 + 50 + 80) / 150 / 2)
    assert result.base.interval.status is IntervalStatus.UNDEFINED
    assert result.base.verdict is Verdict.UNDECIDED
    assert result.value == pytest.approx(np.mean(loop) - 0.7)
    assert result.rows[-1].rounds == pytest.approx([leak - 0.7 for leak in loop])
    assert result.value in result.interval
    assert (result.chance, result.groups) == (0.5, ("he", "she"))
    assert result.provenance["settings"]["seed"] == 3
    evenly = language_leakage(model, tiny, "uniform")
    assert evenly.base.value == pytest.approx(0.5)
    assert evenly.value >= 0


def test_words_that_were_asked_for_or_that_the_base_lacks(
    checkpoint: Checkpoint, tiny: Path
) -> None:
    model = load_model(checkpoint("Bert"))
    some = language_leakage(model, tiny, BASE, attributes=["she", "he"], tasks=["lawyer", "nurse"])
    assert some.groups == ("she", "he")
    assert some.provenance["tasks"] == ["lawyer", "nurse"]
    assert some.base.value == pytest.approx(0.8)
    result = language_leakage(model, tiny, BASE.iloc[:2])
    assert result.provenance["tasks"] == ["nurse", "baker"]
    assert any("lawyer" in note.text for note in result.notes)
    with pytest.raises(LmprobeError):
        language_leakage(model, tiny, BASE[["task", "he"]])
    with pytest.raises(InputError, match="fewer than two attributes are left"):
        language_leakage(model, tiny, BASE.assign(she=0))
    with pytest.raises(InputError, match="must know at least two of the groups he and"):
        language_leakage(model, tiny, BASE, attributes=["he"])
    with pytest.raises(InputError, match="`attributes` must be a list of words"):
        language_leakage(model, tiny, BASE, attributes="he,she")


@pytest.mark.slow
def test_the_amplified_reference_leaks_more_than_the_faithful_one() -> None:
    faithful, amplified = (
        language_leakage(f"reference:{name}", base="labor") for name in ("faithful", "amplified")
    )
    assert amplified.model.value > faithful.model.value + 0.03
    assert amplified.interval.low > 0.03
    assert abs(faithful.value) < amplified.value / 2
