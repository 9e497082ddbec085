"""The adapted kernel of a run, against autograd on the weights at its two ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from torch import nn

from ntkexp import data, models
from ntkexp.data.fitted_digits import FittedDigits, Targets
from ntkexp.errors import UserError
from ntkexp.models.bias_free_mlp import BiasFreeMlp
from tests.tiny_runs import assert_same_files, composed, train

pytestmark = pytest.mark.usefixtures("module_images")
WORDS = (
    "data=fitted_digits",
    "data.targets=sign",
    "data.train_examples=40",
    "data.width=16",
    "model=bias_free_mlp",
    "model.width=12",
    "objective=squared_error",
    "probe=[adapted_kernel]",
    "probe.adapted_kernel.examples=30",
    "probe.adapted_kernel.points=6",
    "probe.adapted_kernel.list_examples=true",
    "probe.adapted_kernel.cells=5",
    "probe.adapted_kernel.angles=2",
    "probe.adapted_kernel.shuffles=20",
    "probing.examples=6",
    "probing.spacing=list",
    "probing.steps=[0]",
    "optim.steps=120",
    "optim.lr=0.2",
    "optim.batch_size=20",
    "optim.stop_loss=null",
    "progress=false",
    "device=cpu",
)


class Reference:
    """Jacobians of both ends and of the segment, row by row in float64."""

    def __init__(self, run: Path) -> None:
        config = FittedDigits(targets=Targets.sign, train_examples=40, width=16)
        split = data.load(config, 0, torch.device("cpu"), progress=False).train
        self.x, self.targets = split.inputs[:30].double(), split.targets[:30].double().numpy()
        self.y = split.clean_targets[:30].double().numpy()
        self.net = models.build(BiasFreeMlp(width=12), (1, 28, 28), 1, seed=0).double()
        self.start = {name: p.detach().clone() for name, p in self.net.named_parameters()}
        self.end = {name: p.double() for name, p in torch.load(run / "weights.pt").items()}
        self.J = np.mean([self.jacobian(t) for t in np.linspace(0, 1, 6)], axis=0)
        ends = torch.cat([(self.end[n] - self.start[n]).flatten() for n in self.start])
        self.step = ends.numpy()
        self.f0, self.f = self.outputs(0.0), self.outputs(1.0)

    def at(self, t: float) -> nn.Module:
        with torch.no_grad():
            for name, p in self.net.named_parameters():
                p.copy_((1 - t) * self.start[name] + t * self.end[name])
        return self.net

    def outputs(self, t: float) -> np.ndarray:
        with torch.no_grad():
            return np.asarray(self.at(t)(self.x)[:, 0].numpy())

    def jacobian(self, t: float) -> np.ndarray:
        net = self.at(t)
        rows = [
            torch.cat([g.flatten() for g in torch.autograd.grad(value, [*net.parameters()])])
            for value in (net(one[None])[0, 0] for one in self.x)
        ]
        return np.asarray(torch.stack(rows).numpy())


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.sum(one * other) / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.fixture(scope="module")
def run(module_images: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("outputs"), *WORDS)


@pytest.fixture(scope="module")
def reference(run: Path) -> Reference:
    return Reference(run)


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(run / f"adapted_{name}.parquet")


def test_cosines_are_those_of_kernels_and_labels(run: Path, reference: Reference) -> None:
    found = table(run, "cosines").set_index(["first", "second"])["cosine"]
    J0, J, JT = reference.jacobian(0.0), reference.J, reference.jacobian(1.0)
    r = reference.f - reference.f0
    labels = {"residual": r, "output": reference.f, "targets": reference.targets}
    kernels = {"initial": J0 @ J0.T, "average": J @ J.T, "final": JT @ JT.T}
    assert len(found) == 15
    for name, K in kernels.items():
        for label, vector in labels.items():
            assert found[name, label] == pytest.approx(
                cosine(K, np.outer(vector, vector)), abs=1e-4
            )
        for other, K2 in kernels.items():
            if other != name:
                assert found[name, other] == pytest.approx(cosine(K, K2), abs=1e-4)


def test_sizes_and_layers_are_those_of_the_jacobian(run: Path, reference: Reference) -> None:
    sizes = table(run, "sizes").set_index(["kernel", "layer"])
    J0, J = reference.jacobian(0.0), reference.J
    assert sizes.loc[("average", "total"), "largest"] == pytest.approx((J @ J.T).max(), rel=1e-4)
    parts = {"hidden1": slice(0, 784 * 12), "hidden2": slice(-156, -12), "output": slice(-12, None)}
    layers = table(run, "layers").set_index("layer")
    changes = {
        name: np.linalg.norm(J[:, p] @ J[:, p].T - J0[:, p] @ J0[:, p].T)
        for name, p in parts.items()
    }
    y = reference.y
    residual = np.sign(y) - (np.sign(y) @ y) / (y @ y) * y
    for name, p in parts.items():
        moved = J[:, p] @ reference.step[p]
        assert sizes.loc[("change", name), "norm"] == pytest.approx(changes[name], rel=1e-3)
        assert layers.loc[name, "share"] == pytest.approx(
            changes[name] / sum(changes.values()), rel=1e-3
        )
        assert layers.loc[name, "moved"] == pytest.approx(np.linalg.norm(moved), rel=1e-3)
        assert layers.loc[name, "distance"] == pytest.approx(
            np.linalg.norm(reference.step[p]), rel=1e-4
        )
        for column, vector in (
            ("with_targets", reference.targets),
            ("with_linear", y),
            ("with_residual", residual),
        ):
            truth = np.corrcoef(moved, vector)[0, 1]
            assert layers.loc[name, column] == pytest.approx(truth, abs=1e-3)


def test_the_identity_is_told_for_three_rules(run: Path, reference: Reference) -> None:
    found = table(run, "identity").set_index("rule")["error"]
    r = reference.f - reference.f0
    error = np.linalg.norm(reference.J @ reference.step - r) / np.linalg.norm(r)
    assert found["linspace"] == pytest.approx(error, rel=1e-2)
    assert set(found.index) == {"linspace", "midpoint", "trapezoid"}


def test_fits_are_numpys_least_squares(run: Path, reference: Reference) -> None:
    found = table(run, "fits").set_index(["label", "parts"])
    J0, K = reference.jacobian(0.0), reference.J @ reference.J.T
    r, y = reference.f - reference.f0, reference.y
    A = np.stack([(J0 @ J0.T).ravel(), np.outer(r, r).ravel(), np.outer(y, y).ravel()], axis=1)
    for parts in (2, 3):
        x = np.linalg.lstsq(A[:, :parts], K.ravel(), rcond=None)[0]
        remainder = K - (A[:, :parts] @ x).reshape(K.shape)
        r2 = 1 - np.sum(remainder**2) / np.sum((K - K.mean()) ** 2)
        row = found.loc[("residual", parts)]
        assert row[["a", "b", "c"][:parts]].tolist() == pytest.approx(
            x.tolist(), rel=2e-2, abs=2e-2
        )
        assert row["r2"] == pytest.approx(r2, abs=1e-3)
    assert found.loc[("residual", 2), "c"] != found.loc[("residual", 2), "c"]


def test_examples_are_in_the_order_of_the_linear_target(run: Path, reference: Reference) -> None:
    found, order = table(run, "examples"), np.argsort(reference.y)
    assert found["linear"].is_monotonic_increasing
    K = reference.J @ reference.J.T
    np.testing.assert_allclose(found["average"], np.diag(K)[order], rtol=1e-3)
    np.testing.assert_allclose(found["output"], reference.f[order], atol=1e-4)
    np.testing.assert_allclose(found["start"], reference.f0[order], atol=1e-4)
    np.testing.assert_array_equal(found["target"], np.sign(found["linear"]))
    cells = table(run, "cells").query("kernel == 'average'").pivot(index="row", columns="column")
    means = K[np.ix_(order, order)].reshape(5, 6, 5, 6).mean((1, 3))
    np.testing.assert_allclose(cells["value"], means, rtol=1e-3, atol=1e-3)


def test_fifths_are_means_over_the_least_and_the_largest_targets(
    run: Path, reference: Reference
) -> None:
    found = table(run, "fifths").set_index("statistic")
    diagonal, order = np.sum(reference.J**2, axis=1), np.argsort(np.abs(reference.y))
    assert found.loc["diagonal", "low"] == pytest.approx(diagonal[order[:6]].mean(), rel=1e-4)
    assert found.loc["diagonal", "high"] == pytest.approx(diagonal[order[-6:]].mean(), rel=1e-4)
    truth = stats.spearmanr(diagonal, np.abs(reference.y)).statistic
    assert found.loc["diagonal", "spearman"] == pytest.approx(truth, abs=5e-3)
    assert set(found.index) == {"diagonal", "relative", "remainder"}


def test_the_premise_is_the_least_norm_in_each_kernel(run: Path, reference: Reference) -> None:
    found = table(run, "premise").set_index("kernel")
    r = reference.f - reference.f0
    for name, J in (("average", reference.J), ("initial", reference.jacobian(0.0))):
        least = np.sum((np.linalg.pinv(J, rcond=2e-3) @ r) ** 2)
        assert found.loc[name, "least"] == pytest.approx(least, rel=2e-2)
    assert found["distance"].unique() == pytest.approx([reference.step @ reference.step], rel=1e-4)


def test_a_layers_change_is_told_by_rank_label_components_and_what_its_inputs_fit(
    run: Path, reference: Reference
) -> None:
    found = table(run, "change").set_index("layer")
    J0, J = reference.jacobian(0.0), reference.J
    r, y = reference.f - reference.f0, reference.y
    change = J @ J.T - J0 @ J0.T
    squares = np.sort(np.linalg.eigvalsh(change) ** 2)
    assert found.loc["total", "leading"] == pytest.approx(
        squares[-5:].sum() / squares.sum(), rel=1e-3
    )
    last = J[:, -12:] @ J[:, -12:].T - J0[:, -12:] @ J0[:, -12:].T
    assert found.loc["output", "with_label"] == pytest.approx(
        cosine(last, np.outer(r, r)), abs=1e-3
    )
    # The second layer: its part of each row of J is a matrix, 12 by 12.
    part = slice(-156, -12)
    u, _, v = np.linalg.svd(reference.step[part].reshape(12, 12))
    along = np.abs(J[:, part] @ np.outer(u[:, 0], v[0]).ravel()) / np.linalg.norm(
        J[:, part], axis=1
    )
    order = np.argsort(np.abs(y))
    truth = along[order[:6]].mean() / along[order[-6:]].mean()
    assert found.loc["hidden2", "near_zero"] == pytest.approx(truth, rel=1e-2)
    # What the last layer is given at the start is its gradient there.
    z = J0[:, -12:]
    for column, target in (("left_of_linear", y), ("left_of_sign", np.sign(y))):
        rest = target - z @ np.linalg.pinv(z) @ target
        assert found.loc["output", column] == pytest.approx(
            rest @ rest / (target @ target), rel=1e-3
        )


def test_angles_are_cosines_that_end_near_those_of_the_final_kernel(
    run: Path, reference: Reference
) -> None:
    found = table(run, "angles")
    assert sorted(found["t"].unique()) == pytest.approx(np.linspace(0.1, 1, 10))
    J0, J, JT = reference.jacobian(0.0), reference.J, reference.jacobian(1.0)

    def leading(K: np.ndarray) -> np.ndarray:
        eigs, vectors = np.linalg.eigh(K)
        return np.asarray(vectors[:, np.argsort(-np.abs(eigs))[:2]])

    span, last = (leading(X @ X.T - J0 @ J0.T) for X in (J, JT))
    truth = np.linalg.svd(span.T @ last, compute_uv=False)
    at_end = found[found["t"] == 1].sort_values("index")["cosine"]
    np.testing.assert_allclose(at_end, truth, atol=1e-3)


def test_cka_is_that_of_centred_kernels_and_above_that_of_shuffled_labels(
    run: Path, reference: Reference
) -> None:
    found = table(run, "ckas").set_index("kernel")
    H = np.eye(30) - 1 / 30
    K = H @ reference.J @ reference.J.T @ H
    truth = cosine(K, H @ np.outer(reference.targets, reference.targets) @ H)
    assert found.loc["average", "cka"] == pytest.approx(truth, abs=1e-4)
    # The mean over permutations of y' K y is that over random directions: Tr K |y|^2 / (n - 1).
    expected = np.trace(K) / 29 / np.linalg.norm(K)
    assert found.loc["average", "shuffled"] == pytest.approx(expected, rel=0.3)
    assert (found["shuffled"] <= found["highest"]).all()
    assert (found["shuffles"] == 20).all()


@pytest.mark.parametrize("stop", [0, 60, pytest.param(1, marks=pytest.mark.on_demand)])
def test_a_run_that_is_cut_short_comes_out_the_same(run: Path, tmp_path: Path, stop: int) -> None:
    train(tmp_path, *WORDS, stop_at=stop)
    assert_same_files(run, train(tmp_path, *WORDS))


def test_members_have_kernels_of_their_own(run: Path, tmp_path: Path) -> None:
    words = [word for word in WORDS if not word.startswith("data.targets")]
    many = train(tmp_path, *words, "members={data.targets: [linear, sign]}")
    alone, found = table(run, "cosines"), table(many, "cosines")
    same = found[found["data.targets"] == "sign"]["cosine"].to_numpy()
    np.testing.assert_allclose(same, alone["cosine"], atol=2e-3)
    assert len(found) == 30


@pytest.fixture(scope="module")
def pairs(module_images: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seeds of networks that fit linear targets, and of networks that fit their signs."""
    kept = ("data=", "model=", "objective=", "probe=", "prob", "optim.stop", "progress", "device")
    words = [word for word in WORDS if word.startswith(kept) and ".adapted_kernel." not in word]
    words += ["data.train_examples=60", "data.width=32", "model.width=32"]
    words += ["optim.steps=400", "optim.lr=0.2", "optim.batch_size=null"]
    words += ["probe.adapted_kernel.points=10"]
    words += ["members={seed: [0, 1, 2], data.targets: [linear, sign]}"]
    return train(tmp_path_factory.mktemp("pairs"), *words)


