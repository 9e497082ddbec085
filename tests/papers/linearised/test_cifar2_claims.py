"""The claims on CIFAR2 see the numbers of the text, and others."""

from __future__ import annotations

import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.cifar2 import CLAIMS
from ntkexp.papers.linearised.tasks import by_size, gaps
from ntkexp.results.record import Record
from tests.papers.linearised.made import of_paper
from tests.papers.made import SPLITS, rows

LEDGER = {claim.id.removeprefix("linearised-"): claim for claim in CLAIMS}
SIZES = (256, 1024, 4096, 16384)


def record(
    name: str,
    accuracy: float,
    *,
    energy: tuple[float, float] = (0.25, 0.7),
    distance: float = 1.0,
    seed: int = 0,
    size: int | None = None,
    learned: float = 1.0,
) -> Record:
    looks = {"step": (0, 78)}
    both = {"split": SPLITS, **looks}
    tables = {
        "evals": rows(
            both, subset="all", loss=(1, 0.22), accuracy=[(0.5, learned), (0.5, accuracy)]
        ),
        "energy_concentration": rows(looks, count=50, labels=energy, random=0.06),
        "distance": rows(looks, distance=(0.0, distance), cosine_distance=(0.0, 0.1)),
    }
    return of_paper(f"linearised/{name}", tables, seed, **{"data.train_examples": size})


JUDGED = ("cifar2-advantage", "table1-start", "table1-grows", "table1-order", "table1-accuracy")


def test_the_numbers_of_the_text_hold() -> None:
    runs = [
        record("cifar2_mlp", 0.676, energy=(0.26, 0.636)),
        record("cifar2_mlp_linear", 0.60),
        record("cifar2_lenet", 0.75, energy=(0.258, 0.83)),
        record("cifar2_lenet_linear", 0.65),
        record("cifar2_resnet18", 0.70, energy=(0.1, 0.9)),
        record("cifar2_resnet18_linear", 0.65),
    ]
    for name in JUDGED:
        assert judge(LEDGER[name], runs).verdict is Verdict.holds, name


def test_other_numbers_do_not() -> None:
    runs = [
        record("cifar2_mlp", 0.70, energy=(0.36, 0.4)),
        record("cifar2_mlp_linear", 0.70),
        record("cifar2_lenet", 0.72, energy=(0.07, 0.2)),
        record("cifar2_lenet_linear", 0.72),
        record("cifar2_resnet18", 0.70, energy=(0.1, 0.1)),
        record("cifar2_resnet18_linear", 0.71),
    ]
    for name in JUDGED:
        assert judge(LEDGER[name], runs).verdict is Verdict.fails, name


def test_a_linearisation_that_has_not_learned_decides_nothing() -> None:
    runs = [record("cifar2_lenet", 0.75), record("cifar2_lenet_linear", 0.65, learned=0.6)]
    finding = judge(LEDGER["cifar2-advantage"], runs)
    assert finding.verdict is Verdict.not_decidable
    assert "training accuracy of the linearisation" in finding.undecided


def test_the_third_network_is_judged_by_its_order_and_growth_alone() -> None:
    runs = [
        record("cifar2_mlp", 0.676, energy=(0.26, 0.636)),
        record("cifar2_lenet", 0.75, energy=(0.258, 0.83)),
        record("cifar2_resnet18", 0.6, energy=(0.1, 0.7)),
    ]
    cases = {case.panel: case.value for case in judge(LEDGER["table1-order"], runs).cases}
    assert cases == pytest.approx({"LeNet less MLP": 0.194, "ResNet18 less LeNet": -0.13})
    assert judge(LEDGER["table1-order"], runs).verdict is Verdict.partly
    assert judge(LEDGER["table1-grows"], runs).verdict is Verdict.holds
    for name in ("start", "accuracy"):
        panels = {case.panel for case in judge(LEDGER[f"table1-{name}"], runs).cases}
        assert panels == {"MLP", "LeNet"}


def sizes(growth: float, step: float, net: str = "lenet") -> list[Record]:
    """Two seeds; the gap grows by `growth` from the first size to the last, distances by `step`."""
    return [
        run
        for seed in (0, 1)
        for place, size in enumerate(SIZES)
        for run in (
            record(f"sizes_{net}", 0.6 + growth * place / 3, distance=1 + step * place, seed=seed,
                   size=size),
            record(f"sizes_{net}_linear", 0.6, seed=seed, size=size),
        )
    ]  # fmt: skip


def test_a_gap_that_grows_and_one_that_does_not() -> None:
    for growth, expected in ((0.03, Verdict.holds), (-0.03, Verdict.fails)):
        runs = sizes(growth, 0.5)
        assert judge(LEDGER["fig05-gap-grows"], runs).verdict is expected
    runs = [*sizes(0.03, 0.5), *sizes(-0.03, 0.5, "mlp")]
    assert judge(LEDGER["fig05-gap-grows"], runs).verdict is Verdict.partly
    assert gaps(by_size(sizes(0.03, 0.5)), "lenet").shape == (2, 4)


def test_distances_that_grow_with_each_size() -> None:
    assert judge(LEDGER["fig05-distance-grows"], sizes(0.03, 0.5)).verdict is Verdict.holds
    assert judge(LEDGER["fig05-distance-grows"], sizes(0.03, -0.1)).verdict is Verdict.fails


def test_the_control_is_set_beside_its_own_seed() -> None:
    runs = [
        *sizes(0.0, 1.0, "mlp"),
        record("sizes_steps", 0.6, distance=1.5, seed=0, size=256),
        record("sizes_steps", 0.6, distance=2.7, seed=1, size=256),
    ]
    finding = judge(LEDGER["fig05-steps-alone"], runs)
    values = {case.seed: case.value for case in finding.cases}
    assert values == pytest.approx({0: 0.5, 1: 0.9}) and finding.verdict is Verdict.partly
