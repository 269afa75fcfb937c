from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError, LmprobeError
from lmprobe.leakage.adversarial import Removal
from lmprobe.leakage.embeddings import mask_embeddings
from lmprobe.leakage.language import bayes_leakage, language_leakage
from lmprobe.leakage.tradeoff import removal_tradeoff
from lmprobe.models import Cloze, load_model
from lmprobe.probing.scoring import score_templates
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


def base(nurse: float) -> pd.DataFrame:
    """Return a world in which women nurse as often as told and all else is even."""
    rows = {"nurse": (100 - nurse, nurse), "baker": (50, 50), "lawyer": (nurse, 100 - nurse)}
    return pd.DataFrame(
        [(job, *counts) for job, counts in rows.items()], columns=["task", "he", "she"]
    )


def test_bayes_leakage_is_the_best_guess_of_all() -> None:
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(4), size=3)
    best = max(
        sum(table[guess[task], task] for task in range(4)) / 3
        for guess in itertools.product(range(3), repeat=4)
    )
    assert float(bayes_leakage(table)) == pytest.approx(best)
    assert float(bayes_leakage(np.full((2, 5), 0.2))) == pytest.approx(0.5)
    assert float(bayes_leakage(np.eye(3))) == 1.0


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TOML)
    return path


def test_model_against_base(checkpoint: Checkpoint, tiny: Path) -> None:
    model = load_model(checkpoint("Bert"))
    found = language_leakage(model, tiny, base(80))
    scores = score_templates(model, load_templates(tiny), "attribute->task")
    assert found.rounds == pytest.approx(bayes_leakage(scores.probabilities()))
    # P(t|a) of the base is (20, 50, 80) and (80, 50, 20) of 150.
    assert found.base.value == pytest.approx((80 + 50 + 80) / 150 / 2)
    assert found.value == pytest.approx(np.mean(found.rounds) - 0.7)
    assert found.value in found.interval
    assert found.chance == 0.5
    assert len(found.rounds) == len(scores.templates) == 3
    evenly = language_leakage(model, tiny, "uniform")
    assert evenly.base.value == pytest.approx(0.5)
    assert evenly.value >= 0


def test_words_that_the_base_lacks(checkpoint: Checkpoint, tiny: Path) -> None:
    found = language_leakage(checkpoint("Bert"), tiny, base(80).iloc[:2])
    assert tuple(found.provenance["tasks"]) == ("nurse", "baker")
    assert any("lawyer" in note.text for note in found.notes)
    with pytest.raises(LmprobeError):
        language_leakage(checkpoint("Bert"), tiny, base(80)[["task", "he"]])
    never = base(80).assign(she=0)
    with pytest.raises(InputError, match="fewer than two attributes are left"):
        language_leakage(checkpoint("Bert"), tiny, never)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attributes": "he,she"}, "`attributes` must be a list of words"),
        ({"confidence": "0.95"}, "`confidence` must be a number"),
        ({"seed": -1}, "`seed` must be at least 0"),
    ],
)
def test_wrong_types_are_one_clear_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        language_leakage("reference:faithful", **options)


@pytest.mark.parametrize("architecture", ["Bert", "Roberta"])
def test_mask_embeddings_do_not_see_the_word(checkpoint: Checkpoint, architecture: str) -> None:
    model = load_model(checkpoint(architecture))
    texts = ["He became a new nurse, people said.", "She had been a known baker in the city."]
    blanks = [Cloze(texts[0], 16, 21), Cloze(texts[1], 21, 26)]
    both = mask_embeddings(model, blanks)
    assert both.shape == (2, 16)
    # Neither the batch nor the padding matters.
    one = mask_embeddings(model, blanks, batch_size=1)
    assert both == pytest.approx(one, abs=1e-5)
    other = Cloze("He became a new janitor, people said.", 16, 23)
    assert mask_embeddings(model, [other])[0] == pytest.approx(both[0], abs=1e-5)
    with pytest.raises(InputError, match="no sentence"):
        mask_embeddings(model, [])


@pytest.mark.slow
def test_removal_from_the_embeddings_of_a_fill_mask_model() -> None:
    # The occupation must be told from what the model has in mind at the verb, the pronoun not.
    rng = np.random.default_rng(0)
    jobs = load_templates("fitbert").tasks[:16]
    words = ["new", "known", "single", "young", "old", "good", "great", "full", "large", "free"]
    group = rng.integers(0, 2, 1500)
    own = 8 * group + rng.integers(0, 8, 1500)
    job = np.where(rng.random(1500) < 0.3, own, rng.integers(0, 16, 1500))
    blanks = []
    for she, number in zip(group, job, strict=True):
        start = "She " if she else "He "
        verb, word = rng.choice(["is", "was"]), rng.choice(words)
        text = f"{start}{verb} a {word} {jobs[number]}."
        blanks.append(Cloze(text, len(start), len(start) + len(verb)))
    found = removal_tradeoff(
        mask_embeddings(load_model("reference:amplified"), blanks),
        np.array(jobs)[job],
        group,
        strengths=(0.05,),
        noises=(0.5,),
        removal=Removal(width=32, learning_rate=2e-3, joint_epochs=40, batch_size=256),
        attacker="logistic",
        rounds=3,
    )
    original, hidden = found.of("original")[0], found.of("adversarial")[0]
    assert original.amplification.interval.low > 0.02
    assert hidden.amplification.value < original.amplification.value / 2
    assert original.f1 - hidden.f1 <= 0.025
    assert hidden.amplification.value < found.noise_at(hidden.f1)


@pytest.mark.slow
def test_the_amplified_reference_leaks_more_than_the_faithful_one() -> None:
    faithful, amplified = (
        language_leakage(f"reference:{name}", base="labor") for name in ("faithful", "amplified")
    )
    assert amplified.model.value > faithful.model.value + 0.03
    assert amplified.interval.low > 0.03
    assert abs(faithful.value) < amplified.value / 2
