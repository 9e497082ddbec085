"""A gradient divided by Kronecker factors is the solution of dense equations."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from ntkexp.curvature.division import (
    Inverse,
    Matrices,
    Product,
    Rescaling,
    factored,
    gradients_of,
    layouts_of,
)
from ntkexp.curvature.kron import Layout, outer_of, pieces
from tests.curvature.test_kron import LAYERS, N, layer_and_gradients, parts_of

DAMPING = 0.3


def of_pieces(name: str, sua: bool) -> list[tuple[Layout, Tensor, Rescaling, Inverse]]:
    """Of every piece: the gradient of each example (n, G, S, O, K), and both divisions."""
    layer, outer, rows = layer_and_gradients(name)
    layouts, krons = layouts_of(layer, sua), factored(outer, sua)
    assert layouts == [Layout.of(piece, sua) for piece in pieces(outer, sua)]
    return [
        (layout, layout.matrices(part), Rescaling.of(kron, DAMPING, spread=True), inverse)
        for layout, part, kron in zip(layouts, parts_of(rows, layouts), krons, strict=True)
        for inverse in [Inverse.of(kron, DAMPING)]
    ]


def dense(left: Tensor, right: Tensor) -> Tensor:
    """(O K, O K) of vec(L G R), for symmetric L and R."""
    return torch.kron(left.contiguous(), right.contiguous())


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("sua", [False, True])
def test_damped_factors_are_one_matrix_by_either_way(name: str, sua: bool) -> None:
    """(A + e)(B + e) is what its eigenvalues say it is (A.4 of the thesis)."""
    for (layout, rows, rescaling, inverse), kron in zip(
        of_pieces(name, sua), factored(layer_and_gradients(name)[1], sua), strict=True
    ):
        gradient = rows.mean(0)
        direction, squared_length = inverse.solve(Matrices(gradient))
        other, other_length = rescaling.solve(Matrices(gradient))
        torch.testing.assert_close(other, direction)
        torch.testing.assert_close(other_length, squared_length)
        root, spread = math.sqrt(DAMPING), math.sqrt(kron.positions)
        lengths = 0.0
        for group in range(layout.groups):
            a, b = (
                spread * m.mean()[group] + root * torch.eye(m.mean().shape[1], dtype=rows.dtype)
                for m in (kron.a, kron.b)
            )
            for offset in range(layout.offsets):
                g = gradient[group, offset].flatten()
                expected = torch.linalg.solve(dense(b, a), g)
                torch.testing.assert_close(direction[group, offset].flatten(), expected)
                lengths += float(g @ expected)
        assert float(squared_length) == pytest.approx(lengths)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("sua", [False, True])
def test_moments_of_single_examples_stand_in_the_eigenbasis(name: str, sua: bool) -> None:
    """Of another batch than the basis: scale is E[(U^T g)^2], and the matrix is dense in U."""
    layer, *_ = layer_and_gradients(name)
    now = outer_of(layer, *(torch.randn_like(x) for x in inputs_and_gradients(name)))
    for (layout, _, rescaling, _), piece in zip(
        of_pieces(name, sua), pieces(now, sua), strict=True
    ):
        rows = layout.matrices(piece.jacobian().flatten(1) if not piece.bias else whole(piece))
        rescaling.added.fill_(DAMPING)
        gradient = rows.mean(0)
        given = Product.of(layout, piece) if name == "linear" else Matrices(gradient)
        direction, squared_length = rescaling.solve_batch(given, layout, piece)
        expected = torch.zeros_like(gradient)
        for group in range(layout.groups):
            basis = dense(rescaling.b[group], rescaling.a[group])
            for offset in range(layout.offsets):
                own = rows[:, group, offset].flatten(1) @ basis
                scale = own.square().mean(0)
                torch.testing.assert_close(rescaling.scale[group, offset].flatten(), scale)
                matrix = basis @ torch.diag(scale + DAMPING) @ basis.T
                solved = torch.linalg.solve(matrix, gradient[group, offset].flatten())
                expected[group, offset] = solved.view_as(expected[group, offset])
        torch.testing.assert_close(direction, expected)
        torch.testing.assert_close(squared_length, (gradient * expected).sum())


def inputs_and_gradients(name: str) -> tuple[Tensor, Tensor]:
    make, shape = LAYERS[name]
    x = torch.randn(N, *shape, dtype=torch.float64)
    return x, make().double()(x)


def whole(piece: object) -> Tensor:
    """(n, p): the gradients by weight and bias, side by side."""
    v, u = piece.v[:, 0], piece.u  # type: ignore[attr-defined]
    weights = piece.jacobian()[:, 0]  # type: ignore[attr-defined]
    assert u.groups == v.shape[1]
    return torch.cat([weights, v.sum(-1).flatten(1)], 1)


def test_a_running_mean_starts_from_the_products_and_takes_squares_of_whole_batches() -> None:
    _, rows, rescaling, _ = of_pieces("linear", sua=False)[0]
    scale, gradient = rescaling.scale.clone(), rows.mean(0)
    coordinates = rescaling.b.mT @ gradient[0, 0] @ rescaling.a
    for _ in range(2):
        direction, _ = rescaling.solve_running(Matrices(gradient), N, decay=0.75)
        scale = 0.75 * scale + 0.25 * N * coordinates.square()
        torch.testing.assert_close(rescaling.scale, scale)
    divided = coordinates / (scale + rescaling.added)
    torch.testing.assert_close(direction, rescaling.b @ divided @ rescaling.a.mT)


@pytest.mark.parametrize("count", [2, 30])
def test_a_product_is_divided_by_its_factors_or_as_a_whole(count: int) -> None:
    torch.manual_seed(0)
    v, u, left, right = (
        torch.randn(*size, dtype=torch.float64)
        for size in ((4, count), (5, count), (1, 4, 4), (1, 5, 5))
    )
    expected = left[0] @ v @ u.T @ right[0]
    torch.testing.assert_close(Product(v, u).between(left, right)[0, 0], expected)


@pytest.mark.parametrize("sua", [False, True])
@pytest.mark.parametrize(
    "layer", [nn.Linear(4, 3), nn.Conv2d(4, 6, 3, groups=2), nn.Conv1d(4, 6, 3)]
)
def test_gradients_keep_their_shapes(layer: nn.Module, sua: bool) -> None:
    parts = [torch.randn_like(part) for part in layer.parameters()]
    layouts = layouts_of(layer, sua)
    shared = [parts] if len(layouts) == 1 else [[part] for part in parts]
    for layout, some in zip(layouts, shared, strict=True):
        back = gradients_of(layout, Matrices.of(layout, some).values, some)
        assert all(torch.equal(one, other) for one, other in zip(back, some, strict=True))
