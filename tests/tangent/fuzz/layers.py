"""Single layers, drawn at random for an input of a given shape (without the axis of examples)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from tests.tangent.grid.images import BACK, CONV
from tests.tangent.grid.parts import Of

Shape = tuple[int, ...]
BATCH_NORM = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
INSTANCE_NORM = {1: nn.InstanceNorm1d, 2: nn.InstanceNorm2d, 3: nn.InstanceNorm3d}
MAX_POOL = {1: nn.MaxPool1d, 2: nn.MaxPool2d, 3: nn.MaxPool3d}
AVG_POOL = {1: nn.AvgPool1d, 2: nn.AvgPool2d, 3: nn.AvgPool3d}
ADAPTIVE = {1: nn.AdaptiveAvgPool1d, 2: nn.AdaptiveAvgPool2d, 3: nn.AdaptiveAvgPool3d}


def activation(draw: Random, shape: Shape) -> nn.Module:
    inplace = draw.random() < 0.3
    return draw.choice(
        (
            lambda: nn.ReLU(inplace),
            lambda: nn.SiLU(inplace),
            lambda: nn.ELU(inplace=inplace),
            lambda: nn.LeakyReLU(0.3, inplace),
            nn.GELU,
            nn.Tanh,
            nn.Softplus,
            nn.PReLU,
            lambda: nn.PReLU(shape[0] if len(shape) != 2 else 1),
        )
    )()


def convolution(draw: Random, shape: Shape) -> nn.Module:
    """Of whatever geometry; one that leaves nothing raises an error, and another is drawn."""
    channels, axes = shape[0], len(shape) - 1
    groups = draw.choice([g for g in (1, 1, 2, 3, channels) if channels % g == 0])
    out = groups * draw.randint(1, max(1, 6 // groups))
    options = {"kernel_size": draw.randint(1, 3), "dilation": draw.randint(1, 2)}
    options |= {"groups": groups, "bias": draw.random() < 0.7}
    if draw.random() < 0.25:
        stride = draw.randint(1, 2)
        options |= {"stride": stride, "padding": draw.randint(0, 1)}
        layer: nn.Module = BACK[axes](channels, out, output_padding=stride - 1, **options)
    else:
        padding: int | str = draw.randint(0, 2)
        stride = draw.randint(1, 3)
        if draw.random() < 0.2:
            padding, stride = "same", 1
        mode = draw.choice(("zeros", "zeros", "reflect", "replicate", "circular"))
        options |= {"stride": stride, "padding": padding, "padding_mode": mode}
        layer = CONV[axes](channels, out, **options)
    return parametrizations.weight_norm(layer) if draw.random() < 0.1 else layer


def same_size(draw: Random, shape: Shape) -> nn.Module:
    """A convolution whose output is as large as its input."""
    channels, axes = shape[0], len(shape) - 1
    groups = draw.choice([g for g in (1, 1, 2, 3, channels) if channels % g == 0])
    size, dilation = draw.choice((1, 3, 3)), draw.randint(1, 2)
    kind = draw.choice((CONV, CONV, BACK))
    options = {"padding": dilation * (size // 2), "dilation": dilation, "groups": groups}
    return kind[axes](channels, channels, size, bias=draw.random() < 0.7, **options)


def norm(draw: Random, shape: Shape) -> nn.Module:
    """Of images or vectors, channels first; (T, F) takes those of the last axis."""
    axes, channels = len(shape) - 1, shape[0]
    last = [
        lambda: nn.LayerNorm(shape[-1], elementwise_affine=draw.random() < 0.8),
        lambda: nn.LayerNorm(list(shape), bias=draw.random() < 0.5),
        lambda: nn.RMSNorm(shape[-1]),
    ]
    groups = draw.choice([g for g in (1, 2, 3, channels) if channels % g == 0])
    first: list[Callable[[], nn.Module]] = [
        lambda: BATCH_NORM[max(1, axes)](channels, eps=0.1, affine=draw.random() < 0.8),
        lambda: nn.GroupNorm(groups, channels, eps=0.1),
    ]
    if axes and max(shape[1:]) > 1:
        tracked = draw.random() < 0.5
        first.append(
            lambda: INSTANCE_NORM[axes](channels, eps=0.1, affine=True, track_running_stats=tracked)
        )
    if axes >= 2:
        first.append(lambda: nn.LocalResponseNorm(2))
    layer = draw.choice(last + first)()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    if isinstance(getattr(layer, "running_mean", None), Tensor):
        layer.running_mean.normal_()
        layer.running_var.uniform_(0.5, 2)
    return layer


def pooling(draw: Random, shape: Shape) -> nn.Module:
    axes = len(shape) - 1
    return draw.choice(
        (
            lambda: MAX_POOL[axes](2, stride=draw.randint(1, 2)),
            lambda: AVG_POOL[axes](2, padding=draw.randint(0, 1)),
            lambda: ADAPTIVE[axes](draw.randint(1, 2)),
            lambda: nn.Upsample(scale_factor=2),
        )
    )()


def linear(draw: Random, shape: Shape) -> nn.Module:
    """On the last axis, whatever stands before it."""
    layer = nn.Linear(shape[-1], draw.randint(2, 6), bias=draw.random() < 0.7)
    return parametrizations.weight_norm(layer) if draw.random() < 0.1 else layer


def attention(draw: Random, shape: Shape) -> nn.Module:
    width = shape[-1]
    heads = draw.choice([h for h in (1, 2, 3) if width % h == 0])
    kind = draw.choice(("self", "cross", "causal", "encoder", "time first"))
    if kind == "encoder":
        return nn.TransformerEncoderLayer(
            width, heads, 5, 0.0, batch_first=True, norm_first=draw.random() < 0.5
        )
    first = kind != "time first"
    options = {"bias": draw.random() < 0.7, "add_bias_kv": draw.random() < 0.2}
    attend = nn.MultiheadAttention(width, heads, batch_first=first, **options)
    weights = draw.random() < 0.5

    def compute(m: Of, x: Tensor) -> Tensor:
        x = x if first else x.transpose(0, 1)
        other = torch.tanh(x[:, :1]) if kind == "cross" else x
        mask = None
        if kind == "causal":
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        out = m.attend(x, other, other, attn_mask=mask, need_weights=weights)[0]
        return out if first else out.transpose(0, 1)

    return Of(compute, attend=attend)


def recurrence(draw: Random, shape: Shape) -> nn.Module:
    kind = draw.choice((nn.RNN, nn.GRU, nn.LSTM))
    first = draw.random() < 0.7
    options = {"bidirectional": draw.random() < 0.3, "num_layers": draw.randint(1, 2)}
    if kind is nn.LSTM and draw.random() < 0.3:
        options |= {"proj_size": 2}
    inner = kind(shape[-1], 3, batch_first=first, bias=draw.random() < 0.8, **options)

    def compute(m: Of, x: Tensor) -> Tensor:
        x = x if first else x.transpose(0, 1)
        out = m.inner(x)[0]
        return out if first else out.transpose(0, 1)

    return Of(compute, inner=inner)


def cell(draw: Random, shape: Shape) -> nn.Module:
    """A recurrent cell, twice on one vector."""
    kind = draw.choice((nn.GRUCell, nn.RNNCell))
    return Of(lambda m, x: m.c(torch.tanh(x), m.c(x)), c=kind(shape[0], draw.randint(2, 4)))


def weights_alone(draw: Random, shape: Shape) -> nn.Module:
    """Parameters that no module of torch owns: shifts, scales, products."""
    last, whole = shape[-1], torch.randn(shape)
    thin, back = torch.randn(last, 2), torch.randn(2, last)
    ways: tuple[Callable[[], nn.Module], ...] = (
        lambda: Of(lambda m, x: x + m.w, w=whole),
        lambda: Of(lambda m, x: x * m.w[0], w=whole[None]),
        lambda: Of(lambda m, x: torch.tanh(x) * m.s.exp(), s=torch.randn(())),
        lambda: Of(lambda m, x: x @ m.w, w=torch.randn(last, draw.randint(2, 5))),
        lambda: Of(lambda m, x: x @ m.a @ m.b + x, a=thin, b=back),
        lambda: Of(lambda m, x: torch.einsum("...i,ij->...j", x, m.w), w=thin),
    )
    return draw.choice(ways)()


def layers_for(shape: Shape, images: bool) -> list[Callable[[Random, Shape], nn.Module]]:
    """`images` have channels first; what is not is (T, F) or (F,)."""
    if images:
        return (
            [convolution] * 5
            + [same_size] * 3
            + [norm, norm, pooling, activation, linear, weights_alone]
        )
    if len(shape) == 2:
        return [attention] * 2 + [recurrence, linear, linear, norm, activation, weights_alone]
    return [linear, linear, linear, norm, activation, cell, weights_alone]
