"""How well each training example is predicted from all the others, through the tangent kernel.
Ours.

    ntkexp train +exp=mlp_mnist probe=[leave_one_out] data.train_examples=2000

Outputs of kernel regression for an example that was left out (ntkexp/theory/lazy/c_scores.py),
with the kernel at the start and at the end of training: consistency scores without an ensemble.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.options import FOR_ALL, option, positive
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64
from ntkexp.theory.lazy.c_scores import leave_one_out
from ntkexp.theory.measures import margins

LEAVE_ONE_OUT = Table(
    "leave_one_out",
    "what kernel regression on all other examples gives for one training example, with the tangent "
    "kernel at a step, the mean over outputs of several",
    {
        "step": STEP,
        "example": int64("number of the example in the training split, from 0"),
        "label": int64("that it is trained with"),
        "clean_label": int64("what it was before any was redrawn"),
        "margin": float64(
            "output of the label less the largest other, of targets 0 and 1; of two classes, with "
            "targets -1 and 1, label times output"
        ),
        "residual": float64("norm of target less output, over all outputs"),
    },
)


@dataclass
class LeaveOneOut(Probe):
    """Looks at the first `examples` training examples, at the first and the last look. `ridge` is
    in units of the mean of the kernel's diagonal."""

    tables = (LEAVE_ONE_OUT,)
    needs = frozenset({"kernel", "examples"})
    looks_at = frozenset()

    examples: int | None = option(2000, FOR_ALL, "training examples")
    ridge: float = option(1e-3, positive(1e6), "ridge, in means of the kernel's diagonal")

    def measure(self, view: View) -> Rows:
        if view.step > 0 and not view.last:
            return {}
        split = view.examples("train")
        inputs, targets = split.inputs[: self.examples], split.targets[: self.examples]
        if targets.is_floating_point():
            raise UserError("probe.leave_one_out: takes classes, and the targets are numbers")
        labels = targets.cpu().numpy()
        margin, residual = self._left_out(view, inputs, labels)
        return {
            "leave_one_out": {
                "example": np.arange(len(labels)),
                "label": labels,
                "clean_label": split.clean_targets[: self.examples].cpu().numpy(),
                "margin": margin,
                "residual": residual,
            }
        }

    def _left_out(
        self, view: View, inputs: Tensor, labels: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        width = view.objective.outputs
        kernels = (view.kernel_on(inputs, outputs=[output]).gram for output in range(width))
        kernel = sum(gram.double().cpu().numpy() for gram in kernels) / width
        ridge = self.ridge * float(np.diagonal(kernel).mean())
        signs = 2.0 * labels - 1.0
        y = signs[:, None] if width == 1 else np.eye(width)[labels]
        left_out = leave_one_out(kernel, y, ridge)
        margin = margins(left_out, signs if width == 1 else labels)
        return margin, np.linalg.norm(y - left_out, axis=1)
