"""Of a layer: what its part of the kernel's change is like, and what its inputs could fit alone.

LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of Neural Networks", section 3.2:
the last layer's part of K - K_0 is near the label kernel; in an earlier layer the components of the
change lie along the features of points near y = 0. Section 4: M - I is of low rank.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp.probes.adaptation import Adaptation, at, changes, numbers
from ntkexp.results.table import STEP, Table, float64, string
from ntkexp.tangent.average_features import quadrature
from ntkexp.theory.adaptive.kernels import cosine, fifth_means
from ntkexp.theory.float64 import Array, array
from ntkexp.transforms.linearise import Linearised

LEADING = 5  # eigenvalues of a change that are counted

CHANGE = Table(
    "adapted_change",
    "a layer's part of K - K_0, and what the layer's inputs at the start leave of the targets; for "
    "networks of one output with numbers as targets",
    {
        "step": STEP,
        "layer": string("`total`, or the name of a module"),
        "leading": float64(f"share of |K - K_0|_F^2 in its {LEADING} largest eigenvalues"),
        "with_label": float64("cosine of K - K_0 with the label kernel of f - f_0"),
        "near_zero": float64(
            "|cosine| of an example's average gradient with the leading singular direction of the "
            "change of weights: mean over the fifth with the least |y| over that with the largest"
        ),
        "left_of_linear": float64("share of |y|^2 that least squares on its inputs leave"),
        "left_of_sign": float64("the same of sign(y)"),
    },
)


def of_change(trained: Adaptation, points: int) -> Iterable[tuple[object, ...]]:
    for layer, K in changes(trained).items():
        squares = np.sort(np.linalg.eigvalsh(K) ** 2)
        leading = squares[-LEADING:].sum() / squares.sum() if squares.any() else np.nan
        own = (np.nan,) * 3 if layer == "total" else of_layer(trained, layer, points)
        yield layer, leading, cosine(K, trained.label("residual")), *own


def of_layer(trained: Adaptation, layer: str, points: int) -> tuple[float, ...]:
    assert trained.linear is not None
    near, far = fifth_means(np.abs(along(trained, layer, points)), np.abs(trained.linear))
    z = given(at(trained.network, trained.start), layer, trained.inputs)
    return near / far if far else np.nan, left(z, trained.linear), left(z, np.sign(trained.linear))


def along(trained: Adaptation, layer: str, points: int) -> Array:
    """(n,) cosines of the average gradient by a layer's weight with the leading singular direction
    u v^T of the weight's change."""
    name, ends = f"{layer}.weight", dict(trained.network.named_parameters())
    u, _, v = torch.linalg.svd((ends[name].detach() - trained.start[name]).flatten(1))
    direction = torch.outer(u[:, 0], v[0]).view_as(ends[name])
    projected = np.zeros(len(trained.inputs))
    for t, share in quadrature(trained.rule, points):
        between = {key: (1 - t) * trained.start[key] + t * ends[key].detach() for key in ends}
        linear = Linearised(at(trained.network, between), keeps_start=False)
        linear.move_to({name: direction})
        with torch.no_grad():
            projected += share * numbers(linear(trained.inputs)[:, 0])
    norms = np.sqrt(np.diag(numbers(trained.average.kernel.layers[layer])))
    return array(np.divide(projected, norms, out=np.zeros_like(norms), where=norms > 0))


def given(network: nn.Module, layer: str, inputs: Tensor) -> Array:
    """(n, d): what a layer of a copied network is given, a row an example."""
    found: list[Tensor] = []
    network.get_submodule(layer).register_forward_pre_hook(lambda _, x: found.append(x[0]))
    with torch.no_grad():
        network(inputs)
    return numbers(found[0].flatten(1))


def left(inputs: Array, targets: Array) -> float:
    """|targets - inputs b|^2 / |targets|^2 with b by least squares."""
    b = np.linalg.lstsq(inputs, targets, rcond=None)[0]
    return float(np.sum((targets - inputs @ b) ** 2) / np.sum(targets**2))