def by_task(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    return frame.pivot(index="seed", columns="data.targets", values=column)


def test_t13_signs_align_the_kernel_more_and_raise_it_near_zero(pairs: Path) -> None:
    evals = pd.read_parquet(pairs / "evals.parquet")
    last = evals[(evals["split"] == "train") & (evals["step"] == 400)]
    assert (last["loss"] < 1e-5).all()
    cosines = table(pairs, "cosines").query("first == 'average' and second == 'residual'")
    means = by_task(cosines, "cosine").mean()
    assert means["sign"] > means["linear"] + 0.005
    fifths = table(pairs, "fifths").query("statistic == 'diagonal'")
    ratios = by_task(fifths.assign(ratio=fifths["low"] / fifths["high"]), "ratio")
    assert (ratios["sign"] > ratios["linear"] + 0.05).all()


def test_t14_the_final_kernel_is_the_adapted_one_rescaled(pairs: Path) -> None:
    final = table(pairs, "cosines").query("first == 'final' and second == 'average'")
    assert len(final) == 6
    assert (final["cosine"] > 0.95).all()
    assert (final["ratio"] > 1.5).all()


def test_classes_have_no_residual_and_no_rows_for_examples(tmp_path: Path) -> None:
    words = ["data=mnist", "model=mlp", "model.width=8", "model.depth=2", "optim.steps=20"]
    words += ["data.train_examples=60", "data.test_examples=30"]
    words += ["probe=[adapted_kernel]", "probe.adapted_kernel.examples=12", *WORDS[-7:]]
    words += ["probe.adapted_kernel.points=3", "probing.examples=6", "optim.steps=20"]
    run = train(tmp_path, *words)
    assert table(run, "layers")["with_residual"].isna().all()
    assert set(table(run, "fits")["parts"]) == {2}


@pytest.mark.parametrize("option", ["list_examples=true", "cells=4"])
def test_an_order_of_classes_is_refused_before_the_training(option: str, tmp_path: Path) -> None:
    words = ["data=disk", "data.train_examples=30", "data.grid=5", "model=mlp", "model.width=4"]
    words += ["model.depth=1", "probe=[adapted_kernel]", "optim.steps=5", *WORDS[-2:]]
    words += ["probing.examples=6", f"probe.adapted_kernel.{option}"]
    with pytest.raises(UserError, match="targets that are numbers"):
        train(tmp_path, *words)


def test_bad_options_are_refused() -> None:
    with pytest.raises(UserError, match="simpson"):
        composed([*WORDS, "probe.adapted_kernel.rule=simpson"])
