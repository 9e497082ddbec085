"""A new probe is one file, wherever it lies."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.forked import Forked, beside
from tests.tiny_runs import TINY

pytestmark = pytest.mark.usefixtures("made_images")

PROBE = '''
"""The norm of all weights."""
from dataclasses import dataclass

from ntkexp.probes import View, Probe, Rows
from ntkexp.results.table import STEP, Table, float64


@dataclass
class WeightNorm(Probe):
    tables = (Table("weight_norm", "|w|_p at a step", {"step": STEP, "norm": float64("|w|_p")}),)

    p: float = 2.0

    def measure(self, view: View) -> Rows:
        powers = sum((w.abs() ** self.p).sum() for w in view.network().parameters())
        return {"weight_norm": {"norm": powers.item() ** (1 / self.p)}}
'''


def test_it_runs_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "norms.py").write_text(PROBE)
    words = ["train", *TINY, "model.depth=1", "model.width=4", "optim.steps=5"]
    words += ["probe=[mine.norms.WeightNorm,spectrum]"]
    for more in ([], ["probe.weight_norm.p=1"]):
        done = Forked([*words, *more], tmp_path, function=beside(tmp_path)).done()
        assert done.returncode == 0, done.stderr
    found = [pd.read_parquet(file) for file in tmp_path.glob("outputs/*/*/weight_norm.parquet")]
    assert len(found) == 2
    assert all(table["step"].tolist() == [0, 5] for table in found)
    assert found[0]["norm"][0] != found[1]["norm"][0]
