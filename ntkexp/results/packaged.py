"""The reference results that come with ntkexp: outputs/reference, installed as `ntkexp.reference`.

A working folder that has an outputs/reference of its own is a checkout, or somebody's choice: then
that counts alone. `NTKEXP_REFERENCE` names another folder; empty, it is for none.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from ntkexp.results.folders import REFERENCE

VARIABLE = "NTKEXP_REFERENCE"


def packaged() -> Path | None:
    """The folder of the reference results that are installed."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    spec = importlib.util.find_spec("ntkexp.reference")
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders))) if folders else None


def roots(outputs: Path) -> list[Path]:
    """Where runs are looked for unless told: a user's own first, then the reference."""
    own, installed = outputs / REFERENCE, packaged()
    if own.is_dir() or installed is None:
        return [outputs, own]
    return [outputs, installed]
