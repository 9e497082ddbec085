"""What is right for the first examples of a batch may be wrong for the others, or added twice."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from ntkexp.tangent import tangent_kernel, tangent_trace
from ntkexp.tangent.factors import Direct, Outer
from ntkexp.tangent.kernel import add_layer
from ntkexp.tangent.memory import Workspace
from ntkexp.tangent.positions import Columns
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels


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


class Sorting(nn.Module):
    """Rows stand in the order of their first number inside."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        order = x[:, 0].argsort()
        head: Tensor = self.b(torch.tanh(self.a(x[order])))[order.argsort()]
        return head


def test_an_order_that_the_first_examples_do_not_show() -> None:
    """Of every new batch it is found out anew, for the first batch was in order."""
    torch.manual_seed(0)
    model, inputs = Sorting().double(), torch.randn(6, 4, dtype=torch.float64)
    for first in ([0, 1, 2, 3, 4, 5], [0, 1, 4, 3, 2, 5], [0, 1, 2, 3, 5, 4]):
        inputs[:, 0] = torch.tensor(first)
        truth = torch.stack([*layer_kernels(jacobian(model, inputs)).values()]).sum(0)
        assert distance(tangent_kernel(model, inputs).gram, truth) < 1e-12
        assert torch.isclose(tangent_trace(model, inputs), truth.trace())


class Distances(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Parameter(torch.randn(5, 3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cdist(x, self.p)


def test_a_wrong_derivative_of_vmap_is_not_taken() -> None:
    """vmap's is wrong in torch 2.13; the kernel is autograd's, whatever vmap says."""
    torch.manual_seed(0)
    model, inputs = Distances().double(), torch.randn(4, 3, dtype=torch.float64)
    rows = jacobian(model, inputs)["p"]
    assert distance(tangent_kernel(model, inputs).gram, rows @ rows.t()) < 1e-12
    if torch.__version__.startswith("2.13"):

        def one(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
            found: Tensor = functional_call(model, parameters, (x[None],))[0]
            return found

        given = {"p": model.p.detach()}
        theirs = vmap(jacrev(one), (None, 0))(given, inputs)["p"].flatten(0, 1).flatten(1)
        assert distance(theirs, rows) > 0.1
