"""Pairs (x, z) of other people, in a file."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa

from ntkexp.errors import UserError

PARTS = ("x", "z")


def pairs_in(file: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows of x and of z.

    Args:
        file: an .npz with arrays x and z, or a .parquet whose columns begin with x and with z, such
            as x0, x1 and z.
    """
    path = Path(file)
    if not path.is_file():
        raise UserError(f"study.file={file}: expected an .npz or .parquet file that is there")
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                found = {part: arrays[part] for part in PARTS if part in arrays}
        else:
            frame = pd.read_parquet(path)
            names = {part: [c for c in frame if str(c).startswith(part)] for part in PARTS}
            found = {part: frame[names[part]].to_numpy() for part in PARTS if names[part]}
    except (OSError, ValueError, BadZipFile, pa.ArrowException) as error:
        raise UserError(f"study.file={file}: cannot be read ({error})".split("\n")[0]) from error
    if absent := [part for part in PARTS if part not in found]:
        kind = "array" if path.suffix == ".npz" else "column that begins with"
        raise UserError(f"study.file={file}: has no {kind} {' and no '.join(absent)}")
    return found["x"], found["z"]
