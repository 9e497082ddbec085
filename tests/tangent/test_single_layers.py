"""Each supported layer, drawn in every shape, between two layers that make its input general."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from ntkexp.tangent import layer_factors, tangent_kernel, tangent_trace
from ntkexp.tangent.factors import Direct, Outer
from ntkexp.tangent.kernel import add_layer
from ntkexp.tangent.memory import Workspace
from ntkexp.tangent.positions import Columns, Patches
from ntkexp.tangent.shape import Shape
from ntkexp.tangent.ways import WAYS, Pairs, Way
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels

CONVS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
EVEN_KERNELS = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")


class Head(nn.Module):
    """Smooth, and different at every position, so that no mistake cancels."""

    def __init__(self, layer: nn.Module, sample: Tensor, outputs: int) -> None:
        super().__init__()
        self.layer = layer
        self.mix = torch.randn(layer(sample)[0].numel(), outputs, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.layer(x)).flatten(1) @ self.mix


def exact(layer: nn.Module, inputs: Tensor, outputs: int) -> None:
    """Kernel, cross kernel and trace of a layer are those of its Jacobian, without a fallback."""
    model = Head(layer.double().eval(), inputs, outputs)
    rows = jacobian(model, inputs)
    truth = sum(layer_kernels(rows).values())
    kernel = tangent_kernel(model, inputs)
    assert kernel.fallback == []
    assert distance(kernel.gram, truth) < 1e-10
    split = len(inputs) // 2
    if split:
        cross = tangent_kernel(model, inputs[:split], inputs[split:])
        cut = split * outputs
        assert distance(cross.gram, truth[:cut, cut:]) < 1e-9
    assert torch.allclose(tangent_trace(model, inputs), truth.trace(), rtol=1e-10)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[nn.Module, Tensor]:
    axes = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels = [groups * draw(st.integers(1, 2)) for _ in range(2)]
    per_axis = st.tuples(*[st.integers(1, 3)] * axes)
    kernel, dilation = draw(per_axis), draw(st.tuples(*[st.integers(1, 2)] * axes))
    mode = draw(st.sampled_from(["zeros", "reflect", "replicate", "circular"]))
    same = draw(st.booleans())
    stride = (1,) * axes if same else draw(per_axis)
    padding = "same" if same else draw(st.tuples(*[st.integers(0, 2)] * axes))
    size = [draw(st.integers(5, 7)) for _ in range(axes)]
    layer = CONVS[axes - 1](
        *channels,
        kernel,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        bias=draw(st.booleans()),
        padding_mode=mode,
    )
    return layer, torch.randn(draw(st.integers(1, 3)), channels[0], *size)


@given(convolutions(), st.integers(1, 3))
@settings(max_examples=60)
@EVEN_KERNELS
def test_convolutions(drawn: tuple[nn.Module, Tensor], outputs: int) -> None:
    exact(drawn[0], drawn[1].double(), outputs)


@given(st.integers(1, 4), st.lists(st.integers(1, 3), max_size=2), st.booleans(), st.integers(1, 4))
@settings(max_examples=25)
def test_linear_over_further_axes(n: int, between: list[int], bias: bool, outputs: int) -> None:
    layer = nn.Linear(3, 2, bias=bias)
    exact(layer, torch.randn(n, *between, 3, dtype=torch.float64), outputs)


@st.composite
def norms(draw: st.DrawFn) -> tuple[nn.Module, Tensor]:
    axes = draw(st.integers(1, 3))
    eps = draw(st.sampled_from([1e-5, 0.1, 1.0]))
    shape = [draw(st.integers(2, 3)) for _ in range(axes)]
    channels = 2 * draw(st.integers(1, 2))
    kind = draw(st.sampled_from(["batch", "group", "layer"]))
    name = f"{axes}d"
    if kind == "batch":
        layer = getattr(nn, f"BatchNorm{name}")(channels, eps=eps)
        shape = [] if axes == 1 and draw(st.booleans()) else shape
    elif kind == "group":
        layer = nn.GroupNorm(draw(st.sampled_from([1, 2])), channels, eps=eps)
    else:
        layer = nn.LayerNorm(
            ([channels, *shape])[draw(st.integers(0, axes)) :], eps, bias=draw(st.booleans())
        )
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    if getattr(layer, "running_mean", None) is not None:
        layer.running_mean.normal_()
        layer.running_var.uniform_(0.1, 2)
    return layer, torch.randn(draw(st.integers(1, 3)), channels, *shape)


@given(norms(), st.integers(1, 3))
@settings(max_examples=50)
def test_norms(drawn: tuple[nn.Module, Tensor], outputs: int) -> None:
    exact(drawn[0], drawn[1].double(), outputs)


@given(st.integers(1, 4), st.integers(0, 5), st.sampled_from([None, 0, 2]), st.integers(1, 3))
@settings(max_examples=25)
def test_embeddings(n: int, length: int, padding: int | None, outputs: int) -> None:
    """Of words, and of one word an example."""
    layer = nn.Embedding(4, 3, padding_idx=padding)
    exact(layer, torch.randint(0, 4, (n, length) if length else (n,)), outputs)


@given(convolutions(), st.booleans())
@settings(max_examples=20)
@EVEN_KERNELS
def test_every_route_gives_the_same_matrix(drawn: tuple[nn.Module, Tensor], cross: bool) -> None:
    """Ways are chosen by cost; here each has to take every layer."""
    layer, inputs = drawn[0].double(), drawn[1].double()
    model = Head(layer, inputs, 2)
    factor = layer_factors(model, inputs, check=False).layers["layer"]["layer.weight"]
    left, right = factor, factor.part(slice(0, 1)) if cross else None
    rows = left.jacobian().flatten(0, 1)
    truth = rows @ (rows if right is None else right.jacobian().flatten(0, 1)).t()
    small = factor.v.shape[4] <= 30  # each pair of positions in turn
    for way in WAYS if small else [r for r in WAYS if r is not Pairs]:
        for workspace in (1, 2**30):
            gram = torch.zeros_like(truth)
            way.add(gram, left, right, Workspace(gram, workspace))
            half = way.halves(Shape.of(left, right))
            assert not (half and cross)
            assert distance(gram.tril() if half else gram, truth.tril() if half else truth) < 1e-10


class Counting(Workspace):
    """Knows its largest loan."""

    largest = 0

    def tensors(self, *shapes: tuple[int, ...]) -> list[Tensor]:
        lent = super().tensors(*shapes)
        self.largest = max(self.largest, sum(tensor.nbytes for tensor in lent))
        return lent


@pytest.mark.parametrize("way", WAYS)
def test_every_route_borrows_about_its_room(way: type[Way]) -> None:
    draws = torch.Generator().manual_seed(0)
    u = torch.randn(120, 1, 12, 4, generator=draws, dtype=torch.float64)
    v = torch.randn(120, 3, 1, 5, 4, generator=draws, dtype=torch.float64)
    gram = torch.zeros(360, 360, dtype=torch.float64)
    short, ample = Counting(gram, 100_000), Counting(gram, 2**30)
    for workspace in (short, ample):
        way.add(gram, Outer(Columns(u), v), None, workspace)
    assert short.largest < 125_000 < ample.largest


def test_pairs_borrow_less_than_the_matrix_however_much_room_there_is() -> None:
    """Beside a block of rows that fills the memory no second one of its size may stand."""
    draws = torch.Generator().manual_seed(0)
    u = torch.randn(2000, 1, 12, 1, generator=draws)
    factor = Outer(Columns(u), torch.randn(2000, 1, 1, 5, 1, generator=draws))
    gram = torch.zeros(2000, 2000)
    workspace = Counting(gram, 2**30)
    Pairs.add(gram, factor, factor, workspace)
    assert workspace.largest < gram.nbytes / 2
    assert distance(gram, factor.jacobian()[:, 0] @ factor.jacobian()[:, 0].t()) < 1e-5


@pytest.mark.parametrize("channels", [3, 300])
def test_pairs_in_blocks(channels: int) -> None:
    """Few channels: the whole matrix, by stripes where room is short. Many: its lower half."""
    draws = torch.Generator().manual_seed(0)
    u = torch.randn(70, 1, 5, 2, generator=draws, dtype=torch.float64)
    v = torch.randn(70, 2, 1, channels, 2, generator=draws, dtype=torch.float64)
    factor = Outer(Columns(u), v)
    rows = factor.jacobian().flatten(0, 1)
    half = Pairs.halves(Shape.of(factor, None))
    assert half == (channels == 300)
    for room in (10_000, 2**30):
        gram = torch.zeros(140, 140, dtype=torch.float64)
        Pairs.add(gram, factor, None, Workspace(gram, room))
        truth = rows @ rows.t()
        assert distance(gram.tril() if half else gram, truth.tril() if half else truth) < 1e-12


def test_a_convolution_keeps_its_image_and_no_patches() -> None:
    """Patches of all positions would be nine times the image."""
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(48, 1)).double()
    factor = layer_factors(model, torch.randn(5, 2, 6, 6).double()).layers["0"]["0.weight"]
    assert isinstance(factor, Outer)
    assert isinstance(factor.u, Patches)


@pytest.mark.parametrize("order", [("weight", "bias"), ("bias", "weight")])
def test_a_bias_is_added_once_in_whatever_order(order: tuple[str, str]) -> None:
    torch.manual_seed(0)
    u, v = torch.randn(5, 1, 3, 1), torch.randn(5, 2, 1, 4, 1)
    factors = {"weight": Outer(Columns(u), v, bias="bias"), "bias": Direct(v.flatten(2))}
    rows = torch.cat([factor.jacobian() for factor in factors.values()], 2).flatten(0, 1)
    gram = torch.zeros(10, 10)
    workspace = Workspace(gram, 2**20)
    add_layer(gram, "layer", {name: factors[name] for name in order}, None, workspace)
    torch.testing.assert_close(gram.tril(), (rows @ rows.t()).tril())
