"""Random networks that keep their examples apart: does the engine refuse any of them?

    python scripts/tools/bench/right_networks.py           20,000 networks, one core
    python scripts/tools/bench/right_networks.py 1 5000    those of seeds 1 to 5000

It prints, by family, how many networks were asked, how many were refused, and the largest
difference in float64.
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ntkexp.tangent.batch import Batch
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.independence import Trial, check_independent, moved
from ntkexp.tangent.state import preserve_model_state

BESIDE = (1_001_504,)
ACTIVATIONS = (nn.ReLU, nn.ReLU, nn.ELU, nn.Tanh, nn.GELU, nn.LeakyReLU, nn.SiLU)
WORDS, IMAGE = (6, 8), (3, 8, 8)


def mlp(
    r: random.Random, width: int, depth: int, norm: bool = False, inputs: int = 784
) -> nn.Module:
    """`depth` linear maps, half of the time without biases, He's variance times a factor."""
    act, bias, layers, last = r.choice(ACTIVATIONS), r.random() < 0.5, [], inputs
    for _ in range(depth - 1):
        layers += [
            nn.Linear(last, width, bias=bias),
            *([nn.LayerNorm(width)] if norm else ()),
            act(),
        ]
        last = width
    return scaled(nn.Sequential(*layers, nn.Linear(last, r.choice((1, 2, 10)), bias=bias)), r)


def scaled(net: nn.Module, r: random.Random, *factors: float) -> nn.Module:
    factor = r.choice(factors or (0.5, 1.0, 1.0, 1.5))
    for module in net.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            nn.init.normal_(module.weight, std=factor * (2 / module.weight[0].numel()) ** 0.5)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=r.choice((0.0, 0.0, 0.3)))
    return net


def dead(r: random.Random) -> nn.Module:
    """Most units give nothing to any example."""
    net = mlp(r, r.randint(1, 8), r.randint(2, 8))
    for module in net.modules():
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.constant_(module.bias, -r.uniform(0.0, 2.0))
    return net


def trained(r: random.Random) -> nn.Module:
    net, x = mlp(r, r.randint(2, 32), r.randint(2, 8)), torch.randn(32, 784)
    optimiser = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    targets = torch.randint(net(x).shape[1], (32,))
    for _ in range(r.randint(5, 30)):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x), targets).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimiser.step()
    return net


def convolutions(r: random.Random) -> nn.Module:
    channels, layers = r.choice((4, 8, 16)), list[nn.Module]()
    for last in (3, *[channels] * r.randint(1, 5)):
        norm = r.choice((nn.Identity, nn.BatchNorm2d, lambda c: nn.GroupNorm(2, c)))(channels)
        layers += [nn.Conv2d(last, channels, 3, padding=1), norm, nn.ReLU()]
    return scaled(nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * channels, 3)), r)


class Residual(nn.Module):
    def __init__(self, r: random.Random) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
            for _ in range(r.randint(1, 12))
        )

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = x + block(x)
        return x


class Sequence(nn.Module):
    """A recurrent or an attending core, and the mean over the words."""

    def __init__(self, core: nn.Module, width: int) -> None:
        super().__init__()
        self.core, self.head = core, nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        outputs = self.core(x)
        return self.head((outputs[0] if isinstance(outputs, tuple) else outputs).mean(1))


class Experts(nn.Module):
    """Each example goes to the expert that its gate likes best."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.head = nn.Linear(16, 4), nn.Linear(16, 3)
        self.experts = nn.ModuleList(nn.Linear(16, 16) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        weight, chosen = self.gate(x).softmax(1).max(1)
        for index, expert in enumerate(self.experts):
            rows = (chosen == index).nonzero().flatten()
            x = x.index_add(0, rows, torch.tanh(expert(x[rows])) * weight[rows, None])
        return self.head(x)


def attention(r: random.Random) -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    return Sequence(nn.TransformerEncoder(layer, r.choice((1, 2, 4))), 8)


def recurrent(r: random.Random) -> nn.Module:
    width = r.choice((4, 16))
    return Sequence(r.choice((nn.RNN, nn.GRU, nn.LSTM))(8, width, batch_first=True), width)


# How often a family comes, the shape of one input, and how to make one.
FAMILIES: dict[str, tuple[int, tuple[int, ...], Callable[[random.Random], nn.Module]]] = {
    "narrow": (10, (784,), lambda r: mlp(r, r.randint(1, 4), r.randint(2, 30))),
    "deep": (4, (784,), lambda r: mlp(r, r.randint(8, 64), r.randint(10, 60))),
    "big weights": (
        4,
        (784,),
        lambda r: scaled(mlp(r, r.randint(2, 64), r.randint(2, 12)), r, 5.0, 50.0),
    ),
    "dead": (4, (784,), dead),
    "trained": (3, (784,), trained),
    "norms": (3, (784,), lambda r: mlp(r, r.randint(2, 32), r.randint(2, 12), norm=True)),
    "residual": (2, (16,), Residual),
    "convolutions": (2, IMAGE, convolutions),
    "attention": (2, WORDS, attention),
    "recurrent": (2, WORDS, recurrent),
    "experts": (1, (16,), lambda r: Experts()),
}


def network(seed: int) -> tuple[str, nn.Module, Tensor]:
    """(family, network, inputs) of a seed."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    family = r.choices([*FAMILIES], [often for often, _, _ in FAMILIES.values()])[0]
    _, shape, make = FAMILIES[family]
    dtype = r.choices((torch.float32, torch.float64, torch.bfloat16), (7, 2, 1))[0]
    n, size = round(2 * 100 ** r.random()), r.choice((0.1, 1.0, 1.0, 10.0))
    torch.set_num_threads(r.choice((1, 1, 1, 2)))
    net = make(r).to(dtype).eval()
    return f"{family}, {str(dtype)[6:]}", net, (size * torch.randn(n, *shape)).to(dtype)


def in_float64(function: NetworkFunction, batch: Batch) -> float:
    """The difference that decides, at the weights or at moved ones, whichever is larger."""
    return max(Trial(function, batch, w, double=True).coupling() for w in ({}, moved(function)))


def main(first: int = 1, last: int = 20_000) -> None:
    asked, refused, largest, began = Counter(), Counter(), defaultdict(float), time.process_time()
    for seed in (*range(first, last + 1), *(BESIDE if first == 1 else ())):
        family, net, inputs = network(seed)
        asked[family] += 1
        try:
            with preserve_model_state(net), warnings.catch_warnings():
                warnings.simplefilter("error")
                function, batch = NetworkFunction(net), Batch.of(inputs)
                check_independent(function, batch)
                largest[family] = max(largest[family], in_float64(function, batch))
        except (ValueError, Warning) as error:
            refused[family] += 1
            print(f"seed {seed}, {family}, n = {len(inputs)}: {error}", flush=True)
    for family in sorted(asked):
        counts = f"{asked[family]:6} asked {refused[family]:4} refused"
        print(f"{family:28} {counts}   {largest[family]:.1e} in float64")
    seconds = time.process_time() - began
    print(f"in all {asked.total()} asked, {refused.total()} refused; {seconds:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
