"""An object that holds what it knows of a model: nothing is checked twice, and nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import Interrupted
from ntkexp.progress import Progress, reporting_to
from ntkexp.tangent import TangentFeatures, features
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels

EXACT = 1e-12


def inputs_of(n: int = 5) -> Tensor:
    draws = torch.Generator().manual_seed(0)
    return torch.randn(n, 3, generator=draws, dtype=torch.float64)


def truth(model: nn.Module, inputs: Tensor) -> Tensor:
    return torch.stack([*layer_kernels(jacobian(model, inputs)).values()]).sum(0)


def test_a_kernel_in_blocks_tells_how_far_it_is_and_may_be_stopped_there() -> None:
    model, told = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2)).double(), list[int]()
    features, x = TangentFeatures(model, budget_bytes=2000), inputs_of(20)

    def stopping(task: Progress) -> None:
        told.append(task.done)
        if len(told) == 3:
            raise Interrupted

    for other in (None, x):
        with pytest.raises(Interrupted), reporting_to(stopping):
            features.kernel(x, other)
        assert len(told) == 3
        told.clear()
    assert distance(features.kernel(x).gram, truth(model, x)) < EXACT


@pytest.fixture
def no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("it was checked again")

    for name in ("Truth", "check_independent", "few_of"):
        monkeypatch.setattr(features, name, refuse)


class Own(nn.Module):
    """An MLP of one's own."""

    def __init__(self, step: Callable[[Tensor], Tensor] = torch.tanh) -> None:
        super().__init__()
        self.first, self.act, self.last = nn.Linear(3, 6), nn.LeakyReLU(0.1), nn.Linear(6, 2)
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.last(self.step(self.act(self.first(x))))
        return found


NETS: dict[str, Callable[[], nn.Module]] = {
    "ReLU": lambda: nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2)),
    "a class of one's own": Own,
    "with a function": lambda: Own(lambda x: x * 2),
    "with normalisation": lambda: nn.Sequential(nn.Linear(3, 6), nn.LayerNorm(6), nn.Tanh()),
}


@pytest.mark.parametrize("name", NETS)
def test_a_second_call_checks_nothing(name: str, request: pytest.FixtureRequest) -> None:
    """Also for other weights and inputs: the operations are the same."""
    torch.manual_seed(0)
    model = NETS[name]().double()
    known = TangentFeatures(model)
    known.kernel(inputs_of())
    request.getfixturevalue("no_check")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1
    inputs = inputs_of().flip(0)
    kernel = known.kernel(inputs)
    assert distance(kernel.gram, truth(model, inputs)) < EXACT
    assert torch.isclose(known.trace(inputs), kernel.gram.trace())
    with pytest.raises(AssertionError, match="checked again"):
        known.kernel(inputs.float())  # another form


def test_the_examples_are_looked_at_once_for_each_form(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def look(function: object, batch: Tensor, *rest: object) -> None:
        looked.append(len(batch))

    monkeypatch.setattr(features, "check_independent", look)
    known = TangentFeatures(Own().double())
    # One example shows nothing.
    for n in (1, 1, 4, 9, 4):
        known.kernel(inputs_of(n))
    assert looked == [1, 1, 4]


class Experts(nn.Module):
    """Each example goes to the expert that its first number chooses."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(3, 2) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        order = torch.argsort((x[:, 0] > 0).long(), stable=True)
        split = int((x[:, 0] <= 0).sum())
        y = torch.cat([self.experts[0](x[order[:split]]), self.experts[1](x[order[split:]])])
        return torch.zeros_like(y).index_copy(0, order, y)


def test_rows_may_stand_in_another_order_in_the_next_call() -> None:
    torch.manual_seed(0)
    model = Experts().double()
    known = TangentFeatures(model)
    for seed in range(6):
        inputs = torch.randn(6, 3, generator=torch.Generator().manual_seed(seed)).double()
        assert distance(known.kernel(inputs).gram, truth(model, inputs)) < EXACT


def test_frozen_and_thawed() -> None:
    torch.manual_seed(0)
    model, inputs = Own().double(), inputs_of()
    known = TangentFeatures(model)
    whole = known.kernel(inputs)
    model.first.requires_grad_(False)
    assert set(known.kernel(inputs).layers) == {"last"}
    model.first.requires_grad_(True)
    assert torch.equal(known.kernel(inputs).gram, whole.gram)
