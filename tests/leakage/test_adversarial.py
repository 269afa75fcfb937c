from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from lmprobe.errors import InputError
from lmprobe.leakage.adversarial import (
    Critic,
    Predictor,
    Removal,
    _Training,
    reverse_gradient,
    train,
)
from lmprobe.leakage.inputs import read_groups, read_labels
from lmprobe.leakage.measure import model_leakage
from lmprobe.leakage.tradeoff import removal_tradeoff
from tests.leakage.leaking_data import planted

QUICK = Removal(width=32, task_epochs=6, critic_epochs=2, joint_epochs=10, learning_rate=3e-3)


def test_reversal_is_the_identity_with_the_other_gradient() -> None:
    values = torch.tensor([1.0, -2.0], requires_grad=True)
    out = reverse_gradient(values, 3.0)
    assert out.tolist() == [1.0, -2.0]
    torch.autograd.backward([(out * torch.tensor([1.0, 5.0])).sum()])
    assert values.grad is not None
    assert values.grad.tolist() == [-3.0, -15.0]


def test_the_predictors_step_follows_the_papers_loss() -> None:
    torch.manual_seed(0)
    features, target = torch.randn(12, 3), torch.randint(0, 2, (12, 4)).float()
    rows, group = torch.arange(12), torch.tensor([0, 1] * 6)
    predictor, critic = Predictor(3, 4, 5), Critic(5, 2, 5)
    before = [one.detach().clone() for one in critic.parameters()]
    # L_p = L - lambda * L_c, written out; the critic is held still.
    representation = predictor.encoder(features)
    loss = functional.binary_cross_entropy_with_logits(predictor.head(representation), target)
    against = functional.cross_entropy(critic.layers(representation), group)
    expected = torch.autograd.grad(loss - 0.7 * against, list(predictor.parameters()))
    run = _Training(predictor, critic, Removal(strength=0.7), False, group, 2)
    run._teach_predictor(features, target, rows, True)
    for parameter, slope in zip(predictor.parameters(), expected, strict=True):
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, slope, atol=1e-6)
    for parameter, old in zip(critic.parameters(), before, strict=True):
        assert (parameter == old).all()


def test_the_critic_weighs_the_groups_alike_and_leaves_the_predictor_alone() -> None:
    torch.manual_seed(0)
    features, group = torch.randn(8, 3), torch.tensor([0] * 6 + [1] * 2)
    predictor, critic = Predictor(3, 4, 5), Critic(5, 2, 5)
    before = [one.detach().clone() for one in predictor.parameters()]
    run = _Training(predictor, critic, Removal(), False, group, 2)

    def loss() -> float:
        return run._critic_loss(representation, torch.arange(8), 0.0).item()

    with torch.no_grad():
        representation = predictor.encoder(features)
        each = functional.cross_entropy(critic.layers(representation), group, reduction="none")
    first = loss()
    assert first == pytest.approx((each[:6].mean() + each[6:].mean()).item() / 2, rel=1e-5)
    run._teach_critic(features, torch.arange(8))
    assert loss() < first
    for parameter, old in zip(predictor.parameters(), before, strict=True):
        assert (parameter == old).all()


def test_the_critic_hides_the_group() -> None:
    features, labels, group = planted(np.random.default_rng(0), 1500)
    truth, groups, rows = read_labels(labels), read_groups(group), np.arange(1500)
    leaks = []
    for strength in (0.0, 1.0):
        model = train(features, truth, groups, rows, replace(QUICK, strength=strength))
        leaks.append(model_leakage(model.logits(features), group, attacker="logistic").value)
    assert leaks[0] > leaks[1] + 0.05


def test_training_is_repeatable_and_leaves_torch_alone() -> None:
    features, labels, group = planted(np.random.default_rng(1), 300)
    truth, groups, rows = read_labels(labels), read_groups(group), np.arange(300)
    torch.manual_seed(7)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    first = train(features, truth, groups, rows, QUICK).logits(features)
    again = train(features, truth, groups, rows, QUICK).logits(features)
    assert (first == again).all()
    assert (torch.get_rng_state() == before).all()
    assert torch.get_num_threads() == threads


def test_noise_is_added_to_the_representation_in_deviations_of_each_unit() -> None:
    features, labels, group = planted(np.random.default_rng(2), 300)
    model = train(features, read_labels(labels), read_groups(group), np.arange(300), QUICK)
    noisy = model.logits(features, noise=0.5, rng=np.random.default_rng(0))
    drawn = np.random.default_rng(0).standard_normal((300, QUICK.width), dtype=np.float32)
    scaled = (features - features.mean(axis=0)) / features.std(axis=0, ddof=1)
    with torch.no_grad():
        units = model.predictor.encoder(torch.from_numpy(scaled).float()).numpy()
        given = torch.from_numpy(units + 0.5 * units.std(axis=0, ddof=1) * drawn)
        expected = model.predictor.head(given).numpy()
    assert noisy == pytest.approx(expected, abs=1e-4)
    assert np.abs(noisy - model.logits(features)).mean() > 0.01


def test_one_label_per_row_and_wrong_input() -> None:
    rng = np.random.default_rng(3)
    features, _, group = planted(rng, 300)
    labels = np.array(list("abc"))[np.argmax(features[:, :3], axis=1)]
    model = train(features, read_labels(labels), read_groups(group), np.arange(300), QUICK)
    guessed = np.array(list("abc"))[model.logits(features).argmax(axis=1)]
    assert np.mean(guessed == labels) > 0.7
    with pytest.raises(InputError, match="strength"):
        Removal(strength=-1)
    with pytest.raises(InputError, match="row, feature"):
        model.logits([1.0, 2.0])
    with pytest.raises(InputError, match="`features` has 2 rows, `labels` has 300"):
        removal_tradeoff(features[:2], labels, group)


@pytest.mark.slow
def test_removal_halves_amplification_for_little_f1_and_beats_noise() -> None:
    features, labels, group = planted(np.random.default_rng(0), 2000, skew=0.35)
    found = removal_tradeoff(
        features, labels, group, strengths=(0.5,), noises=(0.5, 2.0), attacker="logistic", rounds=3,
        removal=Removal(width=32, learning_rate=4e-3, joint_epochs=30, batch_size=256),
    )  # fmt: skip
    original = found.of("original")[0]
    assert original.amplification.interval.low > 0
    least_with_noise = min(point.amplification.value for point in found.of("noise"))
    for point in found.of("adversarial"):
        assert point.amplification.value < original.amplification.value / 2, point.level
        assert original.f1 - point.f1 <= 0.025, point.level
        assert point.amplification.value < found.noise_at(point.f1), point.level
        # However loud, noise never leaks as little.
        assert point.amplification.value < least_with_noise, point.level
    (figure,) = found.figures()
    assert figure.series[0].name == "original"
    assert "noise at that F1 leaves" in figure.alternative
