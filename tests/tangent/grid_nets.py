"""Some hundred small nets as data: name -> (build, inputs). All are taken in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize
from torch.utils.checkpoint import checkpoint

Net = tuple[Callable[[], nn.Module], Callable[[], Tensor]]


class Of(nn.Module):
    """`compute(self, x)` with the given modules and parameters."""

    def __init__(self, compute: Callable[..., Tensor], **parts: nn.Module | Tensor) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part if isinstance(part, nn.Module) else nn.Parameter(part))
        self.compute = compute

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self, x)


def seq(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(*layers)


def of(
    compute: Callable[..., Tensor], **parts: Callable[[], nn.Module | Tensor]
) -> Callable[[], nn.Module]:
    """The parts are built when the net is, so that every test has its own."""
    return lambda: Of(compute, **{name: build() for name, build in parts.items()})


def vectors(n: int = 5, features: int = 4) -> Callable[[], Tensor]:
    return lambda: torch.randn(n, features)


def images(n: int = 4, channels: int = 4, size: int = 5, axes: int = 2) -> Callable[[], Tensor]:
    return lambda: torch.randn(n, channels, *[size] * axes)


def sequences(n: int = 4, length: int = 3, features: int = 4) -> Callable[[], Tensor]:
    return lambda: torch.randn(n, length, features)


def tokens(n: int = 4, length: int = 3, words: int = 6) -> Callable[[], Tensor]:
    return lambda: torch.randint(0, words, (n, length))


def linear(inputs: int, outputs: int) -> Callable[[], nn.Module]:
    return lambda: nn.Linear(inputs, outputs)


def table(words: int, features: int) -> Callable[[], nn.Module]:
    return lambda: nn.Embedding(words, features)


def weight(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randn(shape)


class Pool(nn.Module):
    """(n, C, ...) -> (n, C), smooth."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x).flatten(2).mean(2)


CONV = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
BACK = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


def convolutions() -> Iterator[tuple[str, Net]]:
    shapes = {
        "plain": {"kernel_size": 3},
        "strided": {"kernel_size": 3, "stride": 2, "padding": 1},
        "dilated": {"kernel_size": 2, "dilation": 2},
        "grouped": {"kernel_size": 3, "padding": 1, "groups": 2},
        "depthwise": {"kernel_size": 3, "padding": 1, "groups": 4},
        "no bias": {"kernel_size": 1, "bias": False},
    }
    for axes, (name, options) in product((1, 2, 3), shapes.items()):
        yield (
            f"conv{axes}d {name}",
            (
                lambda axes=axes, options=options: seq(  # type: ignore[misc]
                    CONV[axes](4, 4, **options), Pool(), nn.Linear(4, 2)
                ),
                images(size=5 if axes < 3 else 4, n=4 if axes < 3 else 3, axes=axes),
            ),
        )
        if axes == 2 or name in ("plain", "strided"):
            kept = {key: value for key, value in options.items() if key != "groups" or axes == 2}
            yield (
                f"transposed{axes}d {name}",
                (
                    lambda axes=axes, kept=kept: seq(  # type: ignore[misc]
                        BACK[axes](4, 4, **kept), Pool(), nn.Linear(4, 2)
                    ),
                    images(n=3, size=3, axes=axes),
                ),
            )
    for mode in ("reflect", "replicate", "circular"):
        yield (
            f"padding {mode}",
            (
                lambda mode=mode: seq(  # type: ignore[misc]
                    nn.Conv2d(4, 4, 3, padding=1, padding_mode=mode), Pool(), nn.Linear(4, 2)
                ),
                images(),
            ),
        )


def with_norm(norm: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        layer = norm()
        for parameter in layer.parameters():
            nn.init.normal_(parameter)
        if isinstance(getattr(layer, "running_mean", None), Tensor):
            layer.running_mean.normal_()  # type: ignore[operator, union-attr]
            layer.running_var.uniform_(0.5, 2)  # type: ignore[operator, union-attr]
        return seq(nn.Conv2d(4, 4, 1), layer, Pool(), nn.Linear(4, 2))

    return build


NORMS: dict[str, Net] = {
    "batch norm": (with_norm(lambda: nn.BatchNorm2d(4, eps=0.1)), images()),
    "group norm": (with_norm(lambda: nn.GroupNorm(2, 4)), images()),
    "instance norm": (with_norm(lambda: nn.InstanceNorm2d(4, affine=True)), images()),
    "tracked instance norm": (
        with_norm(lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True)),
        images(),
    ),
    "layer norm": (with_norm(lambda: nn.LayerNorm([4, 5, 5])), images()),
    "local response norm": (with_norm(lambda: nn.LocalResponseNorm(2)), images()),
    "RMS norm": (with_norm(lambda: nn.RMSNorm([5])), images()),
    "RMS norm over all": (lambda: seq(nn.RMSNorm(4), nn.Linear(4, 2)), vectors()),
    "batch norm of vectors": (lambda: seq(nn.Linear(4, 4), nn.BatchNorm1d(4)), vectors()),
    "norm twice": (
        of(
            lambda m, x: m.head(m.norm(torch.tanh(m.norm(x)))),
            norm=lambda: nn.LayerNorm(4),
            head=linear(4, 2),
        ),
        vectors(),
    ),
}

