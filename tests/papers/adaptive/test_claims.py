"""Every claim of the paper holds with tables that show it and fails with those that do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.adaptive.cases import fitted_seeds
from ntkexp.results.record import Record
from tests.papers.made import record, rows

LEDGER = {claim.id: claim for claim in ledger(["adaptive"])}
SEEDS = (0, 1)
TASKS = ("linear", "sign")
LAYERS = ("hidden1", "hidden2", "output")
# What a network has on the linear task, then on the signs: the latter more, or less.
MORE, LESS = ([[1.0], [2.0]], [[1.0], [0.5]])


def networks(**columns: Any) -> pd.DataFrame:
    """A row of these columns for both tasks of both seeds; values may be (tasks, seeds)."""
    return rows({"data.targets": TASKS, "seed": SEEDS}, **columns)


def stacked(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(frames, ignore_index=True)


def cosines(holds: bool) -> pd.DataFrame:
    """Sign above linear with every label kernel; final kernels larger and alike; or the reverse."""
    by_task = np.array([[0.45], [0.5]] if holds else [[0.5], [0.3]])
    # The cosines rise or fall with |beta|^2, which rises from seed to seed.
    apart = np.array(SEEDS) * (0.01 if holds else -0.01)
    labels = ("residual", "output", "targets")
    pairs = [
        *(("average", label, 1.0, by_task + apart) for label in labels),
        ("average", "initial", 3.0, 0.9 if holds else 0.8),
        # A large label kernel beside a small initial one: (9) adds too much of it.
        ("initial", "residual", *((1.0, [[0.1], [0.2]]) if holds else (0.05, [[0.2], [0.1]]))),
        ("final", "average", *((3.0, 0.99) if holds else (0.5, 0.5))),
    ]
    names = ("first", "second", "ratio", "cosine")
    return stacked(networks(**dict(zip(names, pair, strict=True))) for pair in pairs)


def fits(holds: bool) -> pd.DataFrame:
    r2, c = (0.95, 0.2) if holds else (0.5, -0.2)
    return stacked(
        networks(label="residual", parts=parts, a=1.0, b=0.3, c=third, r2=r2)
        for parts, third in ((2, np.nan), (3, c))
    )


def fifths(holds: bool) -> pd.DataFrame:
    near = MORE if holds else LESS
    names = ("diagonal", "remainder")
    return stacked(networks(statistic=name, high=1.0, low=near) for name in names)


def layers(holds: bool) -> pd.DataFrame:
    last = 0.8 if holds else 0.1
    with_y, with_rest = (0.3, 0.8) if holds else (0.8, 0.3)
    return rows(
        {"data.targets": TASKS, "seed": SEEDS, "layer": LAYERS},
        share=(1 - last, 0.0, last),
        with_linear=(with_y, with_y, 0.99 if holds else 0.3),
        with_residual=(with_rest, with_rest, 0.0),
        with_targets=0.9,
        # As much as the signs of `examples` have along y, or hardly anything.
        moved=3.0 if holds else 0.1,
    )


def examples(holds: bool) -> pd.DataFrame:
    """The signs of y, or a target whose residual is largest far from 0."""
    y = np.array([-2.0, -1.5, -1.0, -0.5, -0.1, 0.1, 0.5, 1.0, 1.5, 2.0])
    target = np.sign(y) if holds else y**3
    axes = {"data.targets": TASKS, "seed": SEEDS, "linear": y}
    return rows(axes, start=0.0, target=target, output=target)


def relaxed_kernels(holds: bool) -> pd.DataFrame:
    with_label = [[0.2], [0.3]] if holds else [[0.3], [0.2]]
    others = {"average": 0.95 if holds else 0.1, "residual": with_label}
    return stacked(
        networks(other=other, ratio=1.0, cosine=cosine) for other, cosine in others.items()
    )


def angles(holds: bool) -> pd.DataFrame:
    axes = {"data.targets": TASKS, "seed": SEEDS, "t": (0.1, 1.0), "index": (1, 2)}
    return rows(axes, cosine=lambda **one: 0.95 if holds or one["t"] > 0.5 else 0.4)


def premise(holds: bool) -> pd.DataFrame:
    least = (10.0 if holds else 5.0) + 0.1 * np.array(SEEDS)
    kernels = ("initial", "average", "final")
    return stacked(networks(kernel=kernel, distance=10.0, least=least) for kernel in kernels)


def changes(holds: bool) -> pd.DataFrame:
    """Hidden layers and the last one, and the whole kernel."""
    axes = {"data.targets": TASKS, "seed": SEEDS, "layer": (*LAYERS, "total")}
    high, left = (0.95, 0.02) if holds else (0.4, 0.12)
    return rows(axes, leading=high, with_label=high, near_zero=high + 0.1, left_of_linear=left,
                left_of_sign=0.2 if holds else 0.03)  # fmt: skip


def singular_values(holds: bool) -> pd.DataFrame:
    spread, narrow = (1.0, 1.0, 1.0), (1.0, 0.1, 0.1)
    axes = {"data.targets": TASKS, "seed": SEEDS, "layer": LAYERS, "rank": (1, 2, 3)}
    return stacked(
        [
            rows(axes, of="network", value=narrow if holds else spread),
            rows(axes, of="min_norm", value=spread if holds else narrow),
            rows(axes | {"rank": [1]}, of="relaxed", value=[[1], [1], [3.0 if holds else 0.3]]),
        ]
    )


def entries(holds: bool) -> pd.DataFrame:
    """One layer of three decides."""
    ratios = np.array([0.8, 0.9 if holds else 1.1, 0.8])
    axes = {"data.targets": TASKS, "seed": SEEDS, "layer": LAYERS}
    sizes = {"min_norm": 50.0, "diagonal": 50.0 * ratios, "network": 100.0}
    return stacked(rows(axes, of=kind, entries=size) for kind, size in sizes.items())


def penalties(holds: bool) -> pd.DataFrame:
    power = 1.0 if holds else 2.5
    values = [0.01**2 if holds else 0.5, 50.0**power, 100.0**power]
    names = ("square", "absolute", "joint", "none")
    return rows({"penalty": names, "v": [0.01, 50.0, 100.0]}, value=values)


def targets(holds: bool) -> pd.DataFrame:
    by_split = np.array([0.95, 0.9] if holds else [0.9, 0.95])
    axes = {"fit": ("least_squares", "sgd"), "seed": SEEDS, "split": ("train", "test")}
    return rows(axes, accuracy=by_split + np.array(SEEDS)[:, None] / 100)


def network(experiment: str, holds: bool, *, error: float = 1e-6) -> Record:
    tables = {
        "evals": networks(step=10, split="train", subset="all", loss=error / 2),
        "adapted_cosines": cosines(holds),
        "adapted_fits": fits(holds),
        "adapted_fifths": fifths(holds),
        "adapted_layers": layers(holds),
        "adapted_angles": angles(holds),
        "adapted_examples": examples(holds),
        "adapted_sizes": networks(kernel="change", layer="total", norm=MORE if holds else LESS),
        "adapted_change": changes(holds),
        "adapted_premise": premise(holds),
        "relaxed_singular_values": singular_values(holds),
        "relaxed_entries": entries(holds),
        "relaxed_kernels": relaxed_kernels(holds),
        "relaxed_solution": networks(least=MORE if holds else LESS),
        "effective_penalties": penalties(holds),
        "threshold_targets": targets(holds),
    }
    return record(experiment, tables, **{"model.weights": "he", "optim.batch_size": 100})


@pytest.mark.parametrize("name", LEDGER)
@pytest.mark.parametrize("holds", [True, False])
def test_a_claim_is_judged_by_what_its_tables_show(name: str, holds: bool) -> None:
    claim = LEDGER[name]
    found = judge(claim, [network(one, holds) for one in claim.experiments])
    assert found.verdict is (Verdict.holds if holds else Verdict.fails), found.measured
    assert found.missing == ()


def test_networks_that_have_not_fitted_their_targets_decide_nothing() -> None:
    one = network("adaptive/robustness", True, error=2e-3)
    assert fitted_seeds(one) == set()
    assert fitted_seeds(network("adaptive/robustness", True)) == {0, 1}
    assert judge(LEDGER["adaptive-robust-sign-higher"], [one]).verdict is Verdict.no_runs


def test_a_ledger_tells_how_many_pairs_of_a_reading_did_not_fit() -> None:
    fitted, not_fitted = network("adaptive/robustness", True), network("adaptive/robustness", True)
    not_fitted.tables["evals"].loc[0, "loss"] = 1.0
    claim = LEDGER["adaptive-robust-near-zero"]
    assert claim.number.endswith("of pairs with a mean squared error of at most 0.001")
    assert judge(claim, [fitted]).also == ()
    assert [case.value for case in judge(claim, [not_fitted]).also] == [1]


def test_what_the_hidden_layers_add_is_judged_together() -> None:
    """One layer that prefers the residual does not outweigh another that follows y."""
    one = network("adaptive/label_kernel_sgd", False)
    layers = one.tables["adapted_layers"]
    layers.loc[layers["layer"] == "hidden2", ["with_linear", "with_residual"]] = 0.1, 0.9
    found = judge(LEDGER["adaptive-eq19-rest-residual"], [one])
    assert found.verdict is Verdict.fails
    assert {case.panel: case.value > 0 for case in found.also} == {
        "hidden1": False,
        "hidden2": True,
    }


def test_a_threshold_says_where_it_comes_from() -> None:
    for claim in LEDGER.values():
        assert claim.threshold.startswith(("ours", "the text's", "the sign of the text's"))


def test_networks_that_diverged_have_no_pairs() -> None:
    one = network("adaptive/robustness", True)
    tables = {
        name: frame[frame["data.targets"] == "linear"]
        for name, frame in one.tables.items()
        if "data.targets" in frame
    }
    alone = record(one.experiment, tables)
    found = judge(LEDGER["adaptive-robust-sign-higher"], [alone])
    assert found.verdict is Verdict.no_runs
