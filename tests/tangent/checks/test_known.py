"""What was checked once is not checked again, and a net that was altered is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from ntkexp.errors import UserError
from ntkexp.tangent import tangent_kernel, tangent_trace
from ntkexp.tangent.checks.fingerprint import fingerprint
from ntkexp.tangent.gradients import checked
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels

COUPLE = False
STRENGTH = 0.0


def _mixed(x: Tensor) -> Tensor:
    return x + x.roll(1, 0)


def _maybe(x: Tensor) -> Tensor:
    return _mixed(x) if COUPLE else x


class Net(nn.Module):
    """An MLP with a step in the middle that a test may alter."""

    def __init__(self, step: Callable[[Tensor], Tensor] = torch.tanh) -> None:
        super().__init__()
        self.first, self.act, self.last = nn.Linear(3, 6), nn.LeakyReLU(0.1), nn.Linear(6, 2)
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.last(self.step(self.act(self.first(x))))
        return found


class Gated(nn.Module):
    """Couples examples as soon as its gate is open; `how` is a way to mix them."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.linear, self.how = nn.Linear(3, 2), how
        self.gate = nn.Parameter(torch.zeros(()))
        self.register_buffer("mixing", torch.eye(5))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        if self.how == "mean":
            return y + self.gate * y.mean(0)
        if self.how == "attention":
            weights = torch.softmax(y @ y.t(), 1)
            return y + self.gate * (weights @ y)
        if self.how == "statistics":
            return y + self.gate * nn.functional.batch_norm(y, None, None, training=True)
        if self.how == "matrix":
            assert isinstance(self.mixing, Tensor)
            return self.mixing[: len(y), : len(y)] @ y
        if self.how == "row number":
            return y + self.gate * torch.arange(len(y)).unsqueeze(1)
        if self.how == "branch":
            return y + y.mean(0) if self.gate > 0 else y
        assert self.how == "largest"
        return y / torch.clamp(y.abs().amax(), min=1e6 * (1 - float(self.gate.detach())))


def _inputs(n: int = 5) -> Tensor:
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("it was checked again")

    monkeypatch.setattr(checked, "reference_pass", refuse)
    monkeypatch.setattr(checked, "rearranged", refuse)


NETS: dict[str, Callable[[], nn.Module]] = {
    "a chain": lambda: nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2)),
    "a class of one's own": Net,
    "with a function": lambda: Net(lambda x: x * 2),
    "with normalisation": lambda: nn.Sequential(nn.Linear(3, 6), nn.LayerNorm(6), nn.Tanh()),
}


@pytest.mark.parametrize("name", NETS)
def test_a_second_call_checks_nothing(name: str, request: pytest.FixtureRequest) -> None:
    """Also for other weights and inputs: the operations are the same."""
    torch.manual_seed(0)
    model = NETS[name]().double()
    tangent_kernel(model, _inputs().double())
    request.getfixturevalue("no_check")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1
    inputs = _inputs().double().flip(0)
    kernel = tangent_kernel(model, inputs)
    total = torch.stack([*layer_kernels(jacobian(model, inputs)).values()]).sum(0)
    assert distance(kernel.gram, total) < 1e-12
    with pytest.raises(AssertionError, match="checked again"):
        tangent_kernel(model, inputs[:4])


@pytest.mark.parametrize(
    "how", ["mean", "attention", "statistics", "matrix", "row number", "branch", "largest"]
)
def test_a_gate_that_opens_later_is_seen(how: str) -> None:
    torch.manual_seed(0)
    model, inputs = Gated(how), _inputs()
    model.gate.requires_grad_(False)  # its own gradient would be of all examples today
    for _ in range(2):
        tangent_kernel(model, inputs)
        tangent_trace(model, inputs)
    with torch.no_grad():
        model.gate.fill_(1.0)
        assert isinstance(model.mixing, Tensor)
        model.mixing.copy_(model.mixing.roll(1, 0) + torch.eye(5))
    for measure in (tangent_kernel, tangent_trace):
        with pytest.raises(UserError, match="couples"):
            measure(model, inputs)


def _instance_forward(model: Net, _: pytest.MonkeyPatch) -> None:
    model.forward = lambda x: _mixed(Net.forward(model, x))  # type: ignore[method-assign]


def _class_forward(model: Net, patch: pytest.MonkeyPatch) -> None:
    old = Net.forward
    patch.setattr(Net, "forward", lambda self, x: _mixed(old(self, x)))