PLAIN: dict[str, Net] = {
    "linear": (lambda: nn.Linear(4, 3), vectors()),
    "one output": (lambda: seq(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)), vectors()),
    "one output, flat": (lambda: seq(nn.Linear(4, 1), nn.Flatten(0)), vectors()),
    "chain": (lambda: seq(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)), vectors()),
    "chain, in place": (
        lambda: seq(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 3)),
        vectors(),
    ),
    "no biases": (
        lambda: seq(nn.Linear(4, 5, bias=False), nn.GELU(), nn.Linear(5, 3, bias=False)),
        vectors(),
    ),
    "PReLU": (lambda: seq(nn.Linear(4, 4), nn.PReLU(4), nn.Linear(4, 2)), vectors()),
    "one PReLU": (lambda: seq(nn.Conv2d(4, 4, 1), nn.PReLU(), Pool()), images()),
    "bilinear": (
        of(lambda m, x: m.both(x, torch.tanh(x)), both=lambda: nn.Bilinear(4, 4, 3)),
        vectors(),
    ),
    "two paths": (
        of(lambda m, x: m.a(x) * torch.sigmoid(m.b(x)), a=linear(4, 3), b=linear(4, 3)),
        vectors(),
    ),
    "max pooling": (
        lambda: seq(nn.Conv2d(4, 4, 3), nn.MaxPool2d(3), nn.Flatten(), nn.Linear(4, 2)),
        images(),
    ),
    "adaptive pooling": (
        lambda: seq(nn.Conv2d(4, 4, 3), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 2)),
        images(),
    ),
    "upsampling": (
        lambda: seq(nn.Upsample(scale_factor=2), nn.Conv2d(4, 2, 3), Pool()),
        images(size=3),
    ),
    "pixel shuffle": (lambda: seq(nn.PixelShuffle(2), nn.Conv2d(1, 2, 3), Pool()), images(size=3)),
    "data-dependent branch": (
        of(
            lambda m, x: torch.stack([(m.a if float(r.sum()) > 0 else m.b)(r) for r in x]),
            a=linear(4, 2),
            b=linear(4, 2),
        ),
        vectors(),
    ),
    "unused layer": (of(lambda m, x: m.a(x), a=linear(4, 2), b=linear(4, 2)), vectors()),
    "zero head": (of(lambda m, x: m.a(x) + 0 * m.b(x), a=linear(4, 2), b=linear(4, 2)), vectors()),
}


def tied() -> nn.Module:
    net = seq(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    net[2].weight = net[0].weight  # type: ignore[index]
    return net


def frozen(*names: str) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        net = seq(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), Pool(), nn.Linear(4, 2))
        for name in names:
            net.get_parameter(name).requires_grad_(False)
        return net

    return build


SHARED: dict[str, Net] = {
    "tied weights": (tied, vectors()),
    "tied embedding": (
        of(lambda m, x: functional.linear(torch.tanh(m.e(x)).mean(1), m.e.weight), e=table(6, 4)),
        tokens(),
    ),
    "tied transposed": (
        of(lambda m, x: functional.linear(torch.tanh(m.a(x)), m.a.weight.t()), a=linear(4, 3)),
        vectors(),
    ),
    "conv used twice": (
        of(
            lambda m, x: m.c(torch.tanh(m.c(x))).mean((2, 3)),
            c=lambda: nn.Conv2d(4, 4, 3, padding=1),
        ),
        images(),
    ),
    "conv at two scales": (
        of(
            lambda m, x: m.c(x).mean((2, 3)) + m.c(functional.avg_pool2d(x, 2)).tanh().mean((2, 3)),
            c=lambda: nn.Conv2d(4, 3, 2),
        ),
        images(),
    ),
    "siamese": (
        of(
            lambda m, x: m.h(torch.tanh(m.a(x)) - torch.tanh(m.a(x.flip(1)))),
            a=linear(4, 3),
            h=linear(3, 2),
        ),
        vectors(),
    ),
    "frozen first": (frozen("0.weight", "0.bias"), images()),
    "frozen norm": (frozen("1.weight", "1.bias"), images()),
    "frozen weights": (frozen("0.weight", "4.weight"), images()),
    "frozen biases": (frozen("0.bias", "4.bias"), images()),
}


