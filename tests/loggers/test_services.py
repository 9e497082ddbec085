"""Weights & Biases, where it is installed, without a server."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import TINY_DISK

# Its warnings are about itself.
pytestmark = pytest.mark.filterwarnings("default")


def train(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ntkexp", "train", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_run_is_mirrored_to_wandb_offline(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    words = (*TINY_DISK, "logger=[wandb]", "logger.wandb.mode=offline")
    done = train(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert "goes on without it" not in done.stderr
    (log,) = tmp_path.glob("outputs/disk/*/logs/wandb/wandb/offline-run-*/run-*.wandb")
    found = history(log)
    (folder,) = tmp_path.glob("outputs/disk/*")
    evals = pd.read_parquet(folder / "evals.parquet").query("split == 'test'")
    told = [
        (one["step"], one["evals/test/all/loss"]) for one in found if "evals/test/all/loss" in one
    ]
    assert told == [*zip(evals["step"], evals["loss"], strict=True)]
    assert sum("steps/train_loss" in one for one in found) == 30


def history(log: Path) -> list[dict[str, float]]:
    """The rows of an offline run."""
    from wandb.proto import wandb_internal_pb2

    rows = []
    for content in records(log.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(content)
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            rows.append({"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in items})
    return rows


def records(content: bytes) -> Iterator[bytes]:
    """Those of a log as LevelDB has them: blocks of 32 KiB, records whole (type 1) or in parts
    (2, 3, 4), each behind a checksum, its length and its type; 7 bytes stand before all."""
    place, found = 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        _, length, kind = struct.unpack("<IHB", content[place : place + 7])
        found += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield found
            found = b""
