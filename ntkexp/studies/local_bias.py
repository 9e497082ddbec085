"""Lemma 1 on a trained network: one step of gradient descent, mode by mode.

ntkexp study +exp=local_bias
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.machine.memory import available_bytes, refuse_beyond
from ntkexp.models.mlp import Mlp
from ntkexp.options import MANY, MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.results.table import Table, float64, int64
from ntkexp.studies.base import Part, Study

MODES = Table(
    "local_bias",
    "Change of the outputs along eigenvector `mode` by a trial step: measured, and by Lemma 1.",
    {
        "seed": int64("of the draw"),
        "iteration": int64("of training when the trial step was made"),
        "eta": float64("learning rate of the trial step"),
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "eigenvalue": float64("of the kernel over all rows, not divided by their number"),
        "measured": float64("found by running it"),
        "predicted": float64("by the formula"),
    },
)
ERRORS = Table(
    "local_bias_error",
    "Norm over all modes of what Lemma 1 leaves out, and of the predicted change.",
    {
        "seed": int64("of the draw"),
        "iteration": int64("of training when the trial step was made"),
        "eta": float64("learning rate of the trial step"),
        "error": float64("norm of what is left out"),
        "predicted_norm": float64("norm of the predicted change"),
    },
)
SLOPES = Table(
    "local_bias_slope",
    "d log error / d log eta between two neighbouring learning rates.",
    {
        "seed": int64("of the draw"),
        "iteration": int64("of training when the trial step was made"),
        "eta_from": float64("the larger rate"),
        "eta_to": float64("the smaller rate"),
        "slope": float64("2 is what a second-order error gives"),
    },
)


@dataclass
class LocalBias(Study):
    """Lemma 1 on a network that learns the disk: function updates by mode."""

    small: ClassVar = {"seeds": 1, "width": 32}
    tables: ClassVar = (MODES, ERRORS, SLOPES)

    seed: int = option(0, SEED)  # seeds seed, seed + 1, ..., each a network and a training set
    seeds: int = option(3, count("networks", most=MOST_SEEDS))
    n: int = option(50, count("training points"))  # training points
    depth: int = option(2, count("hidden layers", most=1000))  # hidden layers
    width: int = option(64, count("units"))
    lr: float = option(0.5, positive(1e6))  # of the training, full batch, no momentum
    # When trial steps are taken.
    iterations: list[int] = option([0, 100, 1000], each(whole(0, MANY, "as an iteration")))
    etas: list[float] = option(
        [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0],
        each(positive(1e6)),
    )

    def check(self, config: Any = None) -> None:
        if not self.iterations:
            raise UserError("study.iterations=[]: needs one iteration or more, from 0 on")
        if len(self.etas) < 2 or self.etas != sorted(set(self.etas)):
            raise UserError(f"study.etas={self.etas}: needs 2 or more, above zero and rising")
        refuse_beyond(
            f"study.n={self.n}",
            f"kernels of {self.n:,} x {self.n:,}",
            3 * 8 * self.n**2,
            available_bytes(),
        )
        mlp = Mlp(depth=self.depth, width=self.width)
        refuse_beyond(
            f"study.width={self.width}",
            "its parameters, their gradients and a trial step",
            3 * 8 * mlp.parameters((2,), 1),
            available_bytes(),
        )

    def parts(self) -> list[Part]:
        from ntkexp.studies.computations.local_bias import parts

        return parts(self)
