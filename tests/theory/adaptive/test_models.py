"""T2, T3, T6, T7, T9, T10, T12 of the adaptive model: Theorems 1 and 2, diagonal M, the solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, optimize

from ntkexp.theory.adaptive import diagonal
from ntkexp.theory.adaptive.kernels import cosine, effective_rank, label_kernel
from ntkexp.theory.adaptive.penalties import (
    Fixed,
    Joint,
    Penalty,
    Power,
    effective,
    joint_penalty,
)
from ntkexp.theory.adaptive.solver import Adapted, OuterProducts, adapt, solved
from tests.theory.adaptive import exact
from tests.theory.adaptive.exact import Dense

SQUARE, ABSOLUTE = Power(2), Power(1)


def draw(seed: int, *sizes: tuple[int, ...]) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=size) for size in sizes]


# Theorem 1


def test_t2_theorem_1_interpolates_at_its_objective_with_its_kernel() -> None:
    J, r = draw(0, (4, 7), (4,))
    found = exact.structureless(J, r, SQUARE)
    M = found.transform
    np.testing.assert_allclose(J @ M @ found.step, r, atol=1e-12)
    paid = np.sum((np.linalg.svd(M)[1] - 1) ** 2) + found.step @ found.step
    assert paid == pytest.approx(exact.structureless_objective(J, r, SQUARE), rel=1e-12)
    by_matrices = J @ M @ M.T @ J.T
    np.testing.assert_allclose(
        exact.structureless_kernel(J @ J.T, r, SQUARE), by_matrices, atol=1e-11
    )


def test_t2_no_other_matrix_pays_less() -> None:
    """Over all M (7 x 7), theta being the least solution of J M theta = r, from several starts."""
    J, r = draw(0, (4, 7), (4,))

    def objective(flat: np.ndarray) -> float:
        M = flat.reshape(7, 7)
        theta = np.linalg.lstsq(J @ M, r, rcond=None)[0]
        return float(np.sum((np.linalg.svd(M, compute_uv=False) - 1) ** 2) + theta @ theta)

    starts = [np.eye(7) + 0.3 * draw(seed, (7, 7))[0] for seed in range(3)]
    least = min(optimize.minimize(objective, start.ravel(), method="BFGS").fun for start in starts)
    predicted = exact.structureless_objective(J, r, SQUARE)
    assert least == pytest.approx(predicted, rel=1e-6)


def test_t3_s_and_the_cosine_rise_with_the_scale_of_the_labels() -> None:
    J, r = draw(1, (4, 7), (4,))
    scales = [0.0, 0.1, 1.0, 10.0, 1e4]
    s = [float(SQUARE.minimiser(c * np.linalg.norm(np.linalg.pinv(J) @ r))) for c in scales]
    assert s[0] == pytest.approx(1.0, abs=1e-15)
    assert np.all(np.diff(s) > 0)
    cosines = [
        cosine(exact.structureless_kernel(J @ J.T, c * r, SQUARE), label_kernel(r))
        for c in scales[1:]
    ]
    assert np.all(np.diff(cosines) > 0)
    assert cosines[-1] == pytest.approx(1.0, abs=1e-3)


def test_t10_rotations_of_m_change_neither_penalty_nor_beta() -> None:
    M, theta = draw(2, (5, 5), (5,))
    U, s, Vt = np.linalg.svd(M)
    rotated, step = (U * s) @ U.T, U @ Vt @ theta
    np.testing.assert_allclose(np.linalg.svd(rotated)[1], s, rtol=1e-12)
    assert np.linalg.norm(step) == pytest.approx(np.linalg.norm(theta))
    np.testing.assert_allclose(rotated @ step, M @ theta, atol=1e-12)


# Diagonal M


def test_t9_the_square_itself_gives_twice_the_l1_norm() -> None:
    """(22): m_j^2 = |beta_j|. Section 3.1 prints |beta|_1 for 2 |beta|_1."""
    beta = np.array([0.3, -2.0, 0.0, 1.0])
    for value in beta[beta != 0]:
        found = optimize.minimize_scalar(
            lambda log, value=value: np.exp(2 * log) + value**2 * np.exp(-2 * log)
        )
        assert np.exp(2 * found.x) == pytest.approx(abs(value), rel=1e-6)
        assert found.fun == pytest.approx(2 * abs(value))


def test_t9_a_diagonal_m_recovers_sparse_coefficients_better_but_not_exactly() -> None:
    (J,) = draw(3, (20, 60))
    truth = np.zeros(60)
    truth[[3, 17, 40]] = [5.0, -6.0, 4.0]
    least_norm = np.linalg.pinv(J) @ (J @ truth)
    beta, objectives = exact.diagonal_solution(J, J @ truth, SQUARE)
    np.testing.assert_allclose(J @ beta, J @ truth, atol=1e-9)
    assert np.all(np.diff(objectives) <= 1e-12 * objectives[0])
    l4 = [np.sum(b**2) ** 2 / np.sum(b**4) for b in (beta, least_norm)]  # how many entries matter
    assert l4[0] < 0.5 * l4[1]
    assert np.linalg.norm(beta - truth) < 0.6 * np.linalg.norm(least_norm - truth)
    assert np.count_nonzero(np.abs(beta) > 1e-6) > 50


def test_t9_in_blocks_of_a_layer_as_with_all_features_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    v, u, other, r = draw(6, (8, 5), (8, 7), (8, 6), (8,))
    flat = np.concatenate([np.einsum("np,nq->npq", v, u).reshape(8, -1), other], axis=1)
    expected, objectives = exact.diagonal_solution(flat, 3 * r, SQUARE)
    monkeypatch.setattr(diagonal, "BLOCK", 2 * 8 * 7)
    layers = [diagonal.Layer(OuterProducts(v, u)), exact.columns(other)]
    found = diagonal.adapt_diagonal(layers, 3 * r, SQUARE)
    together = np.concatenate([beta.ravel() for beta in found.beta])
    np.testing.assert_allclose(together, expected, atol=1e-7)
    assert found.objectives[-1] == pytest.approx(objectives[-1], rel=1e-12)
    scaled = flat * np.concatenate([m.ravel() for m in found.m])
    np.testing.assert_allclose(found.kernel, scaled @ scaled.T, rtol=1e-12)
    # It interpolates, and pays no more than another solution near it does.
    np.testing.assert_allclose(flat @ together, 3 * r, atol=1e-9)
    nullspace = np.linalg.svd(flat)[2][8:]
    for direction in nullspace:
        for step in (-1e-3, 1e-3):
            near = together + step * direction
            assert diagonal.diagonal_penalty(near, SQUARE) >= objectives[-1] * (1 - 1e-12)


# Theorem 2


@pytest.mark.parametrize("second", [SQUARE, ABSOLUTE, Fixed()])
def test_t7_the_factors_multiply_to_b_and_pay_the_joint_penalty(second: Penalty) -> None:
    (B,) = draw(4, (4, 3))
    B *= 2
    found = exact.layer_solution(B, SQUARE, second)
    np.testing.assert_allclose(found.left @ found.weight @ found.right, B, atol=1e-12)
    paid = np.sum(SQUARE(found.s1)) + np.sum(second(found.s2)) + np.sum(found.weight**2)
    assert paid == pytest.approx(joint_penalty(B, SQUARE, second), rel=1e-12)


def test_t6_no_other_factors_of_b_pay_less() -> None:
    """Lemma 5: over symmetric M_1 = exp(A), M_2 = exp(C), with W = M_1^-1 B M_2^-1."""
    (B,) = draw(5, (4, 3))
    B *= 1.5
    rows, columns = np.triu_indices(4), np.triu_indices(3)

    def symmetric(flat: np.ndarray, where: tuple[np.ndarray, ...], size: int) -> np.ndarray:
        half = np.zeros((size, size))
        half[where] = flat
        return half + half.T

    def objective(flat: np.ndarray) -> float:
        A, C = symmetric(flat[:10], rows, 4), symmetric(flat[10:], columns, 3)
        W = linalg.expm(-A) @ B @ linalg.expm(-C)
        paid = np.sum((np.exp(np.linalg.eigvalsh(A)) - 1) ** 2)
        return float(paid + np.sum((np.exp(np.linalg.eigvalsh(C)) - 1) ** 2) + np.sum(W**2))

    starts = [0.2 * draw(seed, (16,))[0] for seed in range(4)]
    least = min(optimize.minimize(objective, start, method="BFGS").fun for start in starts)
    assert least == pytest.approx(joint_penalty(B, SQUARE, SQUARE), rel=1e-7)


def of_matrices(gradients: np.ndarray, layer: exact.Factors) -> np.ndarray:
    """J M M^T J^T with M = M_2^T (kron) M_1 written out, on columns stacked."""
    J = np.stack([g.flatten(order="F") for g in gradients])
    M = np.kron(layer.right.T, layer.left)
    return np.asarray(J @ M @ M.T @ J.T)


def test_t7_the_double_sum_is_the_kernel_and_the_printed_17_is_not() -> None:
    B, gradients = draw(6, (4, 3), (5, 4, 3))
    layer = exact.layer_solution(3 * B, SQUARE, SQUARE)
    kernel = of_matrices(gradients, layer)
    np.testing.assert_allclose(exact.adapted_kernel(gradients, layer), kernel, atol=1e-11)
    printed = exact.adapted_kernel_paper_eq17(gradients, layer)
    assert np.abs(printed - kernel).max() > 0.1 * np.abs(kernel).max()


def test_t7_with_one_column_and_m2_fixed_the_printed_17_is_right() -> None:
    B, gradients = draw(7, (4, 1), (5, 4, 1))
    layer = exact.layer_solution(3 * B, SQUARE, Fixed())
    kernel = of_matrices(gradients, layer)
    printed = exact.adapted_kernel_paper_eq17(gradients, layer)
    np.testing.assert_allclose(printed, kernel, atol=1e-11)


# The solver of (16)


def direct(gradients: np.ndarray, r: np.ndarray, joint: Joint, starts: list[np.ndarray]) -> float:
    """The least sum of omega~ of the singular values over all interpolating B, by BFGS."""
    n, P, Q = gradients.shape
    J = gradients.reshape(n, -1)
    particular, free = np.linalg.pinv(J) @ r, linalg.null_space(J)

    def objective(x: np.ndarray) -> float:
        d = np.linalg.svd((particular + free @ x).reshape(P, Q), compute_uv=False)
        return float(np.sum(effective(joint, d)))

    return min(
        float(optimize.minimize(objective, start, method="BFGS", options={"gtol": 1e-7}).fun)
        for start in starts
    )


def descends(found: Adapted) -> bool:
    return bool(np.all(np.diff(found.objectives) <= 1e-12 * found.objectives[0]))


def test_the_one_sided_problem_is_convex_and_solved() -> None:
    gradients, r = draw(8, (6, 5, 4), (6,))
    r *= 4
    found = adapt([Dense(gradients)], r, [(SQUARE, Fixed())], iterations=3000, tolerance=1e-13)
    np.testing.assert_allclose(np.einsum("npq,pq->n", gradients, found.B[0]), r, atol=1e-9)
    assert descends(found)
    least = direct(gradients, r, Joint(SQUARE, Fixed()), [np.zeros(14)])
    assert found.objectives[-1] == pytest.approx(least, rel=1e-6)
    other = adapt([Dense(gradients)], r, [(SQUARE, Fixed())], iterations=3000, restarts=2, seed=3)
    np.testing.assert_allclose(other.starts, found.objectives[-1], rtol=1e-4)


def test_two_sides_need_restarts_and_then_find_what_a_direct_minimiser_finds() -> None:
    gradients, r = draw(9, (6, 5, 4), (6,))
    r *= 6
    joint, sides = Joint(SQUARE, SQUARE), [(SQUARE, SQUARE)]
    found = adapt([Dense(gradients)], r, sides, iterations=3000, tolerance=1e-12, restarts=4)
    assert descends(found)
    assert len(found.starts) == 5
    assert found.objectives[-1] == min(found.starts)
    starts = [draw(seed, (14,))[0] for seed in range(3)]
    least = direct(gradients, r, joint, starts)
    assert found.objectives[-1] <= least * (1 + 1e-4)


def test_t12_the_solution_has_a_lower_effective_rank_than_the_min_norm_one() -> None:
    for seed in range(5):
        gradients, r = draw(seed, (6, 5, 4), (6,))
        r *= 5
        found = adapt([Dense(gradients)], r, [(SQUARE, Fixed())], iterations=1000)
        least_norm = (np.linalg.pinv(gradients.reshape(6, -1)) @ r).reshape(5, 4)
        ranks = [
            effective_rank(np.linalg.svd(B, compute_uv=False)) for B in (found.B[0], least_norm)
        ]
        assert ranks[0] <= ranks[1] + 1e-9


def test_a_point_that_is_given_twice_changes_nothing() -> None:
    gradients, r = draw(11, (4, 3, 3), (4,))
    once = adapt([Dense(gradients)], r, [(SQUARE, SQUARE)], iterations=20)
    twice = adapt(
        [Dense(np.concatenate([gradients, gradients[:1]]))],
        np.concatenate([r, r[:1]]),
        [(SQUARE, SQUARE)],
        iterations=20,
    )
    np.testing.assert_allclose(twice.B[0], once.B[0], rtol=1e-6, atol=1e-8)


def test_of_a_point_that_is_given_twice_with_two_labels_the_mean_is_fitted() -> None:
    """K is singular and r not in its range, in Cholesky's rounding or not."""
    for seed in range(20):
        v, u, r = draw(seed, (8, 5), (8, 6), (8,))
        v[7], u[7] = v[0], u[0]
        kernel = OuterProducts(v, u).gram(np.eye(5), np.eye(6))
        fitted = r.copy()
        fitted[[0, 7]] = r[[0, 7]].mean()
        np.testing.assert_allclose(kernel @ solved(kernel, r), fitted, atol=1e-8)


def test_outer_products_and_several_layers_are_as_dense_gradients() -> None:
    v, u, w, z, r = draw(10, (6, 3), (6, 4), (6, 2), (6, 1), (6,))
    outer = [OuterProducts(v, u), OuterProducts(w, z)]
    dense = [Dense(np.einsum("np,nq->npq", a, b)) for a, b in ((v, u), (w, z))]
    sides = [(SQUARE, SQUARE), (SQUARE, Fixed())]
    one, other = (adapt(layers, 3 * r, sides, iterations=50) for layers in (outer, dense))
    np.testing.assert_allclose(one.objectives, other.objectives, rtol=1e-9)
    paid_by_both = sum(joint_penalty(B, *pair) for B, pair in zip(one.B, sides, strict=True))
    assert one.objectives[-1] == pytest.approx(paid_by_both)
    np.testing.assert_allclose(one.kernel, other.kernel, rtol=1e-8, atol=1e-10)
    by_theorem = sum(
        exact.adapted_kernel(part.gradients, exact.layer_solution(B, *side))
        for part, B, side in zip(dense, one.B, sides, strict=True)
    )
    np.testing.assert_allclose(one.kernel, by_theorem, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(one.M2[1], np.eye(1))
