"""Small made-up images in every layout."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

SHAPES = {"mnist": (28, 28), "kmnist": (28, 28), "cifar10": (32, 32, 3)}
FOLDERS = {"mnist": "MNIST", "kmnist": "KMNIST"}


@dataclass
class MadeUp:
    """Random images of a dataset, and the files that hold them under the data directory."""

    root: Path

    def images(self, name: str, rows: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], list[int]]:
        """(rows, H, W) or (rows, H, W, 3) bytes and labels; every class occurs in ten rows."""
        pixels = np.random.default_rng(seed).integers(0, 256, (rows, *SHAPES[name]), np.uint8)
        return pixels, [row % 10 for row in range(rows)]

    def parquet(self, name: str, train: int = 30, test: int = 10) -> Path:
        """Both splits as Hugging Face parquet; returns the path of the training file."""
        column = "img" if name == "cifar10" else "image"
        for seed, (split, rows) in enumerate({"test": test, "train": train}.items()):
            pixels, labels = self.images(name, rows, seed)
            encoded = [
                {"bytes": png(image), "path": f"{row}.png"} for row, image in enumerate(pixels)
            ]
            path = self.root / name / f"{split}-00000-of-00001.parquet"
            write_parquet(path, {column: encoded, "label": labels})
        return path

    def idx(self, name: str, train: int = 30, test: int = 10) -> Path:
        """Both splits as torchvision's idx files; returns their folder."""
        folder = self.root / FOLDERS[name] / "raw"
        folder.mkdir(parents=True)
        for seed, (prefix, rows) in enumerate({"t10k": test, "train": train}.items()):
            pixels, labels = self.images(name, rows, seed)
            (folder / f"{prefix}-images-idx3-ubyte").write_bytes(
                b"\0\0\x08\x03" + np.array(pixels.shape, ">u4").tobytes() + pixels.tobytes()
            )
            (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(
                b"\0\0\x08\x01" + np.array([rows], ">u4").tobytes() + bytes(labels)
            )
        return folder

    def pickles(self, rows: int = 10) -> Path:
        """CIFAR-10 as torchvision's pickles, `rows` in each of the six; returns their folder."""
        folder = self.root / "cifar-10-batches-py"
        folder.mkdir(parents=True)
        for seed, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
            pixels, labels = self.images("cifar10", rows, seed)
            batch = {"data": pixels.transpose(0, 3, 1, 2).reshape(rows, -1), "labels": labels}
            (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
        return folder


def png(image: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def write_parquet(path: Path, columns: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(columns).to_parquet(path)


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUp:
    """An empty data directory and an empty cache, to put made-up files in."""
    monkeypatch.setenv("NTKEXP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NTKEXP_CACHE", str(tmp_path / "cache"))
    return MadeUp(tmp_path / "data")
