"""How far a trained network is from its linearisation at earlier weights, taken along.

ntkexp train +exp=linearised/error

    f^(x) = f_t(x) + (theta_T - theta_t)^T grad f_t(x)

at the last weights theta_T, for each look t before: section 4 of Ortiz-Jimenez, Moosavi-Dezfooli
and Frossard, "What can linearized neural networks actually say about generalization?".
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ntkexp.options import count, option
from ntkexp.probes.adaptation import at
from ntkexp.probes.base import columns
from ntkexp.probes.initial_weights import RemembersStart
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64
from ntkexp.transforms.linearise import Linearised

LINEARISATION_ERROR = Table(
    "linearisation_error",
    "the network at the end, beside its linearisation at earlier weights carried to the last ones, "
    "on test examples",
    {
        "step": STEP,
        "start": int64("the step of the weights at which it is linearised"),
        "error": float64("mean square of their difference, over that of the network's outputs"),
        "agreement": float64("share of outputs of the same sign"),
    },
)
AT_ONCE = 500


@dataclass
class LinearisationError(RemembersStart):
    """Keeps the weights of each look. What is no weight, such as running statistics, is as at the
    end."""

    tables = (LINEARISATION_ERROR,)
    needs = frozenset({"network", "examples"})
    looks_at = frozenset()

    examples: int = option(10_000, count("test examples"), "of the test set, the first so many")

    def measure(self, view: View) -> Rows:
        network = view.network()
        now = {name: w.detach().clone() for name, w in network.named_parameters()}
        if not view.last or view.step == 0:
            self._start[str(view.step)] = now
            return {}
        inputs = view.examples("test").inputs[: self.examples]
        rows: list[tuple[object, ...]] = []
        for step, then in self._start.items():
            linear, sums = Linearised(at(network, then)), torch.zeros(3, dtype=torch.float64)
            linear.move_to({name: now[name] - weight for name, weight in then.items()})
            with torch.no_grad():
                for batch in torch.split(inputs, AT_ONCE):
                    f, other = (m(batch).double().flatten().cpu() for m in (network, linear))
                    same = (f * other > 0).double().mean() * len(batch)
                    sums += torch.stack([(other - f).square().sum(), f @ f, same])
            error, square, same = sums.tolist()
            rows.append((int(step), error / square, same / len(inputs)))
        return {"linearisation_error": columns(LINEARISATION_ERROR, rows)}
