"""Figure 5: gradient descent and SuperNat on noisy linear regression (section 4.1.2, B.6).

ntkexp study +exp=supernat

Phi = [phi, phi_noise] with phi ~ N(0, 1) and phi_noise ~ N(0, I_d / d), and labels
y = phi + P_noise(epsilon) with epsilon ~ N(0, sigma^2 I_n). The clean function has
w* = (1, 0, ..., 0). Everything happens in the modes of Phi, all seeds at once; the theory's tests
compare the modes with the algorithm written in matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ntkexp.errors import UserError
from ntkexp.options import MOST_SEEDS, SEED, Rule, count, not_negative, option
from ntkexp.results.table import STEP, Table, float64, int64, string
from ntkexp.studies.base import Found, Part, Study
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.propositions import IDENTITIES, identity_errors
from ntkexp.theory.supernat import Kappa, Loss, gradient_descent_step, supernat_step

GRADIENT_DESCENT, SUPERNAT = "gradient_descent", "supernat"


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
    "Uncentred alignment of K_t with the signal phi, with the label noise, and their ratio; and "
    "how much of the residual is left in the directions of the noise.",
    {
        "algorithm": string("`gradient_descent` or `supernat`"),
        "seed": int64("of the draw"),
        "step": STEP,
        "signal": float64("alignment with phi, 0 to 1"),
        "noise": float64("alignment with the label noise, 0 to 1"),
        "ratio": float64("signal over noise"),
        "noise_left": float64(
            "squared residual in all modes of K_0 but the first, the signal's, over that at step 0"
        ),
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
        "kernel_alignment": ("ratio", "noise_left"),
    }

    seed: int = option(0, SEED, "the first of the seeds")
    seeds: int = option(50, count("regressions", most=MOST_SEEDS), "regressions")
    n: int = option(50, count("training examples"), "training examples, more than d")
    d: int = option(10, count("noise features"), "noise features")
    sigma2: float = option(0.1, not_negative(1e6), "variance of the noise in labels")
    noise_projector: NoiseProjector = option(NoiseProjector.printed, about="how labels get noise")
    kappa: Kappa = option(Kappa.grad_norm, about="how SuperNat rescales its kernel")
    loss: Loss = option(Loss.mean, about="whose gradient scales the kernel", neutral=Loss.half_sum)
    compared_kappas: list[Kappa] = option(list(Kappa), about="rescalings to compare")
    compared_losses: list[Loss] = option(list(Loss), about="losses to compare")
    lr: float = option(
        0.5,
        Rule(lambda rate: 0 < rate < 2, "a number above 0 and below 2"),
        "learning rate in units of 1 / lambda_max",
    )
    iterations: int = option(1000, count("iterations"), "steps of gradient descent")
    recorded: int = option(120, count("steps", most=1_000_000), "log-spaced steps that are kept")

    def check(self, config: Any = None) -> None:
        """Refuse what makes no regression."""
        if self.n <= self.d:
            raise UserError(
                f"study.n={self.n}: needs more examples than the study.d={self.d} noise features, "
                "so that the signal and the noise are modes of their own"
            )

    def parts(self) -> list[Part]:
        """Each algorithm, then the propositions."""
        problem = draw(self)
        compared = product(self.compared_kappas, self.compared_losses)
        return [
            partial(of_algorithm, self, problem, GRADIENT_DESCENT, None),
            partial(of_algorithm, self, problem, SUPERNAT, self.kappa),
            *(partial(of_choice, self, problem, kappa, loss) for kappa, loss in compared),
            lambda: {PROPOSITIONS.name: propositions(problem, self)},
        ]


@dataclass(frozen=True)
class Problem:
    """Every seed's regression in the modes of its features; P = d + 1, targets as u_j^T y."""

    features: Array  # (seeds, n, P)
    labels: Array  # (seeds, n)
    eigs: Array  # (seeds, P), of K_0
    V: Array  # (seeds, P features, P modes)
    y: Array  # (seeds, P)
    signal: Array
    noise: Array

    def test_errors(self, residuals: Array) -> Array:
        """E (w . x - x_1)^2 over fresh x, exactly: (w_1 - 1)^2 + |w_noise|^2 / d.

        w are weights of the original features, found from u_j^T f = sqrt(lambda_j) v_j^T w with the
        lambda_j of K_0. Residuals (steps, seeds, P) to errors (steps, seeds).
        """
        modes = (residuals + self.y) / np.sqrt(self.eigs)
        with np.errstate(over="ignore", invalid="ignore"):
            w = np.einsum("spj,tsj->tsp", self.V, modes)
            return array((w[..., 0] - 1.0) ** 2 + np.mean(w[..., 1:] ** 2, axis=-1))


@dataclass(frozen=True)
class Path:
    """Residuals c_j and eigenvalues lambda_j of an algorithm, (steps, seeds, P) from step 0."""

    residuals: Array
    eigs: Array

    def alignment(self, target: Array) -> Array:
        """y^T K_t y / (|K_t|_F |y|^2) for targets in modes, zero for none: (steps, seeds)."""
        squares = np.sum(target**2, axis=-1)
        shares = target**2 / np.where(squares > 0, squares, 1.0)[:, None]
        eigs = self._representable()
        return array(np.sum(eigs * shares, axis=-1) / np.linalg.norm(eigs, axis=-1))

    def _representable(self) -> Array:
        """Spectra divided by their largest eigenvalue. From the step where that leaves the range of
        floats on, the last spectrum within it."""
        largest = self.eigs.max(axis=-1, keepdims=True)
        within = (largest > np.finfo(np.float64).tiny) & (largest < np.inf)
        last = np.maximum.accumulate(np.where(within, np.arange(len(largest))[:, None, None], 0))
        kept = np.take_along_axis(self.eigs, last, axis=0)
        return array(kept / kept.max(axis=-1, keepdims=True))


