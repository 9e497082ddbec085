"""Event files are what TensorBoard reads, record by record."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.loggers import Series
from ntkexp.loggers.event_file import _checksums, header, records, varint_lengths
from tests.conftest import TINY_DISK, Ntkexp


@pytest.mark.parametrize(
    ("content", "crc"),
    [
        # RFC 3720, B.4
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"123456789", 0xE3069283),
    ],
)
def test_checksums_are_those_of_the_standard(content: bytes, crc: int) -> None:
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32
    rows = np.frombuffer(content, np.uint8)[None, :].repeat(3, axis=0)
    assert _checksums(rows).tobytes() == struct.pack("<I", masked) * 3


def test_lengths_of_steps() -> None:
    numbers = np.array([0, 127, 128, 2**14 - 1, 2**14, 2**40])
    assert varint_lengths(numbers).tolist() == [
        len(f"{number:b}") // 7 + (len(f"{number:b}") % 7 > 0) for number in numbers.tolist()
    ]


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
    steps = np.array([0, 1, 127, 128, 40_000, 3_000_000_000])
    values = {"loss": np.linspace(3, -1, 6), "accuracy": np.array([0.1, np.nan, 1, 0, 0.5, 1e300])}
    long = Series("a" * 150, steps, {"loss": values["loss"]})
    content = header(1.5) + records(Series("steps", steps, values), 2.5) + records(long, 2.5)
    (tmp_path / "events.out.tfevents.1.test").write_bytes(content)
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
