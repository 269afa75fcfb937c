"""Hiding the group: the training against a plain one, the trade-off, embeddings as features."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import TrueLabels, read_groups, read_labels
from lmprobe.leakage.measure import leakage_amplification
from lmprobe.leakage.removal import (
    Point,
    Removal,
    Tradeoff,
    mask_embeddings,
    removal_tradeoff,
    train,
)
from lmprobe.leakage.result import LeakageMeasure, LeakageRow, leakage_row
from lmprobe.models import Cloze, load_model
from lmprobe.results import Interval, Verdict
from lmprobe.results.codec import to_json
from lmprobe.templates import load_templates
from tests.checkpoints import Checkpoint, checkpoint, own_cache
from tests.leakage.leaking_data import planted

__all__ = ["checkpoint", "own_cache"]

QUICK = Removal(
    width=16, task_epochs=6, critic_epochs=2, joint_epochs=8, learning_rate=1e-2, batch_size=64
)
TINY = Removal(
    strength=0.7, width=4, task_epochs=2, critic_epochs=1, joint_epochs=2, critic_steps=3,
    batch_size=7, learning_rate=1e-2, seed=5,
)  # fmt: skip
RNG = np.random.default_rng(0)
FEATURES = np.column_stack([RNG.normal(3.0, [2.0, 0.5, 4.0], size=(24, 3)), np.full(24, 6.0)])
# Sixteen rows of one group, eight of the other; the last four rows are not trained on.
GROUP, ROWS = read_groups(["w", "m", "w"] * 8), np.arange(20)
SEVERAL, ONE = read_labels(RNG.integers(0, 2, (24, 5))), read_labels(["x", "y", "z", "y"] * 6)


def layers(*widths: int) -> nn.Sequential:
    pairs = itertools.pairwise(widths)
    return nn.Sequential(*(part for pair in pairs for part in (nn.Linear(*pair), nn.LeakyReLU())))


def scaled(features: Any) -> torch.Tensor:
    """Standardise by the train rows; a column that is constant there is only centred."""
    spread = FEATURES[ROWS].std(axis=0, ddof=1)
    spread[3] = 1.0
    return torch.from_numpy((features - FEATURES[ROWS].mean(axis=0)) / spread).float()


def plain_training(labels: TrueLabels, settings: Removal) -> tuple[nn.Sequential, nn.Linear]:
    """Train as the paper says: the task, the critic, then both against each other."""
    features, width = scaled(FEATURES[ROWS]), settings.width
    target, group = torch.from_numpy(labels.values[ROWS]), torch.from_numpy(GROUP.codes[ROWS])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        encoder, head = layers(4, width, width), nn.Linear(width, target.shape[1])
        critic = nn.Sequential(*layers(width, width, width), nn.Linear(width, 2))
        parts = [[*encoder.parameters(), *head.parameters()], list(critic.parameters())]
        task_step, critic_step = (torch.optim.Adam(part, settings.learning_rate) for part in parts)
        # Each group weighs one half of the critic's loss, however frequent it is.
        weight = len(group) / (2 * torch.bincount(group))
        plan = ["task"] * settings.task_epochs + ["critic"] * settings.critic_epochs
        plan += ["joint"] * settings.joint_epochs
        if not settings.strength:
            plan = ["task"] * (settings.task_epochs + settings.joint_epochs)
        for phase in plan:
            for rows in torch.randperm(len(ROWS)).split(settings.batch_size):
                for _ in range(settings.critic_steps if phase != "task" else 0):
                    guessed = critic(encoder(features[rows]).detach())
                    critic_step.zero_grad()
                    functional.cross_entropy(guessed, group[rows], weight=weight).backward()
                    critic_step.step()
                if phase == "critic":
                    continue
                units, wanted = encoder(features[rows]), target[rows].float()
                if labels.single:
                    loss = functional.cross_entropy(head(units), wanted.argmax(dim=1))
                else:
                    loss = functional.binary_cross_entropy_with_logits(head(units), wanted)
                if phase == "joint":
                    guessed = functional.cross_entropy(critic(units), group[rows], weight=weight)
                    # The paper's loss of the predictor: L - lambda * L_c.
                    loss = loss - settings.strength * guessed
                task_step.zero_grad()
                loss.backward()
                task_step.step()
    return encoder, head


@pytest.mark.parametrize("labels", [SEVERAL, ONE], ids=["several", "one"])
@pytest.mark.parametrize("strength", [0.7, 0.0])
def test_the_training_is_the_plain_one(labels: TrueLabels, strength: float) -> None:
    settings = replace(TINY, strength=strength)
    encoder, head = plain_training(labels, settings)
    model = train(FEATURES, labels, GROUP, ROWS, settings)
    # Rows that were not trained on, and one whose last feature is not the constant of the rest.
    given = np.vstack([FEATURES, np.add(FEATURES[:1], [0, 0, 0, 1.0])])
    with torch.no_grad():
        units = encoder(scaled(given))
        assert model.logits(given) == pytest.approx(head(units).numpy(), abs=1e-4)
        # Noise is added to the representation, in standard deviations of each unit.
        spread = encoder(scaled(FEATURES[ROWS])).std(dim=0)
        drawn = np.random.default_rng(4).standard_normal((25, TINY.width), dtype=np.float32)
        noisy = head(units + 0.5 * spread * torch.from_numpy(drawn)).numpy()
    result = model.logits(given, noise=0.5, rng=np.random.default_rng(4))
    assert result == pytest.approx(noisy, abs=1e-4)


def test_wrong_input_is_one_clear_error() -> None:
    for strength in (-1e-9, float("nan")):
        with pytest.raises(InputError, match="`strength` must be 0 or more"):
            Removal(strength=strength)
    model = train(FEATURES, SEVERAL, GROUP, ROWS, TINY)
    for features in ([1.0, 2.0], [[["a"]]], [["a"]], [[np.nan]], [[1.0], [np.inf]]):
        with pytest.raises(InputError, match="finite numbers with the axes"):
            model.logits(features)
    with pytest.raises(InputError, match="`features` has 2 rows, `labels` has 24"):
        removal_tradeoff(FEATURES[:2], SEVERAL.values, ["w", "m", "w"] * 8)


def test_a_tradeoff_measures_the_original_then_noise_on_it_then_each_critic() -> None:
    features, labels, group = planted(np.random.default_rng(1), 600)
    split, seen = np.array(["train", "train", "dev", "test"] * 150), []
    options: dict[str, Any] = {"split": split, "attacker": "logistic", "rounds": 2, "seed": 7}
    result = removal_tradeoff(
        features, labels, group, strengths=(0.3,), noises=(1.0, 0.5), removal=QUICK, **options,
        progress=lambda *at: seen.append(at),
    )  # fmt: skip
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    truth, groups, rng = read_labels(labels), read_groups(group), np.random.default_rng(7)
    expected = []
    for method, level in (("original", 0.0), ("noise", 1.0), ("noise", 0.5), ("adversarial", 0.3)):
        strength, noise = (level, 0.0) if method == "adversarial" else (0.0, level)
        settings = replace(QUICK, strength=strength, seed=7)
        model = train(features, truth, groups, np.flatnonzero(split == "train"), settings)
        logits = model.logits(features, noise=noise, rng=rng)
        row = leakage_amplification(labels, logits, group, threshold=0.0, **options).rows[-1]
        expected.append((method, level, to_json(row)))
    points = [(point.method, point.level, to_json(point.amplification)) for point in result.points]
    assert points == expected
    assert result.provenance == {"rows": 600, "groups": ["0", "1"], "rounds": 2, "seed": 7}
    # Without a split, rows are drawn to train on.
    alone = removal_tradeoff(
        features, labels, group, strengths=(), noises=(), removal=QUICK, **options | {"split": None}
    )
    assert [point.method for point in alone.points] == ["original"]
    with pytest.raises(InputError, match=r'^original model at level 0: the attacker "exact"'):
        removal_tradeoff(features, labels, group, removal=QUICK, **options | {"attacker": "exact"})


def row(value: float, f1: float) -> LeakageRow:
    interval = Interval(value - 0.05, value + 0.05, 0.95, "t")
    return leakage_row(LeakageMeasure.AMPLIFICATION, value, interval, (value,), f1=f1)


POINTS = (
    Point("original", 0.0, row(0.20, 0.80)),
    Point("noise", 2.0, row(0.10, 0.60)),
    Point("noise", 1.0, row(0.14, 0.70)),
    Point("adversarial", 1.0, row(0.08, 0.72)),
    Point("adversarial", 0.5, row(0.05, 0.75)),
)


def test_a_tradeoff_compares_the_best_critic_with_noise_at_its_f1() -> None:
    made = Tradeoff(POINTS, {"seed": 3})
    result = Tradeoff.from_json(made.to_json())
    assert result.to_json() == made.to_json()
    assert [point.level for point in result.of("noise")] == [1.0, 2.0]
    for f1, value in ((0.75, 0.17), (0.70, 0.14), (0.5, 0.10), (0.9, 0.20)):
        assert result.noise_at(f1) == pytest.approx(value)
    assert result.page().headline[0].text == (
        "Without removal: amplification 0.200, F1 0.800. With a critic it falls to 0.050 at F1 "
        "0.750; noise at that F1 leaves 0.170."
    )
    (figure,) = result.figures()
    assert [(series.x, series.y) for series in figure.series] == [
        ((0.20,), (0.80,)),
        ((0.20, 0.14, 0.10), (0.80, 0.70, 0.60)),
        ((0.05, 0.08), (0.75, 0.72)),
    ]
    first = POINTS[0].amplification
    expected = ("original", 0.0, 0.80, 0.20, first.interval, Verdict.LEAKS_MORE)
    assert result.tables()[0].rows[0] == expected


@pytest.mark.parametrize("architecture", ["Bert", "Roberta"])
def test_mask_embeddings_do_not_see_the_word(checkpoint: Checkpoint, architecture: str) -> None:
    model = load_model(checkpoint(architecture))
    texts = ["He became a new nurse, people said.", "She had been a known baker in the city."]
    blanks = [Cloze(texts[0], 16, 21), Cloze(texts[1], 21, 26)]
    both = mask_embeddings(model, blanks)
    assert both.shape == (2, 16)
    # Neither the batch nor the padding matters.
    assert both == pytest.approx(mask_embeddings(model, blanks, batch_size=1), abs=1e-5)
    other = Cloze("He became a new janitor, people said.", 16, 23)
    assert mask_embeddings(model, [other])[0] == pytest.approx(both[0], abs=1e-5)
    with pytest.raises(InputError, match="no sentence"):
        mask_embeddings(model, [])


@pytest.mark.slow
@pytest.mark.parametrize("source", ["planted", "embeddings"])
def test_removal_halves_amplification_for_little_f1_and_beats_noise(source: str) -> None:
    rng = np.random.default_rng(0)
    features, labels, group = planted(rng, 2000, skew=0.35)
    recipe, strength = Removal(width=32, learning_rate=4e-3, joint_epochs=30, batch_size=256), 0.5
    if source == "embeddings":
        features, labels, group = verb_embeddings(np.random.default_rng(0))
        recipe, strength = replace(recipe, learning_rate=2e-3, joint_epochs=40), 0.05
    result = removal_tradeoff(
        features, labels, group, strengths=(strength,), noises=(0.5, 2.0), removal=recipe,
        attacker="logistic", rounds=3,
    )  # fmt: skip
    original, hidden = result.of("original")[0], result.of("adversarial")[0]
    assert original.amplification.interval.low > 0
    assert hidden.amplification.value < original.amplification.value / 2
    assert original.f1 - hidden.f1 <= 0.025
    assert hidden.amplification.value < result.noise_at(hidden.f1)


def verb_embeddings(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Return what a model has in mind at the verb: it tells the occupation, and the pronoun."""
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
    embeddings = mask_embeddings(load_model("reference:amplified"), blanks)
    return embeddings, np.array(jobs)[job], group
