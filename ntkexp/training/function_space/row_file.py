"""A symmetric matrix in a file, larger than memory: whole rows in order, by one process.

The rows are appended to FILE.part, a block of them at a time, and each block is on disk before the
next begins. So after a kill or a power cut all blocks but the last are whole, and another process
goes on there. When all are written the file gets its name. It is made and read as a memory map of
one machine, and a second process that wants the same matrix waits for the first.
"""

from __future__ import annotations

import fcntl
import io
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from ntkexp.errors import UserError, cannot_write
from ntkexp.progress import Progress
from ntkexp.results.files import make_folder, sync

Array: TypeAlias = npt.NDArray[np.generic]
BLOCK_BYTES = 2**29
WAIT_SECONDS = 0.2


def write_symmetric(
    file: Path,
    size: int,
    dtype: npt.DTypeLike,
    right_part: Callable[[slice], Array],
    *,
    multiple: int,
    shown: bool,
) -> None:
    """Write the matrix (size, size) to `file`, a .npy, unless it is there.

    `right_part(rows)` gives these rows from column `rows.start` on; what is left of that is the
    mirror image of earlier rows. Blocks are of a `multiple` of rows.
    """
    make_folder(file.parent)
    part_of = file.with_name(f"{file.name}.part")
    with Progress("tangent kernel", size, shown=shown) as bar:
        try:
            with _held(part_of, bar) as part:
                if file.exists():  # whoever was first has finished it
                    part_of.unlink(missing_ok=True)
                    return
                _append(part, size, np.dtype(dtype), right_part, multiple, bar)
                part_of.replace(file)
                sync(file.parent)
        except OSError as error:
            raise cannot_write(file, error) from error


@contextmanager
def _held(path: Path, bar: Progress) -> Iterator[BinaryIO]:
    """The file, open for more at its end, once no other process writes it."""
    with path.open("a+b") as part:
        while True:
            try:
                fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(WAIT_SECONDS)
                bar.advance(0)  # where a stop is heard
            except OSError as error:
                raise UserError(f"{path}: this file system has no locks ({error})") from error
        yield part


def _append(
    part: BinaryIO,
    size: int,
    dtype: np.dtype[np.generic],
    right_part: Callable[[slice], Array],
    multiple: int,
    bar: Progress,
) -> None:
    header, row_bytes = _header(size, dtype), size * dtype.itemsize
    step = max(1, BLOCK_BYTES // (row_bytes * multiple)) * multiple
    whole = (os.fstat(part.fileno()).st_size - len(header)) // (row_bytes * step)
    done = max(0, whole - 1) * step  # the last one may not have come to the disk
    part.truncate(len(header) + done * row_bytes if done else 0)
    if not done:
        part.write(header)
        part.flush()
    bar.advance(done)
    for start in range(done, size, step):
        rows = slice(start, min(start + step, size))
        block = np.empty((rows.stop - start, size), dtype)
        block[:, start:] = right_part(rows)
        if start:
            # By its name: a map holds on to the file that it is given, and so to the lock.
            earlier = np.memmap(part.name, dtype, "r", len(header), (start, size))
            block[:, :start] = earlier[:, rows].T
        part.write(block.data)
        part.flush()
        os.fsync(part.fileno())
        bar.advance(len(block))


def _header(size: int, dtype: np.dtype[np.generic]) -> bytes:
    header = io.BytesIO()
    form = {"descr": dtype.str, "fortran_order": False, "shape": (size, size)}
    np.lib.format.write_array_header_1_0(header, form)
    return header.getvalue()
