"""A stack of networks takes the steps that its networks would take alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from ntkexp import models
from ntkexp.errors import UserError
from ntkexp.models.base import Model
from ntkexp.models.mlp import Mlp
from ntkexp.models.resnet18 import Norm, Resnet18
from ntkexp.models.vgg import Vgg
from ntkexp.objectives.base import Loss
from ntkexp.objectives.binary import BinaryLoss
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.objectives.squared_error import SquaredErrorLoss
from ntkexp.optim.adam import AdamUpdate
from ntkexp.optim.sgd import SgdUpdate
from ntkexp.optim.update import WeightUpdate
from ntkexp.training.members.stack import Stack, StackedMLP, is_mlp

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


def networks(
    name: str, kind: str, momentum: list[float], decay: list[float]
) -> tuple[list[nn.Module], list[WeightUpdate]]:
    config, shape, outputs = NETS[name]
    made = [models.build(config, shape, outputs, seed).double() for seed in range(3)]
    updates: list[WeightUpdate] = []
    for model, mu, wd in zip(made, momentum, decay, strict=True):
        if kind == "adam":
            options = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": wd}
            updates.append(AdamUpdate(model.parameters(), **options))
        else:
            updates.append(SgdUpdate(model.parameters(), momentum=mu, weight_decay=wd))
    return made, updates


def minibatch(name: str, step: int) -> tuple[Tensor, Tensor]:
    _, shape, outputs = NETS[name]
    stream = torch.Generator().manual_seed(step)
    inputs = torch.randn(3, 6 - step % 2, *shape, generator=stream, dtype=torch.float64)
    return inputs, torch.randint(max(2, outputs), inputs.shape[:2], generator=stream)


def objectives(name: str) -> list[Loss]:
    outputs = NETS[name][2]
    return [BinaryLoss() if outputs == 1 else CrossEntropyLoss(outputs), SquaredErrorLoss(outputs)]


@pytest.mark.parametrize(
    ("name", "hyper"),
    [
        *product(("mlp", "mlp of one logit", "vgg"), HYPER),
        ("resnet", "all"),
        # The stack of a ResNet is that of a VGG.
        *(pytest.param("resnet", hyper, marks=pytest.mark.on_demand) for hyper in [*HYPER][:-1]),
    ],
)
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("common", [False, True])
def test_a_stack_steps_as_each_of_its_networks_alone(
    name: str, hyper: str, optimiser: str, common: bool
) -> None:
    for objective in objectives(name):
        steps_as_each_alone(name, hyper, optimiser, common, objective)


def steps_as_each_alone(
    name: str, hyper: str, optimiser: str, common: bool, objective: Loss
) -> None:
    momentum, decay, lrs = HYPER[hyper]
    # Squared errors here are large, and Adam's changes do not depend on a gradient's size.
    if optimiser == "adam" or isinstance(objective, SquaredErrorLoss):
        lrs = [lr / 100 for lr in lrs]
    alone, their_updates = networks(name, optimiser, momentum, decay)
    stacked, our_updates = networks(name, optimiser, momentum, decay)
    kind = StackedMLP if is_mlp(stacked[0]) else Stack
    assert (kind is StackedMLP) == name.startswith("mlp")
    stack = kind(stacked, our_updates, objective)
    for step in range(4):
        inputs, targets = minibatch(name, step)
        inputs = inputs[:1].expand(inputs.shape) if common else inputs
        outputs, loss = stack.compute(inputs, targets)
        norms = [update.step_norm(lr) for update, lr in zip(our_updates, lrs, strict=True)]
        stack.apply(lrs)
        for m, (model, update) in enumerate(zip(alone, their_updates, strict=True)):
            theirs = model(inputs[m])
            their_loss = objective.losses(theirs, targets[m]).mean()
            their_loss.backward()
            update.compute()
            torch.testing.assert_close(norms[m], update.step_norm(lrs[m]), rtol=1e-7, atol=0)
            update.apply(lrs[m])
            torch.testing.assert_close(outputs[m], theirs.detach(), rtol=1e-7, atol=1e-8)
            torch.testing.assert_close(loss[m], their_loss.detach(), rtol=1e-7, atol=1e-8)
    # The networks themselves have moved: their parameters are parts of the stacked ones.
    for ours, theirs_ in zip(stacked, alone, strict=True):
        for mine, other in zip(ours.parameters(), theirs_.parameters(), strict=True):
            torch.testing.assert_close(mine.data, other.data, rtol=1e-7, atol=1e-8)
    for our_update, their_update in zip(our_updates, their_updates, strict=True):
        mine_state, other_state = our_update.state(), their_update.state()
        assert mine_state.pop("updates") == other_state.pop("updates")
        for memory, parts in mine_state.items():
            for mine_part, other_part in zip(parts, other_state[memory], strict=True):
                torch.testing.assert_close(mine_part, other_part, rtol=1e-7, atol=1e-8)


class Unit(nn.Linear):
    """A layer of one's own: its weight has length 1."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight / self.weight.norm(), self.bias)


