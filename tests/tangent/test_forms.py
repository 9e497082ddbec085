"""Models that take or return more than one tensor, and batches of one and two."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.tangent import TangentFeatures, pull_back, tangent_kernel, tangent_trace
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels
from tests.tangent.grid.nets import built
from tests.tangent.grid.sequences import SEQUENCES

EXACT = 1e-12


class Masked(nn.Module):
    """The mean of the words that a mask leaves."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 4), nn.Linear(4, 3)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        words = torch.tanh(self.embed(tokens)) * mask.unsqueeze(2)
        found: Tensor = self.head(words.sum(1) / mask.sum(1, keepdim=True))
        return found


class Packed(nn.Module):
    """The same of one tensor, (n, 2, T)."""

    def __init__(self, inner: Masked) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, both: Tensor) -> Tensor:
        found: Tensor = self.inner(both[:, 0], both[:, 1].double())
        return found


def masked() -> tuple[Masked, Tensor, Tensor, Tensor]:
    """A model, tokens, a mask, and the kernel."""
    torch.manual_seed(0)
    model, tokens = Masked().double(), torch.randint(0, 7, (5, 6))
    mask = (torch.rand(5, 6) < 0.6).double()
    mask[:, 0] = 1
    truth = tangent_kernel(Packed(model), torch.stack([tokens, mask.long()], 1)).gram
    return model, tokens, mask, truth


@pytest.mark.parametrize("words", [False, True], ids=["tuple", "dict"])
def test_inputs_may_be_several_tensors(words: bool) -> None:
    model, tokens, mask, truth = masked()
    inputs: Any = {"mask": mask, "tokens": tokens} if words else (tokens, mask)
    features = TangentFeatures(model)
    for _ in range(2):
        assert distance(features.kernel(inputs).gram, truth) < EXACT
    assert distance(tangent_kernel(model, inputs, budget_bytes=4000).gram, truth) < EXACT
    assert torch.isclose(tangent_trace(model, inputs), truth.trace())
    assert pull_back(model, inputs, torch.ones(15).double())["head.bias"].tolist() == [5, 5, 5]
    with pytest.raises(UserError, match="as many examples in each"):
        tangent_kernel(model, (tokens, mask[:3]))
    with pytest.raises(UserError, match=r"tuple or dict of such tensors, is needed, not dict"):
        tangent_kernel(model, {"tokens": "a"})  # type: ignore[dict-item]


RETURNED: dict[str, tuple[Callable[[Tensor], object], Callable[[Any], Tensor]]] = {
    "an object": (lambda f: SimpleNamespace(logits=f, loss=None), lambda o: o.logits),
    "a dict": (lambda f: {"logits": f, "mean": f.mean()}, lambda o: o["logits"]),
    "a tuple": (lambda f: (f, None), lambda o: o[0]),
}


class Returning(nn.Module):
    def __init__(self, wrap: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
        self.bilinear = nn.Bilinear(2, 2, 2).double()  # takes torch.func
        self.wrap = wrap

    def forward(self, x: Tensor) -> object:
        hidden = self.net(x)
        return self.wrap(self.bilinear(hidden, hidden))


@pytest.mark.parametrize("name", RETURNED)
def test_outputs_are_taken_from_whatever_the_model_returns(name: str) -> None:
    wrap, taken = RETURNED[name]
    torch.manual_seed(0)
    model, inputs = Returning(wrap), torch.randn(5, 3).double()
    found = tangent_kernel(model, inputs, outputs=taken)
    model.wrap = lambda f: f
    assert distance(found.gram, tangent_kernel(model, inputs).gram) < EXACT
    model.wrap = wrap
    with pytest.raises(UserError, match="which outputs= may take out of it"):
        tangent_kernel(model, inputs)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("name", SEQUENCES)
def test_one_and_two_examples_take_the_rules_of_three(name: str, n: int) -> None:
    model, inputs = built(name)
    few = tangent_kernel(model, inputs[:n])
    truth = torch.stack([*layer_kernels(jacobian(model, inputs[:n])).values()]).sum(0)
    assert distance(few.gram, truth) < 1e-9
    assert few.fallback == tangent_kernel(model, inputs[:3]).fallback


class Functional(nn.Module):
    """Norms by their functions, as libraries of image networks call them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(2, 4, 3), nn.Linear(4, 3)
        self.batch, self.group = nn.BatchNorm2d(4), nn.GroupNorm(2, 4)
        self.batch.running_mean.normal_()  # type: ignore[union-attr]
        self.batch.running_var.uniform_(0.5, 2)  # type: ignore[union-attr]
        for norm in (self.batch, self.group):
            nn.init.normal_(norm.weight)

    def forward(self, x: Tensor) -> Tensor:
        b, g = self.batch, self.group
        x = self.conv(x)
        x = functional.batch_norm(x, b.running_mean, b.running_var, b.weight, b.bias, eps=b.eps)
        x = functional.group_norm(torch.tanh(x), 2, g.weight, g.bias, g.eps)
        found: Tensor = self.head(torch.tanh(x).mean((2, 3)))
        return found


@pytest.mark.parametrize("n", [1, 2, 5])
def test_norms_by_function_have_their_rule(n: int) -> None:
    torch.manual_seed(0)
    model, inputs = Functional().double().eval(), torch.randn(n, 2, 6, 6).double()
    found = tangent_kernel(model, inputs)
    truth = layer_kernels(jacobian(model, inputs))
    assert found.fallback == []
    assert all(distance(found.layers[name], truth[name]) < EXACT for name in truth)
