"""The networks are the paper's, and their weights depend on the seed alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.models import build
from ntkexp.models.autoencoder import Autoencoder
from ntkexp.models.base import Init, Model
from ntkexp.models.mlp import Mlp
from ntkexp.models.resnet18 import Block, Norm, ResidualScale, Resnet18
from ntkexp.models.resnet20 import Resnet20
from ntkexp.models.resnet34 import Resnet34
from ntkexp.models.vgg import Vgg
from ntkexp.models.weights import start_from
from ntkexp.references import StartFrom

CIFAR, DIGIT = (3, 32, 32), (1, 28, 28)
SMALL: list[tuple[Model, tuple[int, ...]]] = [
    (Mlp(depth=3, width=5), DIGIT),
    (Vgg(depth=11, base=2), CIFAR),
    (Resnet18(base=2), CIFAR),
    (Resnet18(base=2, norm=Norm.none), DIGIT),
    (Resnet20(base=2), CIFAR),
    (Resnet18(base=8, norm=Norm.group), CIFAR),
    (Vgg(depth=11, base=2, batch_norm=True), CIFAR),
    (Autoencoder(width=40, batch_norm=True), DIGIT),
]


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def layers(model: nn.Module) -> list[str]:
    return [n for n, m in model.named_modules() if isinstance(m, nn.Linear | nn.Conv2d)]


@pytest.mark.parametrize(
    ("config", "shape", "millions"),
    [
        (Vgg(depth=19), CIFAR, 20.0),
        (Resnet18(), CIFAR, 11.2),
        (Resnet20(), CIFAR, 0.272),
        (Mlp(), DIGIT, 0.096),
    ],
    ids=["vgg19", "resnet18", "resnet20", "mlp"],
)
def test_parameter_counts_are_the_published_ones(
    config: Model, shape: tuple[int, ...], millions: float
) -> None:
    assert parameters(build(config, shape, 10, seed=0)) / 1e6 == pytest.approx(millions, rel=0.005)


def test_mlp_depth_counts_hidden_layers_and_each_has_its_own_weights() -> None:
    model = build(Mlp(depth=6, width=256, init=Init.default), (2,), 1, seed=0)
    assert layers(model) == [*(f"hidden{i}" for i in range(1, 7)), "output"]
    weights = [p for name, p in model.named_parameters() if name.endswith("weight")][1:6]
    assert len({w.data_ptr() for w in weights}) == 5
    assert all(not torch.equal(a, b) for i, a in enumerate(weights) for b in weights[:i])
    assert parameters(model) == (2 * 256 + 256) + 5 * (256 * 256 + 256) + (256 + 1)


@pytest.mark.parametrize(("depth", "convolutions"), [(11, 8), (13, 10), (16, 13), (19, 16)])
def test_vgg_depth_counts_the_layers_of_the_original(depth: int, convolutions: int) -> None:
    model = build(Vgg(depth=depth, base=4), CIFAR, 10, seed=0)
    assert layers(model) == [*(f"conv{i}" for i in range(1, convolutions + 1)), "fc"]
    channels = [m.out_channels for m in model.modules() if isinstance(m, nn.Conv2d)]
    assert sorted(set(channels)) == [4, 8, 16, 32]
    assert channels == sorted(channels)
    assert sum(isinstance(m, nn.MaxPool2d) for m in model.modules()) == 5


@pytest.mark.parametrize(
    ("config", "convolutions", "shortcuts"),
    [(Resnet18(base=2), 4 * 4, 3), (Resnet20(base=2), 3 * 6, 2)],
)
def test_a_resnet_halves_the_map_and_doubles_its_channels(
    config: Resnet18, convolutions: int, shortcuts: int
) -> None:
    model = build(config, CIFAR, 10, seed=0)
    shapes: list[tuple[int, ...]] = []
    for stage in [f"stage{number}" for number in range(1, shortcuts + 2)]:
        model.get_submodule(stage).register_forward_hook(
            lambda _m, _i, out: shapes.append(tuple(out.shape[1:]))
        )
    model(torch.randn(2, *CIFAR))
    every = [(2, 32, 32), (4, 16, 16), (8, 8, 8), (16, 4, 4)]
    assert shapes == every[: shortcuts + 1]
    assert len(layers(model)) == 1 + convolutions + shortcuts + 1
    assert "stage2.block1.shortcut" in layers(model)


@pytest.mark.parametrize(("base", "groups"), [(2, [1, 1, 1, 1]), (16, [1, 2, 4, 8])])
def test_a_group_has_sixteen_channels_and_examples_are_alone_in_training_too(
    base: int, groups: list[int]
) -> None:
    config = Resnet18(base=base, norm=Norm.group)
    model = build(config, CIFAR, 10, seed=0).train()
    norms = [model.get_submodule(f"stage{stage}.block2.norm2") for stage in range(1, 5)]
    assert [norm.num_groups for norm in norms] == groups
    x = torch.randn(3, *CIFAR, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model(x)[:1], model(x[:1]))
    assert not config.couples_examples()
    assert [p for p in layers(model) if model.get_submodule(p).bias is not None] == ["fc"]


def test_with_a_residual_scale_of_zero_a_block_begins_as_its_shortcut() -> None:
    """The weights of its branch have no gradient then, and its last norm has one."""
    scales = {
        scale: build(Resnet18(base=2, residual_scale=scale), CIFAR, 1, seed=0).eval()
        for scale in ResidualScale
    }
    x = torch.randn(3, 2, 8, 8, generator=torch.Generator().manual_seed(0))
    for scale, model in scales.items():
        block = model.get_submodule("stage2.block1")
        expected = torch.relu(block.shortcut_norm(block.shortcut(x)))  # type: ignore[operator]
        assert torch.equal(block(x), expected) == (scale is ResidualScale.zero)
    model = scales[ResidualScale.zero]
    model(torch.randn(3, *CIFAR)).sum().backward()
    without = {n for n, w in model.named_parameters() if w.grad is None or not w.grad.any()}
    branches = {f"stage{s}.block{b}" for s in range(1, 5) for b in (1, 2)}
    ends = ("conv1.weight", "norm1.weight", "norm1.bias", "conv2.weight")
    assert without == {f"{branch}.{end}" for branch in branches for end in ends}
    # They are most of the network: .18 of 11.2 million weights are left at its full width.
    full = {n: w.numel() for n, w in Resnet18().build(CIFAR, 1).named_parameters()}
    left = sum(count for name, count in full.items() if name not in without)
    assert (left, sum(full.values())) == (180_033, 11_169_345)


def test_without_norms_there_is_no_scale_to_begin_with() -> None:
    with pytest.raises(UserError, match=r"model\.residual_scale=zero: .* expected one"):
        Resnet18(norm=Norm.none, residual_scale=ResidualScale.zero).check()


def test_statistics_of_another_run_are_taken_over_or_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = build(Resnet18(base=2), CIFAR, 1, seed=1)
    trained(torch.randn(20, *CIFAR))  # in training mode, which moves the statistics
    state = trained.state_dict()
    monkeypatch.setattr(StartFrom, "tensors", lambda self: state)
    drawn = dict(build(Resnet18(base=2), CIFAR, 1, seed=0).named_buffers())
    for reset in (False, True):
        model = build(Resnet18(base=2), CIFAR, 1, seed=0)
        start_from(model, StartFrom(run="made", reset_statistics=reset))
        assert all(torch.equal(w, state[name]) for name, w in model.named_parameters())
        buffers = dict(model.named_buffers())
        assert len(buffers) == 3 * 20
        expected = drawn if reset else state
        assert all(torch.equal(buffer, expected[name]) for name, buffer in buffers.items())


def test_a_fresh_layer_stays_so_where_statistics_are_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    state = build(Resnet18(base=2), CIFAR, 1, seed=1).state_dict()
    monkeypatch.setattr(StartFrom, "tensors", lambda self: state)
    model = build(Resnet18(base=2), CIFAR, 1, seed=0)
    drawn = {name: w.clone() for name, w in model.named_parameters()}
    first, *_, last = (name for name in drawn if name.endswith("weight"))
    start_from(model, StartFrom(run="made", fresh=[last], reset_statistics=True))
    weights = dict(model.named_parameters())
    assert torch.equal(weights[last], drawn[last]) and not torch.equal(drawn[last], state[last])
    assert torch.equal(weights[first], state[first])


def test_resnet_without_norm_has_biases_and_no_batch_statistics() -> None:
    model = build(Resnet18(base=2, norm=Norm.none), CIFAR, 10, seed=0)
    assert not any(isinstance(m, nn.BatchNorm2d) for m in model.modules())
    assert all(m.bias is not None for m in model.modules() if isinstance(m, nn.Conv2d))
    assert list(model.buffers()) == []


def test_shortcuts_go_without_biases_where_asked() -> None:
    config = Resnet18(base=2, norm=Norm.none, shortcut_bias=False)
    model = build(config, CIFAR, 10, seed=0)
    bare = [n for n, m in model.named_modules() if isinstance(m, nn.Conv2d) and m.bias is None]
    assert bare == [f"stage{stage}.block1.shortcut" for stage in (2, 3, 4)]


@pytest.mark.parametrize("channels", [1, 4])
def test_images_that_lie_channels_last_give_the_same_gradients(channels: int) -> None:
    """A strided 1x1 convolution of few channels does not, by itself (oneDNN issue 6035)."""
    block = Block(channels, 2 * channels, 2, Norm.none)
    draws = torch.Generator().manual_seed(0)
    x = torch.randn(4, channels, 16, 16, generator=draws)
    cotangent = torch.randn(4, 2 * channels, 8, 8, generator=draws)
    plain, last = (
        torch.autograd.grad(block(images), [*block.parameters()], cotangent)
        for images in (x, x.to(memory_format=torch.channels_last))
    )
    for one, other in zip(plain, last, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("config", "shape"), SMALL)
def test_examples_do_not_interact_and_come_out_as_scores(
    config: Model, shape: tuple[int, ...]
) -> None:
    model = build(config, shape, 10, seed=0).eval()
    x = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))
    scores: Tensor = model(x)
    assert scores.shape == (3, 10)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores[1:2], model(x[1:2]))


@pytest.mark.parametrize("init", list(Init))
@pytest.mark.parametrize(("config", "shape"), SMALL)
def test_weights_depend_on_the_seed_and_not_on_the_global_stream(
    config: Model, shape: tuple[int, ...], init: Init
) -> None:
    config.init = init

    def weights(seed: int) -> Tensor:
        return nn.utils.parameters_to_vector(build(config, shape, 10, seed).parameters())

    torch.manual_seed(1)
    before, first = torch.get_rng_state(), weights(0)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(2)
    assert torch.equal(first, weights(0))
    assert not torch.equal(first, weights(1))


@pytest.mark.parametrize(("init", "variance"), [(Init.kaiming, 2), (Init.lecun, 1)])
def test_weights_are_normal_with_a_variance_over_fan_in(init: Init, variance: int) -> None:
    model = build(Vgg(depth=11, base=32, init=init), CIFAR, 10, seed=0)
    for name in layers(model):
        layer = model.get_submodule(name)
        assert isinstance(layer, nn.Linear | nn.Conv2d)
        fan_in = layer.weight[0].numel()
        scaled = layer.weight.detach() / math.sqrt(variance / fan_in)
        assert scaled.std().item() == pytest.approx(1, abs=5 / math.sqrt(2 * scaled.numel()))
        assert scaled.abs().max() > 2.5  # a uniform law would end at sqrt(3)
        assert layer.bias is not None
        assert not layer.bias.any()


def test_residual_weights_are_small_where_a_block_ends_and_no_activation_comes_before() -> None:
    model = build(Resnet34(base=16, norm=Norm.none, init=Init.residual), CIFAR, 10, seed=0)
    expected = {"conv1": 1, "stage1.block1.conv1": 2, "stage1.block1.conv2": 0.2,
                "stage2.block1.shortcut": 1, "stage4.block3.conv2": 0.2, "fc": 2}  # fmt: skip
    for name, variance in expected.items():
        weight = model.get_submodule(name).get_parameter("weight").detach()
        scaled = weight / math.sqrt(variance / weight[0].numel())
        assert scaled.std().item() == pytest.approx(1, abs=5 / math.sqrt(2 * scaled.numel())), name


@pytest.mark.parametrize("seed", range(3))
def test_without_norms_residual_weights_keep_the_size_of_activations(seed: int) -> None:
    """A.3 of George's thesis: good propagation; those of He grow from block to block."""

    def spread(init: Init) -> tuple[float, float]:
        model = build(Resnet34(base=16, norm=Norm.none, init=init), CIFAR, 10, seed=seed)
        sizes: list[float] = []
        for block in (module for module in model.modules() if isinstance(module, Block)):
            block.register_forward_hook(
                lambda module, inputs, output: sizes.append(output.square().mean().sqrt().item())
            )
        model(torch.randn(4, *CIFAR, generator=torch.Generator().manual_seed(seed)))
        assert len(sizes) == 16
        return min(sizes), max(sizes)

    least, most = spread(Init.residual)
    assert 1 / 3 < least <= most < 3
    assert spread(Init.kaiming)[1] > 30


