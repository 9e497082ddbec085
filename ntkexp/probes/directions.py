"""How much the outputs vary when the weights move along one direction (Figure 7).

Directions: the leading right singular vectors v_j of the Jacobian Phi of the training batch, from
Phi Phi^T u_j = sigma_j^2 u_j and v_j = Phi^T u_j / sigma_j; and directions drawn uniformly from
the unit sphere. The outputs are those of test examples, which Phi has not seen. The variation along
a unit vector d is the root mean square over the examples of

    jvp:           |J(x) d|, exact to first order
    perturbation:  |f_{w + s d}(x) - f_w(x)| / s, for a step s = `size` really taken.
"""

from __future__ import annotations

from dataclasses import dataclass

from ntkexp.options import MANY, option, positive, whole
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64, string

DIRECTIONS = Table(
    "directions",
    "root mean square change of the outputs on test examples per unit of weight along one "
    "direction; the singular value, of the uncentred Jacobian of the training batch, is not a "
    "number for random directions; index 0 is the first of its kind",
    {
        "step": STEP,
        "kind": string("`singular` or `random`"),
        "index": int64("0 is the first of its kind"),
        "singular_value": float64("of the Jacobian, outputs per unit of weight"),
        "method": string("`jvp` (derivative) or `perturbation` (a step taken)"),
        "variation": float64("root mean square over examples, outputs per unit of weight"),
    },
)


@dataclass
class Directions(Probe):
    """At the last step only: `count` directions of each kind, on `examples` test examples."""

    tables = (DIRECTIONS,)
    needs = frozenset({"network", "kernel", "examples"})

    count: int = option(50, whole(1, MANY, "directions"))
    examples: int = option(1000, whole(1, MANY, "examples"))
    size: float = option(0.01, positive(1e6, least=1e-8))

    def batches(self) -> frozenset[str]:
        return frozenset({"train"})

    def measure(self, view: View) -> Rows:
        if not view.last:
            return {}
        from ntkexp.probes.computations.directions import variations

        rows = list(variations(view, self))
        names = [name for name in DIRECTIONS.columns if name != "step"]
        return {"directions": dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))}
