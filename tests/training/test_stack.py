"""A stack of networks takes the steps that its networks would take alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from ntkexp import models
from ntkexp.models.base import Model
from ntkexp.models.mlp import Mlp
from ntkexp.models.resnet18 import Norm, Resnet18
from ntkexp.models.vgg import Vgg
from ntkexp.training.evaluate import losses
from ntkexp.training.sgd import SGD
from ntkexp.training.stack import Stack
from ntkexp.training.stacked_mlp import StackedMLP, is_mlp

NETS: dict[str, tuple[Model, tuple[int, ...], int]] = {
    "mlp": (Mlp(depth=3, width=7), (1, 5, 5), 4),
    "mlp of one logit": (Mlp(depth=1, width=5), (2,), 1),
    "vgg": (Vgg(depth=11, base=2), (3, 32, 32), 10),
    "resnet": (Resnet18(base=2, norm=Norm.none), (3, 32, 32), 10),
}
HYPER = {
    "alike": ([0.9, 0.9, 0.9], [0.0, 0.0, 0.0], [0.1, 0.1, 0.1]),
    "lr": ([0.9, 0.9, 0.9], [0.0, 0.0, 0.0], [0.1, 0.02, 0.3]),
    "decay": ([0.9, 0.9, 0.9], [0.01, 0.01, 0.01], [0.1, 0.1, 0.1]),
    "all": ([0.9, 0.0, 0.5], [0.0, 0.01, 0.1], [0.1, 0.02, 0.3]),
}


def nets(name: str, momentum: list[float], decay: list[float]) -> tuple[list[nn.Module], list[SGD]]:
    config, shape, outputs = NETS[name]
    made = [models.build(config, shape, outputs, seed).double() for seed in range(3)]
    sgds = [
        SGD(model.parameters(), momentum=mu, weight_decay=wd)
        for model, mu, wd in zip(made, momentum, decay, strict=True)
    ]
    return made, sgds


def minibatch(name: str, step: int) -> tuple[Tensor, Tensor]:
    _, shape, outputs = NETS[name]
    stream = torch.Generator().manual_seed(step)
    inputs = torch.randn(3, 6 - step % 2, *shape, generator=stream, dtype=torch.float64)
    return inputs, torch.randint(max(2, outputs), inputs.shape[:2], generator=stream)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("hyper", HYPER)
@pytest.mark.parametrize("common", [False, True])
def test_a_stack_steps_as_each_of_its_networks_alone(name: str, hyper: str, common: bool) -> None:
    momentum, decay, lrs = HYPER[hyper]
    alone, their_sgds = nets(name, momentum, decay)
    stacked, our_sgds = nets(name, momentum, decay)
    kind = StackedMLP if is_mlp(stacked[0]) else Stack
    assert (kind is StackedMLP) == name.startswith("mlp")
    stack = kind(stacked, our_sgds)
    for step in range(4):
        inputs, targets = minibatch(name, step)
        inputs = inputs[:1].expand(inputs.shape) if common else inputs
        outputs, loss = stack.accelerate(inputs, targets)
        stack.move(lrs)
        for m, (model, sgd) in enumerate(zip(alone, their_sgds, strict=True)):
            theirs = model(inputs[m])
            their_loss = losses(theirs, targets[m]).mean()
            their_loss.backward()
            sgd.accelerate()
            sgd.move(lrs[m])
            torch.testing.assert_close(outputs[m], theirs.detach(), rtol=1e-9, atol=1e-9)
            torch.testing.assert_close(loss[m], their_loss.detach(), rtol=1e-9, atol=1e-9)
    # The networks themselves have moved: their parameters are parts of the stacked ones.
    for ours, theirs_ in zip(stacked, alone, strict=True):
        for mine, other in zip(ours.parameters(), theirs_.parameters(), strict=True):
            torch.testing.assert_close(mine.data, other.data, rtol=1e-9, atol=1e-9)
    for ours_, theirs_s in zip(our_sgds, their_sgds, strict=True):
        for mine_v, other_v in zip(ours_.velocity, theirs_s.velocity, strict=True):
            torch.testing.assert_close(mine_v, other_v, rtol=1e-9, atol=1e-9)


def test_the_written_out_gradient_is_that_of_autograd() -> None:
    for name in ("mlp", "mlp of one logit"):
        inputs, targets = minibatch(name, 0)
        found = []
        for kind in (Stack, StackedMLP):
            made, sgds = nets(name, [0.0] * 3, [0.0] * 3)
            kind(made, sgds).accelerate(inputs, targets)
            found.append([velocity for sgd in sgds for velocity in sgd.velocity])
        for ours, theirs in zip(*found, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_released_networks_have_weights_of_their_own() -> None:
    made, sgds = nets("mlp", [0.9] * 3, [0.0] * 3)
    stack = Stack(made, sgds)
    before = [parameter.clone() for parameter in made[0].parameters()]
    stack.release(made, sgds)
    for part in stack.parameters.values():
        part.data.zero_()
    for parameter, kept in zip(made[0].parameters(), before, strict=True):
        torch.testing.assert_close(parameter, kept)


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), True),
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)), False),
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(2, 3, bias=False)), False),
        (lambda: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), False),
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(2, 3), nn.ReLU()), False),
        (lambda: nn.Linear(2, 3), False),
    ],
)
def test_what_counts_as_an_mlp(model: Callable[[], nn.Module], answer: bool) -> None:
    assert is_mlp(model()) is answer
