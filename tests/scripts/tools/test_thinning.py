"""What the repository's copies of runs lose, and that the copies there obey it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ntkexp.results.status import flat_config
from ntkexp.scripts.tools.keeping import LEFT_OUT
from ntkexp.scripts.tools.thinning import (
    ROUNDED,
    _log_spaced,
    _sparse,
    rounded,
    thinning,
)

REFERENCE = Path(__file__).parents[3] / "outputs" / "reference"
FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@hypothesis.given(FINITE.filter(lambda x: x == 0 or abs(x) > 1e-300), st.integers(2, 53))
def test_a_rounded_number_is_near_and_has_few_bits(number: float, bits: int) -> None:
    (found,) = rounded(np.array([number]), bits)
    assert abs(found - number) <= 2.0**-bits * abs(number)
    numerator, _ = abs(float(found)).as_integer_ratio()
    # Odd part of the significand: what is left without the zeros at its end.
    odd = numerator // (numerator & -numerator) if numerator else 0
    assert odd < 2**bits or odd == 1


@pytest.mark.on_demand
def test_the_kept_runs_are_as_the_rules_say() -> None:
    runs = [file.parent for file in REFERENCE.rglob("config.yaml")]
    assert len(runs) >= 93
    for folder in runs:
        is_as_the_rules_say(folder)


def is_as_the_rules_say(folder: Path) -> None:
    """A rule applied again changes no row that it leaves, and thinned.json names it."""
    told = folder / "thinned.json"
    rules = json.loads(told.read_text(encoding="utf-8")) if told.is_file() else {}
    experiment = str(flat_config(folder)["name"])
    for file in folder.glob("*.parquet"):
        rule = thinning(experiment, file.stem)
        assert rules.get(file.stem, {}).get("rule") != LEFT_OUT
        assert (rule and rule.rule) == rules.get(file.stem, {}).get("rule")
        if rule is None:
            continue
        table = pq.read_table(file)
        kept, again = table.to_pandas(), rule.apply(table).to_pandas()
        if len(again) == len(kept):
            assert again.equals(kept), file.name
        else:
            assert len(again.merge(kept)) == len(again), file.name


def test_what_tells_the_networks_of_a_run_apart_is_not_rounded() -> None:
    table = pa.table({"transform.alpha": [0.1, 0.3], "step": [0, 1], "value": [1 / 3, 0.1]})
    found = ROUNDED.apply(table)
    assert found.column("transform.alpha").to_pylist() == [0.1, 0.3]
    assert found.column("value").to_pylist() != [1 / 3, 0.1]


@pytest.mark.parametrize("thinned", [_sparse, _log_spaced])
def test_first_and_last_step_stay_and_steps_between_grow(
    thinned: Callable[[np.ndarray], np.ndarray],
) -> None:
    steps = np.array([0, *range(3, 2000, 7)])
    kept = np.unique(thinned(steps))
    assert kept[0] == 0 and kept[-1] == steps[-1]
    assert set(kept) < set(steps)
    early, late = np.diff(kept[1:])[:5].mean(), np.diff(kept)[-6:-1].mean()
    assert late > 3 * early