def scaled(m: Of, x: Tensor) -> Tensor:
    return m.head(torch.tanh(m.a(x)) * m.scale + m.shift)  # type: ignore[operator, no-any-return]


def attention(m: Of, x: Tensor) -> Tensor:
    """Of one's own making: three maps, a softmax, a product."""
    q, k, v = m.q(x), m.k(x), m.v(x)  # type: ignore[operator]
    return m.head((torch.softmax(q @ k.mT / 2, -1) @ v).mean(1))  # type: ignore[operator, no-any-return]


BROADCAST: dict[str, Net] = {
    "scale and shift": (
        of(scaled, a=linear(4, 4), head=linear(4, 2), scale=weight(4), shift=weight(4)),
        vectors(),
    ),
    "one scale": (
        of(lambda m, x: m.a(x) * m.s, a=linear(4, 2), s=lambda: torch.tensor(1.5)),
        vectors(),
    ),
    "scale squared": (
        of(lambda m, x: m.a(x) * m.s**2 + m.s, a=linear(4, 2), s=weight(2)),
        vectors(),
    ),
    "divided": (of(lambda m, x: m.a(x) / (1 + m.s.exp()), a=linear(4, 2), s=weight(2)), vectors()),
    "class token": (
        of(
            lambda m, x: m.head(
                torch.tanh(m.a(torch.cat([m.cls.expand(len(x), -1, -1), x], 1))).mean(1)
            ),
            cls=weight(1, 1, 4),
            a=linear(4, 4),
            head=linear(4, 2),
        ),
        sequences(),
    ),
    "repeated token": (
        of(
            lambda m, x: m.head(torch.cat([m.cls.repeat(len(x), 1), torch.tanh(x)], 1) ** 2),
            cls=weight(1, 2),
            head=linear(6, 2),
        ),
        vectors(),
    ),
    "position embedding": (
        of(
            lambda m, x: m.head(torch.tanh(x + m.place).mean(1)),
            place=weight(1, 3, 4),
            head=linear(4, 2),
        ),
        sequences(),
    ),
    "position table": (
        of(
            lambda m, x: m.head(torch.tanh(m.e(x) + m.p(torch.arange(3))).mean(1)),
            e=table(6, 4),
            p=table(3, 4),
            head=linear(4, 2),
        ),
        tokens(),
    ),
    "as long as the batch": (
        of(
            lambda m, x: m.head(torch.tanh(m.e(x) + m.p(torch.arange(4))).mean(1)),
            e=table(6, 4),
            p=table(4, 4),
            head=linear(4, 2),
        ),
        tokens(n=4, length=4),
    ),
    "layer scale": (
        of(
            lambda m, x: (x + m.g.view(-1, 1, 1) * m.c(x)).mean((2, 3)),
            g=weight(4),
            c=lambda: nn.Conv2d(4, 4, 3, padding=1),
        ),
        images(),
    ),
    "functional linear": (
        of(
            lambda m, x: functional.linear(torch.tanh(functional.linear(x, m.w, m.b)), m.v),
            w=weight(4, 4),
            b=weight(4),
            v=weight(2, 4),
        ),
        vectors(),
    ),
    "matrix products": (
        of(
            lambda m, x: torch.tanh(x @ m.w) @ m.v + m.b,
            w=weight(4, 4),
            v=weight(4, 2),
            b=weight(2),
        ),
        vectors(),
    ),
    "functional convolution": (
        of(
            lambda m, x: functional.conv2d(x, m.w, m.b, padding=1).tanh().mean((2, 3)),
            w=weight(3, 4, 3, 3),
            b=weight(3),
        ),
        images(),
    ),
    "functional norm": (
        of(
            lambda m, x: m.h(functional.layer_norm(x, (4,), m.g, m.b)),
            g=weight(4),
            b=weight(4),
            h=linear(4, 2),
        ),
        vectors(),
    ),
    "einsum": (
        of(lambda m, x: torch.einsum("nti,tio->no", x, m.w), w=weight(3, 4, 2)),
        sequences(),
    ),
    "own attention": (
        of(attention, q=linear(4, 4), k=linear(4, 4), v=linear(4, 4), head=linear(4, 2)),
        sequences(),
    ),
}


