"""What a run's provenance tells of its last life."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from ntkexp.errors import UserError


def last_life(folder: Path) -> dict[str, Any]:
    """Command, code, hardware, remarks and seconds of the life that finished a run."""
    path = folder / "provenance.json"
    try:
        lives = json.loads(path.read_text(encoding="utf-8"))["lives"]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: no provenance that can be read ({error})") from error
    return dict(lives[-1])


def plain_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Tables that belong to no run, such as benchmarks: by name, those of a folder."""
    return {file.stem: pd.read_parquet(file) for file in sorted(folder.glob("*.parquet"))}
