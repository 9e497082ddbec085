"""A new probe is one file and one config, wherever they lie."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from tiny_runs import TINY

import ntkexp

pytestmark = pytest.mark.usefixtures("made_images")

PROBE = '''
"""The norm of all weights."""
from dataclasses import dataclass

from ntkexp.probes import View, Probe, Rows
from ntkexp.results.table import Table


@dataclass
class WeightNorm(Probe):
    tables = (Table("weight_norm", "|w|_p at a step", {"step": "int64", "norm": "float64"}),)

    p: float = 2.0

    def measure(self, view: View) -> Rows:
        powers = sum((w.abs() ** self.p).sum() for w in view.network().parameters())
        return {"weight_norm": {"norm": powers.item() ** (1 / self.p)}}
'''
LAUNCH = "import sys, ntkexp.probes as p; from ntkexp.cli import main; p.__path__.append({!r}); "


def test_it_runs_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes" / "weight_norm.py").write_text(PROBE)
    (tmp_path / "configs" / "probe").mkdir(parents=True)
    (tmp_path / "configs" / "probe" / "weight_norm.yaml").write_text("weight_norm: {p: 2}\n")
    words = ["train", *TINY, "model.depth=1", "model.width=4", "optim.steps=5"]
    words += ["probe=[weight_norm]", f"hydra.searchpath=[file://{tmp_path}/configs]"]
    code = LAUNCH.format(str(tmp_path / "probes")) + "sys.exit(main(sys.argv[1:]))"
    for choice in ((), ("probe.weight_norm.p=1",)):
        done = subprocess.run(
            [sys.executable, "-c", code, *words, *choice],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(ntkexp.__file__).parents[1])},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    found = [pd.read_parquet(file) for file in tmp_path.glob("outputs/*/*/weight_norm.parquet")]
    assert len(found) == 2
    assert all(table["step"].tolist() == [0, 5] for table in found)
    assert found[0]["norm"][0] != found[1]["norm"][0]
