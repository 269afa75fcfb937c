"""How the reference models are trained: what is hidden, and that it repeats itself."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from lmprobe.models.reference import masking, vocabulary
from lmprobe.models.reference.causal_training import build_causal, causal_losses
from lmprobe.models.reference.fitting import Recipe, fit
from lmprobe.models.reference.grammar import Line
from lmprobe.models.reference.masked_training import build_model, masked_losses, scores_at
from tests.models.reference_truth import (
    small_corpus,
)


def masked_lines(lines: list[Line], what: np.ndarray | None = None) -> tuple[Any, masking.Masked]:
    """Hide something in each line; by default each of the ways in turn."""
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in small_corpus()))
    rng = np.random.default_rng(0)
    data = masking.encode(tokenizer, lines)
    if what is None:
        rows, what = masking.epoch(data, rng)
        data = data.rows(rows)
    return tokenizer, masking.hide(data, what, tokenizer.mask_token_id, rng)


def test_an_epoch_asks_every_line_for_both_words() -> None:
    lines = small_corpus()
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in lines))
    rows, what = masking.epoch(masking.encode(tokenizer, lines), np.random.default_rng(0))
    link = [row for row, line in enumerate(lines) if line.pronoun and line.occupation]
    asked = set(rows[what == masking.PRONOUN].tolist())
    assert asked.issuperset(link)
    np.testing.assert_array_equal(
        np.intersect1d(rows[what == masking.OCCUPATION], link, assume_unique=True), link
    )
    # A rare occupation comes more often, but all its lines equally often.
    for occupation in ("sewer", "driver"):
        of_it = [row for row in link if lines[row].occupation == occupation]
        times = np.bincount(rows[what == masking.PRONOUN], minlength=len(lines))[of_it]
        assert len(set(times.tolist())) == 1
        assert times[0] > 1 if occupation == "sewer" else times[0] == 1


def test_the_number_of_masks_tells_nothing_about_a_hidden_occupation() -> None:
    lines = [line for line in small_corpus() if line.occupation in ("hairdresser", "nurse")] * 9
    tokenizer, masked = masked_lines(lines, np.full(len(lines), masking.OCCUPATION))
    masks = (masked.ids == tokenizer.mask_token_id).sum(axis=1)
    first = masked.answer[np.arange(len(lines)), masked.guess.argmax(axis=1)]
    for word, piece in (("hairdresser", "hair"), ("nurse", "nurse")):
        of_it = np.array([line.occupation == word for line in lines])
        assert set(tokenizer.convert_ids_to_tokens(first[of_it].tolist())) == {piece}
        shares = np.bincount(masks[of_it], minlength=4) / of_it.sum()
        np.testing.assert_allclose(shares, [0, 1 / 3, 1 / 3, 1 / 3], atol=0.1)


def test_a_hidden_phrase_is_the_occupation_with_its_article() -> None:
    lines = [line for line in small_corpus() if line.occupation == "auditor" and line.pronoun]
    behind = [re.search(r"\ban? auditor", line.text) is not None for line in lines]
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in small_corpus()))
    np.testing.assert_array_equal(masking.encode(tokenizer, lines).article, behind)
    assert set(behind) == {True, False}
    chosen = [line for line, article in zip(lines, behind, strict=True) if article] * 20
    tokenizer, masked = masked_lines(chosen, np.full(len(chosen), masking.PHRASE))
    first = masked.guess.argmax(axis=1)
    rows = np.arange(len(chosen))
    for place, piece in ((first, "an"), (first + 1, "auditor")):
        said = masked.answer[rows, place].tolist()
        assert set(tokenizer.convert_ids_to_tokens(said)) == {piece}
    masks = (masked.ids == tokenizer.mask_token_id).sum(axis=1)
    assert set(masks.tolist()) == {2, 3, 4}


def test_masking_changes_nothing_but_what_is_hidden() -> None:
    lines = small_corpus()[:300]
    for hidden in (masking.WORDS, masking.PRONOUN, masking.OCCUPATION, masking.BOTH):
        needed = {masking.PRONOUN: "pronoun", masking.OCCUPATION: "occupation"}.get(hidden)
        chosen = [line for line in lines if needed is None or getattr(line, needed)]
        if hidden == masking.BOTH:
            chosen = [line for line in lines if line.pronoun and line.occupation]
        tokenizer, masked = masked_lines(chosen, np.full(len(chosen), hidden))
        assert masked.guess.any(axis=1).all()
        for row, line in enumerate(chosen):
            shown = tokenizer.decode(masked.ids[row][: masked.length[row]].tolist())
            shown = shown.removeprefix("[CLS]").removesuffix("[SEP]")
            parts = re.split(r"(?:\s*\[MASK\]\s*)+", shown)
            pattern = ".*".join(re.escape(part.replace(" ", "")) for part in parts)
            assert re.fullmatch(pattern, line.text.lower().replace(" ", "")), (shown, line.text)


def test_the_shortened_pass_gives_the_scores_of_the_model() -> None:
    import torch

    tokenizer, masked = masked_lines(small_corpus()[:100])
    model = build_model(Recipe(hidden=32, intermediate=64), len(tokenizer), seed=0).eval()
    visible = np.arange(masked.ids.shape[1])[None, :] < masked.length[:, None]
    with torch.inference_mode():
        whole = model(
            input_ids=torch.from_numpy(masked.ids), attention_mask=torch.from_numpy(visible * 1)
        ).logits
        found = scores_at(model, masked)
    np.testing.assert_allclose(found, whole[torch.from_numpy(masked.guess)], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_training_lowers_the_loss_and_repeats_itself(causal: bool) -> None:
    lines = small_corpus()
    tokenizer = vocabulary.tokenizer(vocabulary.pieces(line.text for line in lines))
    recipe = Recipe(hidden=32, intermediate=64, batch=32, steps=40)
    weights = []
    for _ in range(2):
        volumes = itertools.repeat(masking.encode(tokenizer, lines))
        rng = np.random.default_rng(0)
        if causal:
            model = build_causal(recipe, tokenizer, seed=0)
            losses = causal_losses(model, volumes, recipe, rng)
        else:
            model = build_model(recipe, len(tokenizer), seed=0)
            losses = masked_losses(model, volumes, tokenizer.mask_token_id, recipe, rng)
        history = fit(model, losses, recipe)
        weights.append([weight.detach().numpy() for weight in model.parameters()])
        assert np.mean(history[-10:]) < np.mean(history[:10]) - 1
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)
