"""The relaxed model of a network: what Theorem 2 says it should have become.

The problem (16) of LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of Neural
Networks", is solved at the network's own size: layers W -> M_1 W M_2 of its features at step 0,
penalties |v - 1|^p on both sides (the last layer from the left alone), and f - f_0 to interpolate.
Its kernel and its changes of weights are compared with the network's. Measured at the last step,
for networks of linear layers with one output, on the first `examples` of the training set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ntkexp.errors import UserError
from ntkexp.options import count, option, positive, whole
from ntkexp.probes.initial_weights import RemembersStart
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64, string

SINGULAR_VALUES = Table(
    "relaxed_singular_values",
    "a singular value of one layer's change of weights",
    {
        "step": STEP,
        "of": string("`network` (W - W_0), `relaxed` (B of (16)) or `min_norm` (B without M)"),
        "layer": string("the name of a module"),
        "rank": int64("1 is the largest"),
        "value": float64("in the units of the weights"),
    },
)
LAYERS = Table(
    "relaxed_layers",
    "one layer of the relaxed model beside the same layer of the network",
    {
        "step": STEP,
        "of": string("`network` or `relaxed`"),
        "layer": string("the name of a module"),
        "share": float64("|K_l - K_0l|_F over its sum over the layers"),
        "effective_rank": float64("(sum s)^2 / sum s^2 of the singular values of its change"),
        "with_linear": float64(
            "correlation of what it adds to the outputs with the linear targets"
        ),
        "with_residual": float64("with sign(y) - alpha y"),
    },
)
KERNELS = Table(
    "relaxed_kernels",
    "the cosine of the relaxed model's kernel with another, not centred",
    {
        "step": STEP,
        "other": string("`average` (the network's adapted kernel), `initial`, `final`, `residual`"),
        "cosine": float64("-1 to 1"),
        "ratio": float64("Frobenius norm of the relaxed kernel over that of the other"),
    },
)
SOLUTION = Table(
    "relaxed_solution",
    "how the problem (16) was solved",
    {
        "step": STEP,
        "iterations": int64("of alternating minimisation"),
        "min_norm": float64("the penalty of the solution of least norm"),
        "least": float64("the least penalty found, of all starts"),
        "worst": float64("the largest that a start came to"),
    },
)
ENTRIES = Table(
    "relaxed_entries",
    "how many entries of a change of weights matter; with diagonal=true",
    {
        "step": STEP,
        "of": string("`network`, `diagonal` (beta of (5) for diagonal M) or `min_norm`"),
        "layer": string("the name of a module"),
        "entries": float64("(sum b^2)^2 / sum b^4 over the entries b"),
        "share": float64("of the entries, the largest that hold .9 of sum b^2"),
    },
)
DIAGONAL = Table(
    "relaxed_diagonal",
    "the model whose M is diagonal; with diagonal=true",
    {
        "step": STEP,
        "iterations": int64("of alternating minimisation"),
        "min_norm": float64("the penalty of the solution of least norm"),
        "least": float64("the least penalty"),
        "cosine": float64("of its kernel with the network's adapted kernel, not centred"),
    },
)


@dataclass
class RelaxedModel(RemembersStart):
    """`p` is the power of the penalty |v - 1|^p of both sides.

    An iteration that gains less than the share `tolerance` is the last. The problem is not convex;
    `restarts` also start from random M. `diagonal` solves for a diagonal M as well, a scale for
    every parameter (appendix A.1), by the same penalty.
    """

    tables = (SINGULAR_VALUES, LAYERS, KERNELS, SOLUTION, ENTRIES, DIAGONAL)
    needs = frozenset({"network", "examples"})

    examples: int = option(500, count("examples"))
    points: int = option(50, whole(2, 100_000, "points"))
    p: float = option(2.0, positive(100))
    iterations: int = option(500, count("iterations"))
    tolerance: float = option(1e-6, positive(1))
    restarts: int = option(0, whole(0, 1000, "random starts beside the identity"))
    diagonal: bool = False

    def check(self, config: Any = None) -> None:
        shape = config.data.shape()
        if shape is not None and shape.outputs != 1:
            raise UserError(
                f"probe.relaxed_model: for networks of one output; data={config.data.name} has "
                f"{shape.outputs}"
            )

    def batches(self) -> frozenset[str]:
        return frozenset()

    def measure(self, view: View) -> Rows:
        self.remember(view)
        from ntkexp.probes.computations.relaxed_model import layers_of, measured

        if view.step == 0:
            # Refused before the training, and not after it.
            layers_of(view.network(), view.examples("train").inputs[:2])
        if not view.last or view.step == 0:
            return {}
        return measured(view, self.start(), self)
