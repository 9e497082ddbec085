"""Small float64 nets, one for every trap."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.tangent.grid.parts import Net, tokens, vectors


class Residual(nn.Module):
    """Two convolutions with batch norm around a skip connection, the second scale zero."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, padding=1, bias=False)
        self.first = nn.BatchNorm2d(4, eps=0.1)
        self.second = nn.Conv2d(4, 4, 3, padding=1)
        self.last = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 3)
        for norm in (self.first, self.last):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2.0)
        nn.init.zeros_(self.last.weight)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu_(self.first(self.stem(x)))
        z = functional.relu_(self.last(self.second(y)) + y)
        return self.head(z.mean((2, 3)))


class Twice(nn.Module):
    """One module used twice, in linear and convolutional form."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3, padding=1)
        self.shared = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.conv(functional.avg_pool2d(torch.tanh(self.conv(x)), 2)))
        x = x.flatten(1)
        return self.head(torch.tanh(self.shared(torch.tanh(self.shared(x)))))


class Tied(nn.Module):
    """An embedding whose matrix is also the last layer's."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.mix = nn.Linear(4, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(torch.tanh(self.mix(self.embed(tokens))).mean(1))


class Functional(nn.Module):
    """Parameters used outside their modules: a scale, a bias, a weight read by another layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 4)
        self.second = nn.Linear(4, 4)
        self.head = nn.Linear(4, 3)
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.shift = nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.first(x)) * self.scale + self.shift
        h = torch.tanh(self.second(h)) + functional.linear(h, self.second.weight.t())
        return self.head(h)


class Sequence(nn.Module):
    """Time first, time folded into the batch, positions, attention: axes a hook can misread."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 4, padding_idx=0)
        self.place = nn.Embedding(5, 4)
        self.time_first = nn.Linear(4, 4)
        self.folded = nn.Linear(4, 4)
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
        self.norm = nn.LayerNorm(4)
        self.head = nn.Linear(4, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        n, time = tokens.shape
        x = self.embed(tokens) + self.place(torch.arange(time))
        x = torch.tanh(self.time_first(x.transpose(0, 1))).transpose(0, 1)
        x = torch.tanh(self.folded(x.reshape(n * time, -1))).view(n, time, -1)
        x = x + self.attend(x, x, x, need_weights=False)[0]
        return self.head(self.norm(x).mean(1))


class Doubled(nn.Linear):
    """A subclass that computes something else."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x) + x @ self.weight.t()


def trap_images() -> Callable[[], Tensor]:
    return lambda: torch.randn(5, 2, 4, 4)


def inplace() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(3, 4, 2),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(4, 3),
        nn.Hardtanh(inplace=True),
    )


def frozen() -> nn.Module:
    net = inplace()
    net[0].weight.requires_grad_(False)
    net[3].requires_grad_(False)
    return net


def normalised() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3),
        nn.GroupNorm(2, 4, eps=0.01),
        nn.Tanh(),
        nn.InstanceNorm2d(4, affine=True),
        nn.Conv2d(4, 4, 1),
        nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
        nn.LayerNorm([4, 2, 2], eps=0.1),
        nn.BatchNorm2d(4, affine=False),
        nn.Flatten(),
        nn.BatchNorm1d(16),
        nn.Linear(16, 3),
    )


def unusual() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 4), Doubled(4, 4), nn.Tanh(), nn.Linear(4, 3))


TRAPS: dict[str, Net] = {
    "in-place ReLU": (inplace, trap_images()),
    "frozen": (frozen, trap_images()),
    "residual, batch norm, zero scale": (Residual, trap_images()),
    "norms": (normalised, trap_images()),
    "module used twice": (Twice, trap_images()),
    "tied to the head": (Tied, tokens(4, 5, 7)),
    "functional use": (Functional, vectors(5, 5)),
    "sequence": (Sequence, tokens(4, 5, 9)),
    "sequence as long as the batch": (Sequence, tokens(5, 5, 9)),
    "subclass": (unusual, vectors(5, 5)),
}
