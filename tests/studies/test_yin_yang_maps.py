"""The maps of Figure 5.1 from the tables of two small runs, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.compose.finalise import finalise
from ntkexp.data.disk import lattice
from ntkexp.errors import UserError
from ntkexp.execution import run as life
from ntkexp.references import FromRun
from ntkexp.studies.yin_yang_maps import RunOfMembers, YinYangMaps, levels_of
from tests.tiny_runs import composer, table, train

GRID = 6
WORDS = (
    *("data=yin_yang", "data.train_examples=30", f"data.grid={GRID}", "device=cpu"),
    *("model=mlp", "model.depth=2", "model.width=12", "model.init=default", "probe=[snapshot]"),
    *("optim.batch_size=null", "optim.lr=0.1", "optim.momentum=0", "optim.stop_loss=null"),
    *("optim.steps=900", "probing.losses=[0.6,0.35]", "optim.stop_after_losses=true"),
    *("members={seed: [3, 4, 5, 6]}", "progress=false"),
)


def of(run: Path) -> RunOfMembers:
    names = ("snapshot", "events", "steps")
    return RunOfMembers(*(FromRun("given", None, f"{n}.parquet", "", str(run)) for n in names))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("runs")
    return {"non_linear": train(place, *WORDS), "linear": train(place, *WORDS, "model.width=5")}


def test_maps_and_areas_are_means_over_the_seeds_that_both_reached(both: dict[str, Path]) -> None:
    found = YinYangMaps(non_linear=of(both["non_linear"]), linear=of(both["linear"])).compute()
    points = lattice(GRID).double().numpy()
    inside = [min(np.hypot(x - 0.5, y + 0.5), np.hypot(x + 0.5, y - 0.5)) < 0.3 for x, y in points]
    for level in (0.6, 0.35):
        losses: dict[str, dict[int, np.ndarray]] = {name: {} for name in both}
        for name, run in both.items():
            events = table(run, "events")
            for _, event in events[events["threshold"] == level].iterrows():
                seen = table(run, "snapshot")
                seen = seen[(seen["seed"] == event["seed"]) & (seen["step"] == event["step"])]
                losses[name][event["seed"]] = seen["loss"].to_numpy(dtype=float)
        seeds = losses["non_linear"].keys() & losses["linear"].keys()
        map_ = found["yin_yang_maps"].query("level == @level")
        assert (map_["runs"] == len(seeds)).all() and len(seeds) > 0
        pairs = [losses["non_linear"][s] - losses["linear"][s] for s in seeds]
        np.testing.assert_allclose(map_["difference"], np.mean(pairs, 0), atol=1e-12)
        np.testing.assert_array_equal(map_[["x", "y"]].to_numpy(), points)
        areas = found["yin_yang_areas"].query("level == @level and area == 'discs'")
        for _, row in areas.iterrows():
            for name in both:
                expected = losses[name][row["seed"]][inside].mean()
                assert row[name] == pytest.approx(expected)


def test_runs_that_miss_a_level_have_no_row_and_keep_their_last_loss(both: dict[str, Path]) -> None:
    found = YinYangMaps(non_linear=of(both["non_linear"]), linear=of(both["linear"])).compute()
    for regime, run in both.items():
        events, steps = table(run, "events"), table(run, "steps")
        own = found["yin_yang_reached"]
        assert (own["regime"] == regime).sum() == len(events)
        last = steps.sort_values("step").groupby("seed")["train_loss"].last()
        curve = found["yin_yang_progress"]
        end = curve[curve["regime"] == regime].iloc[-1]
        assert end["median"] == pytest.approx(last.median())
        assert end["low"] <= end["median"] <= end["high"]


def test_the_experiment_comes_to_its_end_in_miniature(tmp_path: Path) -> None:
    """Both regimes pass a level in a few steps; no point of a lattice of 5 x 5 is between discs."""
    words = [
        f"study.{regime}.{name}.set={{members:{{seed:[0,1]}}}}"
        for regime in ("non_linear", "linear")
        for name in ("snapshot", "events", "steps")
    ]
    words += ["+exp=lazy/yin_yang_maps", "scale=tiny", "with_parents=true", "device=cpu"]
    words += ["progress=false", f"paths.outputs={tmp_path}"]
    plan = finalise(composer("study").compose(words), frozenset({"scale"}))
    assert life.run(plan) == 0
    assert set(table(plan.folder, "yin_yang_maps")["runs"]) == {2}
    assert set(table(plan.folder, "yin_yang_areas")["area"]) == {"all", "discs", "open"}


def test_a_level_that_no_seed_passed_in_both_regimes_has_no_map() -> None:
    def looks(**losses: list[int]) -> dict[float, pd.DataFrame]:
        return {float(level[1:]): pd.DataFrame(index=seeds) for level, seeds in losses.items()}

    ours, theirs = looks(_6=[3, 4], _3=[3], _1=[3]), looks(_6=[4, 5], _3=[4])
    assert levels_of({"non_linear": ours, "linear": theirs}) == [6.0]
    with pytest.raises(UserError, match="no training loss that both runs of a seed reached"):
        levels_of({"non_linear": looks(_3=[3]), "linear": looks(_3=[4])})
