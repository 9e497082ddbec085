"""An array on disk that is filled tile by tile, by one process or by many at once.

    array = TiledArray(path)
    array.begin("what it is of", shape=(n, n), dtype="float32", tile=(t, t), symmetric=True)
    for tile in array.todo():              # claimed by this process, until all tiles are there
        array.put(tile, compute(tile))
    values = array.values()                # a read-only memory map of the .npy file

Beside it a folder `<path>.tiles` holds

    record.json    description, shape, type, size of a tile
    array.npy      the array until all tiles are there, when it moves to its path; its space is
                   reserved at once, so a full disk is noticed before any work
    claims/R-C     locked by the process that computes tile (R, C); the kernel frees the lock when
                   the process ends, however it ends, and another process takes the tile over
    done/R-C       its checksum, written once the tile is safely on disk
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ntkexp.errors import UserError, cannot_write
from ntkexp.results.files import write_text

Array: TypeAlias = npt.NDArray[np.generic]
Tile: TypeAlias = tuple[int, int]
WAIT_SECONDS = 0.2


@dataclass(frozen=True)
class ArrayRecord:
    """The facts by which a file is recognised. Of a symmetric array the tiles on and below the
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

    @classmethod
    def read(cls, file: Path) -> ArrayRecord:
        values = json.loads(file.read_text())
        sizes = {key: tuple(values[key]) for key in ("shape", "tile")}
        return cls(**{**values, **sizes})


def name_of(tile: Tile) -> str:
    return f"{tile[0]}-{tile[1]}"


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


class TiledArray:
    """The array of one path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = path.with_name(path.name + ".tiles")
        self._filling = self._folder / "array.npy"
        self._claims: dict[Tile, int] = {}
        self._record: ArrayRecord | None = None
        self._checksums: dict[Tile, int] = {}

    @property
    def record(self) -> ArrayRecord:
        assert self._record is not None, "begin() comes first"
        return self._record

    def begin(
        self,
        description: str,
        shape: tuple[int, int],
        dtype: str,
        tile: tuple[int, int],
        symmetric: bool = False,
    ) -> tuple[int, int]:
        """Start, or go on with what is there; the size of a tile is that of the first start.

        Refused: a file of something else, and one whose checksums are wrong.
        """
        wanted = ArrayRecord(description, shape, dtype, tile, symmetric)
        if not self._folder.exists():
            self._create(wanted)
        self._record = self._read(wanted)
        self._verify()
        return self.record.tile

    def todo(self) -> Iterator[Tile]:
        """Tiles to compute, each claimed; ends when all are done, by whomever.

        A tile that another process is computing is waited for, and yielded if that process dies.
        """
        while waiting := [tile for tile in self.record.tiles() if not self._is_done(tile)]:
            idle = True
            for tile in waiting:
                if not self._is_done(tile) and self._claim(tile):
                    idle = False
                    try:
                        yield tile
                    finally:
                        os.close(self._claims.pop(tile))
            if idle:
                time.sleep(WAIT_SECONDS)
        try:
            self._filling.replace(self.path)
        except FileNotFoundError:
            pass  # it is there, moved by whoever was first
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def put(self, tile: Tile, block: Array) -> None:
        """Write a claimed tile, and record it once it is on disk."""
        if tile not in self._claims:
            raise ValueError(f"tile {tile} is not claimed: it must come from todo()")
        rows, columns = self.record.place(tile)
        expected = (rows.stop - rows.start, columns.stop - columns.start)
        if block.shape != expected or str(block.dtype) != self.record.dtype:
            raise ValueError(f"tile {tile}: {block.shape} {block.dtype} for {expected}")
        try:
            values = np.load(self._filling, mmap_mode="r+")
            values[rows, columns] = block
            if self.record.symmetric and tile[0] != tile[1]:
                values[columns, rows] = block.T
            values.flush()
        except OSError as error:
            raise cannot_write(self.path, error) from error
        checksum = self._checksum(values, tile)
        write_text(self._folder / "done" / name_of(tile), str(checksum))
        self._checksums[tile] = checksum

    def done(self) -> list[Tile]:
        return [tile for tile in self.record.tiles() if self._is_done(tile)]

    def read(self, tile: Tile) -> Array:
        """A copy of a tile that is done."""
        return np.array(self.values()[self.record.place(tile)])

    def values(self) -> Array:
        """The whole as a read-only memory map; zero where a tile is not done yet."""
        try:
            values: Array = np.load(self._filling, mmap_mode="r")
        except FileNotFoundError:
            values = np.load(self.path, mmap_mode="r")
        return values

    def _create(self, record: ArrayRecord) -> None:
        if self.path.exists():
            raise UserError(f"{self.path} exists and is no array begun here; choose another file")
        draft = self._folder.with_name(f".{self._folder.name}.{uuid.uuid4().hex}")
        try:
            for part in ("claims", "done"):
                (draft / part).mkdir(parents=True)
            reserve(draft / "array.npy", record)
            write_text(draft / "record.json", json.dumps(asdict(record)))
            # One rename makes it all visible; if another process was first, its folder is used.
            draft.rename(self._folder)
        except OSError as error:
            if not self._folder.exists():
                raise cannot_write(self.path, error) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _read(self, wanted: ArrayRecord) -> ArrayRecord:
        file = self._folder / "record.json"
        try:
            record = ArrayRecord.read(file)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{file} is no record of an array; remove its folder and {self.path}"
            ) from error
        for key in ("description", "shape", "dtype", "symmetric"):
            before, now = getattr(record, key), getattr(wanted, key)
            if before != now:
                why = "of something else" if key == "description" else f"{key} {before}, not {now}"
                raise UserError(
                    f"{self.path}: the array begun there is {why}; remove it and {self._folder}, "
                    "or choose another path"
                )
        return record

    def _verify(self) -> None:
        """Compare the tiles that are done with their checksums."""
        damaged = f"{self.path} is damaged (%s); remove it and {self._folder}, and start again"
        try:
            values = self.values()
        except (OSError, ValueError) as error:
            raise UserError(damaged % str(error).partition("\n")[0]) from error
        for tile in self.done():
            if self._checksum(values, tile) != self._checksums[tile]:
                raise UserError(damaged % f"the checksum of tile {tile} is wrong")

    def _checksum(self, values: Array, tile: Tile) -> int:
        """The checksum of a tile and of its mirror image."""
        rows, columns = self.record.place(tile)
        checksum = zlib.crc32(np.ascontiguousarray(values[rows, columns]).data)
        if self.record.symmetric and tile[0] != tile[1]:
            checksum = zlib.crc32(np.ascontiguousarray(values[columns, rows]).data, checksum)
        return checksum

    def _is_done(self, tile: Tile) -> bool:
        if tile not in self._checksums:
            try:
                checksum = (self._folder / "done" / name_of(tile)).read_text()
            except FileNotFoundError:
                return False
            self._checksums[tile] = int(checksum)
        return True

    def _claim(self, tile: Tile) -> bool:
        file = self._folder / "claims" / name_of(tile)
        try:
            descriptor = os.open(file, os.O_CREAT | os.O_RDWR, 0o666)
        except OSError as error:
            raise cannot_write(file, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            raise UserError(f"{self.path}: this file system has no locks ({error})") from error
        if self._is_done(tile):  # finished between the look and the lock
            os.close(descriptor)
            return False
        self._claims[tile] = descriptor
        return True