def of_algorithm(config: Supernat, problem: Problem, name: str, kappa: Kappa | None) -> Found:
    all_steps, sparse = np.arange(config.iterations + 1), recorded_steps(config)
    constants: dict[str, object] = {"algorithm": name}
    path = descend(problem, config, kappa, config.loss)
    errors, eigs = problem.test_errors(path.residuals), path.eigs[sparse]
    return {
        ERRORS.name: tidy(all_steps, constants, config.seed, error=errors),
        EIGENVALUES.name: tidy(sparse, constants, config.seed, eigenvalue=eigs),
        ALIGNMENT.name: tidy(all_steps, constants, config.seed, **alignments(path, problem)),
    }


def of_choice(config: Supernat, problem: Problem, kappa: Kappa, loss: Loss) -> Found:
    sparse = recorded_steps(config)
    path = descend(problem, config, kappa, loss)
    errors = problem.test_errors(path.residuals[sparse])
    constants: dict[str, object] = {"kappa": kappa.value, "loss": loss.value}
    return {KAPPA.name: tidy(sparse, constants, config.seed, error=errors)}


def draw(config: Supernat) -> Problem:
    """One regression a seed, each from a stream of its own."""
    drawn = [_draw_seed(config, config.seed + index) for index in range(config.seeds)]
    return Problem(*(np.stack(arrays) for arrays in zip(*drawn, strict=True)))


def _draw_seed(config: Supernat, seed: int) -> tuple[Array, ...]:
    generator = np.random.default_rng(seed)
    signal = generator.normal(size=config.n)
    features = generator.normal(size=(config.n, config.d)) / np.sqrt(config.d)
    noise = np.sqrt(config.sigma2) * generator.normal(size=config.n)
    phi = np.column_stack([signal, features])
    U, singular_values, Vt = np.linalg.svd(phi, full_matrices=False)
    if config.noise_projector is NoiseProjector.orthogonal:
        features = np.linalg.qr(features)[0]
    label_noise = features @ (features.T @ noise)
    y = signal + label_noise
    projected = (U.T @ part for part in (y, signal, label_noise))
    return phi, y, singular_values**2, Vt.T, *projected


def propositions(problem: Problem, config: Supernat) -> dict[str, object]:
    """Propositions 3, 4 and 14 and two remarks of the text, on every seed's features and labels."""
    errors = [
        identity_errors(phi, y, np.random.default_rng([config.seed + index, 1]))
        for index, (phi, y) in enumerate(zip(problem.features, problem.labels, strict=True))
    ]
    seeds = np.arange(config.seed, config.seed + config.seeds)
    return {
        "statement": np.tile(list(IDENTITIES), config.seeds),
        "seed": np.repeat(seeds, len(IDENTITIES)),
        "error": np.array([[error[name] for name in IDENTITIES] for error in errors]).ravel(),
    }


def descend(problem: Problem, config: Supernat, kappa: Kappa | None, loss: Loss) -> Path:
    """From w = 0; `kappa` is None for plain gradient descent, whose kernel stays as it is."""
    residual, eigs = -problem.y, problem.eigs
    eta = config.lr / eigs.max(axis=1, keepdims=True)
    scale = loss.gradient_over_residual(config.n)
    residuals, spectra = [residual], [eigs]
    # Without a normalising kappa the kernel grows until it overflows: infinity is the answer then.
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(config.iterations):
            if kappa is None:
                residual = gradient_descent_step(residual, eigs, eta)
            else:
                residual, eigs = supernat_step(residual, eigs, eta, kappa, scale)
            residuals.append(residual)
            spectra.append(eigs)
    return Path(np.stack(residuals), np.stack(spectra))


def recorded_steps(config: Supernat) -> NDArray[np.int64]:
    """0 and about `recorded` log-spaced steps up to the last."""
    spaced = np.geomspace(1, config.iterations, config.recorded).round().astype(np.int64)
    return np.unique(np.concatenate([[0], spaced]))


def alignments(path: Path, problem: Problem) -> dict[str, Array]:
    signal, noise = path.alignment(problem.signal), path.alignment(problem.noise)
    with np.errstate(divide="ignore"):
        ratio = signal / noise
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.sum(path.residuals[..., 1:] ** 2, axis=-1)
        left = squares / squares[0]
    return {"signal": signal, "noise": noise, "ratio": ratio, "noise_left": left}


def tidy(
    steps: NDArray[np.int64], labels: dict[str, object], first_seed: int, **values: Array
) -> dict[str, object]:
    """Columns from arrays (steps, seeds) or (steps, seeds, modes); no number is infinity."""
    shape = next(iter(values.values())).shape
    places = np.indices(shape)
    columns = labels | {"step": steps[places[0]].ravel(), "seed": first_seed + places[1].ravel()}
    if len(shape) == 3:
        columns["mode"] = places[2].ravel()
    return columns | {name: np.where(np.isnan(x), np.inf, x).ravel() for name, x in values.items()}
