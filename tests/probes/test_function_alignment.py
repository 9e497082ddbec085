"""Alignments with eigenfunctions, beside kernels that are made from the weights of the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp import models
from ntkexp.data.eigenfunctions import Eigenfunctions
from ntkexp.errors import UserError
from ntkexp.models.mlp import Mlp
from ntkexp.references import FromRun
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.linearised.one_axis import one_axis
from tests.tiny_runs import TINY, train

pytestmark = pytest.mark.usefixtures("made_images")

NET = Mlp(depth=2, width=8)


@pytest.fixture(params=["plain", "alpha_scale"])
def runs(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """The pairs of a network and its training on the fifth of them; scaled by 1 it is itself."""
    pairs = train(
        tmp_path,
        *("study=eigenpairs", "+model@study.network=mlp", "study.network.depth=2"),
        *("study.network.width=8", "study.images=mnist", "study.count=12"),
        command="study",
    )
    words = [word for word in TINY if "examples" not in word]
    words += ["data=eigenfunctions", "data.images=mnist", "data.index=5", "optim.steps=30"]
    words += ["model=mlp", "model.depth=2", "model.width=8", "objective=binary", "optim.lr=0.05"]
    words += ["probe=[function_alignment]", "probe.function_alignment.examples=200"]
    words += [f"transform={request.param}"]
    words += [f"{key}.run={pairs}" for key in ("data.pairs", "probe.function_alignment.pairs")]
    return pairs, trained(tmp_path, words)


def trained(outputs: Path, words: list[str]) -> Path:
    """Through the command, which fills in where the other run lies."""
    from ntkexp.cli import main

    assert main(["train", *words, f"paths.outputs={outputs}", "probing.spacing=linear"]) == 0
    (folder,) = [path.parent for path in outputs.rglob("one_axis.parquet")]
    return folder


def test_alignments_and_axes_are_those_of_both_kernels(runs: tuple[Path, Path]) -> None:
    pairs, run = runs
    phi = torch.from_numpy(np.load(pairs / "vectors.npy")).double() * 360**0.5
    data = Eigenfunctions(
        images="mnist", pairs=FromRun("given", None, "vectors.npy", "", str(pairs)), index=5
    ).build(0, torch.device("cpu"), progress=False)
    first = models.build(NET, (1, 28, 28), 1, seed=0).double()
    last = models.build(NET, (1, 28, 28), 1, seed=0)
    last.load_state_dict(torch.load(run / "weights.pt"))
    table = pd.read_parquet(run / "function_alignment.parquet")
    axes = pd.read_parquet(run / "one_axis.parquet")
    assert set(table["step"]) == {30}
    for split, of, start, count in (("train", data.train, 0, 200), ("test", data.test, 300, 60)):
        inputs = of.inputs[:count].double()
        own = phi[:, start : start + count]
        a = [
            (own @ tangent_kernel(net, inputs).gram @ own.t() / count**2).numpy()
            for net in (first, last.double())
        ]
        rows = table[table["split"] == split].set_index("index")
        np.testing.assert_allclose(rows["start"], a[0].diagonal(), rtol=1e-4)
        np.testing.assert_allclose(rows["end"], a[1].diagonal(), rtol=1e-4)
        labels = 2.0 * of.targets[:count].double() - 1
        c = {"none": None, "labels": own @ labels / count, "other": own @ own[9].sign() / count}
        for axis, vector in c.items():
            fit = one_axis(a[1], a[0], None if vector is None else vector.numpy())
            (row,) = axes[(axes["split"] == split) & (axes["axis"] == axis)].to_dict("records")
            assert row["r_squared"] == pytest.approx(fit.r_squared, rel=1e-4)
            assert row["scale"] == pytest.approx(fit.scale, rel=1e-3)
    by_axis = axes[axes["split"] == "train"].set_index("axis")["r_squared"]
    assert by_axis["labels"] > by_axis["none"]


def test_other_data_are_refused(tmp_path: Path) -> None:
    words = ("data=cifar2", "model=mlp", "probe=[function_alignment]")
    with pytest.raises(UserError, match="expected data=eigenfunctions"):
        train(tmp_path, *TINY, *words, "optim.steps=2")
