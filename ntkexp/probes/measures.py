"""The complexity measures that Figure 6 compares, taken of the trained network.

Their formulas and references are in ntkexp.theory.measures; here they meet a network. Weights are
the matrices of its linear and convolution layers, biases left out, a convolution reshaped to
(outputs, -1). Margins and losses are those of the whole training set, the gaps those to the whole
test set.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.models.activations import refuse_other_than_relu
from ntkexp.objectives.evaluate import outputs_of
from ntkexp.probes.initial_weights import RemembersStart
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, string
from ntkexp.theory import measures
from ntkexp.theory.float64 import Array

MEASURES = Table(
    "measures",
    "one measure of the trained network: complexity measures, statistics of the training margins, "
    "loss, error and their gaps; not a number where the margin it divides by is not positive",
    {"step": STEP, "measure": string("see below"), "value": float64("in the units of the measure")},
    notes="Measures: `train_loss`, `test_loss`, `gap_loss`, `train_error`, `test_error`, "
    "`gap_error` (test less train); `margin` (the 5th centile of the training margins), "
    "`margin_mean`, `margin_std`, `margin_q0` ... `margin_q100`; `parameters`, `l2_norm`, "
    "`distance` (from the initial weights), `frobenius_product`, `spectral_product`, "
    "`l1_path_norm`, `l2_path_norm`, `fisher_rao`, `inverse_squared_margin`, "
    "`spectral_two_one`, `spectral_frobenius`; for one hidden layer also "
    "`neyshabur_core`, `neyshabur_bound`, `frobenius_bound`, "
    "`two_layer_spectral_frobenius`. Formulas and references: `ntkexp/theory/measures.py`.",
)
MARGINS = Table(
    "margins",
    "a quantile, from 0 to 1, of the margins of the training examples",
    {
        "step": STEP,
        "quantile": float64("0 to 1"),
        "margin": float64("score of the right class less the largest other"),
    },
)

QUANTILES = np.linspace(0, 1, 101)


@dataclass
class Measures(RemembersStart):
    """Looks at the last step only. The initial weights are kept from step 0 on."""

    tables = (MEASURES, MARGINS)
    needs = frozenset({"network", "layers", "examples", "training"})
    looks_at = frozenset()

    def check(self, config: Any = None) -> None:
        super().check(config)
        refuse_other_than_relu(self.name, config.model)
        if config.model.couples_examples():
            raise UserError(
                f"probe.measures: norms of weights say nothing of model={config.model.name} with "
                "batch normalisation; expected model.norm=none, or an mlp or a vgg"
            )

    def measure(self, view: View) -> Rows:
        if view.step == 0:
            initial = [weight.detach().clone() for weight in _weights(view.network())]
            self._start = {"weights": initial}
        if not view.last:
            return {}
        train, test = (_predictions(view, name) for name in ("train", "test"))
        values = {
            **_gaps(train, test),
            **{f"margin_{k}": v for k, v in measures.distribution(train.margins).items()},
            **_of_the_network(view, [_matrix(w) for w in self._start["weights"]], train),
        }
        return {
            "measures": {"measure": list(values), "value": list(values.values())},
            "margins": {"quantile": QUANTILES, "margin": np.quantile(train.margins, QUANTILES)},
        }


@dataclass(frozen=True)
class _Predictions:
    """Outputs, margins and errors of a network on all examples of a split."""

    outputs: Array  # (m, c)
    loss_gradients: Array  # (m, c)
    margins: Array  # (m,)
    loss: float
    error: float


def _predictions(view: View, name: str) -> _Predictions:
    model, split = view.network(), view.examples(name)
    outputs = outputs_of(model, split.inputs).double().requires_grad_()
    loss = view.objective.losses(outputs, split.targets)
    (gradients,) = torch.autograd.grad(loss.sum(), outputs)
    scores, labels = outputs.detach().cpu().numpy(), split.targets.cpu().numpy()
    signed = labels if scores.shape[1] > 1 else np.where(labels > 0, 1, -1)
    return _Predictions(
        outputs=scores,
        loss_gradients=gradients.cpu().numpy(),
        margins=measures.margins(scores, signed),
        loss=loss.mean().item(),
        error=1 - view.objective.correct(outputs, split.targets).double().mean().item(),
    )


def _gaps(train: _Predictions, test: _Predictions) -> dict[str, float]:
    return {
        "train_loss": train.loss,
        "test_loss": test.loss,
        "gap_loss": test.loss - train.loss,
        "train_error": train.error,
        "test_error": test.error,
        "gap_error": test.error - train.error,
    }


def _of_the_network(view: View, initial: list[Array], train: _Predictions) -> dict[str, float]:
    model, inputs = view.network(), view.examples("train").inputs
    input_shape = tuple(inputs.shape[1:])
    weights = [_matrix(w) for w in _weights(model)]
    gamma, examples = measures.margin_percentile(train.margins), len(train.margins)
    if gamma <= 0:
        print(
            f"probe.measures: the 5th percentile of the training margins is {gamma:.3g}, not "
            "positive: measures divided by it are left empty; train until it is",
            file=sys.stderr,
        )
    values = {
        "margin": gamma,
        "parameters": sum(w.numel() for w in model.parameters()),
        "l2_norm": measures.l2(weights),
        "distance": measures.distance(weights, initial),
        "frobenius_product": measures.frobenius_product(weights),
        "spectral_product": measures.spectral_product(weights),
        "l1_path_norm": path_norm(model, input_shape, p=1),
        "l2_path_norm": path_norm(model, input_shape, p=2),
        "fisher_rao": measures.fisher_rao(train.loss_gradients, train.outputs, len(weights) - 1),
    }
    by_margin: dict[str, Callable[[], float]] = {
        "inverse_squared_margin": lambda: measures.inverse_squared(gamma),
        "spectral_two_one": lambda: measures.spectral_two_one(weights, initial, gamma, examples),
        "spectral_frobenius": lambda: measures.spectral_frobenius(
            weights, initial, gamma, examples
        ),
    }
    if isinstance(model, nn.Sequential) and len(weights) == 2:
        flat = inputs.flatten(1).double().cpu().numpy()
        (U, V), (U0, V0) = weights, initial
        by_margin |= {
            "neyshabur_core": lambda: measures.neyshabur_core(U, V, U0, gamma),
            "neyshabur_bound": lambda: measures.neyshabur_bound(U, V, U0, flat, gamma),
            "frobenius_bound": lambda: measures.frobenius_bound(U, V, flat, gamma),
            "two_layer_spectral_frobenius": lambda: measures.two_layer_spectral_frobenius(
                U, V, U0, V0, flat, gamma
            ),
        }
    return values | {k: f() if gamma > 0 else float("nan") for k, f in by_margin.items()}


def _weights(model: nn.Module) -> Iterator[Tensor]:
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            yield module.weight


def _matrix(weight: Tensor) -> Array:
    """(outputs, everything else) in float64."""
    matrix: Array = weight.detach().flatten(1).double().cpu().numpy()
    return matrix


def path_norm(model: nn.Module, input_shape: tuple[int, ...], p: int) -> float:
    """`theory.measures.path_norm` of a ReLU network: |w|^p for w, sums for max pools."""
    summing = copy.deepcopy(model).double()
    with torch.no_grad():
        for name, parameter in summing.named_parameters():
            # The paths are those from the inputs: none starts at a bias.
            parameter.copy_(parameter.abs() ** p if name.endswith("weight") else 0 * parameter)
        for parent in list(summing.modules()):
            for name, child in parent.named_children():
                if isinstance(child, nn.MaxPool2d):
                    setattr(parent, name, _sum_pool(child))
        ones = torch.ones(1, *input_shape, dtype=torch.float64, device=parameter.device)
        outputs = summing(ones)
    return measures.path_norm(outputs.cpu().numpy(), p)


def _sum_pool(pool: nn.MaxPool2d) -> nn.Module:
    """Every unit of a window is on a path, though a max pool lets through one of them at a time."""
    return nn.AvgPool2d(pool.kernel_size, pool.stride, pool.padding, divisor_override=1)
