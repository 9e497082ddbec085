"""Kronecker factors and their eigenbasis equal what per-example gradients of autograd give."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ntkexp.curvature.kron import Kronecker, Layout, Moment, outer_of, pieces
from ntkexp.errors import UserError
from ntkexp.tangent.factors import Outer
from ntkexp.tangent.positions import everything

LAYERS = {
    "linear": (lambda: nn.Linear(5, 3), (5,)),
    "linear without bias": (lambda: nn.Linear(5, 3, bias=False), (5,)),
    "words": (lambda: nn.Linear(4, 3), (6, 4)),
    "convolution": (lambda: nn.Conv2d(2, 3, 3, stride=2, padding=1), (2, 6, 6)),
    "convolution of groups": (lambda: nn.Conv2d(4, 6, (3, 2), groups=2), (4, 7, 6)),
    "convolution of few positions": (lambda: nn.Conv2d(2, 3, 2, dilation=2), (2, 3, 4)),
}
N = 7


def layer_and_gradients(name: str) -> tuple[nn.Module, Outer, Tensor]:
    """A layer, its factor, and the gradient of every example, (n, p), by autograd."""
    torch.manual_seed(0)
    make, shape = LAYERS[name]
    layer, x = make().double(), torch.randn(N, *shape, dtype=torch.float64)
    outputs = layer(x)
    g = torch.randn_like(outputs)
    rows = [
        torch.cat([part.flatten() for part in grads])
        for out, weights in zip(outputs, g, strict=True)
        for grads in [torch.autograd.grad(out, [*layer.parameters()], weights, retain_graph=True)]
    ]
    return layer, outer_of(layer, x, g), torch.stack(rows)


def parts_of(rows: Tensor, layouts: list[Layout]) -> list[Tensor]:
    sizes = [layout.rows(torch.zeros(layout.shape)).numel() for layout in layouts]
    return [*rows.split(sizes, 1)]


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("sua", [False, True])
def test_squares_in_the_basis_are_those_of_each_examples_gradient(name: str, sua: bool) -> None:
    _, outer, rows = layer_and_gradients(name)
    split = pieces(outer, sua)
    layouts = [Layout.of(piece, sua) for piece in split]
    for piece, layout, part in zip(split, layouts, parts_of(rows, layouts), strict=True):
        kron = Kronecker(layout)
        kron.add(piece)
        basis = kron.basis()
        projected = basis.to(layout.matrices(part))
        torch.testing.assert_close(basis.squares(piece), projected.square().sum(0))
        torch.testing.assert_close(layout.rows(basis.back(projected)), part)


@pytest.mark.parametrize("name", LAYERS)
def test_the_factors_are_means_over_examples_and_positions(name: str) -> None:
    _, outer, rows = layer_and_gradients(name)
    layout = Layout.of(outer)
    kron = Kronecker(layout)
    kron.add(outer)
    ones = torch.ones(N, *outer.u.shape[1:2], 1, outer.u.shape[3]).double()
    u = torch.cat([everything(outer.u), ones][: 1 + bool(outer.bias)], 2)
    v = outer.v[:, 0]
    positions = u.shape[3]
    a = torch.einsum("ngkd,ngld->gkl", u, u) / (N * positions)
    b = torch.einsum("ngod,ngpd->gop", v, v) / (N * positions)
    torch.testing.assert_close(kron.a.mean(), a)
    torch.testing.assert_close(kron.b.mean(), b)
    assert kron.positions == positions
    matrices = layout.matrices(rows)
    torch.testing.assert_close(
        kron.a.times(matrices), torch.einsum("ngsok,gkl->ngsol", matrices, a)
    )


def test_the_sum_of_outer_products_is_the_gradient() -> None:
    for name in LAYERS:
        _, outer, rows = layer_and_gradients(name)
        weights = outer.jacobian()[:, 0]
        torch.testing.assert_close(weights, rows[:, : weights.shape[1]])


def test_few_vectors_have_the_eigenvectors_of_their_matrix() -> None:
    torch.manual_seed(0)
    columns = torch.randn(2, 9, 3, dtype=torch.float64)
    few, many = Moment(), Moment()
    few.add(columns)
    many.add(torch.cat([columns] * 3, 2))  # too many to be kept as they are
    torch.testing.assert_close(few.mean(), many.mean())
    values, vectors, rank = few.eigen()
    assert rank == 3
    assert not values[:, 3:].any()
    torch.testing.assert_close((vectors * values[:, None]) @ vectors.mT, many.mean())
    torch.testing.assert_close(vectors.mT @ vectors, torch.eye(9).double().expand(2, 9, 9))


def test_spread_damping_is_that_of_both_factors() -> None:
    """(A + e)(B + e) for the roots of T A x B, e the root of the damping."""
    _, outer, _ = layer_and_gradients("words")
    kron = Kronecker(Layout.of(outer))
    kron.add(outer)
    basis = kron.basis()
    root, positions = 0.3, kron.positions**0.5
    a, b = positions * basis.a_values + root, positions * basis.b_values + root
    both = basis.products() + basis.spread(root**2)
    torch.testing.assert_close(both[:, 0], b[:, :, None] * a[:, None])


def test_layers_without_factors_and_factors_that_are_not_finite_are_refused() -> None:
    with pytest.raises(UserError, match="GroupNorm: has no Kronecker factors; expected linear"):
        outer_of(nn.GroupNorm(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    moment = Moment()
    moment.add(torch.full((1, 2, 3), float("nan")))
    with pytest.raises(UserError, match="not finite"):
        moment.eigen()
