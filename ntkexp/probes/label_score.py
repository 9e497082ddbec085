"""How well a network's tangent kernel suits its labels, in one number; ours.

sum_j (u_j^T y)^2 log lambda_j over the eigenvectors of the kernel on all training points, with
centred labels of length 1; in float64.

ntkexp train +exp=spectral/classes
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from ntkexp.errors import UserError
from ntkexp.options import STEPS, option
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.spectral.replay import label_score

LABEL_SCORE = Table(
    "label_score",
    "how well the tangent kernel on all training points suits the labels",
    {"step": STEP, "score": float64("sum of (u_j^T y)^2 log lambda_j")},
)


@dataclass
class LabelScore(Probe):
    """Looks at the steps `steps` alone."""

    tables = (LABEL_SCORE,)
    needs = frozenset({"kernel", "examples"})
    looks_at = frozenset()

    steps: list[int] = option([0], STEPS, "steps to score")

    def measure(self, view: View) -> Rows:
        if view.step not in self.steps:
            return {}
        train = view.examples("train")
        network = copy.deepcopy(view.network("layers")).double()
        kernel = tangent_kernel(network, train.inputs.double(), layers=False).gram.cpu().numpy()
        labels = np.asarray(train.targets.double().cpu())
        if len(kernel) != len(labels):
            outputs = len(kernel) // len(labels)
            raise UserError(f"probe.label_score: expected one output, there are {outputs}")
        return {"label_score": {"score": label_score(view.kernel_factor * kernel, labels)}}
