"""The complexity measures that Figure 6 compares with the paper's own, equation (18).

weights: the layers' matrices W_1, ..., W_L from input to output, shape (outputs, inputs);
a convolution's weight is reshaped to (outputs, -1), biases are left out unless a function takes
them. initial: the same at initialisation, D_l = W_l - W_l0. margin: gamma, `margin_percentile` of
the training margins. s_l: the spectral norm of layer l. For two layers W_1 = U (H units) and
W_2 = V (C classes).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.errors import UserError
from ntkexp.theory.float64 import Array, array

PERCENTILE = 5.0
QUANTILES = (0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 100.0)


def margins(outputs: ArrayLike, labels: ArrayLike) -> Array:
    """mu(f(x), y) of equation (54), one an example.

    Outputs (m, c), labels 0 ... c - 1: f(x)[y] - max_{y' != y} f(x)[y'].
    Outputs (m,) or (m, 1), labels -1 or 1: y f(x).

    >>> margins([[2.0, 0.5, 1.0], [0.0, 3.0, 1.0]], [0, 2])
    array([ 1., -2.])
    """
    scores, classes = array(outputs), np.asarray(labels)
    if scores.ndim == 1 or scores.shape[1] == 1:
        return array(scores.ravel() * classes)
    rows = np.arange(len(scores))
    others = scores.copy()
    others[rows, classes] = -np.inf
    return array(scores[rows, classes] - others.max(axis=1))


def margin_percentile(values: ArrayLike) -> float:
    """gamma, the 5th percentile of the training margins."""
    return float(np.percentile(array(values), PERCENTILE))


def distribution(values: ArrayLike) -> dict[str, float]:
    """Mean, standard deviation and quantiles q0 ... q100 of the margins."""
    sample = array(values)
    quantiles = np.percentile(sample, QUANTILES)
    summary = {"mean": float(sample.mean()), "std": float(sample.std())}
    return summary | {f"q{q:.0f}": float(x) for q, x in zip(QUANTILES, quantiles, strict=True)}


def inverse_squared(margin: float) -> float:
    """1 / gamma^2."""
    return 1.0 / positive(margin) ** 2


def positive(margin: float) -> float:
    """The margin, which every normalised measure divides by."""
    if not margin > 0:
        raise UserError(
            f"margin: {margin:.4g} is not positive, so measures divided by it say nothing; "
            "train until the 5th percentile of the training margins is above zero"
        )
    return margin


def frobenius(W: ArrayLike) -> float:
    """|W|_F."""
    return float(np.linalg.norm(array(W)))


def spectral(W: ArrayLike) -> float:
    """The spectral norm, W's largest singular value; written s_l for layer l."""
    return float(np.linalg.norm(array(W), ord=2))


def two_one(W: ArrayLike) -> float:
    """|W|_{2,1} = sum over the units (rows) of the l2 norm of their incoming weights.

    Bartlett, Foster and Telgarsky (2017) write |W^T|_{2,1}, columns first.
    """
    return float(np.linalg.norm(array(W), axis=1).sum())


def l2(weights: Sequence[ArrayLike]) -> float:
    """sqrt(sum_l |W_l|_F^2)."""
    return float(np.sqrt(sum(frobenius(W) ** 2 for W in weights)))


def distance(weights: Sequence[ArrayLike], initial: Sequence[ArrayLike]) -> float:
    """sqrt(sum_l |W_l - W_l0|_F^2), the distance from initialisation."""
    return l2(displacements(weights, initial))


def displacements(weights: Sequence[ArrayLike], initial: Sequence[ArrayLike]) -> list[Array]:
    """D_l = W_l - W_l0."""
    return [array(W) - array(W0) for W, W0 in zip(weights, initial, strict=True)]


def frobenius_product(weights: Sequence[ArrayLike]) -> float:
    """prod_l |W_l|_F (Neyshabur, Tomioka and Srebro 2015)."""
    return float(np.prod([frobenius(W) for W in weights]))


def spectral_product(weights: Sequence[ArrayLike]) -> float:
    """prod_l s_l (Bartlett, Foster and Telgarsky 2017)."""
    return float(np.prod([spectral(W) for W in weights]))


def path_norm(outputs: ArrayLike, p: int) -> float:
    """(sum f_{|w|^p}(1))^{1/p} from the outputs of the net with weights |w|^p on the input of ones.

    With non-negative weights and inputs a ReLU net is linear, so this output is the sum over paths;
    max pools have to become sums for that, and biases count as paths from a unit of their own.
    """
    return float(array(outputs).sum() ** (1.0 / p))


def fisher_rao(loss_gradients: ArrayLike, outputs: ArrayLike, layers: int) -> float:
    """(L + 1)^2 E[<grad_f loss, f>^2], over examples with `loss_gradients` and `outputs` (m, c).

    Theirs is the squared norm |w|_fr^2 = w^T I(w) w of a bias-free ReLU net of L hidden layers,
    whose L + 1 affine maps make it homogeneous of degree L + 1; `layers` is L.
    """
    products = np.sum(array(loss_gradients) * array(outputs), axis=1)
    return float((layers + 1) ** 2 * np.mean(products**2))