class First(nn.Module):
    """The output of a module that returns several, averaged over time."""

    def __init__(self, inner: nn.Module, axis: int = 1, head: int = 4) -> None:
        super().__init__()
        self.inner, self.axis, self.head = inner, axis, nn.Linear(head, 2)

    def forward(self, x: Tensor) -> Tensor:
        out = self.inner(x if self.axis == 1 else x.transpose(0, 1))
        out = out[0] if isinstance(out, tuple) else out
        head: Tensor = self.head(torch.tanh(out).mean(self.axis))
        return head


class Attend(nn.Module):
    def __init__(self, cross: bool = False, **options: object) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True, **options)  # type: ignore[arg-type]
        self.cross, self.head = cross, nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        other = torch.tanh(x[:, :2]) if self.cross else x
        head: Tensor = self.head(self.attend(x, other, other)[0].mean(1))
        return head


def encoder(**options: object) -> nn.Module:
    layer = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True, **options)  # type: ignore[arg-type]
    return First(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))


SEQUENCES: dict[str, Net] = {
    "attention": (Attend, sequences()),
    "attention, cross": (lambda: Attend(cross=True), sequences()),
    "attention, added biases": (lambda: Attend(add_bias_kv=True), sequences()),
    "attention, no bias": (lambda: Attend(bias=False), sequences()),
    "attention, as long as the batch": (Attend, sequences(n=3)),
    "encoder": (encoder, sequences()),
    "encoder, norm first": (lambda: encoder(norm_first=True, activation="gelu"), sequences()),
    "decoder": (
        of(
            lambda m, x: m.h(m.d(x, torch.tanh(x[:, :2])).mean(1)),
            d=lambda: nn.TransformerDecoderLayer(4, 2, 6, 0.0, batch_first=True),
            h=linear(4, 2),
        ),
        sequences(),
    ),
    "RNN": (lambda: First(nn.RNN(4, 4, batch_first=True)), sequences()),
    "GRU": (lambda: First(nn.GRU(4, 4, batch_first=True)), sequences()),
    "GRU, two layers": (lambda: First(nn.GRU(4, 3, 2, batch_first=True), head=3), sequences()),
    "GRU, time first": (lambda: First(nn.GRU(4, 4), axis=0), sequences()),
    "LSTM": (lambda: First(nn.LSTM(4, 4, batch_first=True)), sequences()),
    "LSTM, both ways": (
        lambda: First(nn.LSTM(4, 2, batch_first=True, bidirectional=True)),
        sequences(),
    ),
    "LSTM, projected": (lambda: First(nn.LSTM(4, 5, batch_first=True, proj_size=4)), sequences()),
    "LSTM, time first": (lambda: First(nn.LSTM(4, 4, 2), axis=0), sequences(n=3)),
    "LSTM cell": (
        of(
            lambda m, x: m.h(m.c(x[:, 1], m.c(x[:, 0]))[0]),
            c=lambda: nn.LSTMCell(4, 4),
            h=linear(4, 2),
        ),
        sequences(),
    ),
    "GRU cell": (
        of(
            lambda m, x: m.h(m.c(x[:, 1], m.c(x[:, 0]))), c=lambda: nn.GRUCell(4, 4), h=linear(4, 2)
        ),
        sequences(),
    ),
    "embedding bag": (lambda: seq(nn.EmbeddingBag(6, 4), nn.Tanh(), nn.Linear(4, 2)), tokens()),
    "embedding, padded": (
        lambda: seq(nn.Embedding(6, 4, padding_idx=0), nn.Flatten(), nn.Linear(12, 2)),
        tokens(),
    ),
    "embedding by frequency": (
        lambda: seq(
            nn.Embedding(6, 4, scale_grad_by_freq=False), nn.Tanh(), nn.Flatten(), nn.Linear(12, 2)
        ),
        tokens(),
    ),
    "time folded": (
        of(
            lambda m, x: m.h(torch.tanh(m.a(x.reshape(-1, 4))).view(len(x), -1)),
            a=linear(4, 2),
            h=linear(6, 2),
        ),
        sequences(),
    ),
    "time first": (
        of(
            lambda m, x: m.h(torch.tanh(m.a(x.transpose(0, 1))).mean(0)),
            a=linear(4, 4),
            h=linear(4, 2),
        ),
        sequences(),
    ),
    "time first, folded": (
        of(
            lambda m, x: m.h(
                torch.tanh(m.a(x.transpose(0, 1).reshape(-1, 4))).view(3, -1, 4).mean(0)
            ),
            a=linear(4, 4),
            h=linear(4, 2),
        ),
        sequences(),
    ),
    "weight of time": (
        of(
            lambda m, x: m.h((m.w.softmax(0)[:, None] * torch.tanh(x)).sum(1)),
            w=weight(3),
            h=linear(4, 2),
        ),
        sequences(),
    ),
}


