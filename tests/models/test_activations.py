"""Activations by name: their functions, the kernels of networks with them, and what needs ReLU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.identity import digest, hashed, plain
from ntkexp.models import build
from ntkexp.models.activations import MODULES, Activation
from ntkexp.models.base import Init, Model
from ntkexp.models.cnn import Cnn
from ntkexp.models.lenet5 import Lenet5
from ntkexp.models.mlp import Mlp
from ntkexp.models.resnet18 import Norm, Resnet18
from ntkexp.models.resnet20 import Resnet20
from ntkexp.models.vgg import Vgg
from ntkexp.tangent import tangent_kernel
from ntkexp.transforms.linearise import Linearised
from tests.tangent.dense_jacobian import jacobian
from tests.tiny_runs import composed, table, train

ALL, CIFAR = [*Activation], (3, 32, 32)
DISK = (
    *("data=disk", "data.train_examples=30", "data.grid=4", "device=cpu", "progress=false"),
    *("model.depth=1", "model.width=4", "optim.steps=4", "optim.stop_loss=null"),
    *("optim.batch_size=10", "probing.examples=5"),
)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def made(like: Model, inputs: tuple[int, ...], seed: int = 0) -> nn.Module:
    return build(like, inputs, 2, seed).double().eval()


@pytest.mark.parametrize("kind", ALL)
def test_each_is_the_function_of_its_name_without_weights_number_by_number(
    kind: Activation,
) -> None:
    module, function = MODULES[kind](), getattr(torch.nn.functional, kind)
    assert not [*module.state_dict()]
    x = torch.linspace(-8, 8, 101, dtype=torch.float64)
    assert torch.equal(module(x), function(x))
    torch.testing.assert_close(module(x), torch.cat([module(x[:1]), module(x[1:])]))
    assert torch.equal(module(x), module.train()(x)), "draws in training"


def close_to_autograd(network: nn.Module, x: Tensor) -> None:
    kernel, truth = tangent_kernel(network, x), jacobian(network, x)
    expected = sum(rows @ rows.T for rows in truth.values())
    torch.testing.assert_close(kernel.gram, expected, rtol=1e-10, atol=1e-12)
    assert not kernel.fallback


@pytest.mark.parametrize("kind", ALL)
def test_the_kernel_is_that_of_autograd_for_every_activation(kind: Activation) -> None:
    network = made(Mlp(depth=2, width=5, activation=kind, init=Init.default), (3,))
    close_to_autograd(network, 3 * torch.randn(6, 3, generator=seeded(0), dtype=torch.float64))


@pytest.mark.parametrize("kind", [Activation.silu, Activation.hardtanh, Activation.softplus])
@pytest.mark.parametrize(
    "like",
    [Cnn(base=2), Vgg(depth=11, base=2), Resnet20(base=2), Resnet18(base=1, norm=Norm.none),
     Lenet5(base=3)],
    ids=lambda like: like.name,
)  # fmt: skip
def test_networks_of_images_take_them_too(kind: Activation, like: Model) -> None:
    network = made(replace(like, activation=kind), CIFAR)
    used = {type(module) for module in network.modules()} & {*MODULES.values()}
    assert used == {MODULES[kind]}
    close_to_autograd(network, torch.randn(3, *CIFAR, generator=seeded(0), dtype=torch.float64))


@pytest.mark.parametrize("kind", ALL)
def test_each_can_be_linearised_and_its_linearisation_trained(kind: Activation) -> None:
    network = made(Mlp(depth=1, width=4, activation=kind), (3,))
    x = torch.randn(5, 3, generator=seeded(0), dtype=torch.float64)
    rows, start = jacobian(network, x), network(x).detach()
    linear = Linearised(network)
    linear.move_to({name: torch.ones_like(weight) for name, weight in network.named_parameters()})
    outputs = linear(x)
    moved = torch.stack([of_layer.sum(1) for of_layer in rows.values()]).sum(0)
    torch.testing.assert_close(outputs, start + moved.view(5, 2))
    outputs.sum().backward()
    for name, weight in network.named_parameters():
        assert weight.grad is not None
        torch.testing.assert_close(weight.grad.flatten(), rows[name].sum(0))


def test_relu_leaves_every_id_as_it_is_and_another_makes_another_run() -> None:
    words = (*DISK, "probe=[spectrum]")
    unsaid, relu, tanh = (
        digest(hashed(plain(composed((*words, *more)))))
        for more in ((), ("model.activation=relu",), ("model.activation=tanh",))
    )
    assert unsaid == relu != tanh
    assert "activation" not in hashed(plain(composed(words)))["model"]


@pytest.mark.parametrize("kind", ALL)
def test_members_of_one_run_may_have_any(kind: Activation, tmp_path: Path) -> None:
    words = (*DISK, f"model.activation={kind}", "probe=[]")
    together = table(train(tmp_path, *words, "members={seed: [0, 1]}"), "steps")
    for seed in (0, 1):
        alone = table(train(tmp_path, *words, f"seed={seed}"), "steps")
        own = together[together["seed"] == seed].reset_index(drop=True)
        assert (own["train_loss"] - alone["train_loss"]).abs().max() < 1e-5


@pytest.mark.parametrize(
    ("probe", "words"),
    [("measures", ("data=disk", "data.grid=4")), ("linear_pieces", ("data=sines",))],
)
def test_what_holds_for_relu_alone_is_refused_for_others(
    probe: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=rf"probe\.{probe}: .* model\.activation is tanh; expected"):
        train(tmp_path, *words, "model.activation=tanh", f"probe=[{probe}]", "optim.steps=1")