def spectral_two_one(
    weights: Sequence[ArrayLike], initial: Sequence[ArrayLike], margin: float, examples: int
) -> float:
    """prod_l s_l (sum_l (|D_l|_{2,1} / s_l)^{2/3})^{3/2} / (gamma sqrt m).

    (Bartlett, Foster and Telgarsky 2017.)
    """
    moved = displacements(weights, initial)
    ratios = [two_one(D) / spectral(W) for D, W in zip(moved, weights, strict=True)]
    total = np.sum(np.power(ratios, 2 / 3)) ** 1.5
    return float(spectral_product(weights) * total / (positive(margin) * np.sqrt(examples)))


def spectral_frobenius(
    weights: Sequence[ArrayLike], initial: Sequence[ArrayLike], margin: float, examples: int
) -> float:
    """d prod_l s_l sqrt(sum_l h_l |D_l|_F^2 / s_l^2) / (gamma sqrt m), d layers of h_l outputs.

    (Neyshabur, Bhojanapalli and Srebro 2018.) The deep stand-in for the two-layer bound of
    Neyshabur et al. 2018.
    """
    moved = displacements(weights, initial)
    terms = [
        len(array(W)) * (frobenius(D) / spectral(W)) ** 2
        for D, W in zip(moved, weights, strict=True)
    ]
    product = len(terms) * spectral_product(weights) * np.sqrt(np.sum(terms))
    return float(product / (positive(margin) * np.sqrt(examples)))


DELTA = 0.01


def neyshabur_core(U: ArrayLike, V: ArrayLike, U0: ArrayLike, margin: float) -> float:
    """(|U0|_2 |V|_F + |U - U0|_F |V|_F) / gamma + sqrt H: what drives `neyshabur_bound`.

    Only the first two terms scale with the outputs, so only they are divided by the margin.
    """
    moved = frobenius(array(U) - array(U0))
    scaled = (spectral(U0) + moved) * frobenius(V) / positive(margin)
    return scaled + float(np.sqrt(len(array(U))))


def neyshabur_bound(
    U: ArrayLike, V: ArrayLike, U0: ArrayLike, inputs: ArrayLike, margin: float
) -> float:
    """(R + 3 sqrt(5 H + log(max(1, gamma sqrt m) / delta)))^2, "Neyshabur 2018" in figure 6.

    R = 3 sqrt2 (sqrt(2 C) + 1) (|V|_F + 1)
        (sqrt(sum_h E[relu(u_h0 x)^2]) + |U - U0|_F sqrt(E|x|^2) + 1) / gamma,
    expectations over the m training inputs (m, d); it holds with probability 1 - delta,
    delta = 0.01.
    """
    x, initial = array(inputs), array(U0)
    units, classes, m = len(initial), len(array(V)), len(x)
    activity = np.sqrt(np.sum(np.maximum(x @ initial.T, 0.0) ** 2) / m)
    moved = frobenius(array(U) - initial) * _input_norm(x)
    factor = 3 * np.sqrt(2) * (np.sqrt(2 * classes) + 1) * (frobenius(V) + 1)
    R = factor * (activity + moved + 1) / positive(margin)
    counting = 3 * np.sqrt(5 * units + np.log(max(1.0, margin * np.sqrt(m)) / DELTA))
    return float((R + counting) ** 2)


def frobenius_bound(U: ArrayLike, V: ArrayLike, inputs: ArrayLike, margin: float) -> float:
    """|U|_F |V|_F sqrt(E|x|^2) / gamma (Neyshabur, Tomioka and Srebro 2015)."""
    return frobenius(U) * frobenius(V) * _input_norm(array(inputs)) / positive(margin)


def two_layer_spectral_frobenius(
    U: ArrayLike, V: ArrayLike, U0: ArrayLike, V0: ArrayLike, inputs: ArrayLike, margin: float
) -> float:
    """sqrt(H (s_2 |U - U0|_F)^2 + C (s_1 |V - V0|_F)^2) max|x| s_1 / gamma.

    (Neyshabur, Bhojanapalli and Srebro 2018, PAC-Bayes.) The last s_1 stands in the code that made
    the published comparison; the theorem has no such factor, and with it the measure changes when
    U and U0 are multiplied and V and V0 divided by the same number, though the function does not.
    """
    classes, units = array(V).shape
    first = units * (spectral(V) * frobenius(array(U) - array(U0))) ** 2
    second = classes * (spectral(U) * frobenius(array(V) - array(V0))) ** 2
    largest = np.linalg.norm(array(inputs), axis=1).max()
    return float(np.sqrt(first + second) * largest * spectral(U) / positive(margin))


def _input_norm(inputs: ArrayLike) -> float:
    """sqrt(E|x|^2)."""
    x = array(inputs)
    return float(np.sqrt(np.sum(x**2) / len(x)))