def test_default_init_is_pytorchs_uniform_law_with_random_biases() -> None:
    model = build(Mlp(depth=2, width=256, init=Init.default), (2,), 1, seed=0)
    layer = model.get_submodule("hidden2")
    assert isinstance(layer, nn.Linear)
    for tensor in (layer.weight, layer.bias):
        assert tensor.abs().max().item() <= 1 / 16
        assert tensor.std().item() == pytest.approx(1 / 16 / math.sqrt(3), rel=0.1)


@pytest.mark.parametrize(
    ("config", "shape", "says"),
    [
        (Mlp(depth=0), DIGIT, "model.depth=0"),
        (Mlp(width=0), DIGIT, "model.width=0"),
        (Vgg(depth=12), CIFAR, "model.depth=12.*11, 13, 16, 19"),
        (Vgg(base=0), CIFAR, "model.base=0"),
        (Vgg(), DIGIT, "vgg.*32x32.*1x28x28.*data.size=32"),
        (Vgg(), (3, 64, 64), "vgg.*32x32.*3x64x64"),
        (Vgg(), (2,), "vgg.*inputs of 2"),
        (Resnet18(base=0), CIFAR, "model.base=0"),
        (Resnet18(), (2,), "resnet18.*inputs of 2"),
        (Mlp(name="vgg"), CIFAR, "model.name=vgg: expected mlp; model=NAME chooses another"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(
    config: Model, shape: tuple[int, ...], says: str
) -> None:
    with pytest.raises(UserError, match=says) as refusal:
        build(config, shape, 10, seed=0)
    assert "\n" not in str(refusal.value)


@dataclass
class LooksAtItsWeights(Model):
    size_key: ClassVar[str] = "width"

    width: int = 4

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        layer = nn.Linear(inputs[0], outputs)
        assert layer.weight.sum().item() < 1e9
        return layer


@dataclass
class ReadsThemIntoNumpy(Model):
    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        layer = nn.Linear(inputs[0], outputs)
        assert layer.weight.detach().numpy().size
        return layer


@pytest.mark.parametrize("kind", [LooksAtItsWeights, ReadsThemIntoNumpy])
def test_a_network_that_looks_at_its_weights_while_it_is_built_has_no_count(
    kind: type[Model],
) -> None:
    assert kind().parameters((3,), 2) is None
    assert kind().multiplications((3,), 2) is None


def test_counting_draws_nothing_from_the_global_stream() -> None:
    before = torch.random.get_rng_state()
    assert Resnet18(base=2).multiplications(CIFAR, 10) == 596_128
    assert torch.equal(torch.random.get_rng_state(), before)


@dataclass
class Asserts(Model):
    """A network of one's own whose build does not take what comes."""

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        return nn.MultiheadAttention(16, 3)


def test_what_a_build_of_ones_own_raises_is_told_with_its_line() -> None:
    assert Asserts().unseen((2,), 3) is None
    told = r"build\(\(2,\), 3\) raised AssertionError: embed_dim .* \(test_models\.py:\d+\)$"
    with pytest.raises(UserError, match=told):
        build(Asserts(), (2,), 3, seed=0)
