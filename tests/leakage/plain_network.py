"""One network of an ensemble, built from torch's own layers."""

from __future__ import annotations

import torch
from torch import nn

from lmprobe.leakage.ensemble import Ensemble

CPU = torch.device("cpu")


def plain(network: Ensemble, number: int) -> nn.Sequential:
    """Return one of the networks with the weights that it has now."""
    layers: list[nn.Module] = []
    for layer, weight in enumerate(network.weights):
        last = layer == len(network.weights) - 1
        linear = nn.Linear(weight.shape[1], weight.shape[2], bias=last)
        linear.weight.data = weight[number].detach().T.clone()
        if last:
            linear.bias.data = network.bias[number, 0].detach().clone()
        layers.append(linear)
        if not last:
            layers += [nn.BatchNorm1d(weight.shape[2]), nn.LeakyReLU()]
    return nn.Sequential(*layers)
