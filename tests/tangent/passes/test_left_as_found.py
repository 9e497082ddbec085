"""The model, its flags, its gradients and the random state are none of our business."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent import tangent_kernel, tangent_kernels, tangent_trace
from tests.tangent.grid.nets import built

MEASUREMENTS: dict[str, Callable[[nn.Module, Tensor], object]] = {
    "kernel": tangent_kernel,
    "blocks": lambda model, x: tangent_kernel(model, x, budget_bytes=2000),
    "kernels": lambda model, x: tangent_kernels(model, {"a": x, "b": x}),
    "trace": tangent_trace,
    "signs": lambda model, x: tangent_trace(
        model, x, estimate="signs", generator=torch.Generator()
    ),
}


class Rude(nn.Module):
    """Draws random numbers, overwrites its input and its buffers, and may fail half way."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(5, 4), nn.Linear(4, 3)
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("latest", torch.zeros(()))
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.fails = False

    def forward(self, x: Tensor) -> Tensor:
        torch.rand(3)
        with torch.no_grad():
            self.calls += 1
        self.latest = torch.ones(())
        h = torch.tanh(self.first(x.mul_(0.5)))
        if self.fails:
            raise RuntimeError("half way")
        return self.last(h) * self.scale


def state(model: nn.Module) -> list[object]:
    """Everything that could be touched, by value."""
    return [
        copy.deepcopy(model.state_dict()),
        [module.training for module in model.modules()],
        [(p.grad, p.requires_grad, p._version) for p in model.parameters()],
        [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()],
        [len(m._backward_hooks) for m in model.modules()],
        torch.get_rng_state(),
        torch.is_grad_enabled(),
        torch.backends.cuda.matmul.fp32_precision,
        torch.backends.cudnn.conv.fp32_precision,
    ]


def same(before: object, after: object) -> bool:
    if isinstance(before, Tensor):
        return isinstance(after, Tensor) and torch.equal(before, after)
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(same(before[k], after[k]) for k in before)
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(same, before, after))
    return before == after


@pytest.fixture
def rude() -> tuple[Rude, Tensor]:
    torch.manual_seed(0)
    model = Rude()
    model.first.weight.grad = torch.ones(4, 5)
    return model, torch.randn(4, 5)


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_nothing_changes(name: str, rude: tuple[Rude, Tensor]) -> None:
    model, inputs = rude
    before, values = state(model), inputs.clone()
    MEASUREMENTS[name](model, inputs)
    assert same(before, state(model))
    assert torch.equal(inputs, values)


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_nothing_changes_when_the_forward_raises(name: str, rude: tuple[Rude, Tensor]) -> None:
    model, inputs = rude
    model.fails = True
    before = state(model)
    with pytest.raises(UserError, match=r"layer Rude: .*half way"):
        MEASUREMENTS[name](model, inputs)
    assert same(before, state(model))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_any_grad_mode(mode: Callable[[], object], rude: tuple[Rude, Tensor]) -> None:
    model, inputs = rude
    expected = tangent_kernel(model, inputs)
    with mode():
        fresh = inputs.clone()
        assert torch.equal(tangent_kernel(model, fresh).gram, expected.gram)
        assert tangent_trace(model, fresh) == tangent_trace(model, inputs)


def test_autocast_is_off_inside(rude: tuple[Rude, Tensor]) -> None:
    model, inputs = rude
    expected = tangent_kernel(model, inputs).gram
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(tangent_kernel(model, inputs).gram, expected)


def test_gradients_of_inputs_are_not_followed(rude: tuple[Rude, Tensor]) -> None:
    model, inputs = rude
    expected = tangent_kernel(model, inputs).gram
    kernel = tangent_kernel(model, inputs.clone().requires_grad_())
    assert torch.equal(kernel.gram, expected) and not kernel.gram.requires_grad


def test_twenty_calls_leak_nothing() -> None:
    model, inputs = built("bilinear")

    def tensors() -> int:
        gc.collect()
        return sum(type(thing) in (Tensor, nn.Parameter) for thing in gc.get_objects())

    tangent_kernel(model, inputs)
    tangent_trace(model, inputs)
    before = tensors()
    for _ in range(20):
        tangent_kernel(model, inputs)
        tangent_trace(model, inputs)
    assert tensors() <= before


def test_memory_is_free_without_the_garbage_collector() -> None:
    """Reference cycles would keep the activations of every call until a collection."""
    model, inputs = built("residual, batch norm, zero scale")
    tangent_kernel(model, inputs)
    gc.collect()
    gc.disable()
    try:
        tangent_kernel(model, inputs)
        tensors = (thing for thing in gc.get_objects() if type(thing) is Tensor)
        assert not [tensor for tensor in tensors if tensor.grad_fn is not None]
    finally:
        gc.enable()


@pytest.mark.parametrize("measure", MEASUREMENTS)
def test_a_layer_that_stands_in_two_places_keeps_its_weights(measure: str) -> None:
    layer = nn.Linear(5, 5)
    model, x = nn.Sequential(layer, nn.Tanh(), layer), torch.randn(4, 5)
    weight = layer.weight
    MEASUREMENTS[measure](model, x)
    assert layer.weight is weight and weight.requires_grad