class Tripled(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        return 3 * super().forward(x)


def two_layers(
    kind: type[nn.Sequential] = nn.Sequential, first: type[nn.Linear] = nn.Linear
) -> nn.Module:
    return kind(nn.Flatten(), first(5, 5), nn.ReLU(), nn.Linear(5, 5))


def frozen() -> nn.Module:
    model = two_layers()
    model.get_submodule("1").requires_grad_(False)
    return model


def tied() -> nn.Module:
    model = two_layers()
    model.get_submodule("3").weight = model.get_parameter("1.weight")
    return model


def called_twice() -> nn.Module:
    layer = nn.Linear(5, 5)
    return nn.Sequential(nn.Flatten(), layer, nn.ReLU(), layer)


def one_unused() -> nn.Module:
    model = Tripled(nn.Flatten(), nn.Linear(5, 5))
    model.register_parameter("unused", nn.Parameter(torch.ones(2)))
    return model


class Added(nn.Linear):
    """Its weight is the sum of two, whose gradients are one tensor, and its bias has one mean."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.further = nn.Parameter(torch.randn(outputs, inputs))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight + self.further) + self.bias.mean()


OWN: dict[str, Callable[[], nn.Module]] = {
    "a layer of one's own": partial(two_layers, first=Unit),
    "a forward of one's own": partial(two_layers, Tripled),
    "frozen weights": frozen,
    "one weight of two layers": tied,
    "one layer twice": called_twice,
    "a weight outside the loss": one_unused,
    "gradients in the same memory": partial(two_layers, first=Added),
}


@pytest.mark.parametrize("name", OWN)
def test_a_stack_of_ones_own_networks_steps_as_each_alone(name: str) -> None:
    torch.manual_seed(0)
    alone = [OWN[name]().double() for _ in range(3)]
    stacked = copy.deepcopy(alone)
    theirs, ours = (
        [SgdUpdate(m.parameters(), momentum=0.9, weight_decay=0.1) for m in models]
        for models in (alone, stacked)
    )
    objective = CrossEntropyLoss(5)
    stack = (StackedMLP if is_mlp(stacked[0]) else Stack)(stacked, ours, objective)
    for _ in range(3):
        inputs, targets = torch.randn(3, 6, 5).double(), torch.randint(5, (3, 6))
        _, loss = stack.compute(inputs, targets)
        stack.apply([0.1] * 3)
        for m, (model, update) in enumerate(zip(alone, theirs, strict=True)):
            own_loss = objective.losses(model(inputs[m]), targets[m]).mean()
            torch.testing.assert_close(loss[m], own_loss.detach())
            own_loss.backward()
            update.compute()
            update.apply(0.1)


def test_released_networks_have_weights_of_their_own() -> None:
    made, updates = networks("mlp", "sgd", [0.9] * 3, [0.0] * 3)
    stack = Stack(made, updates, CrossEntropyLoss(4))
    before = [parameter.clone() for parameter in made[0].parameters()]
    stack.release()
    for part in stack.parameters.values():
        part.data.zero_()
    for parameter, kept in zip(made[0].parameters(), before, strict=True):
        torch.testing.assert_close(parameter, kept)


def test_members_may_not_differ_in_what_one_formula_needs_once() -> None:
    made, updates = networks("mlp", "adam", [0.9] * 3, [0.0] * 3)
    assert isinstance(updates[0], AdamUpdate)
    updates[0].beta1 = 0.5
    with pytest.raises(UserError, match=r"optim\.beta1 differs"):
        Stack(made, updates, CrossEntropyLoss(4))


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), True),
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)), False),
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(2, 3, bias=False)), False),
        (lambda: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), False),
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(2, 3), nn.ReLU()), False),
        (lambda: nn.Linear(2, 3), False),
        *((own, False) for own in OWN.values()),
    ],
)
def test_what_counts_as_an_mlp(model: Callable[[], nn.Module], answer: bool) -> None:
    assert is_mlp(model()) is answer
