"""What is kept of a module from one request to the next never lets a coupling through."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent import features, independence, tangent_kernel
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels

ENCLOSED: dict[str, bool] = {}


class Options:
    def __init__(self) -> None:
        self.mixes, self.deeper = False, [{"mixes": False}]


class Mixing(nn.Module):
    """x plus a part of the mean of the batch, once something says so."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)
        self.switch = nn.Parameter(torch.tensor(-0.5))
        self.gate = nn.Parameter(torch.tensor(0.5))
        self.mixes, self.options = False, Options()

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.tanh(self.first(x))
        if self.mixes or self.options.mixes or self.options.deeper[0]["mixes"]:
            hidden = hidden + 0.1 * hidden.mean(0)
        if self.switch > 0 or ENCLOSED:
            hidden = hidden + self.gate * hidden.mean(0)
        return self.last(hidden) + 0 * self.gate * self.switch  # type: ignore[no-any-return]


class Mean(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 0.1 * x.mean(0)


def _mean_hook(module: object, args: object, output: Tensor) -> Tensor:
    return output + 0.1 * output.mean(0)


def _mixed(self: Mixing, x: Tensor) -> Tensor:
    return self.last(Mean()(self.first(x)))  # type: ignore[no-any-return]


def _set_weight(net: Mixing) -> None:
    net.switch.data.fill_(0.5)


CHANGES: dict[str, Callable[[Mixing], object]] = {
    "an attribute": lambda net: setattr(net, "mixes", True),
    "an attribute of an attribute": lambda net: setattr(net.options, "mixes", True),
    "a value in a list in it": lambda net: net.options.deeper[0].update(mixes=True),
    "a weight that decides": _set_weight,
    "what a function encloses": lambda net: ENCLOSED.update(mixes=True),
    "a hook": lambda net: net.last.register_forward_hook(_mean_hook),
    "a global hook": lambda net: nn.modules.module.register_module_forward_hook(_mean_hook),
    "another submodule": lambda net: setattr(net, "first", nn.Sequential(net.first, Mean())),
    "a forward of its own": lambda net: setattr(net, "forward", lambda x: _mixed(net, x)),
}


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    ENCLOSED.clear()
    nn.modules.module._global_forward_hooks.clear()


def known(net: nn.Module | None = None) -> tuple[Mixing, Tensor]:
    """A network of which so much is kept that another call does not look with care."""
    torch.manual_seed(0)
    net, inputs = (net or Mixing()).double(), torch.randn(6, 3).double()
    tangent_kernel(net, inputs)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("check_independent", "_measured", "Truth"):
            patch.setattr(features, name, _unwanted)
        tangent_kernel(net, inputs)
    return net, inputs  # type: ignore[return-value]


def _unwanted(*args: object) -> None:
    raise AssertionError("looked at anew")


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_after_the_first_call_is_caught(name: str) -> None:
    net, inputs = known()
    CHANGES[name](net)
    for outputs in (None, lambda f: f[:, 0]):
        with pytest.raises(UserError, match="couples the examples"):
            tangent_kernel(net, inputs, outputs=outputs)


def test_a_patched_class_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    net, inputs = known()
    monkeypatch.setattr(Mixing, "forward", _mixed)
    with pytest.raises(UserError, match="couples the examples"):
        tangent_kernel(net, inputs)


@pytest.mark.parametrize("make", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_copy_has_nothing_kept(make: Callable[[Mixing], Mixing]) -> None:
    net, inputs = known()
    other = make(net)
    other.mixes = True
    with pytest.raises(UserError, match="couples the examples"):
        tangent_kernel(other, inputs)
    assert distance(tangent_kernel(net, inputs).gram, tangent_kernel(net, inputs).gram) == 0


class Shifted(nn.Module):
    """x plus a gate times x, whose first numbers may come from other rows, in the same graph."""

    def __init__(self, *gate: float) -> None:
        super().__init__()
        self.gate, self.last = nn.Parameter(torch.tensor(gate)), nn.Linear(3, 2)
        self.shift, self.turn = torch.zeros(1, dtype=torch.long), 0

    def forward(self, x: Tensor) -> Tensor:
        moved = x.clone()
        moved[:, 0] = x[:, 0].roll(int(self.shift) + self.turn + len(ENCLOSED), 0)
        gated = self.gate * moved
        gated = gated * 1.0 if ENCLOSED else gated
        return self.last(x + gated)  # type: ignore[no-any-return]


SHIFTS: dict[str, tuple[tuple[float, ...], Callable[[Shifted], object]]] = {
    "the outputs show it": ((0.5, 0.5, 0.5), lambda net: net.shift.add_(1)),
    "behind a gate of zeros": ((0.0, 0.0, 0.0), lambda net: net.shift.add_(1)),
    "an attribute shows it": ((0.0, 0.5, 0.5), lambda net: setattr(net, "turn", 1)),
    "the graph shows it": ((0.0, 0.5, 0.5), lambda net: ENCLOSED.update(mixes=True)),
}


@pytest.mark.parametrize("name", SHIFTS)
def test_other_rows_in_the_same_operations_are_caught(name: str) -> None:
    gate, change = SHIFTS[name]
    net, inputs = Shifted(*gate).double(), torch.randn(6, 3).double()
    tangent_kernel(net, inputs)
    change(net)
    with pytest.raises(UserError, match="couples the examples"):
        tangent_kernel(net, inputs)


def test_random_numbers_are_found_at_the_second_call() -> None:
    """Those of dropout, which is in the graph all the time and seldom drops anything."""
    p = [0.0]

    class Drops(Mixing):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(nn.functional.dropout(x, p[0]) if p[0] else x * torch.ones(()))

    net, inputs = known(Drops())
    p[0] = 1e-3
    with pytest.raises(UserError, match="draws random numbers"):
        tangent_kernel(net, inputs)


def test_two_choices_of_outputs_in_turns_are_both_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    net, inputs = known()
    kernels = [tangent_kernel(net, inputs, outputs=[c]).gram for c in (0, 1)]
    monkeypatch.setattr(features, "check_independent", _unwanted)
    for c in (0, 1):
        assert torch.equal(tangent_kernel(net, inputs, outputs=[c]).gram, kernels[c])


def test_kernels_of_later_calls_are_exact() -> None:
    net, inputs = known()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.01
    inputs = inputs.flip(0)[:5]
    truth = layer_kernels(jacobian(net, inputs))
    kernel = tangent_kernel(net, inputs)
    assert distance(kernel.gram, torch.stack([*truth.values()]).sum(0)) < 1e-12
    net.first.requires_grad_(False)
    assert set(tangent_kernel(net, inputs).layers) == {"", "last"}


def test_nothing_outlives_a_module() -> None:
    def asked() -> weakref.ref[nn.Module]:
        net, inputs = known()
        for outputs in (lambda f: f[:, :1] + 0 * net.gate.detach(), None):
            tangent_kernel(net, inputs, outputs=outputs)
        return weakref.ref(net)

    gone = asked()
    gc.collect()
    assert gone() is None


def test_an_attribute_without_weak_references_is_no_obstacle() -> None:
    class Slotted:
        __slots__ = ("mixes",)

    net, inputs = known()
    net.slotted = Slotted()
    first = tangent_kernel(net, inputs).gram
    net.mixes = True
    with pytest.raises(UserError, match="couples the examples"):
        tangent_kernel(net, inputs)
    net.mixes = False
    assert torch.equal(tangent_kernel(net, inputs).gram, first)


def test_a_warning_comes_at_every_call() -> None:
    net, inputs = known()
    net.mixes = True
    for _ in range(3):
        with pytest.warns(UserWarning, match="couples the examples"):
            tangent_kernel(net, inputs, check="warn")


def test_a_check_of_another_kind_is_refused_at_every_call() -> None:
    net, inputs = known()
    for _ in range(2):
        with pytest.raises(UserError, match="'warn' are accepted"):
            tangent_kernel(net, inputs, check="no")  # type: ignore[arg-type]
        tangent_kernel(net, inputs, check=False)
        tangent_kernel(net, inputs[:1])


@pytest.mark.parametrize("n", [4, 5, 9, 30])
def test_the_second_look_puts_every_row_elsewhere(n: int) -> None:
    rows = independence.elsewhere(n)
    assert len(rows) == min(n // 2, 8) == len(set(rows.tolist()))
    assert not (rows == torch.arange(len(rows))).any()
