"""Encoder, discriminator and critic of digits: Tables C.4 and C.6 of "Mutual Information Neural
Estimation". The decoder and the statistics network, C.5 and C.7, are those of
ntkexp/studies/digit_networks.py."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d

from ntkexp.studies.digit_networks import SIDES, convolutions
from ntkexp.studies.toy_gans import SLOPE


def leaky() -> nn.Module:
    return nn.LeakyReLU(SLOPE)


class Encoder(nn.Module):
    """F(x, e): an image, and beside it each number of the noise as a map of equal pixels."""

    def __init__(self, code: int, channels: Sequence[int]) -> None:
        super().__init__()
        first, *_, last = channels
        self.first = nn.Conv2d(1 + code, first, 5, 2, 2)
        self.features = nn.Sequential(nn.ReLU(), convolutions(channels, nn.ReLU))
        side = SIDES[len(channels)]
        self.last = nn.Sequential(
            nn.Conv2d(last, last, side), nn.ReLU(), nn.Flatten(), nn.Linear(last, code)
        )

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        """(n, code): codes of images (n, 1, 28, 28) and noise (n, code).

        What the first convolution makes of a map of equal pixels is the number times what it makes
        of a map of ones, found once a minibatch: a tenth of the operations of the maps themselves.
        """
        weights, n, units = self.first.weight, len(noise), noise.shape[1]
        of_ones = conv2d(x.new_ones(1, 1, *x.shape[2:]), weights[:, 1:].reshape(-1, 1, 5, 5),
                         stride=2, padding=2)  # fmt: skip
        by_unit = of_ones.view(len(weights), units, -1).transpose(0, 1).reshape(units, -1)
        of_image = conv2d(x, weights[:, :1], self.first.bias, stride=2, padding=2)
        features = self.features(of_image + (noise @ by_unit).view(n, *of_image.shape[1:]))
        codes: Tensor = self.last(features)
        return codes


class Judge(nn.Module):
    """Logits of pairs: convolutions of x, beside whose features z enters two linear layers, of
    `width` units and of one. Without a code x is a pair of images, in two channels."""

    def __init__(self, channels: Sequence[int], code: int, width: int) -> None:
        super().__init__()
        self.code = code
        self.features = nn.Sequential(convolutions(channels, leaky), nn.Flatten())
        flat = channels[-1] * SIDES[len(channels) - 1] ** 2
        self.last = nn.Sequential(nn.Linear(flat + code, width), leaky(), nn.Linear(width, 1))

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        if not self.code:
            features = self.features(torch.cat([x, z], 1))
        else:
            features = torch.cat([self.features(x), z], 1)
        logits: Tensor = self.last(features)
        return logits
