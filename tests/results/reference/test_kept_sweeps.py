"""The commands of kept sweeps, asked with `--dry-run`: every run that was kept is done already."""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.keys import EXECUTION_KEYS
from tests.conftest import Ntkexp
from tests.results.reference.test_kept_runs import KEPT, RUNS, card_of, value_of
from tests.tiny_runs import read_plain

# Of one key and of a study; typed and swept by the experiment's own file; with and without a slash.
SWEEPS = ("mlp_mnist", "disk", "feature_scaling", "lazy/waterbirds_kind", "adaptive/robustness")


@pytest.mark.parametrize(
    "experiment",
    [SWEEPS[0], *(pytest.param(name, marks=pytest.mark.on_demand) for name in SWEEPS[1:])],
)
def test_a_dry_run_finds_what_was_kept(experiment: str, inside: Ntkexp) -> None:
    kept = [run for run in RUNS if card_of(run).experiment == experiment]
    assert len(kept) > 1
    # Runs for which the same keys were typed were made by one command.
    sweeps: dict[frozenset[str], list[Path]] = {}
    for run in kept:
        keys = {*card_of(run).typed, *card_of(run).axes}
        named = frozenset(key for key in keys if key.partition(".")[0] not in EXECUTION_KEYS)
        sweeps.setdefault(named, []).append(run)
    for keys, runs in sweeps.items():
        words = ("-m", f"+exp={experiment}", *(swept(key, runs) for key in sorted(keys)))
        words += ("--dry-run", f"paths.outputs={KEPT}")
        done = inside(card_of(runs[0]).command, *words)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        for run in runs:
            assert [line for line in lines if run.name in line and "done already" in line], words


def swept(key: str, runs: list[Path]) -> str:
    """The word that sweeps a key over the values that these runs have."""
    configs = (read_plain((run / "config.yaml").read_text(encoding="utf-8")) for run in runs)
    return f"{key}={','.join(dict.fromkeys(value_of(config, key) for config in configs))}"
