"""The complexity measures that Figure 6 compares, taken of the trained network.

Their formulas and references are in ntkexp.theory.measures; here they meet a network. Weights are
the matrices of its linear and convolution layers, biases left out, a convolution reshaped to
(outputs, -1). Margins and losses are those of the whole training set, the gaps those to the whole
test set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ntkexp.errors import UserError
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, string

if TYPE_CHECKING:
    from torch import Tensor

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


@dataclass
class Measures(Probe):
    """At the last step only. The initial weights are kept from step 0 on."""

    tables = (MEASURES, MARGINS)
    needs = frozenset({"network", "layers", "examples"})

    def __post_init__(self) -> None:
        self._initial: list[Tensor] = []

    def check(self, config: Any = None) -> None:
        if config.model.couples_examples():
            raise UserError(
                f"probe.measures: norms of weights say nothing of model={config.model.name} with "
                "batch normalisation; expected model.norm=none, or an mlp or a vgg"
            )

    def batches(self) -> frozenset[str]:
        return frozenset()

    def measure(self, view: View) -> Rows:
        from ntkexp.probes.computations.measures import initial_weights, measured

        if view.step == 0:
            self._initial = list(initial_weights(view.network()))
        if not view.last:
            return {}
        return measured(view, self._initial)

    def state(self) -> dict[str, Any]:
        return {"initial": self._initial}

    def restore(self, state: dict[str, Any]) -> None:
        self._initial = state["initial"]
