"""Small networks with few inputs, as nets.py --small times them.

Where operations cost more to start than to do, torch.func's one forward and one backward are hard
to beat: what a kernel finds out and checks beside them has to cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.scripts.tools.bench.networks import GPT, Recurrent


class InvertedResidual(nn.Module):
    """Wider, depthwise, narrower (Sandler et al., "MobileNetV2", 2018), four times as wide."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        wide = 4 * channels
        self.inner = nn.Sequential(
            *(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False),
            *(nn.BatchNorm2d(wide), nn.ReLU6()),
            *(nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out)),
        )
        self.adds = channels == out and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.inner(x)
        return x + inner if self.adds else inner


class ConvNeXtBlock(nn.Module):
    """A depthwise 7 x 7 convolution and an MLP of each pixel (Liu et al., 2022)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.wider = nn.LayerNorm(width), nn.Linear(width, 4 * width)
        self.narrower = nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.wider(self.norm(self.depthwise(x).permute(0, 2, 3, 1)))
        return x + (self.scale * self.narrower(functional.gelu(inner))).permute(0, 3, 1, 2)


class ChannelNorm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ViT(nn.Module):
    """Four blocks of width 96 on patches of 4 x 4 pixels, with a class token."""

    def __init__(self, outputs: int, width: int = 96) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.place = nn.Parameter(0.02 * torch.randn(1, 65, width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patches(x).flatten(2).mT
        x = torch.cat([self.token.expand(len(x), -1, -1), patches], 1) + self.place
        head: Tensor = self.head(self.norm(self.blocks(x))[:, 0])
        return head


def inverted(outputs: int) -> nn.Module:
    blocks = ((16, 16, 1), (16, 24, 2), (24, 24, 1), (24, 32, 2), (32, 32, 1))
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6()),
        *(InvertedResidual(*sizes) for sizes in blocks),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, outputs)),
    )


def convnext(outputs: int) -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 4, 4), ChannelNorm(32), ConvNeXtBlock(32), ConvNeXtBlock(32)),
        *(ChannelNorm(32), nn.Conv2d(32, 64, 2, 2), ConvNeXtBlock(64), ConvNeXtBlock(64)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(64), nn.Linear(64, outputs)),
    )


def mlp(outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, outputs))


def vgg11(outputs: int) -> nn.Module:
    """At half width."""
    layers, channels = list[nn.Module](), 3
    for width, pools in (
        *((32, True), (64, True), (128, False), (128, True)),
        *((256, False), (256, True), (256, False), (256, True)),
    ):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] * pools
        channels = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256, outputs))


NETS: dict[str, tuple[Callable[[int], nn.Module], tuple[int, ...]]] = {
    "inverted": (inverted, (3, 48, 48)),
    "convnext": (convnext, (3, 32, 32)),
    "vit": (ViT, (3, 32, 32)),
    "lstm": (lambda outputs: Recurrent(nn.LSTM, 48, 2, outputs), (16, 32)),
    "gpt": (lambda outputs: GPT(outputs=outputs), ()),
    "mlp": (mlp, (8,)),
    "vgg11": (vgg11, (3, 32, 32)),
}
# Name -> (network, outputs, inputs).
CASES = {
    f"{net}-{outputs}-{n}": (net, outputs, n)
    for net in NETS
    for outputs in ((1,) if net == "mlp" else (1, 10))
    for n in (8, 32, 128)
    if net != "vgg11"
} | {"vgg11-10-10": ("vgg11", 10, 10)}


def built(name: str) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    net, outputs, n = CASES[name]
    build, shape = NETS[net]
    inputs = torch.randn(n, *shape) if shape else torch.randint(0, 64, (n, 32))
    return build(outputs).eval(), inputs
