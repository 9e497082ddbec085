"""Figure 5: gradient descent and SuperNat on noisy linear regression (section 4.1.2, B.6).

ntkexp study +exp=supernat
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.machine.memory import available_bytes, refuse_beyond
from ntkexp.options import MOST_SEEDS, SEED, Rule, count, not_negative, option
from ntkexp.results.table import STEP, Table, float64, int64, string
from ntkexp.studies.base import Part, Study
from ntkexp.theory.choices import Kappa, Loss


class NoiseProjector(StrEnum):
    """printed: phi_noise phi_noise^T, which is no projector. orthogonal: onto its span."""

    printed = "printed"
    orthogonal = "orthogonal"


ERRORS = Table(
    "test_error",
    "The clean test error E (f(x) - phi)^2 of one algorithm and seed after `step` iterations.",
    {
        "algorithm": string("`gradient_descent` or `supernat`"),
        "seed": int64("of the draw"),
        "step": int64("iterations done"),
        "error": float64("mean squared"),
    },
)
KAPPA = Table(
    "kappa_error",
    "The clean test error of SuperNat with one choice of kappa and of the loss whose gradient "
    "rescales the kernel; infinite once it has diverged.",
    {
        "kappa": string("the choice of kappa"),
        "loss": string("`mean`, of (f - y)², or `half_sum`, half the sum of squares"),
        "seed": int64("of the draw"),
        "step": STEP,
        "error": float64("mean squared"),
    },
)
EIGENVALUES = Table(
    "kernel_eigenvalues",
    "Eigenvalue of one mode of the kernel K_t, in the order of the modes of K_0.",
    {
        "algorithm": string("`gradient_descent` or `supernat`"),
        "seed": int64("of the draw"),
        "step": STEP,
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "eigenvalue": float64("of the kernel over all rows, not divided by their number"),
    },
)
ALIGNMENT = Table(
    "kernel_alignment",
    "Uncentred alignment of K_t with the signal phi, with the label noise, and their ratio.",
    {
        "algorithm": string("`gradient_descent` or `supernat`"),
        "seed": int64("of the draw"),
        "step": STEP,
        "signal": float64("alignment with phi, 0 to 1"),
        "noise": float64("alignment with the label noise, 0 to 1"),
        "ratio": float64("signal over noise"),
    },
)
PROPOSITIONS = Table(
    "propositions",
    "How far a statement of the paper on linear models is from holding on one seed's regression.",
    {
        "statement": string("as `ntkexp/theory/propositions.py` names and explains them"),
        "seed": int64("of the draw"),
        "error": float64(
            "a relative difference; of a minimum, by how much something tried is below it"
        ),
    },
)


@dataclass
class Supernat(Study):
    """Gradient descent and SuperNat on noisy linear regression."""

    small: ClassVar = {"seeds": 5, "iterations": 300}
    tables: ClassVar = (ERRORS, KAPPA, EIGENVALUES, ALIGNMENT, PROPOSITIONS)
    # Without a normalising kappa SuperNat may diverge; without noise there is no alignment with it.
    may_be_infinite: ClassVar = {
        "test_error": ("error",),
        "kappa_error": ("error",),
        "kernel_eigenvalues": ("eigenvalue",),
        "kernel_alignment": ("ratio",),
    }

    seed: int = option(0, SEED)  # seeds seed, seed + 1, ..., each a regression of its own
    seeds: int = option(50, count("regressions", most=MOST_SEEDS))
    n: int = option(50, count("training examples"))  # training examples; more than d
    d: int = option(10, count("noise features"))  # noise features
    sigma2: float = option(0.1, not_negative(1e6))  # a variance
    # Printed: phi_noise phi_noise^T | orthogonal: onto its span.
    noise_projector: NoiseProjector = NoiseProjector.printed
    kappa: Kappa = Kappa.grad_norm  # of SuperNat: grad_norm | grad_max | const | none
    # Whose gradient rescales the kernel: mean, of (f - y)^2 | half_sum, |f - y|^2 / 2.
    loss: Loss = option(Loss.mean, neutral=Loss.half_sum)
    compared_kappas: list[Kappa] = field(default_factory=lambda: list(Kappa))
    compared_losses: list[Loss] = field(default_factory=lambda: list(Loss))
    # In units of 1 / lambda_max of K_0; gradient descent converges below 2.
    lr: float = option(0.5, Rule(lambda rate: 0 < rate < 2, "a number above 0 and below 2"))
    iterations: int = option(1000, count("iterations"))
    # Log-spaced steps at which eigenvalues and compared kappas are kept.
    recorded: int = option(120, count("steps", most=1_000_000))

    def check(self, config: Any = None) -> None:
        """Refuse what makes no regression."""
        if self.n <= self.d:
            raise UserError(
                f"study.n={self.n}: needs more examples than the study.d={self.d} noise features, "
                "so that the signal and the noise are modes of their own"
            )
        room, modes = available_bytes(), self.seeds * (self.d + 1)
        refuse_beyond(
            f"study.iterations={self.iterations}",
            f"{modes:,} modes at each",
            4 * 8 * self.iterations * modes,
            room,
        )
        refuse_beyond(
            f"study.n={self.n}",
            f"features of {self.d + 1:,} numbers each",
            4 * 8 * self.n * (self.d + 1) + 2 * 8 * modes * (self.d + 1),
            room,
        )

    def parts(self) -> list[Part]:
        from ntkexp.studies.computations.supernat import parts

        return parts(self)
