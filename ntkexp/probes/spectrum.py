"""The spectrum of the tangent kernel: every eigenvalue, in float64.

The curves of Figure 2 are derived from these on reading: largest, mean, median, effective rank and
trace ratios (ntkexp.theory.spectrum).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ntkexp.options import one_of, option
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64, string
from ntkexp.theory.alignment import CENTRINGS, centre
from ntkexp.theory.spectrum import eigenvalues

SPECTRUM = Table(
    "spectrum",
    "one eigenvalue of the centred tangent kernel on the probe batch of a split; rank 1 is the "
    "largest, layer `total` is the whole network",
    {
        "step": STEP,
        "split": string("`train` or `test`"),
        "layer": string("`total`, or the name of a module"),
        "centring": string("`class`, `joint` or `none`"),
        "rank": int64("1 has the largest eigenvalue"),
        "eigenvalue": float64("of the kernel over all rows, not divided by their number"),
    },
)


@dataclass
class Spectrum(Probe):
    """Every eigenvalue of the kernel of each batch."""

    tables = (SPECTRUM,)
    needs = frozenset({"kernel"})

    centring: str = option("class", one_of(*CENTRINGS), "how features are centred")
    layers: bool = option(False, about="also the spectrum of every layer")
    uncentred: bool = option(False, about="also the spectrum of the kernel as it is")

    def measure(self, view: View) -> Rows:
        columns: dict[str, list[np.ndarray]] = {n: [] for n in SPECTRUM.columns if n != "step"}
        centrings = dict.fromkeys([self.centring, *(["none"] if self.uncentred else [])])
        for split in ("train", "test"):
            kernel = view.kernel(split)
            grams = {"total": kernel.gram, **(kernel.layers if self.layers else {})}
            for (layer, gram), centring in product(grams.items(), centrings):
                values = eigenvalues(centre(gram.double().cpu().numpy(), kernel.outputs, centring))
                columns["split"].append(np.full(len(values), split))
                columns["layer"].append(np.full(len(values), layer))
                columns["centring"].append(np.full(len(values), centring))
                columns["rank"].append(np.arange(1, len(values) + 1))
                columns["eigenvalue"].append(values)
        return {"spectrum": {name: np.concatenate(arrays) for name, arrays in columns.items()}}
