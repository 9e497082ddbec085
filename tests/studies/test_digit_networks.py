"""Players on digits: the sizes of the text's tables, and how a statistics network is told z."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, elu

from ntkexp.studies.digit_networks import DigitStatistics, convolutions, generator


def sizes(network: nn.Sequential, inputs: Tensor, *kinds: type[nn.Module]) -> list[tuple[int, ...]]:
    """The shapes that layers of these kinds make of an example."""
    found = []
    for layer in network:
        inputs = layer(inputs)
        if isinstance(layer, kinds):
            found.append(tuple(inputs.shape[1:]))
    return found


def test_a_generator_has_the_sizes_of_tables_c1_and_c5() -> None:
    layers = (nn.Unflatten, nn.ConvTranspose2d)
    stacked = generator(100, [512, 256, 128, 64, 3])
    assert sizes(stacked, torch.zeros(2, 100), *layers) == [
        (512, 2, 2), (256, 4, 4), (128, 7, 7), (64, 14, 14), (3, 28, 28)
    ]  # fmt: skip
    decoder = generator(128, [256, 128, 64, 1])
    assert sizes(decoder, torch.zeros(2, 128), *layers) == [
        (256, 4, 4), (128, 7, 7), (64, 14, 14), (1, 28, 28)
    ]  # fmt: skip
    assert [type(layer).__name__ for layer in stacked][2:4] == ["BatchNorm2d", "ReLU"]
    images = stacked(torch.randn(50, 100))
    assert 0 < images.abs().max() <= 1


def test_convolutions_have_the_sizes_of_table_c2_and_no_norm_on_the_image() -> None:
    network = convolutions([3, 64, 128, 256, 512], nn.ReLU)
    assert sizes(network, torch.zeros(2, 3, 28, 28), nn.Conv2d) == [
        (64, 14, 14), (128, 7, 7), (256, 4, 4), (512, 2, 2)
    ]  # fmt: skip
    kinds = [type(layer).__name__ for layer in network]
    assert kinds == ["Conv2d", "ReLU", *["Conv2d", "BatchNorm2d", "ReLU"] * 3]


def test_z_is_added_to_every_layer_as_a_bias() -> None:
    """Beside the same written with convolutions whose bias changes from example to example."""
    torch.manual_seed(0)
    network = DigitStatistics(5, [3, 16, 32, 64], nn.ELU, [1024]).double()
    assert [layer.weight.shape for layer in network.last if isinstance(layer, nn.Linear)] == [
        (1024, 4 * 4 * 64), (1, 1024)
    ]  # fmt: skip
    images, codes = torch.randn(4, 3, 28, 28).double(), torch.randn(4, 5).double()
    for x, z, found in zip(images, codes, network(images, codes), strict=True):
        for conv, told in zip(network.features, network.biases, strict=True):
            assert isinstance(conv, nn.Conv2d) and conv.bias is not None
            x = elu(conv2d(x, conv.weight, conv.bias + told.weight @ z, stride=2, padding=2))
        first, second = (layer for layer in network.last if isinstance(layer, nn.Linear))
        by_hand = second.weight @ (first.weight @ x.flatten() + first.bias) + second.bias
        assert torch.allclose(found, by_hand[0])
    assert not torch.allclose(network(images, codes), network(images, codes.roll(1, 0)))
