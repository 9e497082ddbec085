"""How much of a network's spectrum is left when its weights are pushed in random directions.

Experiment 2 of "On the Spectral Bias of Neural Networks": theta = theta* + delta u with u uniform
on the unit sphere of all parameters, 100 draws of u for each delta.

ntkexp train +exp=spectral/robustness
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp.options import count, each, option, positive
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64
from ntkexp.seeds import generator
from ntkexp.tangent.function import called_with
from ntkexp.theory.spectral.dft import coefficients

PERTURBED_SPECTRUM = Table(
    "perturbed_spectrum",
    "the Fourier coefficient of a network with perturbed weights at one frequency, beside that "
    "without; means over directions",
    {
        "step": STEP,
        "delta": float64("length of the perturbation of all parameters together"),
        "k": int64("frequency: oscillations over all points"),
        "magnitude": float64("mean of |f~_k|, over |f~_k| of the trained network"),
        "residual": float64("mean of |f~_k - f~*_k|, over the same"),
    },
)


@dataclass
class PerturbedSpectrum(Probe):
    """Looks at the end alone."""

    tables = (PERTURBED_SPECTRUM,)
    needs = frozenset({"network", "examples"})
    looks_at = frozenset()
    tiny: ClassVar = {"directions": 3}

    frequencies: list[int] = option([*range(10, 51, 5)], each(count("oscillations")), "to measure")
    deltas: list[float] = option([0.01, 0.1, 1.0], each(positive(1e6)), "how far weights go")
    directions: int = option(100, count("directions"), "random directions for each delta")

    def measure(self, view: View) -> Rows:
        if not view.last:
            return {}
        inputs, network = view.examples("train").inputs, view.network()
        weights = {name: w.detach() for name, w in network.named_parameters()}
        k = np.array([k for k in self.frequencies if k <= len(inputs) // 2], dtype=int)
        trained = spectrum(network, weights, inputs, k)
        magnitudes = np.zeros((len(self.deltas), len(k)))
        residuals = np.zeros_like(magnitudes)
        for number in range(self.directions):
            u = direction(weights, generator(view.seed, "perturbation", number))
            for row, delta in enumerate(self.deltas):
                moved = {name: w + delta * u[name] for name, w in weights.items()}
                f = spectrum(network, moved, inputs, k)
                magnitudes[row] += np.abs(f) / np.abs(trained) / self.directions
                residuals[row] += np.abs(f - trained) / np.abs(trained) / self.directions
        return {
            "perturbed_spectrum": {
                "delta": np.repeat(self.deltas, len(k)),
                "k": np.tile(k, len(self.deltas)),
                "magnitude": magnitudes.ravel(),
                "residual": residuals.ravel(),
            }
        }


def direction(weights: Mapping[str, Tensor], draws: torch.Generator) -> dict[str, Tensor]:
    """A unit vector of all parameters, uniform on the sphere."""
    drawn = {name: torch.randn(w.shape, generator=draws) for name, w in weights.items()}
    length = torch.stack([part.square().sum() for part in drawn.values()]).sum().sqrt()
    return {name: (part / length).to(weights[name]) for name, part in drawn.items()}


@torch.no_grad()
def spectrum(
    network: nn.Module, weights: Mapping[str, Tensor], inputs: Tensor, k: np.ndarray
) -> np.ndarray:
    outputs: Tensor = called_with(network, weights, (inputs,))
    c: np.ndarray = coefficients(outputs[:, 0].double().cpu().numpy())[k]
    return c
