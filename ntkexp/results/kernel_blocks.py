"""The blocks of a large kernel, which runs keep (ntkexp/studies/kernel_rows.py), as one matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from ntkexp.errors import UserError
from ntkexp.results.folders import runs
from ntkexp.results.reading import read_table, table_files
from ntkexp.results.status import flat_config, read_status, refuse_damaged, varied
from ntkexp.tangent.row_blocks import RowBlocks

STUDY, BLOCK = "kernel_rows", "study.block"
NAMED = 8


def kernel(folder: Path | str) -> RowBlocks:
    """The kernel whose blocks the runs in `folder` keep, mapped from their files.

    Every block is read once, and compared with the checksum that its run kept. A block that is
    missing, damaged or of other weights or inputs is refused, by its number.
    """
    folder = Path(folder)
    found: dict[int, Path] = {}
    configs: list[dict[str, Any]] = []
    for run in runs(folder):
        status = read_status(run)
        if status is None or status["state"] != "finished":
            continue
        config = flat_config(run, status)
        if config.get("study.name") == STUDY:
            found[config[BLOCK]] = run
            configs.append({key: value for key, value in config.items() if key != BLOCK})
    if not found:
        raise UserError(f"{folder}: no finished run of study={STUDY}; expected blocks of a kernel")
    if differing := varied(configs):
        raise UserError(
            f"{folder}: blocks of several kernels, which differ in {', '.join(differing)}; name= "
            "gives the runs of each a folder of their own"
        )
    return _joined(folder, found)


def _joined(folder: Path, found: dict[int, Path]) -> RowBlocks:
    facts = {number: _facts(number, run) for number, run in sorted(found.items())}
    first, one = next(iter(facts.items()))
    missing = [number for number in range(one["blocks"]) if number not in facts]
    if missing:
        named = ", ".join(map(str, missing[:NAMED])) + ", ..." * (len(missing) > NAMED)
        raise UserError(
            f"{folder}: {len(missing)} of {one['blocks']} blocks are missing, {named}; the sweep's "
            f"command with '{BLOCK}=range(0,{one['blocks']})' makes them"
        )
    for what in ("weights", "inputs"):
        for number, other in facts.items():
            if other[what] != one[what]:
                raise UserError(
                    f"block {number}: {found[number]} is of other {what} than block {first}, "
                    f"{found[first]}; expected those of one kernel"
                )
    blocks = []
    for number, fact in facts.items():
        # PyTorch takes no read-only array without a warning; a private map changes no file.
        rows = torch.from_numpy(np.load(found[number] / "rows.npy", mmap_mode="c"))
        blocks.append((slice(fact["first"], fact["first"] + len(rows)), rows))
    return RowBlocks(blocks, symmetric=one["symmetric"])


def _facts(number: int, run: Path) -> dict[str, Any]:
    """The row of a block's table; its files are as its run wrote them."""
    status = read_status(run) or {}
    try:
        refuse_damaged(run, status)
        [facts] = read_table(table_files(run, status)[STUDY]).to_dict("records")
        return {str(name): value for name, value in facts.items()}
    except UserError as error:
        raise UserError(f"block {number}: {error}; --rerun makes it again") from error
