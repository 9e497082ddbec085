"""Every representation is what its definition says of the matrix that autograd gives."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.curvature import Fisher, Vector, fisher, fishers
from ntkexp.curvature.gradients import OF
from ntkexp.curvature.kinds import BY_LAYER, WHOLE
from ntkexp.curvature.kronecker import Ekfac, Kfac
from ntkexp.errors import UserError
from tests.curvature.truth import NETS, gradients, jacobian, matrix, network, places

KINDS = [kind for kind in (*WHOLE, *BY_LAYER) if kind != "implicit"]
close = torch.testing.assert_close


def in_two(x: Tensor, y: Tensor) -> list[tuple[Tensor, Tensor]]:
    return [(x[:4], y[:4]), (x[4:], y[4:])]


def direction(net: nn.Module, seed: int = 0) -> Vector:
    return Vector.random(net, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("net_name", NETS)
@pytest.mark.parametrize("of", [of for of in OF if of != "mc"])
def test_the_dense_matrix_is_that_of_autograd(net_name: str, of: str) -> None:
    net, x, y = network(net_name)
    truth = matrix(net, x, y, of)
    close(fisher(net, in_two(x, y), "dense", of=of).to_dense(), truth)
    close(fisher(net, in_two(x, y), "low_rank", of=of).to_dense(), truth)


@pytest.mark.parametrize("net_name", NETS)
@pytest.mark.parametrize("of", OF)
def test_the_implicit_matrix_is_the_dense_one(net_name: str, of: str) -> None:
    net, x, y = network(net_name)
    implicit = fisher(net, in_two(x, y), "implicit", of=of)
    dense = fisher(net, in_two(x, y), "dense", of=of)
    v = direction(net)
    close(implicit.mv(v).flat(), dense.mv(v).flat())
    assert implicit.vTMv(v) == pytest.approx(dense.vTMv(v))
    assert implicit.trace() == pytest.approx(dense.trace())


@pytest.mark.parametrize("net_name", NETS)
@pytest.mark.parametrize("of", ["exact", "empirical", "covariance"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sua", [False, True])
def test_operations_are_those_of_the_matrix(net_name: str, kind: str, of: str, sua: bool) -> None:
    if (kind, of) == ("kfac", "covariance") or (sua and "kfac" not in kind):
        return
    net, x, y = network(net_name)
    F = fisher(net, in_two(x, y), kind, of=of, sua=sua)
    dense, v = F.to_dense(), direction(net)
    close(dense, dense.t())
    close(F.mv(v).flat(), dense @ v.flat())
    assert F.vTMv(v) == pytest.approx(float(v.flat() @ dense @ v.flat()))
    assert F.trace() == pytest.approx(float(dense.trace()))
    assert F.frobenius() == pytest.approx(float(dense.norm()))
    damped = dense + 0.1 * torch.eye(len(dense), dtype=torch.float64)
    close(F.solve(v, 0.1).flat(), torch.linalg.solve(damped, v.flat()))


@pytest.mark.parametrize("net_name", NETS)
@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_added_up(net_name: str, kind: str) -> None:
    net, x, y = network(net_name)
    close(fisher(net, [(x, y)], kind).to_dense(), fisher(net, iter(in_two(x, y)), kind).to_dense())


@pytest.mark.parametrize("net_name", NETS)
@pytest.mark.parametrize("of", ["exact", "covariance"])
def test_diagonals_and_blocks_are_parts_of_the_matrix(net_name: str, of: str) -> None:
    net, x, y = network(net_name)
    truth = matrix(net, x, y, of)
    close(fisher(net, [(x, y)], "diagonal", of=of).to_dense(), truth.diagonal().diag())
    kept = torch.zeros_like(truth, dtype=torch.bool)
    for layer in net.modules():
        names = [n for n, p in net.named_parameters() for q in layer.parameters(False) if p is q]
        if names:
            at = places(net, *names)
            kept[at[:, None], at] = True
    close(fisher(net, [(x, y)], "block_diagonal", of=of).to_dense(), truth * kept)


def test_a_quasi_diagonal_has_each_bias_beside_the_weights_of_its_unit() -> None:
    net, x, y = network("convolutions")
    truth = matrix(net, x, y, "exact")
    kept = torch.eye(len(truth), dtype=torch.bool)
    for layer in ("0", "1", "3", "6"):
        bias = places(net, f"{layer}.bias")
        for unit, weights in enumerate(places(net, f"{layer}.weight").view(len(bias), -1)):
            kept[weights, bias[unit]] = kept[bias[unit], weights] = True
    close(fisher(net, [(x, y)], "quasi_diagonal").to_dense(), truth * kept)


@pytest.mark.parametrize("of", ["exact", "empirical"])
def test_a_linear_layer_of_kfac_is_the_product_of_its_means(of: str) -> None:
    net, x, y = network("mlp")
    a = torch.cat([x, torch.ones(len(x), 1)], 1)
    hidden = net[0](x)
    log_shares = net[2](net[1](hidden)).log_softmax(1)
    weights = log_shares.detach().exp() if of == "exact" else functional.one_hot(y, 3).double()
    b = torch.zeros(5, 5, dtype=torch.float64)
    for label in range(3):
        (g,) = torch.autograd.grad(log_shares[:, label].sum(), hidden, retain_graph=True)
        b += (g * weights[:, label, None]).t() @ g / len(x)
    F = fisher(net, [(x, y)], "kfac", of=of)
    by_rows = torch.einsum("op,kl->okpl", b, a.t() @ a / len(x))  # (out, in + 1)^2
    assert F.blocks[0].names == ["0.weight", "0.bias"]
    at = places(net, "0.weight", "0.bias")
    whole = F.to_dense()[at[:, None], at]
    order = torch.cat([torch.arange(20).view(5, 4), 20 + torch.arange(5)[:, None]], 1).flatten()
    close(whole[order[:, None], order], by_rows.reshape(25, 25))


@pytest.mark.parametrize("net_name", NETS)
def test_ekfac_is_the_diagonal_in_the_eigenbasis_and_the_best_of_all(net_name: str) -> None:
    """Theorems 1 to 3 of the thesis: S* is E[(U^T g)^2], no diagonal in this basis is nearer to the
    matrix, and what KFAC is farther away is its distance from S*."""
    net, x, y = network(net_name)
    truth = matrix(net, x, y, "exact")
    ekfac, kfac = (fisher(net, [(x, y)], kind) for kind in ("ekfac", "kfac"))
    for by_e, by_k in zip(ekfac.blocks, kfac.blocks, strict=True):
        if not isinstance(by_e, Ekfac) or not isinstance(by_k, Kfac):
            continue
        at = places(net, *by_e.names)
        block = truth[at[:, None], at]
        like = torch.eye(len(at), dtype=torch.float64)
        u = by_e.layout.rows(by_e.basis.back(by_e.layout.matrices(like)))  # a basis vector a row
        order = _within(net, by_e.names)
        block = block[order[:, None], order]
        close(by_e.layout.rows(by_e.squares), (u @ block @ u.t()).diagonal())
        error_e = (by_e.dense(like) - block).square().sum()
        error_k = (by_k.dense(like) - block).square().sum()
        apart = (by_e.squares - by_k.basis.products()).square().sum()
        close(error_k - error_e, apart)
        assert error_e <= error_k


def _within(net: nn.Module, names: list[str]) -> Tensor:
    """`places` sorts by the model; blocks have an order of their own."""
    together = places(net, *names)
    return torch.cat([torch.searchsorted(together, places(net, name)) for name in names])


def test_refreshed_squares_are_nearer_than_those_of_before_in_a_stale_basis() -> None:
    """Between refreshes of the basis the weights move; T10."""
    net, x, y = network("mlp")
    ekfac = fisher(net, [(x, y)], "ekfac", of="empirical")
    block = ekfac.blocks[0]
    assert isinstance(block, Ekfac) and block.squares is not None
    stale = block.squares.clone()
    with torch.no_grad():
        net[0].weight += 0.5
    rows = gradients(net, functional.cross_entropy(net(x), y, reduction="none"))
    rows = rows[:, places(net, *block.names)]
    truth = rows.t() @ rows / len(x)
    fresh = block.basis.to(block.layout.matrices(rows)).square().mean(0)
    like = torch.eye(len(truth), dtype=torch.float64)
    errors = []
    for squares in (fresh, stale):
        block.squares = squares
        errors.append(float((block.dense(like) - truth).norm()))
    assert errors[0] < errors[1]


@pytest.mark.parametrize("net_name", NETS)
def test_traces_are_exact_but_for_kfac(net_name: str) -> None:
    net, x, y = network(net_name)
    trace = float(matrix(net, x, y, "exact").trace())
    for kind in (*WHOLE, *BY_LAYER):
        right = fisher(net, [(x, y)], kind).trace() == pytest.approx(trace)
        assert right == (kind != "kfac"), kind


def test_kfac_is_exact_for_one_example_and_one_position() -> None:
    net, x, y = network("mlp", n=1)
    truth = fisher(net, [(x, y)], "block_diagonal").to_dense()
    close(fisher(net, [(x, y)], "kfac").to_dense(), truth)


def test_the_matrix_and_the_kernel_have_one_spectrum() -> None:
    net, x, y = network("convolutions")
    F = fisher(net, [(x, y)], "dense", of="l2").to_dense()
    rows = jacobian(net, x)
    spectrum = torch.linalg.eigvalsh(F)[-len(rows) :]
    close(spectrum, torch.linalg.eigvalsh(rows @ rows.t() / len(x)))


def test_the_divergence_of_a_small_change_is_half_its_square() -> None:
    """KL(f_{w + dw} || f_w) = dw F dw / 2 + o(|dw|^2)."""
    net, x, y = network("mlp")
    v = 1e-4 * direction(net)
    F = fisher(net, [(x, y)], "dense")
    before = net(x).log_softmax(1).detach()
    with torch.no_grad():
        for parameter, part in zip(net.parameters(), v.parts.values(), strict=True):
            parameter += part
    after = net(x).log_softmax(1).detach()
    divergence = (after.exp() * (after - before)).sum(1).mean()
    assert float(divergence) == pytest.approx(F.vTMv(v) / 2, rel=1e-3)


def test_drawn_labels_give_the_exact_matrix_in_the_end() -> None:
    net, x, y = network("mlp")
    truth = matrix(net, x, y, "exact")

    def error(samples: int) -> float:
        F = fisher(net, in_two(x, y), "dense", of="mc", samples=samples)
        return float((F.to_dense() - truth).norm() / truth.norm())

    assert error(4000) < 0.05 < error(2)
    F = [fisher(net, in_two(x, y), "dense", of="mc", seed=seed).to_dense() for seed in (0, 0, 1)]
    close(F[0], F[1], rtol=0, atol=0)
    assert not torch.allclose(F[0], F[2])


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_is_that_of_the_solved_matrix(kind: str) -> None:
    net, x, y = network("convolutions")
    z = torch.randn(2, *x.shape[1:], dtype=torch.float64)
    F = fisher(net, [(x, y)], kind)
    damped = F.to_dense() + 0.1 * torch.eye(len(F.to_dense()), dtype=torch.float64)
    truth = jacobian(net, x) @ torch.linalg.solve(damped, jacobian(net, z).t())
    close(F.kernel(x, z, 0.1), truth)


def test_the_kernel_of_its_own_matrix_bends_its_spectrum() -> None:
    """lambda becomes lambda / (lambda + damping)."""
    net, x, y = network("mlp")
    F = fisher(net, [(x, y)], "low_rank", of="l2")
    rows = jacobian(net, x)
    spectrum = torch.linalg.eigvalsh(rows @ rows.t() / len(x)).clamp(min=0)
    bent = torch.linalg.eigvalsh(F.kernel(x, x, 0.3) / len(x))
    close(bent, spectrum / (spectrum + 0.3))


def test_influences_are_the_kernel_of_losses() -> None:
    net, x, y = network("mlp")
    F = fisher(net, [(x, y)], "dense", of="empirical")
    labels = torch.cat([y, y[:2]])

    def losses(f: Tensor, i: Tensor) -> Tensor:
        return functional.cross_entropy(f, labels[i], reduction="none")

    rows = gradients(net, functional.cross_entropy(net(x), y, reduction="none"))
    damped = F.to_dense() + 0.1 * torch.eye(rows.shape[1], dtype=torch.float64)
    truth = rows @ torch.linalg.solve(damped, rows[:2].t())
    close(F.kernel(x, x[:2], 0.1, outputs=losses), truth)


def test_each_layer_has_its_kind_and_others_are_left_out() -> None:
    net, x, y = network("convolutions")
    F = fisher(net, [(x, y)], {"1": "block_diagonal", "6": "kfac"})
    assert [*F.shapes] == ["1.weight", "1.bias", "6.weight", "6.bias"]
    at = places(net, "1.weight", "1.bias")
    close(F.to_dense()[:8, :8], matrix(net, x, y, "exact")[at[:, None], at])
    assert F.to_dense()[:8, 8:].norm() == 0
    assert all(p.requires_grad for p in net.parameters())


def test_several_kinds_are_of_the_same_gradients() -> None:
    net, x, y = network("convolutions")
    kinds = ["ekfac", "implicit", {"1": "block_diagonal"}, "diagonal"]
    together = fishers(net, in_two(x, y), kinds, of="mc")
    for kind, ours in zip(kinds, together, strict=True):
        alone = fisher(net, in_two(x, y), kind, of="mc")
        close(ours.mv(direction(net)).flat(), alone.mv(direction(net)).flat())


def test_large_layers_without_factors_are_diagonals() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.LayerNorm(1100), nn.Linear(1100, 2)).double()
    x = torch.randn(3, 1100, dtype=torch.float64)
    norm, _ = fisher(net, [(x, torch.zeros(3).long())], "kfac").blocks
    assert type(norm).__name__ == "Diagonal"


REFUSED = {
    "kind='kfa'": {"kind": "kfa"},
    "of='fisher': expected one of exact, mc": {"of": "fisher"},
    "kind of layer 7: there is none; expected 0, 1, 3, 6": {"kind": {"7": "kfac"}},
    "kind='dense' of layer 0: expected one of block_diagonal": {"kind": {"0": "dense"}},
    "kind=kfac of=covariance": {"of": "covariance"},
}


@pytest.mark.parametrize("line", REFUSED)
def test_wrong_words_end_in_a_line(line: str) -> None:
    net, x, y = network("convolutions")
    with pytest.raises(UserError, match=line):
        fisher(net, [(x, y)], **REFUSED[line])


def test_operations_without_a_formula_end_in_a_line() -> None:
    net, x, y = network("mlp")
    F: Fisher = fisher(net, [(x, y)], "implicit")
    for operation in (F.frobenius, F.to_dense, lambda: F.solve(direction(net), 0.1)):
        with pytest.raises(UserError, match="kind=implicit: has mv, vTMv and trace, no"):
            operation()
    with pytest.raises(UserError, match="damping=0: expected a number above 0"):
        fisher(net, [(x, y)]).solve(direction(net), 0)
    with pytest.raises(UserError, match=r"lacks 2\.weight .*; it has 0\.weight .*; expected 0"):
        fisher(net, [(x, y)]).mv(Vector({n: p for n, p in net.named_parameters() if "0" in n}))
    with pytest.raises(UserError, match="no batch was given"):
        fisher(net, [])


def test_what_is_no_pair_no_vector_and_no_loss_of_each_example_ends_in_a_line() -> None:
    net, x, y = network("mlp")
    with pytest.raises(UserError, match=r"no pair; expected pairs, such as \[\(x, y\)\]"):
        fisher(net, (x, y))
    F = fisher(net, [(x, y)])
    with pytest.raises(UserError, match="got a Tensor; expected a Vector"):
        F.solve(direction(net).flat(), 0.1)
    stretched = Vector({name: part[:1] for name, part in direction(net).parts.items()})
    with pytest.raises(UserError, match=r"lacks 0\.weight \(.*; it has 0\.weight \(1, "):
        F.mv(stretched)
    told = r"loss of outputs \(\d+, \d+\) and targets \(\d+,\): "
    with pytest.raises(UserError, match=f"{told}Target .* is out of bounds"):
        fisher(net, [(x, y + 50)], of="empirical")
    with pytest.raises(UserError, match=rf"{told}gives \(\); expected \(\d+,\), one each"):
        fisher(net, [(x, y)], of="empirical", loss=functional.cross_entropy)
