"""The norm of all weights along training."""

from dataclasses import dataclass

from ntkexp.options import option, positive
from ntkexp.probes import Probe, Rows, View
from ntkexp.results.table import STEP, Table, float64


@dataclass
class WeightNorm(Probe):
    tables = (Table("weight_norm", "|w|_p at a step", {"step": STEP, "norm": float64("|w|_p")}),)

    p: float = option(2.0, positive(100), "power of the norm")

    def measure(self, view: View) -> Rows:
        powers = sum((w.abs() ** self.p).sum() for w in view.network().parameters())
        return {"weight_norm": {"norm": powers.item() ** (1 / self.p)}}
