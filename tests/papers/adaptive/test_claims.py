"""Every claim of the paper holds with tables that show it and fails with those that do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.adaptive.cases import fitted_seeds
from ntkexp.results.record import Record

LEDGER = {claim.id: claim for claim in ledger(["adaptive"])}
SEEDS = (0, 1)
TASKS = ("linear", "sign")
LAYERS = ("hidden1", "hidden2", "output")
Value = Callable[[str, int], float]


def rows(columns: dict[str, object], **values: Value) -> pd.DataFrame:
    """A row of these columns for both tasks of both seeds, with values by task and seed."""
    return pd.DataFrame(
        [
            {"data.targets": task, "seed": seed, **columns}
            | {name: value(task, seed) for name, value in values.items()}
            for task in TASKS
            for seed in SEEDS
        ]
    )


def sign(on_sign: float, on_linear: float) -> Value:
    return lambda task, seed: on_sign if task == "sign" else on_linear


def always(value: float) -> Value:
    return lambda task, seed: value


def evals(error: float) -> pd.DataFrame:
    return rows({"step": 10, "split": "train", "subset": "all"}, loss=always(error / 2))


def cosines(holds: bool) -> pd.DataFrame:
    """Sign above linear with every label kernel; final kernels larger and alike; or the reverse."""
    high, low = (0.5, 0.45) if holds else (0.3, 0.5)
    # The cosines rise or fall with |beta|^2, which rises from seed to seed.
    apart = 0.01 if holds else -0.01
    frames = [
        rows(
            {"first": "average", "second": label, "ratio": 1.0},
            cosine=lambda task, seed: sign(high, low)(task, seed) + apart * seed,
        )
        for label in ("residual", "output", "targets")
    ]
    near = always(0.9 if holds else 0.8)
    frames.append(rows({"first": "average", "second": "initial", "ratio": 3.0}, cosine=near))
    # A large label kernel beside a small initial one: (9) adds too much of it.
    label = {"first": "initial", "second": "residual", "ratio": 1.0 if holds else 0.05}
    frames.append(rows(label, cosine=sign(0.2, 0.1) if holds else sign(0.1, 0.2)))
    final = {"first": "final", "second": "average", "ratio": 3.0 if holds else 0.5}
    frames.append(rows(final, cosine=always(0.99 if holds else 0.5)))
    return pd.concat(frames, ignore_index=True)


def fits(holds: bool) -> pd.DataFrame:
    r2, c = (0.95, 0.2) if holds else (0.5, -0.2)
    both = rows({"label": "residual", "parts": 2, "a": 1.0, "b": 0.3, "c": None}, r2=always(r2))
    three = rows({"label": "residual", "parts": 3, "a": 1.0, "b": 0.3, "c": c}, r2=always(r2))
    return pd.concat([both, three], ignore_index=True)


def fifths(holds: bool) -> pd.DataFrame:
    near = sign(2.0, 1.0) if holds else sign(0.5, 1.0)
    return pd.concat(
        [rows({"statistic": name, "high": 1.0}, low=near) for name in ("diagonal", "remainder")],
        ignore_index=True,
    )


def layers(holds: bool) -> pd.DataFrame:
    last = 0.8 if holds else 0.1
    share = {"output": last, "hidden1": 1 - last, "hidden2": 0.0}
    with_y, with_rest = (0.3, 0.8) if holds else (0.8, 0.3)
    frames = [
        rows(
            {"layer": layer, "share": share[layer]},
            with_linear=always((0.99 if holds else 0.3) if layer == "output" else with_y),
            with_residual=always(0.0 if layer == "output" else with_rest),
            with_targets=always(0.9),
            # As much as the signs of `examples` have along y, or hardly anything.
            moved=always(3.0 if holds else 0.1),
        )
        for layer in LAYERS
    ]
    return pd.concat(frames, ignore_index=True)


def examples(holds: bool) -> pd.DataFrame:
    """The signs of y, or a target whose residual is largest far from 0."""
    return pd.concat(
        [
            rows({"linear": y, "start": 0.0, "target": target, "output": target})
            for y in (-2.0, -1.5, -1.0, -0.5, -0.1, 0.1, 0.5, 1.0, 1.5, 2.0)
            for target in (float(np.sign(y)) if holds else y**3,)
        ]
    )


def sizes(holds: bool) -> pd.DataFrame:
    norm = sign(2.0, 1.0) if holds else sign(1.0, 2.0)
    return rows({"kernel": "change", "layer": "total"}, norm=norm)


def relaxed_kernels(holds: bool) -> pd.DataFrame:
    high, low = (0.3, 0.2) if holds else (0.2, 0.3)
    return pd.concat(
        [
            rows({"other": "average", "ratio": 1.0}, cosine=always(0.95 if holds else 0.1)),
            rows({"other": "residual", "ratio": 1.0}, cosine=sign(high, low)),
        ]
    )


def solution(holds: bool) -> pd.DataFrame:
    return rows({}, least=sign(2.0, 1.0) if holds else sign(1.0, 2.0))


def angles(holds: bool) -> pd.DataFrame:
    return pd.concat(
        [
            rows({"t": t, "index": index}, cosine=always(0.95 if holds or t > 0.5 else 0.4))
            for t in (0.1, 1.0)
            for index in (1, 2)
        ]
    )


def premise(holds: bool) -> pd.DataFrame:
    least = 10.0 if holds else 5.0
    return pd.concat(
        [
            rows({"kernel": kernel, "distance": 10.0}, least=lambda _, seed: least + 0.1 * seed)
            for kernel in ("initial", "average", "final")
        ]
    )


def singular_values(holds: bool) -> pd.DataFrame:
    spread, narrow = (1.0, 1.0, 1.0), (1.0, 0.1, 0.1)
    of = {"network": narrow if holds else spread, "min_norm": spread if holds else narrow}
    frames = [
        rows({"of": kind, "layer": layer, "rank": rank}, value=always(value))
        for kind, values in of.items()
        for layer in LAYERS
        for rank, value in enumerate(values, start=1)
    ]
    last = 3.0 if holds else 0.3
    frames += [
        rows({"of": "relaxed", "layer": layer, "rank": 1}, value=always(value))
        for layer, value in zip(LAYERS, (1.0, 1.0, last), strict=True)
    ]
    return pd.concat(frames)


def entries(holds: bool) -> pd.DataFrame:
    """One layer of three decides."""
    ratios = dict.fromkeys(LAYERS, 0.8) | {LAYERS[1]: 0.9 if holds else 1.1}
    return pd.concat(
        [
            rows({"of": kind, "layer": layer}, entries=always(50.0 * times))
            for layer, ratio in ratios.items()
            for kind, times in (("min_norm", 1.0), ("diagonal", ratio), ("network", 2.0))
        ]
    )


def penalties(holds: bool) -> pd.DataFrame:
    v = [0.01, 50.0, 100.0]
    power = 1.0 if holds else 2.5
    values = [0.01**2 if holds else 0.5, 50.0**power, 100.0**power]
    frames = [
        pd.DataFrame({"penalty": name, "v": v, "value": values})
        for name in ("square", "absolute", "joint", "none")
    ]
    return pd.concat(frames, ignore_index=True)


def targets(holds: bool) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "seed": seed,
                "fit": fit,
                "split": split,
                "accuracy": (0.95 if right else 0.9) + seed / 100,
            }
            for seed in SEEDS
            for fit in ("least_squares", "sgd")
            for split, right in (("train", holds), ("test", not holds))
        ]
    )


def record(experiment: str, holds: bool, *, error: float = 1e-6) -> Record:
    tables = {
        "evals": evals(error),
        "adapted_cosines": cosines(holds),
        "adapted_fits": fits(holds),
        "adapted_fifths": fifths(holds),
        "adapted_layers": layers(holds),
        "adapted_angles": angles(holds),
        "adapted_examples": examples(holds),
        "adapted_sizes": sizes(holds),
        "adapted_premise": premise(holds),
        "relaxed_singular_values": singular_values(holds),
        "relaxed_entries": entries(holds),
        "relaxed_kernels": relaxed_kernels(holds),
        "relaxed_solution": solution(holds),
        "effective_penalties": penalties(holds),
        "threshold_targets": targets(holds),
    }
    config = {"name": experiment, "seed": 0, "model.weights": "he", "optim.batch_size": 100}
    return Record(experiment, "run", config, tables)


@pytest.mark.parametrize("name", LEDGER)
@pytest.mark.parametrize("holds", [True, False])
def test_a_claim_is_judged_by_what_its_tables_show(name: str, holds: bool) -> None:
    claim = LEDGER[name]
    found = judge(claim, [record(one, holds) for one in claim.experiments])
    assert found.verdict is (Verdict.holds if holds else Verdict.fails), found.measured
    assert found.missing == ()


def test_networks_that_have_not_fitted_their_targets_decide_nothing() -> None:
    one = record("adaptive/robustness", True, error=2e-3)
    assert fitted_seeds(one) == set()
    assert fitted_seeds(record("adaptive/robustness", True)) == {0, 1}
    assert judge(LEDGER["adaptive-robust-sign-higher"], [one]).verdict is Verdict.no_runs


def test_a_ledger_tells_how_many_pairs_of_a_reading_did_not_fit() -> None:
    fitted, not_fitted = record("adaptive/robustness", True), record("adaptive/robustness", True)
    not_fitted.tables["evals"].loc[0, "loss"] = 1.0
    claim = LEDGER["adaptive-robust-near-zero"]
    assert claim.number.endswith("of pairs with a mean squared error of at most 0.001")
    assert judge(claim, [fitted]).also == ()
    assert [case.value for case in judge(claim, [not_fitted]).also] == [1]


def test_what_the_hidden_layers_add_is_judged_together() -> None:
    """One layer that prefers the residual does not outweigh another that follows y."""
    one = record("adaptive/label_kernel_sgd", False)
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
    one = record("adaptive/robustness", True)
    tables = {
        name: frame[frame["data.targets"] == "linear"]
        for name, frame in one.tables.items()
        if "data.targets" in frame
    }
    alone = Record(one.experiment, "run", one.config, tables)
    found = judge(LEDGER["adaptive-robust-sign-higher"], [alone])
    assert found.verdict is Verdict.no_runs
