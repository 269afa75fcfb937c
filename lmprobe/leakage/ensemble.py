"""Attackers of one shape that are computed side by side, one per round.

Every parameter has a leading axis for the round, so one call of a batched product serves
all rounds. Examples that look the same within a batch are computed once: a row carries
its share of the batch as a weight, and BatchNorm takes weighted moments, which are the
moments of the full batch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

# What torch.nn.BatchNorm1d uses.
_EPSILON = 1e-5
_MOMENTUM = 0.1


# What torch.nn.LeakyReLU uses.
_SLOPE = 0.01


class _NormAndBend(torch.autograd.Function):
    """BatchNorm with weighted rows, then LeakyReLU, with the gradient written out.

    Autograd would keep and walk every product of the two; together they need half of that.
    """

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, weight: Tensor, scale: Tensor, shift: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean = torch.bmm(weight, values)
        normed = values - mean
        variance = torch.bmm(weight, normed * normed)
        spread = torch.rsqrt(variance + _EPSILON)
        normed *= spread
        straight = torch.addcmul(shift, normed, scale)
        ctx.save_for_backward(normed, straight, weight, scale * spread)
        ctx.mark_non_differentiable(mean, variance)
        return functional.leaky_relu(straight, _SLOPE), mean, variance

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, Tensor, Tensor]:
        normed, straight, weight, factor = ctx.saved_tensors
        slope = torch.ops.aten.leaky_relu_backward(gradients[0], straight, _SLOPE, False)
        of_shift = slope.sum(dim=1, keepdim=True)
        of_scale = (slope * normed).sum(dim=1, keepdim=True)
        # What a row adds to the mean and to the variance of the batch.
        through = torch.addcmul(of_shift, normed, of_scale).mul_(weight.transpose(1, 2))
        return slope.sub(through).mul_(factor), None, of_scale, of_shift


class Ensemble:
    """R networks: linear layers with BatchNorm and LeakyReLU between them.

    A layer before a BatchNorm has no bias: the mean is subtracted right after it.
    """

    def __init__(
        self, widths: Sequence[int], generators: Sequence[torch.Generator], device: torch.device
    ) -> None:
        """Draw the weights of each round from its own generator, as torch.nn.Linear does."""
        rounds = len(generators)
        self.weights: list[Tensor] = []
        for fan_in, fan_out in itertools.pairwise(widths):
            bound = 1 / math.sqrt(fan_in)
            drawn = [torch.rand(fan_in, fan_out, generator=one) for one in generators]
            self.weights.append(((torch.stack(drawn) * 2 - 1) * bound).to(device))
        bound = 1 / math.sqrt(widths[-2])
        drawn = [torch.rand(1, widths[-1], generator=one) for one in generators]
        self.bias = ((torch.stack(drawn) * 2 - 1) * bound).to(device)
        hidden = widths[1:-1]
        self.scales = [torch.ones(rounds, 1, width, device=device) for width in hidden]
        self.shifts = [torch.zeros(rounds, 1, width, device=device) for width in hidden]
        self.means = [torch.zeros(rounds, 1, width, device=device) for width in hidden]
        self.variances = [torch.ones(rounds, 1, width, device=device) for width in hidden]
        for parameter in self.parameters():
            parameter.requires_grad_(True)

    def parameters(self) -> list[Tensor]:
        """Return what training changes."""
        return [*self.weights, self.bias, *self.scales, *self.shifts]

    def state(self) -> list[Tensor]:
        """Return everything that a snapshot must keep."""
        return [*self.parameters(), *self.means, *self.variances]

    def learn(self, first: Tensor, weight: Tensor, batch: int) -> Tensor:
        """Return the logits (R, U, G) of a training batch and note its moments.

        `first` (R, U, H) is what the first layer makes of U different rows, `weight`
        (R, 1, U) the share of the batch of `batch` rows that looks like each of them.
        """
        values = first
        for layer, (scale, shift) in enumerate(zip(self.scales, self.shifts, strict=True)):
            bent, mean, variance = _NormAndBend.apply(values, weight, scale, shift)  # type: ignore[no-untyped-call]
            with torch.no_grad():
                self.means[layer].lerp_(mean, _MOMENTUM)
                # The running variance is that of the population, hence n / (n - 1).
                self.variances[layer].lerp_(variance * (batch / (batch - 1)), _MOMENTUM)
            values = self._next(layer, bent)
        return values if self.scales else values + self.bias

    def judge(self, first: Tensor) -> Tensor:
        """Return the logits (R, U, G) under the moments noted in training."""
        values = first
        for layer, (scale, shift) in enumerate(zip(self.scales, self.shifts, strict=True)):
            factor = scale * torch.rsqrt(self.variances[layer] + _EPSILON)
            values = torch.addcmul(shift, values - self.means[layer], factor)
            values = self._next(layer, functional.leaky_relu(values, _SLOPE))
        return values if self.scales else values + self.bias

    def _next(self, layer: int, values: Tensor) -> Tensor:
        if layer + 2 < len(self.weights):
            return torch.bmm(values, self.weights[layer + 1])
        return torch.baddbmm(self.bias, values, self.weights[layer + 1])