def _add_hook(model: Net, _: pytest.MonkeyPatch) -> None:
    model.act.register_forward_hook(lambda module, args, output: _mixed(output))


def _replace_layer(model: Net, _: pytest.MonkeyPatch) -> None:
    model.act = Net(_mixed)  # type: ignore[assignment]
    model.act.first, model.act.last = nn.Linear(6, 3), nn.Linear(3, 6)


def _replace_function(model: Net, _: pytest.MonkeyPatch) -> None:
    model.step = _mixed


def _flag(model: Net, patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "COUPLE", True)


def _another_function(model: Net, patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "_maybe", _mixed)


ALTERATIONS: dict[str, Callable[[Net, pytest.MonkeyPatch], None]] = {
    "a forward of its own": _instance_forward,
    "another forward of its class": _class_forward,
    "a hook": _add_hook,
    "another layer": _replace_layer,
    "another function": _replace_function,
    "a global that its code reads": _flag,
    "a function that its code calls": _another_function,
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_net_is_checked_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model, inputs = Net(lambda x: _maybe(torch.tanh(x))), _inputs()
    tangent_kernel(model, inputs)
    tangent_trace(model, inputs)
    ALTERATIONS[name](model, monkeypatch)
    for measure in (tangent_kernel, tangent_trace):
        with pytest.raises(UserError, match="couples"):
            measure(model, inputs)


class Counting(nn.Module):
    """Counts its forwards."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.forwards = nn.Linear(3, 2), 0

    def forward(self, x: Tensor) -> Tensor:
        self.forwards += 1
        found: Tensor = self.linear(x)
        return found


def test_a_net_that_changes_itself_is_not_known() -> None:
    model = Counting()
    for _ in range(2):
        before = model.forwards
        tangent_kernel(model, _inputs())
        assert model.forwards - before > 1


def test_another_slope_is_another_net() -> None:
    torch.manual_seed(0)
    model, inputs = Net().double(), _inputs().double()
    tangent_kernel(model, inputs)
    model.act.negative_slope = 0.9
    total = torch.stack([*layer_kernels(jacobian(model, inputs)).values()]).sum(0)
    assert distance(tangent_kernel(model, inputs).gram, total) < 1e-12


def test_frozen_and_thawed() -> None:
    torch.manual_seed(0)
    model, inputs = Net().double(), _inputs().double()
    whole = tangent_kernel(model, inputs)
    model.first.requires_grad_(False)
    frozen = tangent_kernel(model, inputs)
    assert set(frozen.layers) == {"last"}
    model.first.requires_grad_(True)
    assert torch.equal(tangent_kernel(model, inputs).gram, whole.gram)


def test_functions_of_the_outputs_are_told_apart() -> None:
    """Two that differ in what they enclose alone, and one whose labels are changed in place."""
    torch.manual_seed(0)
    model, inputs = Net().double(), _inputs().double()
    whole = tangent_kernel(model, inputs)
    rows = whole.gram.view(whole.shape)
    for which in (0, 1, 0):
        picked = tangent_kernel(model, inputs, outputs=lambda f, c=which: f[:, c])
        assert distance(picked.gram, rows[:, which, :, which]) < 1e-12
    labels = torch.tensor([0, 1, 1, 0, 1])
    for _ in range(2):
        own = tangent_kernel(model, inputs, outputs=lambda f, i: f.gather(1, labels[i, None]))
        four, place = rows, torch.arange(5)
        expected = four[place[:, None], labels[:, None], place[None], labels[None]]
        assert distance(own.gram, expected) < 1e-12
        labels.copy_(1 - labels)


def test_hooks_of_all_modules_and_unknown_attributes_have_no_fingerprint() -> None:
    model = Net()
    assert fingerprint(model) is not None
    handle = register_module_forward_hook(lambda module, args, output: None)
    assert fingerprint(model) is None
    handle.remove()
    assert fingerprint(model) is not None
    model.thing = object()  # type: ignore[assignment]
    assert fingerprint(model) is None


def test_what_is_known_keeps_no_model_alive() -> None:
    import gc
    import weakref

    model, inputs = Net(), _inputs()
    picked = [lambda f, mine=model: f * float(mine.training)]
    tangent_kernel(model, inputs, outputs=picked[0])
    gone = weakref.ref(model)
    del model, picked
    gc.collect()
    assert gone() is None
