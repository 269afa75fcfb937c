"""The networks of all rounds against torch's own layers, and their first weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from lmprobe.leakage.ensemble import Ensemble, _NormAndBend
from tests.leakage.plain_network import CPU, plain

WIDTHS = {1: [7, 3], 2: [7, 5, 3], 3: [7, 5, 4, 3]}


def made(layers: int, rounds: int = 2) -> Ensemble:
    generators = [torch.Generator().manual_seed(number) for number in range(rounds)]
    return Ensemble(WIDTHS[layers], generators, CPU)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_weights_and_bias_are_drawn_as_torch_draws_them(layers: int) -> None:
    network, widths = made(layers), WIDTHS[layers]
    for number in range(2):
        generator = torch.Generator().manual_seed(number)
        for weight, fan_in, fan_out in zip(network.weights, widths[:-1], widths[1:], strict=True):
            bound = fan_in**-0.5
            drawn = torch.empty(fan_in, fan_out).uniform_(-bound, bound, generator=generator)
            assert torch.allclose(weight[number], drawn, atol=1e-6)
        # nn.Linear draws its bias within the bound of its weights.
        bound = widths[-2] ** -0.5
        drawn = torch.empty(1, 3).uniform_(-bound, bound, generator=generator)
        assert torch.allclose(network.bias[number], drawn, atol=1e-6)
    assert all(one.requires_grad for one in network.parameters())


def test_a_fresh_network_normalises_as_a_fresh_batch_norm_does() -> None:
    network = made(3)
    for layer, width in enumerate([5, 4]):
        fresh = nn.BatchNorm1d(width)
        for ours, theirs in (
            (network.scales, fresh.weight),
            (network.shifts, fresh.bias),
            (network.means, fresh.running_mean),
            (network.variances, fresh.running_var),
        ):
            assert theirs is not None
            assert ours[layer].shape == (2, 1, width)
            assert (ours[layer] == theirs).all()
    assert len(network.parameters()) == 3 + 1 + 2 + 2
    assert len(network.state()) == len(network.parameters()) + 4


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_one_step_is_the_step_of_torchs_own_layers(layers: int, size: float) -> None:
    # Small numbers have variances near the 1e-5 that is added to them.
    network = made(layers)
    alone = [plain(network, number) for number in range(2)]
    given = size * torch.randn(2, 4, 7, generator=torch.Generator().manual_seed(5))
    weight, target = torch.full((2, 1, 4), 1 / 4), torch.tensor([0, 2, 1, 2])
    logits = network.learn(torch.bmm(given, network.weights[0]), weight, 4)
    shares = nn.functional.one_hot(target, 3).float() / 4
    torch.autograd.backward([-(torch.log_softmax(logits, dim=2) * shares).sum()])
    for number, one in enumerate(alone):
        theirs = one(given[number])
        assert torch.allclose(logits[number], theirs, atol=1e-5)
        nn.functional.cross_entropy(theirs, target).backward()
        linear = [layer for layer in one if isinstance(layer, nn.Linear)]
        norms = [layer for layer in one if isinstance(layer, nn.BatchNorm1d)]
        for ours, layer in zip(network.weights, linear, strict=True):
            assert_same_slope(ours, layer.weight, number)
        assert_same_slope(network.bias, linear[-1].bias, number)
        for place, norm in enumerate(norms):
            assert_same_slope(network.scales[place], norm.weight, number)
            assert_same_slope(network.shifts[place], norm.bias, number)
            assert norm.running_mean is not None
            assert norm.running_var is not None
            assert torch.allclose(network.means[place][number, 0], norm.running_mean, atol=1e-7)
            assert torch.allclose(network.variances[place][number, 0], norm.running_var, atol=1e-6)
        one.eval()
        with torch.no_grad():
            judged = network.judge(torch.bmm(given, network.weights[0]))
            assert torch.allclose(judged[number], one(given[number]), atol=1e-5)


def test_a_small_running_variance_is_raised_as_batch_norm_raises_it() -> None:
    network = made(2)
    for variance in network.variances:
        variance.fill_(2e-5)
    given = torch.randn(2, 4, 7, generator=torch.Generator().manual_seed(6))
    with torch.no_grad():
        found = network.judge(torch.bmm(given, network.weights[0]))
        for number in range(2):
            alone = plain(network, number).eval()
            norm = alone[1]
            assert isinstance(norm, nn.BatchNorm1d)
            assert norm.running_var is not None
            norm.running_var.fill_(2e-5)
            assert torch.allclose(found[number], alone(given[number]), rtol=1e-4)


def assert_same_slope(ours: Tensor, theirs: Tensor, number: int) -> None:
    assert ours.grad is not None
    assert theirs.grad is not None
    found = ours.grad[number]
    expected = theirs.grad.T if theirs.grad.ndim == 2 else theirs.grad[None]
    assert torch.allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_a_row_that_weighs_twice_is_the_row_given_twice() -> None:
    values = torch.tensor([[[1.0, -2.0], [0.5, 1.0], [3.0, 0.0]]], dtype=torch.float64)
    scale, shift = torch.tensor([[[1.5, 0.5]]]).double(), torch.tensor([[[0.1, -0.2]]]).double()
    once = torch.tensor([[[0.5, 0.25, 0.25]]]).double()
    bent, mean, variance = _NormAndBend.apply(values, once, scale, shift)  # type: ignore[no-untyped-call]
    full = torch.cat([values[0, :1], values[0]])
    spread = torch.sqrt(full.var(dim=0, unbiased=False) + 1e-5)
    expected = (values[0] - full.mean(dim=0)) / spread * scale[0] + shift[0]
    expected = torch.where(expected > 0, expected, 0.01 * expected)
    assert torch.allclose(bent[0], expected)
    assert torch.allclose(mean[0, 0], full.mean(dim=0))
    assert torch.allclose(variance[0, 0], full.var(dim=0, unbiased=False))


def test_the_gradient_that_is_written_out_is_autograds() -> None:
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(2, 4, 3, generator=generator).double().requires_grad_()
    scale = torch.rand(2, 1, 3, generator=generator).double().add(0.5).requires_grad_()
    shift = torch.randn(2, 1, 3, generator=generator).double().requires_grad_()
    weight = torch.tensor([[[0.4, 0.3, 0.2, 0.1]], [[0.25, 0.25, 0.5, 0.0]]]).double()
    share = weight.transpose(1, 2)
    side = torch.randn(2, 4, 3, generator=generator).double() * share
    centred = values - (values * share).sum(dim=1, keepdim=True)
    spread = torch.sqrt((centred**2 * share).sum(dim=1, keepdim=True) + 1e-5)
    expected = nn.functional.leaky_relu(centred / spread * scale + shift)
    found = _NormAndBend.apply(values, weight, scale, shift)[0]  # type: ignore[no-untyped-call]
    assert torch.allclose(found, expected)
    slopes = [
        torch.autograd.grad((side * one).sum(), (values, scale, shift)) for one in (found, expected)
    ]
    for ours, theirs in zip(*slopes, strict=True):
        assert torch.allclose(ours, theirs)
