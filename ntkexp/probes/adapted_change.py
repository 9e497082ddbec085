"""Of a layer: what its part of the kernel's change is like, and what its inputs could fit alone.

LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of Neural Networks", section 3.2:
the last layer fits what its inputs represent well, and its part of K - K_0 is near the label
kernel; in an earlier layer the principal components of the change lie along the features of points
near y = 0. Section 4: the average M is a low-rank perturbation of the identity.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.functional import jvp
from torch.func import functional_call

from ntkexp.probes.adaptation import Adaptation, at, changes, numbers
from ntkexp.results.table import STEP, Table, float64, string
from ntkexp.tangent.average_features import quadrature
from ntkexp.theory.adaptive.kernels import cosine, fifth_means
from ntkexp.theory.float64 import Array, array

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
    assert trained.linear is not None
    y, label = trained.linear, trained.label("residual")
    inputs = inputs_of_layers(at(trained.network, trained.start), trained.inputs)
    for layer, K in changes(trained).items():
        squares = np.sort(np.linalg.eigvalsh(K) ** 2)
        leading = squares[-LEADING:].sum() / squares.sum() if squares.any() else np.nan
        of_layer = (np.nan,) * 3
        if layer in inputs:
            near, far = fifth_means(np.abs(along(trained, layer, points)), np.abs(y))
            of_layer = near / far, left(inputs[layer], y), left(inputs[layer], np.sign(y))
        yield layer, leading, cosine(K, label), *of_layer


def inputs_of_layers(network: nn.Module, inputs: Tensor) -> dict[str, Array]:
    """(n, d) of each layer with a weight: what it is given, a row an example."""
    found: dict[str, Array] = {}
    hooks = [
        module.register_forward_pre_hook(
            lambda _, given, name=name: found.update({name: numbers(given[0].flatten(1))})
        )
        for name, module in network.named_modules()
        if getattr(module, "weight", None) is not None
    ]
    with torch.no_grad():
        network(inputs)
    for hook in hooks:
        hook.remove()
    return found


def along(trained: Adaptation, layer: str, points: int) -> Array:
    """(n,) cosines of the average gradient by a layer's weight with the leading singular direction
    u v^T of the weight's change."""
    ends = dict(trained.network.named_parameters())
    start, end = trained.start[f"{layer}.weight"], ends[f"{layer}.weight"].detach()
    u, _, v = torch.linalg.svd((end - start).flatten(1), full_matrices=False)
    direction = torch.outer(u[:, 0], v[0]).view_as(end)

    def outputs(weight: Tensor, t: float) -> Tensor:
        between = {name: (1 - t) * trained.start[name] + t * ends[name].detach() for name in ends}
        given = {**between, f"{layer}.weight": weight}
        return functional_call(trained.network, given, (trained.inputs,))[:, 0]  # type: ignore[no-any-return]

    projected = np.zeros(len(trained.inputs))
    for t, share in quadrature(trained.rule, points):
        weight = (1 - t) * start + t * end
        moved = jvp(lambda w, t=t: outputs(w, t), weight, direction)[1]  # type: ignore[no-untyped-call]
        projected += share * numbers(moved)
    norms = np.sqrt(np.diag(numbers(trained.average.kernel.layers[layer])))
    return array(np.divide(projected, norms, out=np.zeros_like(norms), where=norms > 0))


def left(inputs: Array, targets: Array) -> float:
    """|targets - inputs b|^2 / |targets|^2 with b by least squares."""
    b = np.linalg.lstsq(inputs, targets, rcond=None)[0]
    return float(np.sum((targets - inputs @ b) ** 2) / np.sum(targets**2))
