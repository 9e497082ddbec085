"""The record, the tiles and the empty file of an array on disk (ntkexp/results/arrays.py)."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

Tile: TypeAlias = tuple[int, int]
FORMAT = 1


@dataclass(frozen=True)
class ArrayRecord:
    """The facts by which a file is known again. Of a symmetric array the tiles on and below the
    diagonal are put; their mirror images are written with them."""

    description: str
    shape: tuple[int, int]
    dtype: str
    tile: tuple[int, int]
    symmetric: bool

    def tiles(self) -> list[Tile]:
        rows, columns = (-(-n // t) for n, t in zip(self.shape, self.tile, strict=True))
        return [
            (row, column)
            for row in range(rows)
            for column in (range(row, -1, -1) if self.symmetric else range(columns))
        ]

    def place(self, tile: Tile) -> tuple[slice, slice]:
        rows, columns = (
            slice(at * t, min((at + 1) * t, n))
            for at, t, n in zip(tile, self.tile, self.shape, strict=True)
        )
        return rows, columns

    def text(self, **more: object) -> str:
        """The record as a file holds it, with further facts."""
        return json.dumps({**asdict(self), "format": FORMAT, **more})

    @classmethod
    def parsed(cls, text: str) -> ArrayRecord:
        """The record in a file. Damaged text raises ValueError, KeyError or TypeError."""
        values = json.loads(text)
        if values["format"] != FORMAT:
            raise KeyError("format")
        return cls(
            values["description"],
            tuple(values["shape"]),
            values["dtype"],
            tuple(values["tile"]),
            values["symmetric"],
        )


def name_of(tile: Tile) -> str:
    return f"{tile[0]}-{tile[1]}"


def tile_of(name: str) -> Tile:
    row, _, column = name.partition("-")
    return int(row), int(column)


def reserve(file: Path, record: ArrayRecord) -> None:
    """A .npy file of zeros whose space is taken now, not at the first write to each page."""
    values = np.lib.format.open_memmap(
        file, mode="w+", dtype=np.dtype(record.dtype), shape=record.shape
    )
    size = values.offset + values.nbytes
    del values
    descriptor = os.open(file, os.O_RDWR)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