class Quiet(nn.Linear):
    """A subclass that keeps the parent's forward."""


class Loud(nn.Linear):
    """One that does not."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x) + x @ self.weight.t()


class LowRank(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.randn(4, 2))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.b @ self.a


class Symmetric(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight.triu() + weight.triu(1).t()


def lora(freeze: bool) -> nn.Module:
    layer = nn.Linear(4, 4)
    parametrize.register_parametrization(layer, "weight", LowRank())
    layer.parametrizations.weight.original.requires_grad_(not freeze)  # type: ignore[union-attr]
    return seq(layer, nn.Tanh(), nn.Linear(4, 2))


def symmetric() -> nn.Module:
    layer = nn.Linear(4, 4)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    return seq(layer, nn.Tanh(), nn.Linear(4, 2))


def hooked() -> nn.Module:
    net = seq(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    net[0].register_forward_hook(lambda module, args, out: 2 * out + module.weight.sum())  # type: ignore[index]
    net[2].register_forward_pre_hook(lambda module, args: (args[0] * 3,))  # type: ignore[index]
    return net


def recomputed(m: Of, x: Tensor) -> Tensor:
    hidden = checkpoint(m.body, x, use_reentrant=False)  # type: ignore[arg-type]
    return m.head(hidden)  # type: ignore[operator, no-any-return]


UNUSUAL: dict[str, Net] = {
    "quiet subclass": (lambda: seq(Quiet(4, 4), nn.Tanh(), Quiet(4, 2)), vectors()),
    "loud subclass": (lambda: seq(Loud(4, 4), nn.Tanh(), nn.Linear(4, 2)), vectors()),
    "weight norm": (
        lambda: seq(parametrizations.weight_norm(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 2)),
        vectors(),
    ),
    "weight norm of a convolution": (
        lambda: seq(parametrizations.weight_norm(nn.Conv2d(4, 3, 3)), Pool()),
        images(),
    ),
    "spectral norm": (
        lambda: seq(parametrizations.spectral_norm(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 2)),
        vectors(),
    ),
    "orthogonal": (
        lambda: seq(parametrizations.orthogonal(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 2)),
        vectors(),
    ),
    "low rank": (lambda: lora(False), vectors()),
    "low rank on frozen": (lambda: lora(True), vectors()),
    "symmetric": (symmetric, vectors()),
    "hooks that compute": (hooked, vectors()),
    "checkpointing": (
        of(
            recomputed,
            body=lambda: seq(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.ReLU()),
            head=linear(4, 2),
        ),
        vectors(),
    ),
    "in place everywhere": (
        lambda: seq(
            nn.Conv2d(4, 4, 3),
            nn.ReLU(inplace=True),
            nn.Conv2d(4, 4, 2),
            nn.Hardtanh(inplace=True),
            Pool(),
            nn.Linear(4, 2),
        ),
        images(),
    ),
    "sums in place": (
        of(lambda m, x: m.b(torch.tanh(m.a(x).add_(x))).mul_(2), a=linear(4, 4), b=linear(4, 2)),
        vectors(),
    ),
    "parameter lists": (
        of(
            lambda m, x: sum((w * x).sum(1, keepdim=True) * (i + 1) for i, w in enumerate(m.ws)),
            ws=lambda: nn.ParameterList([torch.randn(4), torch.randn(4)]),
        ),
        vectors(),
    ),
    "matrix exponential": (
        of(
            lambda m, x: m.h(x @ torch.linalg.matrix_exp(m.w)),
            w=lambda: torch.randn(4, 4) / 2,
            h=linear(4, 2),
        ),
        vectors(),
    ),
    "fourier": (
        of(lambda m, x: m.h(torch.fft.rfft(x * m.w).abs()), w=weight(4), h=linear(3, 2)),
        vectors(),
    ),
    "squeeze and excite": (
        of(
            lambda m, x: (m.c(x) * torch.sigmoid(m.e(x.mean((2, 3), keepdim=True)))).mean((2, 3)),
            c=lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4),
            e=lambda: nn.Conv2d(4, 4, 1),
        ),
        images(),
    ),
}

NETS: dict[str, Net] = {
    **dict(convolutions()),
    **NORMS,
    **PLAIN,
    **SHARED,
    **BROADCAST,
    **SEQUENCES,
    **UNUSUAL,
}


def built(name: str) -> tuple[nn.Module, Tensor]:
    """The net in float64 and evaluation mode, and its inputs, the same every time."""
    build, inputs = NETS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model, batch = build().double().eval(), inputs()
    return model, batch.double() if batch.is_floating_point() else batch
