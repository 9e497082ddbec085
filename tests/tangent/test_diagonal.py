"""Parts of the kernel that need less memory than the whole, and operators, against the whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import svds
from torch import nn

from ntkexp.errors import UserError
from ntkexp.tangent import (
    summed_kernel,
    tangent_blocks,
    tangent_diagonal,
    tangent_kernel,
    tangent_operator,
    tangent_trace,
)
from tests.tangent.dense_jacobian import jacobian
from tests.tangent.grid.nets import built
from tests.tangent.grid.traps import TRAPS


def whole(model: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """(n, c, n, c) from the dense Jacobian."""
    rows = torch.cat([*jacobian(model, inputs).values()], 1)
    n = len(inputs)
    return (rows @ rows.t()).view(n, -1, n, len(rows) // n)


@pytest.mark.parametrize("name", TRAPS)
@pytest.mark.parametrize("budget_bytes", [None, 200_000])
def test_sums_blocks_and_diagonal_are_those_of_the_whole(
    name: str, budget_bytes: int | None
) -> None:
    model, inputs = built(name)
    truth = whole(model, inputs)
    blocks = torch.stack([truth[i, :, i] for i in range(len(inputs))])
    summed = summed_kernel(model, inputs, budget_bytes=budget_bytes)
    close(summed.gram, truth.diagonal(dim1=1, dim2=3).sum(-1))
    close(torch.stack([*summed.layers.values()]).sum(0), summed.gram)
    close(tangent_blocks(model, inputs, budget_bytes=budget_bytes), blocks)
    diagonal = tangent_diagonal(model, inputs, budget_bytes=budget_bytes)
    close(diagonal, blocks.diagonal(dim1=1, dim2=2))


def close(ours: torch.Tensor, truth: torch.Tensor) -> None:
    assert torch.allclose(ours, truth, rtol=1e-9, atol=1e-10 * truth.abs().max().item())


def many(outputs: int = 40) -> tuple[nn.Module, torch.Tensor]:
    """A network with more outputs than are in memory at once."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, outputs))
    return net.double(), torch.randn(6, 1, 6, 6, dtype=torch.float64)


def test_a_sum_over_many_outputs_between_two_batches_and_its_mean() -> None:
    model, inputs = many()
    cross = tangent_kernel(model, inputs, inputs[:2])
    truth = cross.gram.view(cross.shape).diagonal(dim1=1, dim2=3).sum(-1)
    close(summed_kernel(model, inputs, inputs[:2]).gram, truth)
    close(summed_kernel(model, inputs, inputs[:2], mean=True).gram, truth / 40)
    some = summed_kernel(model, inputs, outputs=[3, 7])
    picked = tangent_kernel(model, inputs, outputs=[3, 7])
    close(some.gram, picked.gram.view(picked.shape).diagonal(dim1=1, dim2=3).sum(-1))


def test_batch_statistics_are_refused_with_the_way_out() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2))
    with pytest.raises(UserError, match=r"couples examples; call model\.eval\(\) first"):
        summed_kernel(model, torch.randn(4, 3))


def test_some_parameters_by_their_names_or_those_of_their_modules() -> None:
    model, inputs = many(3)
    kernel = tangent_kernel(model, inputs)
    first = tangent_kernel(model, inputs, parameters=["0"])
    close(first.gram, kernel.layers["0"])
    both = tangent_kernel(model, inputs, parameters=["3.weight", "3.bias"])
    close(both.gram, kernel.layers["3"])
    assert all(parameter.requires_grad for parameter in model.parameters())
    with pytest.raises(UserError, match=r"of this name in 0, 3; did you mean 3\.weight"):
        tangent_kernel(model, inputs, parameters=["3.wieght"])


def test_tied_weights_are_one_parameter_under_either_name() -> None:
    model, inputs = built("tied to the head")
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    (twice,) = [name for name in names if name not in dict(model.named_parameters())]
    kernel = tangent_kernel(model, inputs, parameters=[twice])
    rows = jacobian(model, inputs)
    first = next(n for n, p in model.named_parameters() if p is model.get_parameter(twice))
    close(kernel.gram, rows[first] @ rows[first].t())


@pytest.mark.parametrize("name", ["in-place ReLU", "norms", "tied to the head"])
def test_the_operator_is_the_jacobian(name: str) -> None:
    model, inputs = built(name)
    rows = torch.cat([*jacobian(model, inputs).values()], 1)
    phi = tangent_operator(model, inputs)
    close(torch.from_numpy(phi @ np.eye(phi.shape[1])), rows)
    close(torch.from_numpy(phi.T @ np.eye(phi.shape[0])), rows.t())
    assert svds(phi, k=2)[1].max() == pytest.approx(torch.linalg.svdvals(rows)[0].item())


def test_an_operator_whose_weights_have_changed_says_so() -> None:
    model, inputs = many(3)
    phi = tangent_operator(model, inputs)
    with torch.no_grad():
        model.get_parameter("3.weight").mul_(2)
    with pytest.raises(UserError, match="make the operator anew"):
        phi.T @ np.ones(phi.shape[0])


def test_a_kernel_is_shown_in_a_line_and_positions_are_told_how_to_go() -> None:
    model, inputs = many(3)
    kernel = tangent_kernel(model, inputs)
    assert repr(kernel) == "TangentKernel(6 x 6 inputs, 3 outputs, 2 layers, torch.float64, cpu)"
    assert float(tangent_trace(model, inputs)) == pytest.approx(kernel.gram.trace().item())
    tokens = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
    with pytest.raises(UserError, match=r"f\.flatten\(1\) takes all of them"):
        tangent_kernel(tokens, torch.zeros(2, 6, dtype=torch.long))
