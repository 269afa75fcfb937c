"""States of a reference model's training: saved on the way, swept into a curve."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe import probe
from lmprobe.models.reference import masking, truth, vocabulary
from lmprobe.models.reference.fitting import Recipe, checkpoint_steps, fit
from lmprobe.models.reference.masked_training import build_model, masked_losses
from lmprobe.models.reference.train import save
from lmprobe.sweeping.jobs import subjects
from lmprobe.sweeping.levels import NO_ASSOCIATION, PLANTED
from lmprobe.sweeping.result import SweepResult
from lmprobe.sweeping.summary import Entry, summarise
from tests.models.reference_truth import BUNDLED, small_corpus

RECIPE = Recipe(hidden=32, layers=1, heads=2, intermediate=64, batch=32, steps=60)


def trained(**options: Any) -> Any:
    lines = small_corpus()
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in lines))
    volumes = itertools.repeat(masking.encode(tokenizer, lines))
    model = build_model(RECIPE, len(tokenizer), seed=0)
    rng = np.random.default_rng(0)
    losses = masked_losses(model, volumes, tokenizer.mask_token_id, RECIPE, rng)
    fit(model, losses, RECIPE, **options)
    return model, tokenizer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("run")
    lines = small_corpus()
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in lines))
    texts = {truth.TRUTH_FILE: (BUNDLED / "faithful" / truth.TRUTH_FILE).read_text()}

    def keep(step: int, state: Any) -> None:
        save(folder / f"checkpoint-{step}", state, tokenizer, texts)

    model, _ = trained(checkpoints=checkpoint_steps(RECIPE, 3), keep=keep)
    return folder, model


def test_steps_are_the_same_factor_apart() -> None:
    assert checkpoint_steps(RECIPE, 3) == (1, 8, 60)
    steps = checkpoint_steps(Recipe(), 10)
    assert (len(steps), steps[0], steps[-1]) == (10, 1, Recipe().steps)


def test_saving_changes_nothing_and_the_last_state_is_the_trained_model(
    run: tuple[Path, Any],
) -> None:
    from safetensors.numpy import load_file

    folder, model = run
    alone, _ = trained()
    weights = {name: value.numpy() for name, value in alone.state_dict().items()}
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), weights[name])
    last = load_file(folder / "checkpoint-60" / "model.safetensors")
    for name, value in last.items():
        np.testing.assert_array_equal(value, weights[name])


def test_the_curve_begins_at_no_association_and_knows_what_was_planted(
    run: tuple[Path, Any],
) -> None:
    found = subjects([], checkpoints=run[0])
    probes = [probe(one.model, "fitbert", "labor", cache=False) for one in found]
    entries = [Entry(one, "fitbert", made) for one, made in zip(found, probes, strict=True)]
    result = summarise(entries)
    again = SweepResult.from_json(result.to_json())
    assert again.curves == result.curves
    for curve in result.curves:
        question, band, levels = curve.question, curve.band, curve.levels
        first, *_, last = result.of(question)
        # The slow way: a table that is the product of the base's margins has no association.
        row = probes[0].row("labor", question.direction)
        assert first.association is not None
        assert first.association.value == pytest.approx(levels[NO_ASSOCIATION], abs=0.01)
        assert row.value == pytest.approx(levels[NO_ASSOCIATION], abs=0.02)
        assert levels[PLANTED] == pytest.approx(0.0, abs=1e-4)
        assert band[0].low < levels[NO_ASSOCIATION] < band[0].high
        assert last.step == 60
    assert "no association (−0.2" in result.to_html()
