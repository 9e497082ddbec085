"""LeNet5: its size at any scale, and the gradients that its training is made of."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ntkexp.errors import UserError
from ntkexp.models import build
from ntkexp.models.base import Init
from ntkexp.models.lenet5 import Activation, Lenet5
from ntkexp.tangent import tangent_kernel
from ntkexp.tangent.stored_factors import StoredFactors


def test_its_weights_are_as_many_as_those_of_the_text() -> None:
    """136,121 for one output of a colour image, the authors' number."""
    assert Lenet5().parameters((3, 32, 32), 1) == 136_121
    shapes = [tuple(layer.weight.shape) for layer in build(Lenet5(), (3, 32, 32), 1, 0).children()
              if isinstance(layer, nn.Linear | nn.Conv2d)]  # fmt: skip
    assert shapes == [(6, 3, 5, 5), (16, 6, 5, 5), (120, 1024), (84, 120), (1, 84)]


def test_convolutions_keep_the_size_of_an_image_and_averages_halve_it() -> None:
    network = build(Lenet5(), (1, 28, 28), 1, 0)
    sizes: dict[str, torch.Size] = {}
    for name, layer in network.named_children():
        layer.register_forward_hook(lambda _, __, out, name=name: sizes.update({name: out.shape}))
    network(torch.zeros(2, 1, 28, 28))
    assert sizes["conv1"][1:] == (6, 28, 28) and sizes["pool1"][1:] == (6, 14, 14)
    assert sizes["conv2"][1:] == (16, 14, 14) and sizes["pool2"][1:] == (16, 7, 7)


def test_its_stored_gradients_give_its_kernel() -> None:
    torch.manual_seed(0)
    network = build(Lenet5(base=3, init=Init.lecun), (3, 16, 16), 1, 0).double()
    inputs = torch.randn(6, 3, 16, 16, dtype=torch.float64)
    stored = StoredFactors.of(network, inputs).gram(slice(0, 6), slice(0, 6))
    torch.testing.assert_close(stored, tangent_kernel(network, inputs).gram)


def test_gelu_is_smooth_where_relu_is_not() -> None:
    for activation, smooth in ((Activation.relu, False), (Activation.gelu, True)):
        network = build(Lenet5(activation=activation), (3, 8, 8), 1, 0).double()
        # The mixed second derivative at the origin: zero for ReLU without biases.
        x = torch.zeros(1, 3, 8, 8, dtype=torch.float64, requires_grad=True)
        gradient = torch.autograd.grad(network(x).sum(), x, create_graph=True)[0]
        again = torch.autograd.grad(gradient.sum(), network.get_parameter("conv1.weight"))[0]
        assert bool(again.abs().max() > 0) is smooth


def test_images_that_are_too_small_are_refused() -> None:
    with pytest.raises(UserError, match="takes images of 4x4 and more"):
        build(Lenet5(), (3, 3, 3), 1, 0)
