"""How a number of tables becomes cases: of runs, networks, sweeps and runs beside a control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import sub
from typing import Any

import pandas as pd
import pytest

from ntkexp.claims.claim import Case
from ntkexp.claims.statistics import (
    beside,
    by_axis,
    by_network,
    by_run,
    only,
    together,
    trend,
    with_words,
)
from ntkexp.errors import UserError
from ntkexp.results.record import Record
from tests.papers.made import record


def run(experiment: str, size: int, seed: int = 0, **config: Any) -> Record:
    return record(experiment, {"t": pd.DataFrame({"x": range(size)})}, seed=seed, **config)


def sized(t: pd.DataFrame, unit: int = 1) -> float:
    return len(t) / unit


RUNS = [run("net_a", 3), run("net_a", 5, seed=1), run("net_b", 7, seed=4)]


def test_each_run_is_a_case_whose_panel_is_its_experiment() -> None:
    panels = {"net_a": "A", "net_b": "B"}
    found = [Case("A", 0, 3.0), Case("A", 1, 5.0), Case("B", 4, 7.0)]
    assert list(by_run(sized, panels)(RUNS)) == found
    assert [case.panel for case in by_run(sized)(RUNS)] == ["", "", ""]
    by_size = by_run(sized, lambda record: f"{len(record.tables['t'])} rows")
    assert [case.panel for case in by_size(RUNS)] == ["3 rows", "5 rows", "7 rows"]


def test_a_number_is_given_tables_config_and_axis_by_their_names_and_its_options() -> None:
    def asked(t: pd.DataFrame, config: Mapping[str, Any], axis: float, by: int) -> float:
        return len(t) * config["seed"] + axis * by

    widths = [run("complexity_width", 2, seed=3, **{"model.width": 8})]
    assert list(by_run(asked, by=10)(widths)) == [Case("", 3, 86.0)]
    assert list(by_run(sized, unit=2)(RUNS[:1])) == [Case("", 0, 1.5)]


def test_a_table_that_a_run_lacks_is_named() -> None:
    def lost(tt: pd.DataFrame) -> float:
        return 0.0

    with pytest.raises(UserError, match=r"lost: net_a has no table tt; .* it has t$"):
        list(by_run(lost)(RUNS))


def test_several_numbers_at_once_have_a_panel_each() -> None:
    def ends(t: pd.DataFrame) -> dict[str, float]:
        return {"first": float(t["x"].iloc[0]), "last": float(t["x"].iloc[-1])}

    assert list(by_run(ends)(RUNS[:1])) == [Case("first", 0, 0.0), Case("last", 0, 2.0)]
    named = by_run(ends, {"net_a": "A"})(RUNS[:1])
    assert [case.panel for case in named] == ["A, first", "A, last"]


def test_each_network_of_a_run_is_a_case_of_its_own_rows() -> None:
    """A table without seeds is all networks'; a network that a table lacks has no case."""
    errors = pd.DataFrame({"seed": [5, 3, 3], "error": [0.2, 0.1, 0.3]})
    levels = pd.DataFrame({"seed": [3, 5, 7], "level": [0.5, 0.1, 0.9]})
    scale = pd.DataFrame({"unit": [2.0]})

    def above(errors: pd.DataFrame, levels: pd.DataFrame, scale: pd.DataFrame) -> float:
        return float((errors["error"].max() - levels["level"].iloc[0]) * scale["unit"].iloc[0])

    study = record("study", {"errors": errors, "levels": levels, "scale": scale})
    found = list(by_network(above)([study]))
    assert [(case.panel, case.seed) for case in found] == [("", 3), ("", 5)]
    assert [case.value for case in found] == pytest.approx([-0.4, 0.2])


def test_a_trend_takes_three_runs_of_a_seed() -> None:
    def sweep(seed: int, sizes: Sequence[int]) -> list[Record]:
        return [
            run("complexity_width", size, seed, **{"model.width": width})
            for width, size in zip((8, 16, 64), sizes, strict=False)
        ]

    runs = [*sweep(2, (4, 6, 9)), *sweep(0, (8, 2, 1)), *sweep(1, (5, 5))]
    assert list(trend(sized)(runs)) == [Case("", 0, -1.0), Case("", 2, 1.0)]


def test_each_value_of_a_swept_option_is_a_panel_in_order() -> None:
    widths = [
        run("complexity_width", 2, seed, **{"model.width": width})
        for width, seed in ((64, 1), (8, 0), (64, 0))
    ]
    assert list(by_axis(sized, "width")(widths)) == [
        Case("width = 8", 0, 2.0), Case("width = 64", 0, 2.0), Case("width = 64", 1, 2.0),
    ]  # fmt: skip


def test_a_run_stands_beside_the_control_of_its_scale() -> None:
    small = run("control", 2, **{"scale.name": "small"})
    runs = [run("net_a", 6), run("control", 3), small]
    assert list(beside(sized, "control")(runs)) == [Case("", 0, 2.0)]
    assert list(beside(sized, "control")([runs[0], small])) == []
    assert list(beside(sized, "control", sub)(runs)) == [Case("", 0, 3.0)]


def test_statistics_are_of_one_experiment_with_words_and_together() -> None:
    of_a = with_words("of A", only("net_a", by_run(sized)))
    cases = together(of_a, only("net_b", by_run(sized)))(RUNS)
    assert cases == [Case("of A", 0, 3.0), Case("of A", 1, 5.0), Case("", 4, 7.0)]
