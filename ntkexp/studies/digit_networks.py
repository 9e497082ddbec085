"""Convolutional players on digits, after DCGAN (Radford et al. 2015): Tables C.1 to C.7 of "Mutual
Information Neural Estimation".

All convolutions are 5x5 of stride 2, with the padding that makes the sides of an image 28, 14, 7, 4
and 2 pixels. Channels are given: the text's, or a share of them. The tables say nothing of batch
normalisation, but for C.3, which has none; it is where DCGAN has it. Without it ALI's codes grow to
lengths of hundreds, and all of a decoder's pixels come to be black or white.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d

SIDES, SLOPE = (28, 14, 7, 4, 2), 0.2


def leaky() -> nn.Module:
    return nn.LeakyReLU(SLOPE)


def norm(channels: int) -> nn.Module:
    """Every batch is normalised by its own mean and variance, at looks, too: a decoder sees codes
    and noise, and a running average over both fits neither."""
    return nn.BatchNorm2d(channels, track_running_stats=False)


def convolutions(
    channels: Sequence[int], active: Callable[[], nn.Module], *, normed_from: int = 1
) -> nn.Sequential:
    """Images of channels[0] become features of channels[-1], at a side of SIDES[layers], with batch
    normalisation before the activations; that of an image's own layer has none, as in DCGAN's
    discriminator, unless `normed_from` is 0.

    >>> import torch
    >>> convolutions([3, 4, 8], nn.ReLU)(torch.zeros(5, 3, 28, 28)).shape
    torch.Size([5, 8, 7, 7])
    """
    modules: list[nn.Module] = []
    for number, (before, after) in enumerate(pairwise(channels)):
        modules += [nn.Conv2d(before, after, 5, 2, 2)]
        modules += [norm(after)] * (number >= normed_from)
        modules += [active()]
    return nn.Sequential(*modules)


def generator(code: int, channels: Sequence[int]) -> nn.Sequential:
    """A code (n, code) becomes images of channels[-1] in [-1, 1]: a linear layer to channels[0] at
    a small side, then transposed convolutions; batch normalisation and ReLUs, and tanh at the end.

    >>> import torch
    >>> generator(10, [16, 8, 4, 4, 3])(torch.zeros(5, 10)).shape
    torch.Size([5, 3, 28, 28])
    """
    sides = SIDES[: len(channels)][::-1]
    modules: list[nn.Module] = [
        nn.Linear(code, channels[0] * sides[0] ** 2),
        nn.Unflatten(1, (channels[0], sides[0], sides[0])),
    ]
    for (before, after), (small, large) in zip(pairwise(channels), pairwise(sides), strict=True):
        modules += [norm(before), nn.ReLU()]
        padding = large - (2 * small - 1)
        modules += [nn.ConvTranspose2d(before, after, 5, 2, 2, output_padding=padding)]
    return nn.Sequential(*modules, nn.Tanh())


class DigitStatistics(nn.Module):
    """T(x, z): convolutions of x, and to the features of each is added a linear map of z, one
    number a channel, before the activation (a "dynamic bias"); then linear layers without
    activations, of `widths`, to one number."""

    def __init__(
        self,
        code: int,
        channels: Sequence[int],
        active: Callable[[], nn.Module],
        widths: Sequence[int] = (),
    ) -> None:
        super().__init__()
        layers = [*pairwise(channels)]
        self.features = nn.ModuleList(nn.Conv2d(a, b, 5, 2, 2) for a, b in layers)
        self.biases = nn.ModuleList(nn.Linear(code, b, bias=False) for _, b in layers)
        self.active = active()
        flat = channels[-1] * SIDES[len(layers)] ** 2
        self.last = nn.Sequential(
            nn.Flatten(), *(nn.Linear(a, b) for a, b in pairwise([flat, *widths, 1]))
        )

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """(n,): T of images (n, channels, 28, 28) and codes (n, code)."""
        for convolution, bias in zip(self.features, self.biases, strict=True):
            x = self.active(convolution(x) + bias(z)[:, :, None, None])
        outputs: Tensor = self.last(x)
        return outputs[:, 0]


class Encoder(nn.Module):
    """F(x, e) of Table C.4: an image, and beside it each number of the noise as a map of equal
    pixels; batch normalisation before every ReLU."""

    def __init__(self, code: int, channels: Sequence[int]) -> None:
        super().__init__()
        first, *_, last = channels
        self.first = nn.Conv2d(1 + code, first, 5, 2, 2)
        self.features = nn.Sequential(
            norm(first), nn.ReLU(), convolutions(channels, nn.ReLU, normed_from=0)
        )
        side = SIDES[len(channels)]
        self.last = nn.Sequential(
            nn.Conv2d(last, last, side), norm(last), nn.ReLU(), nn.Flatten(),
            nn.Linear(last, code),
        )  # fmt: skip

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
    """Logits of pairs, Table C.6: convolutions of x, beside whose features z enters two linear
    layers, of `width` units and of one. Without a code z is an image, a second channel of x."""

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
