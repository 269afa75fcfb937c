"""How the reference models are trained: what is hidden, that it repeats itself, what it leaves."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe import probe
from lmprobe.models.checkpoint import TRUTH_FILE
from lmprobe.models.forward import torch_threads
from lmprobe.sweeping.jobs import subjects
from lmprobe.sweeping.summary import NO_ASSOCIATION, PLANTED, SubjectProbe, summarise
from tests.models.test_reference_models import shipped_truth_file
from tools.reference import masking, vocabulary
from tools.reference.corpus import Planted, generate, planted
from tools.reference.grammar import Line
from tools.reference.train import save
from tools.reference.training import Recipe, build, checkpoint_steps, fit, losses, scores_at

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("reference training")]

RECIPE = Recipe(hidden=32, layers=1, heads=2, intermediate=64, batch=32, steps=60)


@cache
def small_corpus() -> list[Line]:
    whole = planted("faithful")
    return generate(Planted(whole.occupations, np.ceil(whole.counts / 100).astype(int)), 3)


@cache
def tokenizer() -> Any:
    return vocabulary.tokenizer(vocabulary.pieces(line.text for line in small_corpus()))


def trained(causal: bool = False, **options: Any) -> tuple[Any, list[float]]:
    volumes = itertools.repeat(masking.encode(tokenizer(), small_corpus()))
    model = build(RECIPE, tokenizer(), causal=causal, seed=0)
    rng = np.random.default_rng(0)
    made = losses(model, tokenizer(), volumes, RECIPE, rng, causal=causal)
    with torch_threads(1):
        return model, fit(model, made, RECIPE, **options)


def masked_lines(lines: list[Line], what: int) -> masking.Masked:
    data = masking.encode(tokenizer(), lines)
    hidden = np.full(len(lines), what)
    return masking.hide(data, hidden, tokenizer().mask_token_id, np.random.default_rng(0))


def test_the_number_of_masks_tells_nothing_about_a_hidden_occupation() -> None:
    lines = [line for line in small_corpus() if line.occupation in ("hairdresser", "nurse")] * 9
    masked = masked_lines(lines, masking.OCCUPATION)
    masks = (masked.ids == tokenizer().mask_token_id).sum(axis=1)
    first = masked.answer[np.arange(len(lines)), masked.guess.argmax(axis=1)]
    for word, piece in (("hairdresser", "hair"), ("nurse", "nurse")):
        of_it = np.array([line.occupation == word for line in lines])
        assert set(tokenizer().convert_ids_to_tokens(first[of_it].tolist())) == {piece}
        shares = np.bincount(masks[of_it], minlength=4) / of_it.sum()
        np.testing.assert_allclose(shares, [0, 1 / 3, 1 / 3, 1 / 3], atol=0.1)


def test_the_shortened_pass_gives_the_scores_of_the_model() -> None:
    import torch

    lines = [line for line in small_corpus() if line.occupation][:100]
    masked = masked_lines(lines, masking.OCCUPATION)
    model = build(RECIPE, tokenizer(), causal=False, seed=0).eval()
    visible = np.arange(masked.ids.shape[1])[None, :] < masked.length[:, None]
    with torch.inference_mode():
        whole = model(
            input_ids=torch.from_numpy(masked.ids), attention_mask=torch.from_numpy(visible * 1)
        ).logits
        result = scores_at(model, masked)
    np.testing.assert_allclose(result, whole[torch.from_numpy(masked.guess)], atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_training_lowers_the_loss_and_repeats_itself(causal: bool, tmp_path: Path) -> None:
    """Saving states on the way changes nothing, and the last state is the trained model."""
    from safetensors.numpy import load_file

    def keep(step: int, state: Any) -> None:
        save(tmp_path / f"checkpoint-{step}", state, tokenizer(), {})

    model, history = trained(causal)
    again, _ = trained(causal, checkpoints=checkpoint_steps(RECIPE, 3), keep=keep)
    assert np.mean(history[-10:]) < np.mean(history[:10]) - 1
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    for name, value in again.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), weights[name])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint-1", "checkpoint-60", "checkpoint-8",
    ]  # fmt: skip
    for name, value in load_file(tmp_path / "checkpoint-60" / "model.safetensors").items():
        np.testing.assert_array_equal(value, weights[name])


def test_the_curve_begins_at_no_association_and_knows_what_was_planted(tmp_path: Path) -> None:
    texts = {TRUTH_FILE: shipped_truth_file("faithful").read_text()}

    def keep(step: int, state: Any) -> None:
        save(tmp_path / f"checkpoint-{step}", state, tokenizer(), texts)

    trained(checkpoints=checkpoint_steps(RECIPE, 3), keep=keep)
    states = subjects([], checkpoints=tmp_path)
    probes = [probe(state.model, "fitbert", "labor", cache=False) for state in states]
    entries = [
        SubjectProbe(state, "fitbert", made) for state, made in zip(states, probes, strict=True)
    ]
    result = summarise(entries)
    for curve in result.curves:
        first, *_, last = result.of(curve.question)
        assert first.association is not None
        assert first.association.value == pytest.approx(curve.levels[NO_ASSOCIATION], abs=0.01)
        assert curve.levels[PLANTED] == pytest.approx(0.0, abs=1e-4)
        assert curve.band[0].low < curve.levels[NO_ASSOCIATION] < curve.band[0].high
        assert last.step == 60
