"""What TensorBoard reads of the files that are written for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.loggers import About, Series
from ntkexp.loggers.tensorboard import Tensorboard
from tests.conftest import TINY_DISK, Ntkexp


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows of a folder: tag -> (step, value)."""
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    ).EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    return {
        tag: [(one.step, one.value) for one in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }


def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    steps = np.array([0, 1, 127, 128, 40_000, 3_000_000_000])
    values = {"loss": np.linspace(3, -1, 6), "accuracy": np.array([0.1, np.nan, 1, 0, 0.5, 1e300])}
    long = Series("a" * 150, steps, {"loss": values["loss"]})
    sink = Tensorboard().open(About("disk", "c57568321b89", tmp_path, {}))
    sink.write({}, [Series("steps", steps, values), long])
    sink.close(finished=True)
    found = read(tmp_path)
    assert set(found) == {"steps/loss", "steps/accuracy", f"{'a' * 150}/loss"}
    for name, numbers in values.items():
        assert [step for step, _ in found[f"steps/{name}"]] == steps.tolist()
        with np.errstate(over="ignore"):
            told = numbers.astype(np.float32)
        np.testing.assert_array_equal([value for _, value in found[f"steps/{name}"]], told)


def test_tensorboard_shows_the_tables_of_a_run(inside: Ntkexp, tmp_path: Path) -> None:
    assert inside("train", *TINY_DISK, "logger=[tensorboard]").returncode == 0
    (folder,) = tmp_path.glob("outputs/disk/*")
    found = read(folder / "logs" / "tensorboard")
    steps = pd.read_parquet(folder / "steps.parquet")
    for name in ("train_loss", "train_acc", "lr"):
        told = list(zip(steps["step"], steps[name].astype(np.float32), strict=True))
        assert found[f"steps/{name}"] == told
    evals = pd.read_parquet(folder / "evals.parquet").query("split == 'test'")
    told = list(zip(evals["step"], evals["loss"].astype(np.float32), strict=True))
    assert found["evals/test/all/loss"] == told
