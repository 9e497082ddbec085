"""A trained network with its first weights, and the kernels on the segment between."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp.probes.view import View
from ntkexp.tangent import AverageFeatures, TangentKernel, average_features, tangent_kernel
from ntkexp.tangent.average_features import Rule
from ntkexp.theory.adaptive.kernels import Fit, fit, label_kernel
from ntkexp.theory.float64 import Array, array


@dataclass(frozen=True)
class Adaptation:
    """A trained network, its first weights, and its kernels on some training examples."""

    network: nn.Module
    inputs: Tensor
    start: Mapping[str, Tensor]
    rule: Rule
    average: AverageFeatures
    kernels: Mapping[str, TangentKernel]  # initial, average, final
    outputs_at_start: Array  # (n, c)
    outputs: Array
    targets: Array
    linear: Array | None  # (n,), where targets are numbers

    @classmethod
    def of(
        cls,
        view: View,
        start: Mapping[str, Tensor],
        *,
        examples: int,
        points: int,
        rule: Rule = "linspace",
    ) -> Adaptation:
        network, split = view.network(), view.examples("train")
        inputs, chosen = split.inputs[:examples], split.targets[:examples]
        average = average_features(network, start, inputs, points=points, rule=rule)
        before = at(network, start)
        initial = tangent_kernel(before, inputs)
        final = tangent_kernel(network, inputs)
        with torch.no_grad():
            outputs_at_start, outputs = before(inputs), network(inputs)
        single = chosen.is_floating_point() and chosen.dim() == 1
        return cls(
            network=network,
            inputs=inputs,
            start=start,
            rule=rule,
            average=average,
            kernels={"initial": initial, "average": average.kernel, "final": final},
            outputs_at_start=numbers(outputs_at_start),
            outputs=numbers(outputs),
            targets=numbers(view.objective.label_matrix(chosen)),
            linear=numbers(split.clean_targets[:examples]) if single else None,
        )

    def kernel(self, name: str) -> Array:
        return numbers(self.kernels[name].gram)

    @property
    def residual(self) -> Array:
        """f - f_0, (n, c)."""
        return array(self.outputs - self.outputs_at_start)

    @property
    def task_residual(self) -> Array:
        """sign(y) - alpha y, alpha by least squares: the rest of the sign task (section 3.2)."""
        assert self.linear is not None
        y, sign = self.linear, np.sign(self.linear)
        return array(sign - (sign @ y) / (y @ y) * y)

    def label(self, name: str) -> Array:
        """A label kernel, by name."""
        vectors = {"residual": self.residual, "output": self.outputs, "targets": self.targets}
        return label_kernel(vectors[name])

    def fit(self, label: str, *, linear: bool = False) -> Fit:
        kernels = {"a": self.kernel("initial"), "b": self.label(label)}
        if linear:
            assert self.linear is not None
            kernels["c"] = label_kernel(self.linear)
        return fit(self.kernel("average"), kernels)


def at(network: nn.Module, weights: Mapping[str, Tensor]) -> nn.Module:
    """A copy of the network with other weights."""
    copied = copy.deepcopy(network)
    with torch.no_grad():
        for name, parameter in copied.named_parameters():
            if name in weights:
                parameter.copy_(weights[name])
    return copied


def changes(trained: Adaptation) -> dict[str, Array]:
    """K - K_0, in total and by layer."""
    before, after = trained.kernels["initial"], trained.kernels["average"]
    layers = {
        layer: array(numbers(gram) - numbers(before.layers[layer]))
        for layer, gram in after.layers.items()
    }
    return {"total": array(trained.kernel("average") - trained.kernel("initial")), **layers}


def distance(trained: Adaptation, layer: str | None = None) -> float:
    """The norm of the change of the weights, of one layer or of all."""
    names = [name for name in trained.start if layer is None or name.rpartition(".")[0] == layer]
    ends = dict(trained.network.named_parameters())
    moves = [(ends[name].detach() - trained.start[name]).double() for name in names]
    return float(torch.stack([move.square().sum() for move in moves]).sum().sqrt())


def numbers(values: Tensor) -> Array:
    """A tensor on any device as an array in float64."""
    return array(values.detach().double().cpu().numpy())
