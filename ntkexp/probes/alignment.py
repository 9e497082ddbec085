"""Centred alignment of the tangent kernel with the labels, in total and layer by layer.

CKA (equation 7) under every centring, of the kernel as it is with centred labels, and with the
labels as they were before some were drawn at random: they share one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntkexp.data.images.options import Difficult
from ntkexp.errors import UserError
from ntkexp.options import Rule, each, option
from ntkexp.probes.base import Probe, columns
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64, string
from ntkexp.tangent import TangentKernel
from ntkexp.theory.alignment import label_ckas

ALIGNMENT = Table(
    "alignment",
    "CKA of a kernel with the labels of its batch; layer `total` (index -1) is the whole network, "
    "the others are numbered from the input",
    {
        "step": STEP,
        "split": string("`train` or `test`"),
        "subset": string("`all`, `easy`, `difficult` or one of `probe.alignment.groups`"),
        "layer": string("`total`, or the name of a module"),
        "layer_index": int64("-1 for `total`, else 0, 1, ... from the input"),
        "centring": string(
            "`class`, `joint` or `none`; `labels`: the kernel as it is, the labels centred by "
            "class; `clean`: centred by class, with the labels before some were drawn at random"
        ),
        "cka": float64("equation (7), 0 to 1"),
    },
)

# batch -> (split, subset)
MEMBERS = {
    "train": ("train", "all"),
    "test": ("test", "all"),
    "easy": ("train", "easy"),
    "difficult": ("train", "difficult"),
}
GROUP = Rule(
    lambda name: bool(name.strip()) and name not in MEMBERS,
    "the name of a further subset, such as noisy",
)


@dataclass
class Alignment(Probe):
    """Alignment on train and test examples, and on subsets of as many training examples each."""

    tables = (ALIGNMENT,)
    needs = frozenset({"kernel", "labels"})

    subsets: bool = option(False, about="also of easy and of difficult examples")
    groups: list[str] = option([], each(GROUP), "also of these subsets, such as noisy")

    def check(self, config: Any = None) -> None:
        data = getattr(config, "data", None)  # a study says by its batches what it has
        if self.subsets and data and getattr(data, "difficult", Difficult.none) is Difficult.none:
            raise UserError(
                f"probe.alignment.subsets=true: data={data.name} has no difficult part; "
                "set data.difficult=random_labels or kmnist, and data.difficult_examples"
            )

    def batches(self) -> frozenset[str]:
        usual = frozenset(MEMBERS) if self.subsets else frozenset({"train", "test"})
        return usual | frozenset(self.groups)

    def measure(self, view: View) -> Rows:
        rows = [
            (*MEMBERS.get(name, ("train", name)), layer, index, centring, value)
            for name in sorted(self.batches())
            for layer, index, centring, value in _alignments(
                view.kernel(name), view.labels(name), view.clean_labels(name)
            )
        ]
        return {"alignment": columns(ALIGNMENT, rows)}


def _alignments(
    kernel: TangentKernel, labels: NDArray[np.float64], clean: NDArray[np.float64] | None
) -> Iterator[tuple[str, int, str, float]]:
    grams = {"total": kernel.gram, **kernel.layers}
    for index, (layer, gram) in enumerate(grams.items(), start=-1):
        K = gram.double().cpu().numpy()
        for centring, value in label_ckas(K, labels).items():
            yield layer, index, centring, value
        if clean is not None:
            yield layer, index, "clean", label_ckas(K, clean)["class"]
